import { describe, expect, it } from 'vitest';
import { sourceOf } from '../../../lib/records/source.ts';

describe('One source is', () => {
  it.each([
    ['192.0.2.1', '192.0.2.1', undefined],
    [' 192.0.2.1 ', '192.0.2.1', undefined],
    ['::ffff:192.0.2.1', '192.0.2.1', undefined],
    ['::FFFF:c000:201', '192.0.2.1', undefined],
    ['0:0:0:0:0:ffff:192.0.2.1', '192.0.2.1', undefined],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64', '2001:db8:1::/48'],
    ['2001:0DB8:0001:0002::1', '2001:db8:1:2::/64', '2001:db8:1::/48'],
    ['2001:db8::', '2001:db8:0:0::/64', '2001:db8:0::/48'],
    ['2001:db8:0:0:ffff:ffff:ffff:ffff', '2001:db8:0:0::/64', '2001:db8:0::/48'],
    ['fe80::1%eth0', 'fe80:0:0:0::/64', 'fe80:0:0::/48'],
    ['::1', '0:0:0:0::/64', '0:0:0::/48'],
    ['::', '0:0:0:0::/64', '0:0:0::/48'],
    ['1:2:3:4:5:6:7::', '1:2:3:4::/64', '1:2:3::/48'],
    ['64:ff9b::192.0.2.1', '64:ff9b:0:0::/64', '64:ff9b:0::/48'],
    ['somewhere', 'somewhere', undefined],
  ])('%s in %s of %s', (address, name, network) => {
    expect(sourceOf(address)).toEqual(network === undefined ? { name } : { name, network });
  });
});
