import { lookup } from 'node:dns/promises';
import { BlockList, isIP, isIPv6 } from 'node:net';
import type { Connection } from '../../lib/records/crm-records.ts';
import { defaultPlatformSecrets } from '../settings.ts';
import { type SettingsTarget, settingsOf } from './stack-settings.ts';
import type { Terminal } from './terminal.ts';

/** A warning about one aspect of a connection. */
interface ConnectionWarning {
  about: 'secret' | 'network';
  detail: string;
  fix: string;
}

/** The secrets that the account functions of a stack may read. */
export interface ReadableSecrets {
  stack: string;
  /** The prefix of their names. */
  prefix: string;
}

/** The secrets that the functions of the stack may read. @returns undefined without a stack */
export async function readableSecrets(
  target: SettingsTarget,
  terminal: Pick<Terminal, 'cdkJson' | 'report'>,
): Promise<ReadableSecrets | undefined> {
  const { stack } = target;
  if (stack === undefined) return undefined;
  const { platformSecrets, stage = 'prod' } = await settingsOf(target, terminal);
  return {
    stack,
    prefix: typeof platformSecrets === 'string' ? platformSecrets : defaultPlatformSecrets(String(stage)),
  };
}

/** Warnings about a valid connection that will not work, or not safely. */
export async function connectionWarnings(
  connection: Connection,
  readable: ReadableSecrets | undefined,
  resolve: (host: string) => Promise<string[]>,
): Promise<ConnectionWarning[]> {
  const warnings = [readable && secretWarning(connection, readable), await publicTextWarning(connection, resolve)];
  return warnings.filter((one) => one !== undefined);
}

function secretWarning({ id, secret }: Connection, { stack, prefix }: ReadableSecrets): ConnectionWarning | undefined {
  if (secret.startsWith(prefix)) return undefined;
  const detail = `the functions of ${stack} cannot read the secret ${secret}: its name must begin with ${prefix}`;
  const fix = `name another one in \`secret\` of ${id}, or change the setting platformSecrets`;
  return { about: 'secret', detail, fix };
}

async function publicTextWarning(
  { protocol, host }: Connection,
  resolve: (host: string) => Promise<string[]>,
): Promise<ConnectionWarning | undefined> {
  if (protocol === 'web-api') return undefined;
  const addresses = isIP(host) === 0 ? await resolve(host) : [host];
  if (!addresses.some(isPublic)) return undefined;
  const detail = `${host} has a public address, and ${protocol} has no encryption: passwords and clients' names go there in the clear`;
  return { about: 'network', detail, fix: 'put the server into a private network (setting vpc)' };
}

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
export async function resolveHost(host: string): Promise<string[]> {
  const found = await lookup(host, { all: true }).catch(() => []);
  return found.map(({ address }) => address);
}

/** Whether a host has an address that the internet does not reach. An unknown host has none. */
export async function hasPrivateAddress(
  host: string,
  resolve: (host: string) => Promise<string[]> = resolveHost,
): Promise<boolean> {
  return (await resolve(host)).some((address) => !isPublic(address));
}
