import { STOP_BEFORE_END_MS } from '../deadline.ts';
import type { Answer, Request } from '../http/endpoint.ts';
import { fingerprints } from '../http/idempotency.ts';
import type { TradingPlatform } from '../platform/platform.ts';
import { Problem } from '../problem.ts';
import type { AccountClaim, EarlierWork, KnownAccount } from '../records/account-operations.ts';
import type { Telemetry } from '../telemetry.ts';
import type { PlatformVersion, TradingAccountAnswer, TradingAccountRequest } from '../validators/trading-account.ts';
import { complete, depositAfter, notify } from './completion.ts';
import { openAccount, settle } from './opening.ts';
import {
  accountDetails,
  depositOf,
  type FoundRecords,
  findRecords,
  findServer,
  judgeOrder,
  type NamedRecords,
  toOrder,
} from './order.ts';
import {
  type AccountServices,
  type Opening,
  outcomeUnknown,
  type RequestWork,
  refused,
  type Times,
  timesFrom,
} from './work.ts';

type AccountRequest = Request<TradingAccountRequest, { user_id: string }>;
type Passwords = Pick<TradingAccountAnswer, 'master_password' | 'investor_password'>;

/** A request that has been claimed. */
interface ClaimedRequest {
  version: PlatformVersion;
  body: TradingAccountRequest;
  work: RequestWork;
  passwords: Passwords;
  /** Rejected when they cannot be read. */
  records: PromiseSettledResult<FoundRecords>;
  /** The server that they name; rejected where they name none, and when its secret cannot be read. */
  platform: Promise<TradingPlatform>;
  /** Its session, which is opened while the operation is claimed; absent where the platform has been asked since. */
  ready?: Promise<void>;
}

/**
 * Opens a trading account, never a second one for the same request: the operation is written before the platform is
 * called, and a lost answer is looked up before anything is sent again (specification, 4.2 and 4.3).
 * @throws Problem for every outcome but an opened account
 */
export async function openTradingAccount(
  services: AccountServices,
  version: PlatformVersion,
  request: AccountRequest,
  telemetry: Telemetry,
  callerSignal: AbortSignal,
): Promise<Answer<TradingAccountAnswer>> {
  const times = timesFrom(services.clock.now(), request.endsAt - STOP_BEFORE_END_MS, callerSignal);
  const begun = begin(services, version, request, times);
  let isOpening = true;
  const onEnd = () => {
    isOpening = false;
  };
  begun.ready.then(onEnd, onEnd);
  try {
    return await answer(services, version, request, telemetry, times, begun);
  } finally {
    // A session that was not needed ends with the answer.
    if (isOpening) times.leavePlatform();
  }
}

async function answer(
  services: AccountServices,
  version: PlatformVersion,
  request: AccountRequest,
  telemetry: Telemetry,
  times: Times,
  { platform, ready, records: reading }: Begun,
): Promise<Answer<TradingAccountAnswer>> {
  const { body, parameters, idempotencyKey } = request;
  const userId = parameters.user_id;
  const { claim, keys, records } = await claimAndRead(services, version, request, times.signal, reading);
  const { operation } = claim;
  const work: RequestWork = {
    ...times,
    services,
    operation,
    hasKey: idempotencyKey !== undefined,
    details: accountDetails(version, userId, body, operation),
    masterGiven: body.master_password !== undefined,
    notices: { send_email: body.send_email, send_pop_up: body.send_pop_up, language: body.language },
    telemetry: telemetry.with({
      operation_id: operation.operationId,
      version,
      user_id: userId,
      connection_id: body.connection_id,
    }),
  };
  const derived = services.passwords.derive({ key: keys.passwords, nonce: operation.nonce, version });
  const passwords = {
    master_password: body.master_password ?? derived.master,
    investor_password: body.investor_password ?? derived.investor,
  };
  const { login, replayed } = await goOn(claim, { version, body, work, passwords, records, platform, ready });
  return { body: { login, ...passwords }, replayed };
}

/** What opens no account is begun before the operation is claimed, and beside the secrets that a cold start has to ask for. */
function begin(
  services: AccountServices,
  version: PlatformVersion,
  { body, parameters }: AccountRequest,
  { signal, platformSignal }: Times,
) {
  const records = services.directory.forAccount(
    {
      userId: parameters.user_id,
      connectionId: body.connection_id,
      accountTypeId: body.account_type_id,
      rebateUserId: body.rebate_user_id,
    },
    signal,
  );
  const platform = records.then((found) => services.platform(findServer(version, found).connection, platformSignal));
  return { records, platform, ready: platform.then((server) => server.ready(platformSignal)) };
}

type Begun = ReturnType<typeof begin>;

/** The fingerprint of a request without a key: nobody can repeat it, with another body or with the same. */
const NOT_COMPARED = ['none'];

/** Claims the operation, while the records that the request names are read. */
async function claimAndRead(
  services: AccountServices,
  version: PlatformVersion,
  { sentBody, parameters, idempotencyKey, caller, endsAt }: AccountRequest,
  signal: AbortSignal,
  reading: Promise<FoundRecords>,
) {
  const scope =
    idempotencyKey === undefined ? undefined : [version, caller ?? 'anyone', parameters.user_id, idempotencyKey];
  const leaseMs = endsAt - services.clock.now() + 1_000;
  const asking = services.passwords.keys(signal);
  const [claim, records] = await Promise.allSettled([
    asking.then((keys) => {
      const compared = scope === undefined ? NOT_COMPARED : fingerprints(sentBody, [keys.fingerprints]);
      return services.operations.claim(scope, compared, leaseMs, signal);
    }),
    reading,
  ]);
  if (claim.status === 'rejected') throw claim.reason;
  return { claim: claim.value, keys: await asking, records };
}

interface Outcome {
  login: number;
  /** True: an earlier request had opened the account. */
  replayed: boolean;
}

async function goOn(claim: AccountClaim, request: ClaimedRequest): Promise<Outcome> {
  switch (claim.kind) {
    case 'finished':
      return { login: claim.login, replayed: true };
    case 'opened':
      await completeEarlier(claim.account, claim.earlier, request);
      return { login: claim.account.login, replayed: true };
    case 'undecided':
      return settleEarlier(claim.earlier, request);
    case 'fresh':
      return openNew(request);
  }
}

async function openNew(request: ClaimedRequest): Promise<Outcome> {
  const { work, version, body } = request;
  work.services.events.prepare();
  let opening: Opening;
  try {
    opening = await prepare(request, (records) => findRecords(version, body, records));
    judgeOrder(opening.order, opening.found.connection, opening.platform);
    await request.ready;
  } catch (error) {
    throw await refused(work, error);
  }
  const { login } = await openAccount(opening);
  await end(opening, login);
  return { login, replayed: false };
}

/** Finds out what an earlier request came to that may have opened the account, and goes on from there. */
async function settleEarlier(earlier: EarlierWork, request: ClaimedRequest): Promise<Outcome> {
  const { work } = request;
  // Our own table knows what has got that far, also of a server that cannot be asked.
  const recorded = await work.services.accounts.find(work.details, work.signal).catch(() => 'unreadable' as const);
  if (recorded !== undefined && recorded !== 'unreadable') {
    const account = { ...recorded, recorded: true, ...depositAfter(earlier) };
    await completeEarlier(account, earlier, request, (opening) => tellClient(opening, recorded.login));
    return { login: recorded.login, replayed: true };
  }
  const opening = await prepareToSettle(earlier, request);
  if (earlier.login !== undefined && opening.platform.loginIsKey) {
    const { login, found } = await openAccount(opening, earlier.login);
    await end(opening, login, earlier);
    return { login, replayed: found };
  }
  const login = await settle(opening, earlier, recorded === 'unreadable' ? 504 : 409);
  if (login === undefined) {
    const { ready: _, ...asked } = request;
    return openNew(asked);
  }
  await end(opening, login, earlier);
  return { login, replayed: true };
}

/** @throws Problem `account_outcome_unknown` when the platform cannot be asked */
async function prepareToSettle({ settleAt, deposit }: EarlierWork, request: ClaimedRequest): Promise<Opening> {
  try {
    return await prepare(request, (records) => findServer(request.version, records), deposit);
  } catch (error) {
    // A record that is gone from the CRM stays gone: only an operator can settle it then.
    throw await outcomeUnknown(request.work, { settleAt, status: error instanceof Problem ? 409 : 504 });
  }
}

/** Completes an account that an earlier request has opened, as far as that can be done now. */
async function completeEarlier(
  account: KnownAccount,
  { deposit }: EarlierWork,
  request: ClaimedRequest,
  notice: (opening: Opening) => Promise<void> = async () => {},
): Promise<void> {
  const { version, work } = request;
  const opening = await prepare(request, (records) => findServer(version, records), deposit).catch(() => undefined);
  await complete(work, account, opening && payerOf(opening), async () => {
    if (opening !== undefined) await notice(opening);
  });
}

/** Everything after the account is open; nothing of it changes the answer. */
async function end(opening: Opening, login: number, earlier?: EarlierWork): Promise<void> {
  const { telemetry, services, order } = opening;
  telemetry.event('AccountOpened', { login });
  const opened_at = new Date(services.clock.now()).toISOString();
  const deposit = depositAfter({ ...earlier, deposit: order.deposit });
  const account = { login, opened_at, recorded: false, ...deposit };
  await complete(opening, account, payerOf(opening), () => tellClient(opening, login));
}

function payerOf({ platform, order }: Opening) {
  return { platform, deposit: order.deposit };
}

function tellClient(opening: Opening, login: number): Promise<void> {
  return notify(opening, opening.found, login, opening.notices);
}

/** @throws Problem, PlatformFailure or DatabaseFailure when the platform cannot be asked */
async function prepare(
  { work, body, passwords, records, platform: going }: ClaimedRequest,
  find: (records: FoundRecords) => NamedRecords,
  earlierDeposit?: number,
): Promise<Opening> {
  if (records.status === 'rejected') throw records.reason;
  const found = find(records.value);
  const platform = await going;
  const deposit = earlierDeposit ?? depositOf(found);
  return { ...work, found, platform, order: toOrder(body, found.client, work.operation, passwords, deposit) };
}
