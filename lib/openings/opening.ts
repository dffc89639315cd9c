import { randomUUID } from 'node:crypto';
import { STOP_BEFORE_END_MS } from '../deadline.ts';
import type { Answer, Request } from '../http/endpoint.ts';
import { PlatformFailure } from '../platform/platform.ts';
import { Problem, type ProblemOptions } from '../problem.ts';
import type { AccountRecord } from '../records/accounts.ts';
import { type LoginRange, loginRanges } from '../records/crm-records.ts';
import { fingerprints, keyItem } from '../records/idempotency-keys.ts';
import type { Telemetry } from '../telemetry.ts';
import type { PlatformVersion, TradingAccountAnswer, TradingAccountRequest } from '../validators/trading-account.ts';
import { type AccountDependencies, planTimes, type Times } from './dependencies.ts';
import {
  type DerivationKey,
  deriveIdentity,
  derivePasswords,
  findSeed,
  type Identity,
  loginSequence,
} from './derivation.ts';
import { drive, type End } from './drive.ts';
import { findRecords, generatedRole, requestEffects, type Server, type Work } from './effects.ts';
import type { Claim, Held, Identities } from './ledger.ts';
import { LoginSearch, type Reservations } from './login-search.ts';

type OpeningRequest = Request<TradingAccountRequest, { user_id: string }>;
type Keys = Awaited<ReturnType<AccountDependencies['keys']>>;
type Passwords = Pick<TradingAccountAnswer, 'master_password' | 'investor_password'>;

/** The caller of a route without an authorizer. */
const ANONYMOUS = 'anonymous';

/**
 * Opens a trading account, never a second one for the same request (specification, 4.2 and 4.3). What happens in which
 * order is decided in `life.ts`.
 * @throws Problem for every outcome but an opened account
 */
export async function openTradingAccount(
  dependencies: AccountDependencies,
  version: PlatformVersion,
  request: OpeningRequest,
  telemetry: Telemetry,
): Promise<Answer<TradingAccountAnswer>> {
  const times = planTimes(dependencies.now(), request.endsAt - STOP_BEFORE_END_MS);
  const reads = startReads(dependencies, version, request, telemetry, times);
  let isConnecting = true;
  const onEnd = () => {
    isConnecting = false;
  };
  reads.ready.then(onEnd, onEnd);
  try {
    const keys = await dependencies.keys(times.signal);
    const identities = deriveIdentities(version, request, keys);
    const begun = { dependencies, version, request, telemetry, times, reads, keys };
    const logins = searchLogins(begun, identities);
    const recorded = findRecord(begun, identities);
    // They are awaited after the claim.
    for (const one of [logins, recorded]) one.catch(() => {});
    const leaseMs = request.endsAt - dependencies.now() + 1_000;
    const claim = await dependencies.ledger.claim(identities, leaseMs, times.signal);
    return await answer({ ...begun, identities, logins, recorded }, claim);
  } finally {
    // A session that is still being opened was not needed. An abort after each answer would cost a tenth of a call.
    if (isConnecting) times.leavePlatform();
  }
}

/** Reads the records and connects to the server, while the operation is claimed. */
function startReads(
  { directory, platform: connect }: AccountDependencies,
  version: PlatformVersion,
  { body, parameters }: OpeningRequest,
  telemetry: Telemetry,
  { signal, platformSignal }: Times,
) {
  const records = directory.readAccountRecords(
    {
      userId: parameters.user_id,
      connectionId: body.connection_id,
      accountTypeId: body.account_type_id,
      rebateUserId: body.rebate_user_id,
    },
    telemetry,
    signal,
  );
  const server = records.then(async ({ client, connection }): Promise<Server | undefined> => {
    if (connection === undefined || connection.platform !== version) return undefined;
    return { client, connection, platform: await connect(connection, platformSignal) };
  });
  const ready = server.then((found) => found?.platform.ready(platformSignal));
  // Each is awaited later.
  for (const one of [records, server, ready]) one.catch(() => {});
  return { records, server, ready };
}

interface Opening {
  dependencies: AccountDependencies;
  version: PlatformVersion;
  request: OpeningRequest;
  telemetry: Telemetry;
  times: Times;
  reads: ReturnType<typeof startReads>;
  keys: Keys;
  identities: Identities;
  logins: Promise<LoginSearch>;
  recorded: Promise<AccountRecord | undefined>;
}
/** Before the operation is claimed. */
type Begun = Omit<Opening, 'identities' | 'logins' | 'recorded'>;

/** What the request follows to under each key of the secret. A request without a key is another one each time. */
function deriveIdentities(
  version: PlatformVersion,
  { sentBody, parameters, idempotencyKey, caller = ANONYMOUS }: OpeningRequest,
  [current, ...older]: Keys,
): Identities {
  const identify = (pk: string) => (key: DerivationKey) => {
    const [fingerprint = ''] = fingerprints(sentBody, [key.fingerprints]);
    return deriveIdentity(key, pk, fingerprint);
  };
  if (idempotencyKey === undefined) return [identify(`operation#${randomUUID()}`)(current)];
  const identity = identify(keyItem([version, caller, parameters.user_id, idempotencyKey]));
  return [identity(current), ...older.map(identity)];
}

/**
 * Reads the first logins of the operation, while it is claimed and the records are read: in the ranges that the connection
 * had last, and again if they have changed.
 */
async function searchLogins(begun: Begun, identities: Identities): Promise<LoginSearch> {
  const { dependencies, version, request, reads } = begun;
  const name = `${version}#${request.body.connection_id}`;
  const known = dependencies.ranges.get(name);
  const early = known && searchRanges(begun, identities, known);
  // It is awaited below.
  early?.catch(() => {});
  const { connection } = await reads.records;
  const ranges = connection?.platform === version ? loginRanges(connection) : [];
  if (ranges.length > 0) dependencies.ranges.set(name, ranges);
  const isKnown = JSON.stringify(known) === JSON.stringify(ranges);
  return early !== undefined && isKnown ? early : searchRanges(begun, identities, ranges);
}

function searchRanges(
  { dependencies: { ledger, now }, version, request: { body }, times, keys }: Begun,
  identities: Identities,
  ranges: readonly LoginRange[],
): Promise<LoginSearch> {
  const candidates = identities.map((identity) => {
    const logins =
      body.login === undefined ? loginSequence(findSeed(keys, identity) ?? '', ranges) : [body.login].values();
    return { identity, logins };
  });
  const reservations: Reservations = {
    holders: (logins) => ledger.holders(version, logins, times.signal),
    reserved: (operationId) => ledger.reserved(version, operationId, times.signal),
  };
  return new LoginSearch(
    ranges.length === 0 ? [] : candidates,
    reservations,
    () => now() < times.openingEndsAt,
  ).start();
}

async function answer(begun: Opening, claim: Claim): Promise<Answer<TradingAccountAnswer>> {
  const { dependencies, version, request, times, reads, logins, recorded } = begun;
  const { body, parameters, idempotencyKey, caller = ANONYMOUS } = request;
  if (claim.kind === 'ended') throw progressProblem(1);
  if (claim.kind === 'reused') throw reusedProblem();
  if (claim.kind === 'underivable') {
    begun.telemetry.event('OperationUnderivable', { operation_id: claim.operationId });
    throw new Problem('internal_error', { cause: new Error('The secret that made the operation is gone.') });
  }
  if (claim.kind === 'busy') {
    const { life } = claim;
    // Another worker completes the account; its login is known.
    if (life.at !== 'open' && life.at !== 'done') throw progressProblem(claim.retryAfterSeconds);
    return { body: { login: life.login, ...accountPasswords(begun, claim.identity) }, replayed: true };
  }
  const held = claim.held.life.at === 'claimed' ? await adoptFound(begun, claim.held) : claim.held;
  const passwords = accountPasswords(begun, held);
  const telemetry = begun.telemetry.with({
    operation_id: held.operationId,
    version,
    user_id: parameters.user_id,
    connection_id: body.connection_id,
  });
  const work: Work = {
    dependencies,
    held,
    times,
    telemetry,
    server: () => reads.server.catch(() => undefined),
    async generated() {
      const role = generatedRole(body);
      return role && { role, password: passwords[`${role}_password`] };
    },
  };
  const effects = requestEffects(work, {
    body,
    userId: parameters.user_id,
    version,
    caller,
    passwords,
    found: async () => {
      dependencies.events.prepare();
      const records = await reads.records;
      if (records.client === undefined) throw await noUser(dependencies, times);
      const found = findRecords(version, body, records);
      await reads.server;
      return found;
    },
    ready: reads.ready,
    logins,
    recorded,
  });
  const { ledger, now } = dependencies;
  const { platformEndsAt, signal } = times;
  const end = await drive({ worker: 'request', ledger, effects, telemetry, now, platformEndsAt, signal }, held);
  const { operationId } = held;
  const { login, replayed } = publicAnswer(end, { operationId, hasKey: idempotencyKey !== undefined }, telemetry);
  return { body: { login, ...passwords }, replayed };
}

/** Finds the account of an operation whose ledger was lost, and whose protocol reserves no login before it opens one. */
async function findRecord({ dependencies, version, request, times, reads }: Begun, identities: Identities) {
  const { connection } = await reads.records;
  if (connection === undefined || connection.platform !== version || 'logins' in connection) return undefined;
  const place = { user_id: request.parameters.user_id, version, connection_id: connection.id };
  const ids = identities.map(({ operationId }) => operationId);
  return dependencies.accounts.find(place, ids, times.signal);
}

/**
 * An operation whose ledger was lost goes on with the login that it has reserved, or that a record has, under the key
 * that made it.
 */
async function adoptFound({ dependencies, times, identities, logins, recorded }: Opening, held: Held): Promise<Held> {
  // Without the reservations nothing is sent: the effects report why they could not be read.
  const [search, record] = await Promise.all([logins, recorded]).catch(() => []);
  const recordedBy = identities.find(({ operationId }) => operationId === record?.operation_id);
  const found = search?.found ?? (record && recordedBy && { identity: recordedBy, login: record.login });
  if (found === undefined) return held;
  const { identity, login } = found;
  const isAdopted = identity.operationId === held.operationId;
  const adopted = isAdopted ? held : await dependencies.ledger.adopt(held, identity, times.signal);
  adopted.found = login;
  return adopted;
}

/** Seconds until a client that the CRM is making is probably written. */
const CLIENT_SECONDS = 5;

/** Only here the queue of registrations is asked: a caller that comes before its client must not give up. */
async function noUser({ expectsClients }: AccountDependencies, { signal }: Times): Promise<Problem> {
  // Without its answer the caller hears what is certain.
  const isExpected = await expectsClients(signal).catch(() => false);
  return new Problem('user_not_found', isExpected ? { retryAfterSeconds: CLIENT_SECONDS } : {});
}

/** Given passwords, and derived ones if the caller gave none. */
function accountPasswords({ version, request: { body }, keys }: Opening, identity: Identity): Passwords {
  const derived = derivePasswords(findSeed(keys, identity) ?? '', version);
  return {
    master_password: body.master_password ?? derived.master,
    investor_password: body.investor_password ?? derived.investor,
  };
}

/** A caller without a key must not repeat the request: it would be another one. */
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
 * | failed with 503, without a key and without a look-up that found nothing | 504 |
 * | unknown | 504, with `Retry-After` for a caller with a key |
 * | undecided, protocol names logins | 504 |
 * | undecided, protocol does not | 504 from the drive that reached it, 409 from later ones |
 * | overtaken | 409 `request_in_progress` |
 *
 * @throws Problem for every end but `opened`
 */
export function publicAnswer(
  end: End,
  { operationId, hasKey }: { operationId: string; hasKey: boolean },
  telemetry: Telemetry,
): { login: number; replayed: boolean } {
  switch (end.kind) {
    case 'opened':
      return end;
    case 'failed': {
      const { failure, absent } = end;
      if (!(failure instanceof PlatformFailure)) throw failure;
      const problem = platformProblem(failure, telemetry);
      if (hasKey || absent || problem.status !== 503) throw problem;
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
          // Many clients repeat a request automatically if the answer has it.
          ...(isUndecided || !hasKey ? {} : { retryAfterSeconds: 1 }),
        },
      );
    }
  }
}

function unknownProblem(members: { operation_id: string }, options: ProblemOptions): Problem {
  return new Problem('account_outcome_unknown', { members, ...options });
}

/** The key was used with another body. */
function reusedProblem(): Problem {
  return new Problem('idempotency_key_reused', { detail: SAME_BODY });
}

/** Another worker holds the operation. */
function progressProblem(retryAfterSeconds: number): Problem {
  return new Problem('request_in_progress', { retryAfterSeconds, detail: SAME_KEY });
}

/** A failure of the platform that certainly opened nothing. */
function platformProblem(failure: PlatformFailure, telemetry: Telemetry): Problem {
  const { reason, errors, retryAfterSeconds } = failure.options;
  if (failure.kind === 'platform_refused') telemetry.event('PlatformRefused', { reason });
  if (failure.kind === 'platform_unavailable') telemetry.event('PlatformUnavailable', { reason });
  const seconds = retryAfterSeconds ?? (failure.kind === 'platform_unavailable' ? 5 : undefined);
  return new Problem(failure.kind, {
    ...(errors === undefined ? {} : { errors }),
    ...(seconds === undefined ? {} : { retryAfterSeconds: seconds }),
  });
}
