import { randomUUID } from 'node:crypto';
import { STOP_BEFORE_END_MS } from '../deadline.ts';
import type { ApiAnswer, ApiRequest } from '../http/endpoint.ts';
import { PlatformFailure } from '../platform/platform.ts';
import { Problem, type ProblemOptions } from '../problem.ts';
import type { AccountRecord } from '../records/accounts.ts';
import { type Connection, type LoginRange, loginRanges } from '../records/crm-records.ts';
import { fingerprints, keyItem } from '../records/idempotency-keys.ts';
import type { Telemetry } from '../telemetry.ts';
import type { PlatformVersion, TradingAccountAnswer, TradingAccountRequest } from '../validators/trading-account.ts';
import { type AccountDependencies, type OpeningTimes, planTimes } from './dependencies.ts';
import {
  type DerivationKey,
  deriveIdentities,
  derivePasswords,
  findSeed,
  type Identity,
  loginSequence,
} from './derivation.ts';
import { type DriveEnd, driveOperation } from './drive.ts';
import type { CallerOrder, Job, Server } from './effects.ts';
import type { Claim, HeldOperation, Identities } from './ledger.ts';
import { LoginSearch, loginChoice, type Reservations } from './login-search.ts';
import { type FoundRecords, findRecords, generatedRole, type NamedRecords } from './order.ts';

type OpeningRequest = ApiRequest<TradingAccountRequest, { user_id: string }>;
type Keys = Awaited<ReturnType<AccountDependencies['keys']>>;

/** The caller of a route without an authorizer. */
const ANONYMOUS = 'anonymous';

/**
 * Opens a trading account, never a second one for the same request (specification, 4.2 and 4.3). What happens after the
 * operation is claimed is decided in `life.ts`.
 * @throws Problem for every outcome but an opened account
 */
export async function openTradingAccount(
  dependencies: AccountDependencies,
  version: PlatformVersion,
  request: OpeningRequest,
  telemetry: Telemetry,
): Promise<ApiAnswer<TradingAccountAnswer>> {
  const opening = new Opening(dependencies, version, request, telemetry);
  try {
    return await opening.run();
  } finally {
    opening.leave();
  }
}

/** One request to open an account. */
class Opening {
  readonly #dependencies: AccountDependencies;
  readonly #version: PlatformVersion;
  readonly #request: OpeningRequest;
  readonly #telemetry: Telemetry;
  readonly #times: OpeningTimes;
  /** The records that the request names; read from the start. */
  readonly #records: Promise<FoundRecords>;
  /** Undefined if the request names none of its version. */
  readonly #server: Promise<Server | undefined>;
  /** Resolves after login on the platform. */
  readonly #ready: Promise<void>;
  #isConnecting = true;

  constructor(
    dependencies: AccountDependencies,
    version: PlatformVersion,
    request: OpeningRequest,
    telemetry: Telemetry,
  ) {
    this.#dependencies = dependencies;
    this.#version = version;
    this.#request = request;
    this.#telemetry = telemetry;
    this.#times = planTimes(dependencies.now(), request.endsAt - STOP_BEFORE_END_MS);
    const ids = { ...request.body, ...request.parameters };
    this.#records = dependencies.directory.readAccountRecords(ids, telemetry, this.#times.signal);
    this.#server = this.#connect();
    this.#ready = this.#server.then((server) => server?.platform.ready(this.#times.platformSignal));
    const onEnd = () => {
      this.#isConnecting = false;
    };
    this.#ready.then(onEnd, onEnd);
    leaveUnawaited(this.#records, this.#server);
  }

  /** The records are read and the server is connected to, while the operation is claimed and its logins are read. */
  async run(): Promise<ApiAnswer<TradingAccountAnswer>> {
    const { ledger, now } = this.#dependencies;
    const { idempotencyKey, endsAt } = this.#request;
    const keys = await this.#dependencies.keys(this.#times.signal);
    const identities = this.#identities(keys);
    const logins = this.#searchLogins(keys, identities);
    const recorded = this.#findRecord(identities);
    leaveUnawaited(logins, recorded);
    const claim = await ledger.claim(identities, endsAt - now() + 1_000, this.#times.signal);
    if (claim.kind === 'busy') return this.#answerOfAnother(claim, keys);
    const held = await this.#adopt(this.#claimed(claim), identities, logins, recorded);
    const passwords = this.#passwords(keys, held);
    const ids = identities.map(({ operationId }) => operationId);
    const job = this.#job(held, passwords, ids, logins, recorded);
    const end = await driveOperation(job);
    const operation = { operationId: held.operationId, hasKey: idempotencyKey !== undefined };
    const { login, replayed } = publicAnswer(end, operation, job.telemetry);
    return { body: { login, ...passwords }, replayed };
  }

  /** A session that is still being opened was not needed. An abort after each answer would cost a tenth of a call. */
  leave(): void {
    if (this.#isConnecting) this.#times.leavePlatform();
  }

  async #connection(): Promise<Connection | undefined> {
    const { connection } = await this.#records;
    return connection?.platform === this.#version ? connection : undefined;
  }

  async #connect(): Promise<Server | undefined> {
    const connection = await this.#connection();
    if (connection === undefined) return undefined;
    const { client, accountType } = await this.#records;
    const platform = await this.#dependencies.platform(connection, this.#times.platformSignal);
    return { platform, connection, client, accountType };
  }

  /**
   * The identities of the request, one for each key of the secret. A request without an `Idempotency-Key` has a new
   * one each time.
   */
  #identities([current, ...older]: Keys): Identities {
    const { sentBody, parameters, idempotencyKey, caller = ANONYMOUS } = this.#request;
    const identify = (pk: string, key: DerivationKey) => {
      const [fingerprint = ''] = fingerprints(sentBody, [key.fingerprints]);
      return deriveIdentities(key, pk, fingerprint);
    };
    if (idempotencyKey === undefined) return [identify(`operation#${randomUUID()}`, current)[0]];
    const pk = keyItem([this.#version, caller, parameters.user_id, idempotencyKey]);
    return [...identify(pk, current), ...older.flatMap((key) => identify(pk, key))];
  }

  /** Reads the first logins: in the ranges that the connection had last, and again if they have changed. */
  async #searchLogins(keys: Keys, identities: Identities): Promise<LoginSearch> {
    const { ranges: last } = this.#dependencies;
    const name = `${this.#version}#${this.#request.body.connection_id}`;
    const known = last.get(name);
    const early = known && this.#searchRanges(keys, identities, known.ranges, known.firstLogins);
    if (early !== undefined) leaveUnawaited(early);
    const connection = await this.#connection();
    const ranges = connection === undefined ? [] : loginRanges(connection);
    const isKnown = JSON.stringify(known?.ranges) === JSON.stringify(ranges);
    const search = await (early !== undefined && isKnown ? early : this.#searchRanges(keys, identities, ranges));
    if (connection !== undefined) last.set(name, { ranges, firstLogins: search.nextFirstLogins });
    return search;
  }

  #searchRanges(
    keys: Keys,
    identities: Identities,
    ranges: readonly LoginRange[],
    firstLogins?: number,
  ): Promise<LoginSearch> {
    const { ledger, now } = this.#dependencies;
    const { signal, openingEndsAt } = this.#times;
    const { login } = this.#request.body;
    const seedOf = ([identity]: readonly Identity[]) => (identity && findSeed(keys, identity)) ?? '';
    const candidates = [...Map.groupBy(identities, ({ secret }) => secret).values()].map((ofKey) => ({
      identities: ofKey,
      logins: login === undefined ? loginSequence(seedOf(ofKey), ranges) : [login].values(),
    }));
    const reservations: Reservations = {
      holders: (logins) => ledger.holders(this.#version, logins, signal),
      reserved: (operationId) => ledger.reserved(this.#version, operationId, signal),
    };
    const mayRead = () => now() < openingEndsAt;
    return new LoginSearch(ranges.length === 0 ? [] : candidates, reservations, mayRead, firstLogins).start();
  }

  /**
   * Finds the account of an operation whose ledger was lost. It is needed where the protocol reserves no login before it
   * opens one, and where the secret was rotated: under the new key the operation would name other logins.
   */
  async #findRecord(identities: Identities): Promise<AccountRecord | undefined> {
    const { connection_id } = this.#request.body;
    const isRotated = identities.some(({ secret }) => secret !== identities[0].secret);
    const known = this.#dependencies.ranges.get(`${this.#version}#${connection_id}`);
    // A connection without ranges has a plug-in that chooses the logins. It is known from the last request.
    const isNeeded =
      isRotated || known?.ranges.length === 0 || !('logins' in ((await this.#connection()) ?? { logins: [] }));
    if (!isNeeded) return undefined;
    const { user_id } = this.#request.parameters;
    const place = { user_id, version: this.#version, connection_id };
    const ids = identities.map(({ operationId }) => operationId);
    return this.#dependencies.accounts.find(place, ids, this.#times.signal);
  }

  /** @throws Problem for a claim that gives no operation to drive */
  #claimed(claim: Exclude<Claim, { kind: 'busy' }>): HeldOperation {
    switch (claim.kind) {
      case 'held':
        return claim.held;
      case 'ended':
        throw progressProblem(1);
      case 'reused':
        throw new Problem('idempotency_key_reused', { detail: SAME_BODY });
      case 'underivable':
        this.#telemetry.event('OperationUnderivable', { operation_id: claim.operationId });
        throw new Problem('internal_error', { cause: new Error('The secret that made the operation is gone.') });
    }
  }

  /** Another worker completes the account: its login is known as soon as it is open. */
  #answerOfAnother({ life, identity, retryAfterSeconds }: Claim & { kind: 'busy' }, keys: Keys) {
    if (life.at !== 'open' && life.at !== 'done') throw progressProblem(retryAfterSeconds);
    return { body: { login: life.login, ...this.#passwords(keys, identity) }, replayed: true };
  }

  /**
   * An operation whose ledger was lost resumes with the login that it has reserved, or that a record has, under the key
   * that made it.
   */
  async #adopt(
    held: HeldOperation,
    identities: Identities,
    logins: Promise<LoginSearch>,
    recorded: Promise<AccountRecord | undefined>,
  ): Promise<HeldOperation> {
    if (held.life.at !== 'claimed') return held;
    // Without the reservations nothing is sent: `prepare` reports why they could not be read.
    const [search, record] = await Promise.all([logins, recorded]).catch(() => []);
    const recordedBy = identities.find(({ operationId }) => operationId === record?.operation_id);
    const found = search?.found ?? (record && recordedBy && { identity: recordedBy, login: record.login });
    if (found === undefined) return held;
    const { identity, login } = found;
    const isAdopted = identity.operationId === held.operationId;
    const adopted = isAdopted ? held : await this.#dependencies.ledger.adopt(held, identity, this.#times.signal);
    adopted.found = login;
    return adopted;
  }

  /** Given passwords, and derived ones if the caller gave none. */
  #passwords(keys: Keys, identity: Identity): CallerOrder['passwords'] {
    const { body } = this.#request;
    const derived = derivePasswords(findSeed(keys, identity) ?? '', this.#version);
    return {
      master_password: body.master_password ?? derived.master,
      investor_password: body.investor_password ?? derived.investor,
    };
  }

  #job(
    held: HeldOperation,
    passwords: CallerOrder['passwords'],
    ids: readonly string[],
    logins: Promise<LoginSearch>,
    recorded: Promise<AccountRecord | undefined>,
  ): Job {
    const { body, parameters, caller = ANONYMOUS } = this.#request;
    const { user_id } = parameters;
    const { operationId } = held;
    const operation = { operation_id: operationId, version: this.#version, user_id, connection_id: body.connection_id };
    const telemetry = this.#telemetry.with(operation);
    const role = generatedRole(body);
    return {
      worker: 'request',
      held,
      times: this.#times,
      telemetry,
      dependencies: this.#dependencies,
      server: () => this.#server.catch(() => undefined),
      generated: async () => role && { role, password: passwords[`${role}_password`] },
      keys: () => this.#dependencies.keys(this.#times.signal),
      order: {
        ...{ body, userId: user_id, version: this.#version, caller, passwords },
        found: () => this.#found(),
        ready: this.#ready,
        ids,
        recorded,
        logins: loginChoice(logins, { operationId, own: body.login, telemetry }),
      },
    };
  }

  /** @throws Problem for the first record that is missing */
  async #found(): Promise<NamedRecords> {
    const { events, expectsClients } = this.#dependencies;
    events.prepare();
    const records = await this.#records;
    if (records.client === undefined) {
      // Only here the queue is asked: a caller that comes before its client must not give up. Without its answer the
      // caller hears what is certain.
      const isExpected = await expectsClients(this.#times.signal).catch(() => false);
      throw new Problem('user_not_found', isExpected ? { retryAfterSeconds: CLIENT_SECONDS } : {});
    }
    const found = findRecords(this.#version, this.#request.body, records);
    await this.#server;
    return found;
  }
}

/** Promises that are awaited later, or never: a failure before is no unhandled one. */
function leaveUnawaited(...promises: readonly Promise<unknown>[]): void {
  for (const one of promises) one.catch(() => {});
}

/** Seconds until a client that the CRM is making is probably written. */
const CLIENT_SECONDS = 5;

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
  end: DriveEnd,
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
