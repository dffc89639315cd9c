import { describe, expect, it } from 'vitest';
import { countedSource } from '../../../lib/limits/limits.ts';

describe('A source', () => {
  it.each([
    ['192.0.2.1', '192.0.2.1'],
    [' 192.0.2.1 ', '192.0.2.1'],
    ['::ffff:192.0.2.1', '192.0.2.1'],
    ['::FFFF:c000:201', '192.0.2.1'],
    ['0:0:0:0:0:ffff:192.0.2.1', '192.0.2.1'],
    ['somewhere', 'somewhere'],
  ])('is an IPv4 address, however it is written: %s', (address, name) => {
    expect(countedSource(address)).toEqual({ name });
  });

  it.each([
    ['2001:db8:1:2:3:4:5:6', '20010db800010002/64', '20010db80001/48', '0002'],
    ['2001:0DB8:0001:0002::1', '20010db800010002/64', '20010db80001/48', '0002'],
    ['2001:db8::', '20010db800000000/64', '20010db80000/48', '0000'],
    ['2001:db8:0:ffff:ffff:ffff:ffff:ffff', '20010db80000ffff/64', '20010db80000/48', 'ffff'],
    ['fe80::1%eth0', 'fe80000000000000/64', 'fe8000000000/48', '0000'],
    ['::1', '0000000000000000/64', '000000000000/48', '0000'],
    ['::', '0000000000000000/64', '000000000000/48', '0000'],
    ['1:2:3:4:5:6:7::', '0001000200030004/64', '000100020003/48', '0004'],
    ['64:ff9b::192.0.2.1', '0064ff9b00000000/64', '0064ff9b0000/48', '0000'],
  ])('is a /64 of a /48 of IPv6: %s', (address, name, network, member) => {
    expect(countedSource(address)).toEqual({ name, network: { name: network, member } });
  });
});
