import { lookup } from 'node:dns/promises';
import { BlockList, isIPv6 } from 'node:net';

/** Addresses that no public network leads to. */
const NOT_PUBLIC = new BlockList();
for (const [net, prefix] of [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.168.0.0', 16],
] as const) {
  NOT_PUBLIC.addSubnet(net, prefix, 'ipv4');
}
for (const [net, prefix] of [
  ['::', 127],
  ['fc00::', 7],
  ['fe80::', 10],
] as const) {
  NOT_PUBLIC.addSubnet(net, prefix, 'ipv6');
}

export function isPublic(address: string): boolean {
  return !NOT_PUBLIC.check(address, isIPv6(address) ? 'ipv6' : 'ipv4');
}

/** The addresses of a host, as this machine resolves it; empty if unknown. */
export async function resolveHost(host: string): Promise<string[]> {
  const found = await lookup(host, { all: true }).catch(() => []);
  return found.map(({ address }) => address);
}

/** Whether a host has an address that no public network leads to. An unknown host has none. */
export async function hasPrivateAddress(
  host: string,
  resolve: (host: string) => Promise<string[]> = resolveHost,
): Promise<boolean> {
  return (await resolve(host)).some((address) => !isPublic(address));
}
