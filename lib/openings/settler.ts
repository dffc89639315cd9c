import { within } from '../deadline.ts';
import { describeError, type Telemetry } from '../telemetry.ts';
import { type AccountDependencies, planTimes } from './dependencies.ts';
import { drive } from './drive.ts';
import { reportRefusal, type Server, settlerEffects } from './effects.ts';
import type { Plan } from './ledger.ts';

/** This many operations are worked on at a time. */
const AT_ONCE = 8;
/** An operation is acquired only if at least this much time is left, in milliseconds. */
const MIN_MS = 10_000;
/** Kept for the last writes of a run, in milliseconds. */
const LAST_WRITES_MS = 3_000;

/** One run over the due operations. */
interface Run {
  dependencies: AccountDependencies;
  telemetry: Telemetry;
  /** When the function ends, in epoch milliseconds. */
  endsAt: number;
  /** The servers of this run, by connection; undefined for one that cannot be asked. */
  servers: Map<string, Promise<Server | undefined>>;
}

/**
 * Drives every due operation that no worker holds, oldest first, while time is left. It looks up and completes, and
 * never sends a command that opens an account.
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
  const waiting = await ledger.due(within(endsAt - now()));
  const work = async () => {
    for (let pk = waiting.shift(); pk !== undefined && now() + MIN_MS < endsAt; pk = waiting.shift()) {
      await settle(run, pk).catch((error: unknown) => {
        telemetry.event('OperationNotSettled', { step: 'settle', ...describeError(error) });
      });
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
}

async function settle({ dependencies, telemetry, endsAt, servers }: Run, pk: string): Promise<void> {
  const { ledger, now } = dependencies;
  const stopsAt = endsAt - LAST_WRITES_MS;
  const held = await ledger.acquire(pk, 'settler', endsAt - now(), within(stopsAt - now()));
  if (held === undefined) return;
  const { plan } = held;
  if (plan === undefined) throw new Error('An operation that is due has a plan.');
  const times = planTimes(now(), stopsAt);
  const { user_id, version, connection_id } = plan;
  const scoped = telemetry.with({ operation_id: held.operationId, user_id, version, connection_id });
  const onUnreadable = (error: unknown) => {
    scoped.event('OperationNotSettled', { step: 'records', ...describeError(error) });
    return undefined;
  };
  const effects = settlerEffects({
    dependencies,
    held,
    times,
    telemetry: scoped,
    server: () => findServer(dependencies, servers, plan, times.platformSignal, scoped).catch(onUnreadable),
    async generated() {
      const role = plan.generated;
      if (role === undefined) return undefined;
      const { passwords: key } = await dependencies.keys(times.platformSignal);
      return { role, password: dependencies.passwords({ key, nonce: held.nonce, version })[role] };
    },
  });
  const { platformEndsAt, signal } = times;
  await drive({ worker: 'settler', ledger, effects, telemetry: scoped, now, platformEndsAt, signal }, held);
}

/** A connection whose server does not answer is asked once in a run. */
async function findServer(
  { directory, platform: connect }: AccountDependencies,
  servers: Run['servers'],
  { user_id, connection_id, version }: Plan,
  signal: AbortSignal,
  telemetry: Telemetry,
): Promise<Server | undefined> {
  const ids = { userId: user_id, connectionId: connection_id };
  const { client, connection } = await directory.readAccountRecords(ids, telemetry, signal);
  if (connection === undefined || connection.platform !== version) return undefined;
  let server = servers.get(connection_id);
  if (server === undefined) {
    const open = async () => {
      const platform = await connect(connection, signal);
      await platform.ready(signal);
      return { platform, connection, client };
    };
    server = open().catch((error: unknown) => {
      reportRefusal(error, telemetry);
      return undefined;
    });
    servers.set(connection_id, server);
  }
  const found = await server;
  return found && { ...found, client };
}
