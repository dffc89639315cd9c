import { within } from '../deadline.ts';
import { once } from '../once.ts';
import type { TradingPlatform } from '../platform/platform.ts';
import type { Connection } from '../records/crm-records.ts';
import { describeError, type Telemetry } from '../telemetry.ts';
import { type AccountDependencies, planTimes } from './dependencies.ts';
import { derivePasswords, deriveSeed } from './derivation.ts';
import { driveOperation } from './drive.ts';
import { reportRefusal } from './effects.ts';
import type { Server } from './job.ts';
import { type DueOperation, type HeldOperation, isReadable, OPERATION_MALFORMED } from './ledger.ts';
import type { FoundRecords } from './order.ts';

/** The number of operations that are worked on at a time: of one trading server, and of those that need no server. */
const AT_ONCE = { server: 4, none: 16 };
/** The number of calls in a row without an answer after which a server is not asked again in the same run. */
const MAX_UNANSWERED = 2;
/** The time that must be left to acquire an operation, in milliseconds. */
const MIN_MS = 10_000;
/** Kept for the last writes of a run, in milliseconds. */
const LAST_WRITES_MS = 3_000;

/** One run over the due operations. */
interface Run {
  dependencies: AccountDependencies;
  telemetry: Telemetry;
  /** When the function ends, in epoch milliseconds. */
  endsAt: number;
  /** The servers of this run, by connection. */
  servers: Map<string, RunServer>;
}

/** A trading server in one run. */
interface RunServer {
  /** The connection as the CRM had it when the run first needed it. */
  connection: Promise<Connection | undefined>;
  /** The platform of the connection; undefined if it cannot be asked. */
  platform: Promise<TradingPlatform | undefined>;
  /** The number of the server's last calls in a row without an answer. */
  unanswered: number;
}

/**
 * Drives every due operation that no worker holds, while time is left. It looks up and completes, and never sends a
 * command that opens an account. Each connection has a lane of its own, oldest operation first, so that a server that
 * hangs delays no other, and no record or event.
 * @param endsAt when the function ends, in epoch milliseconds
 * @throws AwsFailure if the due operations cannot be read
 */
export async function settleOperations(
  dependencies: AccountDependencies,
  telemetry: Telemetry,
  endsAt: number,
): Promise<void> {
  const { ledger, now } = dependencies;
  const run: Run = { dependencies, telemetry, endsAt, servers: new Map() };
  const due = await ledger.due(within(endsAt - now()));
  const [oldest] = due;
  if (oldest === undefined) return;
  telemetry.event('OperationsDue', { oldest_due_seconds: Math.round((now() - oldest.dueAt) / 1_000) });
  const work = async (lane: DueOperation[]) => {
    for (let next = lane.shift(); next !== undefined && now() + MIN_MS < endsAt; next = lane.shift()) {
      await settle(run, next.pk).catch((error: unknown) => {
        telemetry.event('OperationNotSettled', { step: 'settle', ...describeError(error), ...namedOperation(next) });
      });
    }
  };
  const { readable = [], unreadable = [] } = Object.groupBy(due, ({ item }) =>
    item === undefined || isReadable(item) ? 'readable' : 'unreadable',
  );
  for (const one of unreadable)
    telemetry.event('OperationNotSettled', { step: 'settle', ...namedOperation(one), reason: OPERATION_MALFORMED });
  const lanes = Map.groupBy(readable, ({ connectionId }) => connectionId);
  const workers = [...lanes].flatMap(([connectionId, lane]) =>
    Array.from({ length: connectionId === undefined ? AT_ONCE.none : AT_ONCE.server }, () => work(lane)),
  );
  await Promise.all(workers);
}

function namedOperation({ pk: item, operationId }: DueOperation) {
  return operationId === undefined ? { item } : { item, operation_id: operationId };
}

async function settle(run: Run, pk: string): Promise<void> {
  const { dependencies, telemetry, endsAt } = run;
  const { ledger, directory, keys, now } = dependencies;
  const stopsAt = endsAt - LAST_WRITES_MS;
  const held = await ledger.acquire(pk, 'settler', endsAt - now(), within(stopsAt - now()));
  if (held === undefined) return;
  const { plan } = held;
  if (plan === undefined) throw new Error('An operation that is due has a plan.');
  const times = planTimes(now(), stopsAt);
  const { user_id, version, connection_id, generated: role } = plan;
  const scoped = telemetry.with({ operation_id: held.operationId, user_id, version, connection_id });
  const records = once(() => directory.readAccountRecords(plan, scoped, times.platformSignal));
  const onUnreadable = (error: unknown) => {
    scoped.event('OperationNotSettled', { step: 'records', ...describeError(error) });
    return undefined;
  };
  await driveOperation({
    worker: 'settler',
    held,
    times,
    telemetry: scoped,
    dependencies,
    server: () => findServer(run, held, records, times.platformSignal, scoped).catch(onUnreadable),
    keys: () => keys(times.platformSignal),
    async generated() {
      if (role === undefined) return undefined;
      const seed = deriveSeed(await keys(times.platformSignal), held);
      if (seed !== undefined) return { role, password: derivePasswords(seed, version)[role] };
      // The account's comment may still show the operation's id.
      scoped.event('OperationUnderivable');
      return undefined;
    },
  });
}

/**
 * The server of an operation. A look-up needs the connection alone, which is read once in a run. A payment and a
 * notice, which follow when the account is open, use the records as the CRM has them now.
 * @param records reads the records of the operation, once
 * @returns undefined if the server cannot be asked in this run
 */
async function findServer(
  { dependencies, servers }: Run,
  { plan, life }: HeldOperation,
  records: () => Promise<FoundRecords>,
  signal: AbortSignal,
  telemetry: Telemetry,
): Promise<Server | undefined> {
  const id = plan?.connection_id ?? '';
  const known = servers.get(id) ?? connectServer(dependencies, records(), signal, telemetry);
  servers.set(id, known);
  // After a failure, the next operation reads the connection again.
  known.connection.catch(() => servers.delete(id));
  const now = life.at === 'open' ? await records() : undefined;
  const connection = now === undefined ? await known.connection : now.connection;
  const platform = await known.platform;
  if (platform === undefined || known.unanswered >= MAX_UNANSWERED) return undefined;
  if (connection === undefined || connection.platform !== plan?.version) return undefined;
  const counted = countingUnanswered(platform, known);
  return { platform: counted, connection, client: now?.client, accountType: now?.accountType };
}

function connectServer(
  { platform: open }: AccountDependencies,
  records: Promise<FoundRecords>,
  signal: AbortSignal,
  telemetry: Telemetry,
): RunServer {
  const connection = records.then((found) => found.connection);
  const connect = async () => {
    const record = await connection.catch(() => undefined);
    const platform = record && (await open(record, signal));
    await platform?.ready(signal);
    return platform;
  };
  const platform = connect().catch((error: unknown) => {
    reportRefusal(error, telemetry);
    return undefined;
  });
  return { connection, platform, unanswered: 0 };
}

/** The same platform, whose unanswered calls are counted in `counted`. */
function countingUnanswered(platform: TradingPlatform, counted: RunServer): TradingPlatform {
  const count = async <T>(call: Promise<T>): Promise<T> => {
    try {
      const answer = await call;
      counted.unanswered = 0;
      return answer;
    } catch (error) {
      counted.unanswered += 1;
      throw error;
    }
  };
  return {
    keyed: platform.keyed,
    fundsWithOpening: platform.fundsWithOpening,
    ready: (signal) => platform.ready(signal),
    unsupported: (order) => platform.unsupported(order),
    open: (order, sendDeadline, signal) => platform.open(order, sendDeadline, signal),
    look: (mark, signal) => count(platform.look(mark, signal)),
    fund: (login, amount, sendDeadline, signal) => count(platform.fund(login, amount, sendDeadline, signal)),
    holdsFunds: (login, signal) => count(platform.holdsFunds(login, signal)),
    close: () => platform.close(),
  };
}
