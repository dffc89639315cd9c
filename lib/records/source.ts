import { isIPv6 } from 'node:net';

/** Who calls, as the limits count it. */
export interface Source {
  /** An IPv4 address, also where it is written as IPv6; of IPv6 the /64, which is the least that anybody has. */
  name: string;
  /** Of IPv6 the /48: one customer of a provider may have all of it. */
  network?: string;
}

/** @param address without a port */
export function sourceOf(address: string): Source {
  const plain = address.trim().toLowerCase().replace(/%.*$/, '');
  if (!isIPv6(plain)) return { name: plain };
  const groups = toGroups(plain);
  if (groups.slice(0, 5).every((group) => group === 0) && groups[5] === 0xffff) {
    const bytes = groups.slice(6).flatMap((group) => [group >> 8, group & 0xff]);
    return { name: bytes.join('.') };
  }
  const first = (count: number) =>
    groups
      .slice(0, count)
      .map((group) => group.toString(16))
      .join(':');
  return { name: `${first(4)}::/64`, network: `${first(3)}::/48` };
}

/** The eight groups of an IPv6 address. */
function toGroups(address: string): number[] {
  const hexadecimal = address.replace(/(\d+)\.(\d+)\.(\d+)\.(\d+)$/, (_, ...bytes: string[]) => {
    const [a = 0, b = 0, c = 0, d = 0] = bytes.slice(0, 4).map(Number);
    return `${((a << 8) | b).toString(16)}:${((c << 8) | d).toString(16)}`;
  });
  const [head = '', tail] = hexadecimal.split('::');
  const before = head === '' ? [] : head.split(':');
  const after = tail === undefined || tail === '' ? [] : tail.split(':');
  const zeros = Array.from({ length: 8 - before.length - after.length }, () => '0');
  return [...before, ...zeros, ...after].map((group) => Number.parseInt(group, 16));
}
