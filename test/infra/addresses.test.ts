import { expect, it } from 'vitest';
import { hasPrivateAddress, hasPublicAddress } from '../../infra/addresses.ts';

it.each<[addresses: string[], isPrivate: boolean, isPublic: boolean]>([
  [['203.0.113.7', '2001:db8::1'], false, true],
  [[], false, false],
  [['203.0.113.7', '10.0.0.7'], true, true],
  [['169.254.169.254'], true, false],
  [['172.16.3.4', '192.168.0.1', 'fd00::7'], true, false],
  [['::1'], true, false],
  [['::ffff:127.0.0.1'], true, false],
])(
  'A host with the addresses %j is known as private: %s, and as public: %s',
  async (addresses, isPrivate, isPublic) => {
    const resolve = async () => addresses;
    expect(await hasPrivateAddress('crm.acme.example', resolve)).toBe(isPrivate);
    expect(await hasPublicAddress('crm.acme.example', resolve)).toBe(isPublic);
  },
);

it('An address is its own', async () => {
  expect(await hasPublicAddress('203.0.113.7')).toBe(true);
  expect(await hasPrivateAddress('10.0.0.7')).toBe(true);
});
