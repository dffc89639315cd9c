import { PlatformFailure } from '../platform/platform.ts';
import { loginRanges } from '../records/crm-records.ts';
import { type DerivationKey, deriveSeed, loginSequence } from './derivation.ts';
import { freeLogins } from './free-logins.ts';
import type { FoundRecords, RequestJob } from './job.ts';
import { learn, reportUnwritten } from './learn.ts';
import { Overtaken, ReservationConflict } from './ledger.ts';
import type { Fact, Life } from './life.ts';
import { buildOrder, buildPlan, checkRecords, demoDeposit, judgeOrder } from './order.ts';
import type { Ahead } from './read-ahead.ts';
import { lookAt } from './server-steps.ts';
import type { OperationPlan } from './stored-operation.ts';

/**
 * Before the first command: judges the order, logs in on the server, and reserves the next free login.
 * @returns the state `sent`; `open` if an earlier account is found; or the failure for which nothing was sent
 * @throws Overtaken
 */
export async function prepareCommand(job: RequestJob, ahead: Ahead): Promise<{ life: Life; failure?: unknown }> {
  // Connects to the event bus while the order is judged.
  job.dependencies.events.prepare();
  try {
    // Stored with the state `sent`.
    job.held.plan = await judge(job, ahead);
    const found = await findEarlierAccount(job);
    return { life: found === undefined ? await reserveLogin(job, ahead) : await learn(job, found) };
  } catch (failure) {
    if (failure instanceof Overtaken) throw failure;
    const life = await learn(job, { on: 'not_executed' }).catch((error: unknown): Life => {
      reportUnwritten(job, 'gone', error);
      return { at: 'gone' };
    });
    return { life, failure };
  }
}

/**
 * Judges the order, and waits for the login on the server.
 * @returns the plan to finish the operation
 * @throws Problem for the first record that is missing, or an order that the connection does not take; PlatformFailure
 */
async function judge({ held, request }: RequestJob, ahead: Ahead): Promise<OperationPlan> {
  const { body, version, passwords } = request;
  const records = await ahead.records;
  const client = checkRecords(version, body, records);
  const server = await ahead.server;
  const order = buildOrder(body, client, held.operationId, passwords, demoDeposit(records));
  judgeOrder(order, server.connection, server.platform);
  await ahead.ready;
  return buildPlan(request, held.operationId, server, records);
}

/**
 * Looks for an account of ours where one may be: at the logins that an operator has closed, and at the caller's own,
 * which may be outside of the ranges.
 * @throws PlatformFailure `login_taken` if the caller's own login is in use; without an answer `platform_unavailable`, or
 *   the server's refusal of our rights
 */
async function findEarlierAccount(job: RequestJob): Promise<Fact | undefined> {
  const { plan, closed = [] } = job.held;
  const own = plan?.login_given === true ? job.request.body.login : undefined;
  for (const login of new Set([...closed, own])) {
    if (login === undefined) continue;
    const seen = await lookAt(job, login);
    if (seen.on === 'ours') return seen;
    if (seen.on === 'unanswered')
      throw seen.refusal ?? new PlatformFailure('platform_unavailable', { reason: 'not_looked_up', proof: 'unsent' });
    if (login === own && (seen.on === 'foreign' || seen.on === 'unmarked')) throw loginTaken();
  }
  return undefined;
}

/** Writes `sent` with the next login that no other operation holds. @throws PlatformFailure if none is left */
async function reserveLogin(job: RequestJob, ahead: Ahead): Promise<Life> {
  const { held, request } = job;
  const { login: own } = request.body;
  if (held.plan?.keyed === false) return writeSent(job, undefined);
  for await (const login of findLogins(job, await ahead.records, await ahead.keys)) {
    // A caller's own login stays the request's, even if an operator has closed it.
    if (own === undefined && held.closed?.includes(login) === true) continue;
    try {
      return await writeSent(job, login);
    } catch (error) {
      // Another operation has reserved it.
      if (!(error instanceof ReservationConflict)) throw error;
    }
  }
  if (own !== undefined) throw loginTaken();
  throw new PlatformFailure('login_range_exhausted', { reason: 'logins_taken', proof: 'unsent' });
}

/** The logins that an operation may ask for: the caller's own, or the free ones of the ranges, in the operation's order. */
function findLogins(
  { held, request, dependencies, times }: RequestJob,
  { connection }: FoundRecords,
  keys: readonly DerivationKey[],
) {
  const { version, body } = request;
  const ranges = connection === undefined ? [] : loginRanges(connection);
  const logins = body.login === undefined ? loginSequence(deriveSeed(keys, held), ranges) : [body.login].values();
  const place = { version, connection_id: body.connection_id, keyed: true };
  return freeLogins(logins, held.operationId, {
    holders: (wanted) => dependencies.ledger.holders(place, wanted, times.signal),
    mayRead: () => dependencies.now() < times.openingEndsAt,
  });
}

async function writeSent(job: RequestJob, login: number | undefined): Promise<Life> {
  try {
    return await learn(job, { on: 'ready', login });
  } catch (error) {
    // Nothing was sent. If the answer was lost, the state may be written, and the next write takes it back.
    if (!(error instanceof ReservationConflict)) job.held.life = { at: 'sent', login, commands: 'one' };
    throw error;
  }
}

function loginTaken(): PlatformFailure {
  return new PlatformFailure('login_taken', { reason: 'login_exists', proof: 'unsent' });
}
