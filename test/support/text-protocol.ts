import { randomUUID } from 'node:crypto';
import { createServer, type Socket } from 'node:net';
import { expect, onTestFinished } from 'vitest';
import { startTextServer, type TextServerOptions } from '../../infra/local/platforms/text-server.ts';
import type { AccountOrder } from '../../lib/platform/platform.ts';
import { type TextLimits, TextProtocolPlatform } from '../../lib/platform/tp4/text-protocol.ts';
import type { TextProtocolConnection } from '../../lib/records/crm-records.ts';
import { ANY_TIME, NEVER_ABORTED } from './outcomes.ts';
import { listenForTest } from './servers.ts';

export const MASTER_PASSWORD = 'c2VjcmV0IG9mIHRoZSBwbHVnLWlu==';
export const GROUPS = ['standard', 'demoforex', 'demo-eur'];

const shared = {
  id: 'tp4-test',
  platform: 'tp4',
  host: '127.0.0.1',
  demo: true,
  secret: 'platform/tp4-test',
} as const;

export const DIALECTS = ['web-registration', 'interface-gateway'] as const;
type Dialect = (typeof DIALECTS)[number];

/** Time limits for a test that waits for them to pass. */
export const SHORT_TIMEOUTS = { answerTimeoutMs: 250 };

interface TextPlatformChanges extends Partial<TextLimits> {
  code_page?: string;
  master?: string;
  /** The groups that a gateway's connection lists, or numbers. */
  groups?: string[] | Record<string, number>;
  country_format?: 'name' | 'code';
  prefix?: 'W' | 'Z';
  lacks?: 'account_check'[];
  /** The master password that the secret has after a refusal. */
  nextMaster?: string;
}

/** A platform adapter for a server on this port. */
export function textPlatform(
  protocol: Dialect,
  port: number,
  {
    code_page = 'windows-1252',
    master = MASTER_PASSWORD,
    groups,
    country_format,
    prefix,
    lacks,
    nextMaster,
    ...limits
  }: TextPlatformChanges = {},
): TextProtocolPlatform {
  const entries = { ...shared, port, code_page, ...(country_format && { country_format }), ...(prefix && { prefix }) };
  const connection: TextProtocolConnection =
    protocol === 'web-registration'
      ? { ...entries, protocol, groups: { standard: 1, demoforex: 2, 'demo-eur': 3 } }
      : {
          ...entries,
          protocol,
          logins: { from: 500_000, to: 599_999 },
          ...(groups && { groups }),
          ...(lacks && { lacks }),
        };
  return new TextProtocolPlatform(
    connection,
    { master },
    { connectTimeoutMs: 3_000, answerTimeoutMs: 5_000, ...limits },
    nextMaster === undefined ? undefined : async () => ({ master: nextMaster }),
  );
}

export function anOrder(changes: Partial<AccountOrder> = {}): AccountOrder {
  return {
    operationId: randomUUID(),
    group: 'demoforex',
    leverage: 100,
    masterPassword: 'Master77',
    investorPassword: 'Invest88',
    name: 'Ann Lee',
    email: 'ann@example.com',
    readonly: false,
    ...changes,
  };
}

/** Opens an account on a server. The order and the platform differ from the usual ones by these members. */
export function openTextAccount(
  protocol: Dialect,
  { port }: { port: number },
  order: Partial<AccountOrder> = {},
  changes: TextPlatformChanges = {},
  signal = NEVER_ABORTED,
): Promise<{ login: number }> {
  return textPlatform(protocol, port, changes).open(anOrder(order), ANY_TIME, signal);
}

/** A simulated server that ends with the test. */
export async function aServer(options: Partial<TextServerOptions> & Pick<TextServerOptions, 'dialect'>) {
  const server = await startTextServer({
    master: MASTER_PASSWORD,
    groups: GROUPS.map((name) => ({ name })),
    ...options,
  });
  onTestFinished(() => server.close());
  return server;
}

interface ScriptedTcp {
  port: number;
  /** The received bytes of each connection, one character each. */
  received: string[];
}

/** A server that ends with the test. Its script is called once for each connection, when its first bytes have come. */
export async function scriptedTcpServer(script: (socket: Socket, text: string) => void): Promise<ScriptedTcp> {
  const received: string[] = [];
  const server = createServer({ noDelay: true }, (socket) => {
    const index = received.push('') - 1;
    socket.on('data', (bytes) => {
      const first = received[index] === '';
      received[index] += bytes.toString('latin1');
      if (first) script(socket, received[index] ?? '');
    });
  });
  return { port: await listenForTest(server), received };
}

/** A server that answers every command with this text, byte by byte, and closes (or leaves the connection open). */
export function answeringTextServer(text: string, { close = true } = {}): Promise<ScriptedTcp> {
  return scriptedTcpServer((socket) => {
    for (const byte of text) socket.write(byte, 'latin1');
    if (close) socket.end();
  });
}

/** The command lines of an order, without `QUIT`. */
export async function commandsOf(protocol: Dialect, changes: Partial<AccountOrder>): Promise<string[]> {
  const server = await answeringTextServer('OK\r\nLOGIN=7\r\nend\r\n');
  const operationId = '6f1d8a52-5c1c-4f0e-9d3e-000000000001';
  await openTextAccount(protocol, server, { operationId, ...changes });
  for (const text of server.received) expect(text).toMatch(/^[^\n]+\nQUIT\n$/);
  return server.received.map((text) => text.replace('\nQUIT\n', ''));
}
