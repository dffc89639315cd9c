import { lookup } from 'node:dns/promises';
import { BlockList, isIP, isIPv6 } from 'node:net';

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

function isPublic(address: string): boolean {
  return !NOT_PUBLIC.check(address, isIPv6(address) ? 'ipv6' : 'ipv4');
}

/** The addresses of a host, as this machine resolves it; empty if unknown. */
async function resolveHost(host: string): Promise<string[]> {
  if (isIP(host) !== 0) return [host];
  const found = await lookup(host, { all: true }).catch(() => []);
  return found.map(({ address }) => address);
}

/** Whether a host has an address that the internet does not reach. An unknown host has none. */
export async function hasPrivateAddress(host: string, resolve = resolveHost): Promise<boolean> {
  return (await resolve(host)).some((address) => !isPublic(address));
}

/** Whether a host has an address that the internet reaches. An unknown host has none. */
export async function hasPublicAddress(host: string, resolve = resolveHost): Promise<boolean> {
  return (await resolve(host)).some(isPublic);
}
