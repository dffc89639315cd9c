import { expect, it } from 'vitest';
import { hasPrivateAddress } from '../../../infra/crm/public-address.ts';

it.each([
  [['203.0.113.7', '2001:db8::1'], false],
  [[], false],
  [['203.0.113.7', '10.0.0.7'], true],
  [['169.254.169.254'], true],
  [['::1'], true],
  [['::ffff:127.0.0.1'], true],
])('A host with the addresses %j is known as private or not', async (addresses, isPrivate) => {
  expect(await hasPrivateAddress('crm.acme.example', async () => addresses)).toBe(isPrivate);
});
