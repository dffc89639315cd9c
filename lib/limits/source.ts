import { isIPv6 } from 'node:net';

/** A source as the limits count it, and its network, if it has one. */
export interface CountedSource {
  name: string;
  network?: { name: string; member: number };
}

/**
 * The source that the limits count: an IPv4 address, also in IPv6 notation, or the /64 of an IPv6 address, the smallest
 * network of a provider's customer. A customer may have the whole /48 (`network`), with 65,536 of them.
 * @param address without a port
 */
export function countedSource(address: string): CountedSource {
  const plain = address.trim().replace(/%.*$/, '');
  if (!isIPv6(plain)) return { name: plain };
  // A URL writes all of it in hexadecimal; every group then gets its four digits.
  const digits = (half: string) => half.replace(/\w+/g, (group) => group.padStart(4, '0')).replaceAll(':', '');
  const [head = '', tail = ''] = new URL(`http://[${plain}]`).hostname.slice(1, -1).split('::').map(digits);
  const hex = head + tail.padStart(32 - head.length, '0');
  if (hex.startsWith('ffff'.padStart(24, '0'))) return { name: Buffer.from(hex.slice(24), 'hex').join('.') };
  const network = { name: `${hex.slice(0, 12)}/48`, member: Number.parseInt(hex.slice(12, 16), 16) };
  return { name: `${hex.slice(0, 16)}/64`, network };
}
