import { complete, depositAfter, notify } from './accounts/completion.ts';
import { findServer, type NamedRecords } from './accounts/order.ts';
import { type AccountServices, FINDING_MS, timesFrom, type Work } from './accounts/work.ts';
import { within } from './deadline.ts';
import { type OrderTrace, PlatformFailure, type TradingPlatform } from './platform/platform.ts';
import { Problem } from './problem.ts';
import type { KnownAccount } from './records/account-operations.ts';
import type { DueOperations, OpenOperation } from './records/due-operations.ts';
import { isReserved } from './records/logins.ts';
import { LeaseLost } from './records/operations.ts';
import { describeError, type Telemetry } from './telemetry.ts';

/** What openings are settled with; tests pass fakes. */
export interface SettlementServices extends AccountServices {
  due: DueOperations;
}

/** One run over what is due. */
interface Run {
  services: SettlementServices;
  telemetry: Telemetry;
  /** When the function is ended, in epoch milliseconds. */
  endsAt: number;
  /** Connections whose servers did not answer in this run: what needs one of them waits for the next. */
  away: Set<string>;
}

/** So many operations are worked on side by side. */
const AT_ONCE = 8;
/** What is taken up has at least so long, in milliseconds. */
const LEAST_MS = 10_000;
/** Left for the last writes of a run, in milliseconds. */
const LAST_WRITES_MS = 3_000;
const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

/**
 * Takes up the openings that nobody works on and that are not at their end, oldest first, as far as the time allows:
 * what is found on the platform is completed, what is certainly absent is released, and what cannot be told is told to
 * the operators, once. It sends no command that opens an account.
 * @param endsAt when the function is ended, in epoch milliseconds
 * @throws DatabaseFailure when it cannot be read what is due
 */
export async function settleOperations(
  services: SettlementServices,
  telemetry: Telemetry,
  endsAt: number,
): Promise<void> {
  const { now } = services.clock;
  const run: Run = { services, telemetry, endsAt, away: new Set() };
  const waiting = await services.due.due(within(endsAt - now()));
  const work = async () => {
    for (let pk = waiting.shift(); pk !== undefined && now() + LEAST_MS < endsAt; pk = waiting.shift()) {
      await takeUp(run, pk).catch((error: unknown) => {
        // Another worker has it now.
        if (error instanceof LeaseLost) return;
        telemetry.event('OperationNotSettled', { step: 'settle', ...describeError(error) });
      });
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
}

/** An operation that was taken up. */
interface Settling extends Work {
  services: SettlementServices;
  open: OpenOperation;
  away: Run['away'];
}

async function takeUp({ services, telemetry, endsAt, away }: Run, pk: string): Promise<void> {
  const now = services.clock.now();
  const stopsAt = endsAt - LAST_WRITES_MS;
  const times = timesFrom(now, stopsAt, within(stopsAt - now));
  const open = await services.due.takeUp(pk, 'settler', endsAt - now, times.signal);
  if (open === undefined) return;
  const { operation, details, account } = open;
  const { user_id, version, connection_id } = details;
  const scoped = telemetry.with({ operation_id: operation.operationId, user_id, version, connection_id });
  const settling: Settling = { ...times, services, operation, details, telemetry: scoped, open, away };
  if (account === undefined) await settle(settling);
  else await completeOpened(settling, account);
}

/** Completes an account that is known to be open. */
async function completeOpened(settling: Settling, account: KnownAccount): Promise<void> {
  const isUnpaid = account.deposit === 'due' || account.deposit === 'sent';
  const server = isUnpaid ? await findServerOf(settling) : undefined;
  if (server?.kind !== 'gone') return complete(settling, account, payerOf(settling, server));
  settling.telemetry.event('DepositFailed', { reason: 'connection_gone', login: account.login });
  return complete(settling, { ...account, deposit: 'failed' }, undefined);
}

/** Finds out whether the account was opened, and does what follows from it. */
async function settle(settling: Settling): Promise<void> {
  const { services, operation, details, open, signal } = settling;
  const server = await findServerOf(settling);
  const verdict = await findOut(settling, server);
  if (verdict.kind === 'opened') return completeFound(settling, server, verdict.account);
  if (verdict.kind === 'unknown') settling.away.add(details.connection_id);
  const now = services.clock.now();
  const age = now - open.earlier.settleAt;
  const isOver = age > DAY_MS;
  if (verdict.kind === 'none' || (verdict.kind === 'absent' && isOver)) {
    return services.operations.release(operation, signal);
  }
  if (verdict.kind === 'cannot_tell' || isOver) {
    settling.telemetry.event('AccountOutcomeUnknown');
    return services.due.leaveToOperator(operation, signal);
  }
  // Something may yet happen: it is looked for again, at first soon, then from hour to hour.
  const until = age < 0 ? open.earlier.settleAt : now + Math.min(HOUR_MS, Math.max(MINUTE_MS, age));
  await services.due.putOff(operation, until, verdict.kind === 'absent' && age >= 0, signal);
}

/** The server of an operation, with the records that it needs. */
type Server =
  | { kind: 'there'; found: NamedRecords; platform: TradingPlatform }
  /** It does not answer now. */
  | { kind: 'away' }
  /** The CRM does not know the client or the connection any more. */
  | { kind: 'gone' };

/** @throws DatabaseFailure */
async function findServerOf({ services, details, away, signal, telemetry }: Settling): Promise<Server> {
  const { user_id, connection_id, version } = details;
  if (away.has(connection_id)) return { kind: 'away' };
  const records = await services.directory.forAccount({ userId: user_id, connectionId: connection_id }, signal);
  try {
    const found = findServer(version, records);
    return { kind: 'there', found, platform: await services.platform(found.connection, signal) };
  } catch (error) {
    if (error instanceof Problem) return { kind: 'gone' };
    reportRefusal(error, telemetry);
    return { kind: 'away' };
  }
}

type Verdict =
  | { kind: 'opened'; account: KnownAccount }
  /** It is certain that no account was opened, nor will be. */
  | { kind: 'none' }
  /** There is none now: a command that is late, or a retry, may yet open it. */
  | { kind: 'absent' }
  /** Nobody could be asked. */
  | { kind: 'unknown' }
  /** It cannot be asked, now or later. */
  | { kind: 'cannot_tell' };

/** @throws DatabaseFailure */
async function findOut(settling: Settling, server: Server): Promise<Verdict> {
  const { services, operation, details, open, signal } = settling;
  const { login, settleAt } = open.earlier;
  const opened = (account: Pick<KnownAccount, 'login' | 'opened_at' | 'recorded'>): Verdict => ({
    kind: 'opened',
    account: { ...account, ...depositAfter(open.earlier) },
  });
  // Our own table knows what has got that far, also of a server that cannot be asked.
  const recorded = await services.accounts.find(details, signal);
  if (recorded !== undefined) return opened({ ...recorded, recorded: true });
  if (server.kind !== 'there') return { kind: server.kind === 'gone' ? 'cannot_tell' : 'unknown' };
  const { platform, found } = server;
  const reserved = login !== undefined && isReserved(found.connection, login);
  // Where another operation has the login, this one has never sent it.
  if (reserved && !(await services.logins.reserve(found.connection, login, operation, signal))) return { kind: 'none' };
  const finding = await look(settling, server, reserved);
  const now = services.clock.now();
  if (finding.kind === 'found') {
    return opened({ login: finding.login, opened_at: new Date(now).toISOString(), recorded: false });
  }
  if (finding.kind === 'another') return { kind: 'none' };
  const mayBeSentAgain = login !== undefined && platform.loginIsKey;
  return finding.kind === 'absent' && !mayBeSentAgain && now >= settleAt ? { kind: 'none' } : finding;
}

async function look(
  { services, open, platformSignal, telemetry }: Settling,
  { platform, found }: Server & { kind: 'there' },
  reserved: boolean,
) {
  const { operation, details, earlier, masterGiven } = open;
  const { login } = earlier;
  const trace: OrderTrace = { operationId: operation.operationId, group: details.group, name: found.client.name };
  if (login !== undefined) Object.assign(trace, { login, reserved });
  try {
    if (!masterGiven) {
      const { passwords: key } = await services.passwords.keys(platformSignal);
      const from = { key, nonce: operation.nonce, version: details.version };
      trace.masterPassword = services.passwords.derive(from).master;
    }
    return await platform.find(trace, within(FINDING_MS, platformSignal));
  } catch (error) {
    reportRefusal(error, telemetry);
    return { kind: 'unknown' as const };
  }
}

/** A server that refuses us is an operator's matter. */
function reportRefusal(error: unknown, telemetry: Telemetry): void {
  const isRefusal = error instanceof PlatformFailure && error.kind === 'platform_refused';
  if (isRefusal) telemetry.event('PlatformRefused', { reason: error.reason });
}

async function completeFound(settling: Settling, server: Server, account: KnownAccount): Promise<void> {
  const { login } = account;
  settling.telemetry.event('AccountOpened', { login });
  await complete(settling, account, payerOf(settling, server), async () => {
    if (server.kind === 'there') await notify(settling, server.found, login, settling.open.notices);
  });
}

function payerOf({ open }: Settling, server: Server | undefined) {
  return server?.kind === 'there' ? { platform: server.platform, deposit: open.earlier.deposit } : undefined;
}
