import { STOP_BEFORE_END_MS } from '../deadline.ts';
import type { Answer, Request } from '../http/endpoint.ts';
import { fingerprints } from '../http/idempotency.ts';
import type { Telemetry } from '../telemetry.ts';
import type { PlatformVersion, TradingAccountAnswer, TradingAccountRequest } from '../validators/trading-account.ts';
import { progressProblem, publicAnswer, reusedProblem } from './answer.ts';
import { type AccountDependencies, type AccountKeys, planTimes, type Times } from './dependencies.ts';
import { drive } from './drive.ts';
import { generatedRole, requestEffects, type Server, type Work } from './effects.ts';
import type { Claim } from './ledger.ts';
import { findRecords } from './order.ts';

type OpeningRequest = Request<TradingAccountRequest, { user_id: string }>;
type Passwords = Pick<TradingAccountAnswer, 'master_password' | 'investor_password'>;

/** The fingerprint of a request without a key: it cannot be repeated. */
const NOT_COMPARED = 'none';
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
    const claim = await claimOperation(dependencies, version, request, keys, times.signal);
    return await answer({ dependencies, version, request, telemetry, times, reads, keys, claim });
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
  keys: AccountKeys;
  claim: Claim;
}

function claimOperation(
  { ledger, now }: AccountDependencies,
  version: PlatformVersion,
  { sentBody, parameters, idempotencyKey, caller = ANONYMOUS, endsAt }: OpeningRequest,
  { fingerprints: key }: AccountKeys,
  signal: AbortSignal,
): Promise<Claim> {
  const leaseMs = endsAt - now() + 1_000;
  if (idempotencyKey === undefined) return ledger.claim(undefined, NOT_COMPARED, leaseMs, signal);
  const [fingerprint = ''] = fingerprints(sentBody, [key]);
  return ledger.claim([version, caller, parameters.user_id, idempotencyKey], fingerprint, leaseMs, signal);
}

async function answer(begun: Opening): Promise<Answer<TradingAccountAnswer>> {
  const { dependencies, version, request, times, reads, claim } = begun;
  const { body, parameters, idempotencyKey, caller = ANONYMOUS } = request;
  if (claim.kind === 'reused') throw reusedProblem();
  if (claim.kind === 'busy') {
    const { life } = claim;
    // Another worker completes the account; its login is known.
    if (life.at !== 'open' && life.at !== 'done') throw progressProblem(claim.retryAfterSeconds);
    return { body: { login: life.login, ...accountPasswords(begun, claim.nonce) }, replayed: true };
  }
  const { held } = claim;
  const passwords = accountPasswords(begun, held.nonce);
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
      const found = findRecords(version, body, await reads.records);
      await reads.server;
      return found;
    },
    ready: reads.ready,
  });
  const { ledger, now } = dependencies;
  const { platformEndsAt, signal } = times;
  const end = await drive({ worker: 'request', ledger, effects, telemetry, now, platformEndsAt, signal }, held);
  const { operationId } = held;
  const { login, replayed } = publicAnswer(end, { operationId, hasKey: idempotencyKey !== undefined }, telemetry);
  return { body: { login, ...passwords }, replayed };
}

/** Given passwords, and derived ones if the caller gave none. */
function accountPasswords({ dependencies, version, request: { body }, keys }: Opening, nonce: string): Passwords {
  const derived = dependencies.passwords({ key: keys.passwords, nonce, version });
  return {
    master_password: body.master_password ?? derived.master,
    investor_password: body.investor_password ?? derived.investor,
  };
}
