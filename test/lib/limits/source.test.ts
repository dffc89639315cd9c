import { describe, expect, it } from 'vitest';
import { countedNetwork, countedSource } from '../../../lib/limits/counters.ts';

describe('A source', () => {
  it.each([
    ['192.0.2.1', '192.0.2.1'],
    [' 192.0.2.1 ', '192.0.2.1'],
    ['::ffff:192.0.2.1', '192.0.2.1'],
    ['::FFFF:c000:201', '192.0.2.1'],
    ['0:0:0:0:0:ffff:192.0.2.1', '192.0.2.1'],
    ['::ffff:0:0', '0.0.0.0'],
    ['somewhere', 'somewhere'],
  ])('is an IPv4 address without a network, however it is written: %s', (address, name) => {
    expect([countedSource(address), countedNetwork(address)]).toEqual([name, undefined]);
  });

  it.each([
    ['2001:db8:1:2:3:4:5:6', '20010db800010002/64', '20010db80001/48'],
    ['2001:0DB8:0001:0002::1', '20010db800010002/64', '20010db80001/48'],
    ['2001:db8::', '20010db800000000/64', '20010db80000/48'],
    ['fe80::1%eth0', 'fe80000000000000/64', 'fe8000000000/48'],
    ['::1', '0000000000000000/64', '000000000000/48'],
    ['1:2:3:4:5:6:7::', '0001000200030004/64', '000100020003/48'],
    ['::fffe:192.0.2.1', '0000000000000000/64', '000000000000/48'],
  ])('is a /64 of a /48 of IPv6: %s', (address, name, network) => {
    expect([countedSource(address), countedNetwork(address)]).toEqual([name, network]);
  });
});
