import { randomUUID } from 'node:crypto';
import { STOP_BEFORE_END_MS } from '../deadline.ts';
import type { ApiAnswer, ApiRequest } from '../http/endpoint.ts';
import { once } from '../once.ts';
import { PlatformFailure } from '../platform/platform.ts';
import { Problem, type ProblemOptions } from '../problem.ts';
import type { AccountRecord } from '../records/accounts.ts';
import { type Connection, type LoginRange, loginRanges } from '../records/crm-records.ts';
import { fingerprints, keyItem } from '../records/idempotency-keys.ts';
import type { Telemetry } from '../telemetry.ts';
import type { PlatformVersion, TradingAccountAnswer, TradingAccountRequest } from '../validators/trading-account.ts';
import { type AccountDependencies, planTimes } from './dependencies.ts';
import {
  type DerivationKey,
  deriveIdentity,
  derivePasswords,
  deriveSeed,
  type Identity,
  loginSequence,
  operationComment,
} from './derivation.ts';
import { type DriveEnd, driveOperation } from './drive.ts';
import type { CallerOrder, Job } from './job.ts';
import type { Claim, HeldOperation } from './ledger.ts';
import { LoginSearch, loginChoice } from './login-search.ts';
import { checkRecords, type FoundRecords, generatedRole } from './order.ts';

/** One request to open an account. */
interface Opening {
  dependencies: AccountDependencies;
  version: PlatformVersion;
  request: ApiRequest<TradingAccountRequest, { user_id: string }>;
  telemetry: Telemetry;
  times: ReturnType<typeof planTimes>;
}

/** The caller of a route without an authorizer. */
const ANONYMOUS = 'anonymous';

/**
 * Opens a trading account, never a second one for the same request (specification, 4.2 and 4.3). The operation of the
 * request is claimed while its records are read and its server is connected to. From then on `life.ts` decides what
 * happens, until there is an end that the caller can be answered with.
 * @throws Problem for every outcome but an opened account
 */
export async function openTradingAccount(
  dependencies: AccountDependencies,
  version: PlatformVersion,
  request: Opening['request'],
  telemetry: Telemetry,
): Promise<ApiAnswer<TradingAccountAnswer>> {
  const { ledger, now } = dependencies;
  const times = planTimes(now(), request.endsAt - STOP_BEFORE_END_MS);
  const opening = { dependencies, version, request, telemetry, times };
  const reads = startReads(opening);
  try {
    const keys = await reads.keys;
    const claim = await ledger.claim(await reads.identities, request.endsAt - now() + 1_000, times.signal);
    if (claim.kind === 'busy') {
      const login = loginOfAnother(claim);
      return { body: { login, ...givenOrDerived(opening, keys, claim.identity) }, replayed: true };
    }
    const held = await adoptTrace(opening, reads, claimedOperation(claim, telemetry));
    const passwords = givenOrDerived(opening, keys, held);
    const account = { passwords, comment: operationComment(keys, held) };
    const job = makeJob(opening, reads, held, account, await reads.identities);
    const end = await driveOperation(job);
    const operation = { operationId: held.operationId, hasKey: request.idempotencyKey !== undefined };
    const { login, replayed } = publicAnswer(end, operation, job.telemetry);
    return { body: { login, ...passwords }, replayed };
  } finally {
    reads.leave();
  }
}

/** The reads on which the search for logins and the account's record depend. */
interface SharedReads {
  keys: Promise<readonly DerivationKey[]>;
  identities: Promise<readonly Identity[]>;
  connection: Promise<Connection | undefined>;
  /** Reads the record of the account, once. */
  record(): Promise<AccountRecord | undefined>;
}

/**
 * Starts all reads that run while the operation is claimed. Each read is awaited where it is needed; a read that no
 * step needs may fail.
 */
function startReads(opening: Opening) {
  const { dependencies, version, request, telemetry, times } = opening;
  const ids = { ...request.body, ...request.parameters };
  const records = dependencies.directory.readAccountRecords(ids, telemetry, times.signal);
  const keys = dependencies.keys(times.signal);
  const identities = keys.then((current) => identifyRequest(opening, current));
  const connection = records.then((found) => (found.connection?.platform === version ? found.connection : undefined));
  const server = connectServer(opening, records);
  const ready = server.then(({ platform }) => platform.ready(times.platformSignal));
  const record = once(() => identities.then((made) => readRecord(opening, made)));
  const shared = { keys, identities, connection, record };
  const logins = searchLogins(opening, shared);
  const recorded = findRecord(opening, shared, logins);
  let isConnecting = true;
  const onEnd = () => {
    isConnecting = false;
  };
  ready.then(onEnd, onEnd);
  // A read that fails before it is awaited must not count as an unhandled rejection.
  for (const part of [records, identities, connection, server, logins, recorded]) part.catch(() => {});
  return {
    /** The CRM records that the request names. */
    records,
    /** The keys of the secret of derived passwords. */
    keys,
    /** The operations that the request may have made: one for each key of the secret. */
    identities,
    /** The server of the connection; rejects if the connection is missing, or cannot be asked. */
    server,
    /** Resolves after login on the server. */
    ready,
    /** The first free logins of the operation, and a login that it has reserved. */
    logins,
    /** The account of an operation whose ledger was lost. */
    recorded,
    /**
     * Closes a session that is still being opened, because no step needs it. An abort after each answer would cost a
     * tenth of a call.
     */
    leave() {
      if (isConnecting) times.leavePlatform();
    },
  };
}

/**
 * The operations that the request may have made. A request without an `Idempotency-Key` makes a new one each time.
 * @param keys of the secret; the request may have been sent first under an older key
 */
function identifyRequest(
  { version, request }: Opening,
  [current, ...older]: readonly [DerivationKey, ...DerivationKey[]],
): readonly [Identity, ...Identity[]] {
  const { sentBody, parameters, idempotencyKey, caller = ANONYMOUS } = request;
  const identify = (pk: string, key: DerivationKey) => {
    const [fingerprint = ''] = fingerprints(sentBody, [key.fingerprints]);
    return deriveIdentity(key, pk, fingerprint);
  };
  if (idempotencyKey === undefined) return [identify(`operation#${randomUUID()}`, current)];
  const pk = keyItem([version, caller, parameters.user_id, idempotencyKey]);
  return [identify(pk, current), ...older.map((key) => identify(pk, key))];
}

async function connectServer({ dependencies, version, times }: Opening, records: Promise<FoundRecords>) {
  const { client, connection, accountType } = await records;
  if (connection?.platform !== version) throw new Problem(`${version}_connection_not_found`);
  const platform = await dependencies.platform(connection, times.platformSignal);
  return { platform, connection, client, accountType };
}

/** Reads the first logins in the ranges that the connection had last, and reads again if the ranges have changed. */
async function searchLogins(opening: Opening, reads: SharedReads): Promise<LoginSearch> {
  const { ranges: last } = opening.dependencies;
  const name = connectionName(opening);
  const known = last.get(name);
  const early = known && searchRanges(opening, reads, known.ranges, known.firstLogins);
  // The early search is awaited if the ranges are still the same.
  early?.catch(() => {});
  const connection = await reads.connection;
  const ranges = connection === undefined ? [] : loginRanges(connection);
  const isKnown = JSON.stringify(known?.ranges) === JSON.stringify(ranges);
  const found = await (early !== undefined && isKnown ? early : searchRanges(opening, reads, ranges));
  if (connection !== undefined) last.set(name, { ranges, firstLogins: found.nextFirstLogins });
  return found;
}

/** The name of a connection among those of both platform versions. */
function connectionName({ version, request }: Opening): string {
  return `${version}#${request.body.connection_id}`;
}

async function searchRanges(
  { dependencies, version, request, times }: Opening,
  { keys, identities, record }: SharedReads,
  ranges: readonly LoginRange[],
  firstLogins?: number,
): Promise<LoginSearch> {
  const { ledger, now } = dependencies;
  const { login } = request.body;
  const current = await keys;
  const sequences = (await identities).map((identity) => ({
    identity,
    logins: login === undefined ? loginSequence(deriveSeed(current, identity) ?? '', ranges) : [login].values(),
  }));
  const reads = {
    holders: (logins: readonly number[]) => ledger.holders(version, logins, times.signal),
    reserved: (operationId: string) => ledger.reserved(version, operationId, times.signal),
    recorded: record,
  };
  const mayRead = () => now() < times.openingEndsAt;
  return new LoginSearch(ranges.length === 0 ? [] : sequences, reads, mayRead, firstLogins).start();
}

/**
 * Finds the account of an operation whose ledger was lost, by its record. Three cases need that. The protocol reserves
 * no login before it opens an account. The secret was rotated: under the new key the operation would name other logins.
 * The search has passed over a login that another operation holds.
 */
async function findRecord(
  opening: Opening,
  { identities, connection, record }: SharedReads,
  logins: Promise<LoginSearch>,
): Promise<AccountRecord | undefined> {
  // A connection without ranges has a server that chooses the logins. The last request has seen whether it has ranges.
  const isUnkeyed = opening.dependencies.ranges.get(connectionName(opening))?.ranges.length === 0;
  if (isUnkeyed || (await identities).length > 1) {
    // The identity is chosen with the reservations. Without them the account would be answered under a wrong one.
    const [found] = await Promise.all([record(), logins]);
    return found;
  }
  const connected = await connection;
  const isKeyed = connected === undefined || 'logins' in connected;
  return isKeyed ? (await logins).record : record();
}

/**
 * The record of the account that an earlier request has opened. A request without an `Idempotency-Key` is never
 * repeated.
 */
async function readRecord(
  { dependencies, version, request, times }: Opening,
  identities: readonly Identity[],
): Promise<AccountRecord | undefined> {
  if (request.idempotencyKey === undefined) return undefined;
  const place = { user_id: request.parameters.user_id, version, connection_id: request.body.connection_id };
  const ids = identities.map(({ operationId }) => operationId);
  return dependencies.accounts.find(place, ids, times.signal);
}

/** @throws Problem for a claim that gives no operation to drive */
function claimedOperation(claim: Exclude<Claim, { kind: 'busy' }>, telemetry: Telemetry): HeldOperation {
  switch (claim.kind) {
    case 'held':
      return claim.held;
    case 'ended':
      throw progressProblem(1);
    case 'reused':
      throw new Problem('idempotency_key_reused', { detail: SAME_BODY });
    case 'underivable':
      telemetry.event('OperationUnderivable', { operation_id: claim.operationId });
      throw new Problem('internal_error', { cause: new Error('The secret that made the operation is gone.') });
  }
}

/**
 * The login of an account that another worker completes; it is known as soon as the account is open. @throws Problem
 * before that
 */
function loginOfAnother({ life, retryAfterSeconds }: Claim & { kind: 'busy' }): number {
  if (life.at !== 'open' && life.at !== 'done') throw progressProblem(retryAfterSeconds);
  return life.login;
}

/**
 * An operation whose ledger was lost resumes with the login that it has reserved, or that a record has, under the key of
 * the secret that made it.
 */
async function adoptTrace(
  { dependencies, times }: Opening,
  { identities, logins, recorded }: ReturnType<typeof startReads>,
  held: HeldOperation,
): Promise<HeldOperation> {
  if (held.life.at !== 'claimed') return held;
  // Without the reservations nothing is sent: the step `prepare` awaits them too, and reports why they cannot be read.
  const [search, record] = await Promise.all([logins, recorded]).catch(() => []);
  const recordedBy = (await identities).find(({ operationId }) => operationId === record?.operation_id);
  const found = record && recordedBy ? { identity: recordedBy, login: record.login } : search?.found;
  if (found === undefined) return held;
  const { identity, login } = found;
  const isAdopted = identity.operationId === held.operationId;
  const adopted = isAdopted ? held : await dependencies.ledger.adopt(held, identity, times.signal);
  adopted.found = login;
  return adopted;
}

/** Given passwords, and derived ones if the caller gave none. */
function givenOrDerived(
  { version, request: { body } }: Opening,
  keys: readonly DerivationKey[],
  identity: Identity,
): CallerOrder['passwords'] {
  const derived = derivePasswords(deriveSeed(keys, identity) ?? '', version);
  return {
    master_password: body.master_password ?? derived.master,
    investor_password: body.investor_password ?? derived.investor,
  };
}

function makeJob(
  opening: Opening,
  reads: ReturnType<typeof startReads>,
  held: HeldOperation,
  account: Pick<CallerOrder, 'passwords' | 'comment'>,
  identities: readonly Identity[],
): Job {
  const { dependencies, version, request, times } = opening;
  const { body, parameters, caller = ANONYMOUS } = request;
  const { user_id } = parameters;
  const { operationId } = held;
  const operation = { operation_id: operationId, version, user_id, connection_id: body.connection_id };
  const telemetry = opening.telemetry.with(operation);
  const role = generatedRole(body);
  return {
    worker: 'request',
    held,
    times,
    telemetry,
    dependencies,
    server: () => reads.server.catch(() => undefined),
    generated: async () => role && { role, password: account.passwords[`${role}_password`] },
    keys: () => reads.keys,
    order: {
      ...{ body, userId: user_id, version, caller, ...account },
      server: () => orderedServer(opening, reads, held.found !== undefined),
      ready: reads.ready,
      ids: identities.map((identity) => identity.operationId),
      recorded: reads.recorded,
      logins: loginChoice(reads.logins, { operationId, givenLogin: body.login, telemetry }),
    },
  };
}

/**
 * @param wasSent the order was sent before the ledger was lost
 * @throws Problem for the first record that is missing, PlatformFailure if the server cannot be asked
 */
async function orderedServer(
  { dependencies: { events, expectsClients }, version, request, times }: Opening,
  { records, server }: ReturnType<typeof startReads>,
  wasSent: boolean,
): ReturnType<CallerOrder['server']> {
  events.prepare();
  const found = await records;
  const { client } = found;
  if (client === undefined) {
    // Only here the service asks the queue: a caller that comes before its client must not give up. If the queue does
    // not answer, the caller gets the answer that is certain.
    const isExpected = await expectsClients(times.signal).catch(() => false);
    throw new Problem('user_not_found', { retryAfterSeconds: isExpected ? CLIENT_SECONDS : undefined });
  }
  checkRecords(version, request.body, found, wasSent);
  return { ...(await server), client };
}

/** Seconds until a client that the CRM is making is probably written. */
const CLIENT_SECONDS = 5;

/** A caller without a key must not repeat the request: the repeat would be another request. */
const NO_REPEAT =
  'Do not repeat this request: without an Idempotency-Key that may open a second account. Have the operation looked into.';
const SAME_KEY = 'Repeat the request with the same Idempotency-Key. With another key it may open a second account.';
const OPERATOR =
  'An operator must decide. Do not send the request with another Idempotency-Key: it may open a second account.';
const SAME_BODY =
  'Repeat the first request with its own body: it may have opened an account. Use another Idempotency-Key only for another account.';

/**
 * The public answer to the end of a drive.
 *
 * | end | answer |
 * |---|---|
 * | opened | 200 |
 * | failed | the failure: 400, 409 `login_taken`, 500, 502, 503 |
 * | failed with 503 or in doubt, without a key and without a look-up that found nothing | 504 |
 * | unknown | 504, with `Retry-After` for a caller with a key |
 * | undecided, protocol names logins | 504 |
 * | undecided, protocol does not | 504 from the drive that reached it, 409 from later ones |
 * | overtaken | 409 `request_in_progress` |
 *
 * @throws Problem for every end but `opened`
 */
export function publicAnswer(
  end: DriveEnd,
  { operationId, hasKey }: { operationId: string; hasKey: boolean },
  telemetry: Telemetry,
): { login: number; replayed: boolean } {
  switch (end.kind) {
    case 'opened':
      return end;
    case 'failed': {
      const { failure, absent, doubtful = false } = end;
      if (!(failure instanceof PlatformFailure)) throw failure;
      const problem = platformProblem(failure, telemetry);
      if (hasKey || absent || (problem.status !== 503 && !doubtful)) throw problem;
      throw unknownProblem({ operation_id: operationId }, { detail: NO_REPEAT });
    }
    case 'overtaken':
      throw progressProblem(1);
    case 'unknown':
    case 'undecided': {
      const isUndecided = end.kind === 'undecided';
      throw unknownProblem(
        { operation_id: operationId },
        {
          detail: hasKey ? (isUndecided ? OPERATOR : SAME_KEY) : NO_REPEAT,
          ...(isUndecided && !end.keyed && !end.first ? { status: 409 } : {}),
          // Many clients repeat a request automatically if the answer has `Retry-After`.
          retryAfterSeconds: isUndecided || !hasKey ? undefined : 1,
        },
      );
    }
  }
}

function unknownProblem(members: { operation_id: string }, options: ProblemOptions): Problem {
  return new Problem('account_outcome_unknown', { members, ...options });
}

/** The problem that another worker holds the operation. */
function progressProblem(retryAfterSeconds: number): Problem {
  return new Problem('request_in_progress', { retryAfterSeconds, detail: SAME_KEY });
}

/** A failure of the platform that certainly opened nothing. */
function platformProblem({ kind, options }: PlatformFailure, telemetry: Telemetry): Problem {
  const { reason, errors, retryAfterSeconds } = options;
  if (kind === 'platform_refused') telemetry.event('PlatformRefused', { reason });
  if (kind !== 'platform_unavailable') return new Problem(kind, { errors, retryAfterSeconds });
  telemetry.event('PlatformUnavailable', { reason });
  return new Problem(kind, { errors, retryAfterSeconds: retryAfterSeconds ?? 5 });
}
