import { randomUUID } from 'node:crypto';
import type { AccountOrder, PlatformFailure, TradingPlatform } from '../../lib/platform/platform.ts';
import type { TextLimits } from '../../lib/platform/text/client.ts';
import { TextProtocolPlatform } from '../../lib/platform/text/text-protocol.ts';
import type { TextProtocolConnection } from '../../lib/records/crm-records.ts';

export const MASTER = 'c2VjcmV0IG9mIHRoZSBwbHVnLWlu==';
export const GROUPS = ['standard', 'demoforex', 'demo-eur'];

const shared = {
  id: 'tp4-test',
  platform: 'tp4',
  host: '127.0.0.1',
  demo: true,
  secret: 'platform/tp4-test',
} as const;

/** Time limits for a test that waits for them to pass. */
export const HASTY = { answerTimeoutMs: 250 };

interface TextPlatformChanges extends Partial<TextLimits> {
  code_page?: string;
  master?: string;
}

/** A platform adapter for a server on this port. */
export function textPlatform(
  protocol: 'web-registration' | 'interface-gateway',
  port: number,
  { code_page = 'windows-1252', master = MASTER, ...limits }: TextPlatformChanges = {},
): TradingPlatform {
  const entries = { ...shared, port, code_page };
  const connection: TextProtocolConnection =
    protocol === 'web-registration'
      ? { ...entries, protocol, groups: { standard: 1, demoforex: 2, 'demo-eur': 3 } }
      : { ...entries, protocol };
  return new TextProtocolPlatform(
    connection,
    { master },
    { connectTimeoutMs: 3_000, answerTimeoutMs: 5_000, ...limits },
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

export const forever = new AbortController().signal;

/** What was thrown, as kind and options. */
export async function failureOf(promise: Promise<unknown>): Promise<Pick<PlatformFailure, 'kind' | 'options'>> {
  try {
    await promise;
  } catch (error) {
    const { kind, options } = error as PlatformFailure;
    if (kind === undefined) throw error;
    return { kind, options };
  }
  throw new Error('Nothing was thrown.');
}
