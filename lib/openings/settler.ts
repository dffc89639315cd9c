import { within } from '../deadline.ts';
import { once } from '../once.ts';
import type { TradingPlatform } from '../platform/platform.ts';
import type { Connection } from '../records/crm-records.ts';
import { describeError, type EventFields, type Telemetry } from '../telemetry.ts';
import { completeAccount } from './completion.ts';
import { type CompletionDependencies, planTimes } from './dependencies.ts';
import type { Job, Server } from './job.ts';
import { learn } from './learn.ts';
import type { DueOperation } from './ledger.ts';
import type { Fact } from './life.ts';
import { releaseOperation } from './release.ts';
import { lookAt, reportRefusal } from './server-steps.ts';
import { type HeldOperation, OPERATION_MALFORMED } from './stored-operation.ts';

/** The number of operations that are worked on at a time: of one trading server, and of those that need no server. */
const AT_ONCE = { server: 4, none: 16 };
/** The number of look-ups in a row without an answer after which a server is not asked again in the same run. */
const MAX_UNANSWERED = 2;
/** The time that must be left to acquire an operation, in milliseconds. */
const MIN_MS = 10_000;
/** Kept for the last writes of a run, in milliseconds. */
const LAST_WRITES_MS = 3_000;

/** One run over the due operations. */
interface Run {
  dependencies: CompletionDependencies;
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
  /** The number of the server's last look-ups in a row without an answer. */
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
  dependencies: CompletionDependencies,
  telemetry: Telemetry,
  endsAt: number,
): Promise<void> {
  const { ledger, now } = dependencies;
  const run: Run = { dependencies, telemetry, endsAt, servers: new Map() };
  const due = await ledger.due(within(endsAt - now()));
  const [oldest] = due;
  if (oldest === undefined) return;
  telemetry.event('OperationsDue', { oldest_due_seconds: Math.round((now() - oldest.dueAt) / 1_000) });
  const report = ({ pk: item, operationId: operation_id }: DueOperation, cause: EventFields) =>
    telemetry.event('OperationNotSettled', { step: 'settle', ...cause, item, operation_id });
  const work = async (lane: DueOperation[]) => {
    for (let next = lane.shift(); next !== undefined && now() + MIN_MS < endsAt; next = lane.shift()) {
      await settle(run, next.pk).catch((error: unknown) => report(next, describeError(error)));
    }
  };
  for (const operation of due.filter(({ isReadable }) => !isReadable))
    report(operation, { reason: OPERATION_MALFORMED });
  const readable = due.filter(({ isReadable }) => isReadable);
  const lanes = Map.groupBy(readable, ({ connectionId }) => connectionId);
  const workers = [...lanes].flatMap(([connectionId, lane]) =>
    Array.from({ length: connectionId === undefined ? AT_ONCE.none : AT_ONCE.server }, () => work(lane)),
  );
  await Promise.all(workers);
}

async function settle(run: Run, pk: string): Promise<void> {
  const { dependencies, telemetry, endsAt } = run;
  const { ledger, directory, now } = dependencies;
  const stopsAt = endsAt - LAST_WRITES_MS;
  const held = await ledger.acquire(pk, 'settler', endsAt - now(), within(stopsAt - now()));
  if (held === undefined) return;
  const { plan } = held;
  if (plan === undefined) throw new Error('An operation that is due has a plan.');
  const times = planTimes(now(), stopsAt);
  const { user_id, version, connection_id } = plan;
  const scoped = telemetry.with({ operation_id: held.operationId, user_id, version, connection_id });
  const records = once(() =>
    directory.readAccountRecords(plan, scoped, times.platformSignal).catch((error: unknown) => {
      scoped.event('OperationNotSettled', { step: 'records', ...describeError(error) });
      return undefined;
    }),
  );
  const server = () => findServer(run, held, records, times.platformSignal, scoped);
  const seen = await finishOperation({ held, times, telemetry: scoped, dependencies, server, records });
  const asked = seen === undefined ? undefined : run.servers.get(connection_id);
  if (asked !== undefined) asked.unanswered = seen === 'unanswered' ? asked.unanswered + 1 : 0;
}

/**
 * Looks for the account of an operation, completes it, and releases the operation.
 * @returns what the look has shown, if there was one
 */
async function finishOperation(job: Job): Promise<Fact['on'] | undefined> {
  let seen: Fact | undefined;
  let life = await learn(job, { on: 'resume' });
  if (life.at === 'sent') {
    seen = await lookAt(job, life.login ?? 0);
    life = await learn(job, seen);
  }
  if (life.at === 'open') life = await completeAccount(job, life);
  await releaseOperation(job, life, 'settler', seen?.on);
  return seen?.on;
}

/**
 * The server of an operation. Its connection is read once in a run.
 * @param records reads the records of the operation, once
 * @returns undefined if the server cannot be asked in this run
 */
async function findServer(
  { dependencies, servers }: Run,
  { plan }: HeldOperation,
  records: Job['records'],
  signal: AbortSignal,
  telemetry: Telemetry,
): Promise<Server | undefined> {
  const id = plan?.connection_id ?? '';
  const known = servers.get(id) ?? connectServer(dependencies, records(), signal, telemetry);
  servers.set(id, known);
  const [connection, platform] = [await known.connection, await known.platform];
  // After a failure, the next operation reads the connection again.
  if (connection === undefined) servers.delete(id);
  if (platform === undefined || known.unanswered >= MAX_UNANSWERED) return undefined;
  if (connection === undefined || connection.platform !== plan?.version) return undefined;
  return { platform, connection };
}

function connectServer(
  { platform: connectTo }: CompletionDependencies,
  records: ReturnType<Job['records']>,
  signal: AbortSignal,
  telemetry: Telemetry,
): RunServer {
  const connection = records.then((found) => found?.connection);
  const connect = async () => {
    const record = await connection;
    const platform = record && (await connectTo(record, signal));
    await platform?.ready(signal);
    return platform;
  };
  const platform = connect().catch((error: unknown) => {
    reportRefusal(error, telemetry);
    return undefined;
  });
  return { connection, platform, unanswered: 0 };
}
