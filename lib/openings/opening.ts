import { STOP_BEFORE_END_MS } from '../deadline.ts';
import type { ApiAnswer } from '../http/endpoint.ts';
import { Problem } from '../problem.ts';
import type { Telemetry } from '../telemetry.ts';
import type { PlatformVersion, TradingAccountAnswer } from '../validators/trading-account.ts';
import { isErrorAnswer, type Progress, progressProblem, publicAnswer, SAME_BODY } from './answer.ts';
import { completeAccount } from './completion.ts';
import { type AccountDependencies, planTimes } from './dependencies.ts';
import { type DerivationKey, derivePasswords, deriveSeed, type Identity } from './derivation.ts';
import type { CallerRequest, RequestJob } from './job.ts';
import { learn, reportUnwritten } from './learn.ts';
import { type Claim, Overtaken } from './ledger.ts';
import type { Life } from './life.ts';
import { prepareCommand } from './prepare.ts';
import { type Ahead, ANONYMOUS, type Opening, readAhead } from './read-ahead.ts';
import { releaseOperation } from './release.ts';
import { lookAt, sendCommand } from './server-steps.ts';
import type { HeldOperation } from './stored-operation.ts';

/** The pause between two commands or look-ups of one request, in milliseconds. */
const PAUSE_MS = 1_000;

/**
 * Opens a trading account, never a second one for the same request (specification, 4.2 and 4.3). The operation of the
 * request is claimed while its records are read and its server is connected to.
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
  const ahead = readAhead(opening);
  try {
    const keys = await ahead.keys;
    const claim = await ledger.claim(await ahead.identities, request.endsAt - now() + 1_000, times.signal);
    if (claim.kind === 'busy') {
      const login = openedLogin(claim);
      return { body: { login, ...givenOrDerived(opening, keys, claim.identity) }, replayed: true };
    }
    const job = startJob(opening, ahead, claimedOperation(claim, telemetry), keys);
    const progress = await driveOperation(job, ahead);
    const operation = { operationId: job.held.operationId, hasKey: request.idempotencyKey !== undefined };
    const login = publicAnswer(progress, operation, job.telemetry);
    return { body: { login, ...job.request.passwords }, replayed: progress.answer === undefined };
  } finally {
    ahead.leave();
  }
}

/** Drives an operation as far as possible now, then releases it. @throws Problem if another worker has acquired it */
async function driveOperation(job: RequestJob, ahead: Ahead): Promise<Progress> {
  const progress: Progress = { life: job.held.life };
  const isAt = (state: Life['at']) => progress.life.at === state;
  try {
    progress.life = await learn(job, { on: 'resume' });
    if (isAt('claimed')) {
      Object.assign(progress, await prepareCommand(job, ahead));
      if (isAt('sent')) await sendOnce(job, progress);
    }
    for (let round = 0; isAt('sent') && hasTime(job); round += 1) {
      if (round > 0) await job.dependencies.wait(PAUSE_MS);
      await lookAtLogin(job, progress);
      // The caller hears an error of the server at once; a retry with the same key resumes.
      if (!isAt('sent') || isErrorAnswer(progress.answer)) break;
      if (progress.seen === 'unanswered' || !hasTime(job)) continue;
      progress.life = await learn(job, { on: 'again' });
      await sendOnce(job, progress);
    }
    const { life, answer } = progress;
    // If the last command was answered with the login, no payment can have left before.
    if (life.at === 'open') progress.life = await completeAccount(job, life, answer === 'opened');
  } catch (error) {
    if (error instanceof Overtaken) throw progressProblem(1);
    reportUnwritten(job, progress.life.at, error);
    return progress;
  }
  await releaseOperation(job, progress.life, 'request', progress.seen);
  return progress;
}

/** One command, and what its answer proves. */
async function sendOnce(job: RequestJob, progress: Progress): Promise<void> {
  const { fact, failure = progress.failure } = await sendCommand(job);
  Object.assign(progress, { answer: fact.on, failure });
  progress.life = await learn(job, fact);
}

/** After an answer that does not say it: whose account is at our login? */
async function lookAtLogin(job: RequestJob, progress: Progress): Promise<void> {
  const { life } = progress;
  const seen = await lookAt(job, 'login' in life ? (life.login ?? 0) : 0);
  const isUnopened = progress.answer === 'rejected' && seen.on === 'absent';
  progress.seen = seen.on;
  progress.life = await learn(job, isUnopened ? { on: 'unopened' } : seen);
}

/** Whether there is time for one more command or look-up. */
function hasTime({ dependencies, times }: RequestJob): boolean {
  return dependencies.now() + PAUSE_MS < times.platformEndsAt;
}

function startJob(opening: Opening, ahead: Ahead, held: HeldOperation, keys: readonly DerivationKey[]): RequestJob {
  const { dependencies, version, request, times } = opening;
  const { body, parameters, caller = ANONYMOUS } = request;
  const { user_id: userId } = parameters;
  const passwords = givenOrDerived(opening, keys, held);
  const place = { version, user_id: userId, connection_id: body.connection_id };
  return {
    held,
    times,
    dependencies,
    telemetry: opening.telemetry.with({ operation_id: held.operationId, ...place }),
    request: { body, userId, version, caller, passwords },
    server: () => ahead.server.catch(() => undefined),
    records: () => ahead.records.catch(() => undefined),
  };
}

/** Given passwords, and derived ones if the caller gave none. */
function givenOrDerived(
  { version, request: { body } }: Opening,
  keys: readonly DerivationKey[],
  identity: Identity,
): CallerRequest['passwords'] {
  const derived = derivePasswords(deriveSeed(keys, identity), version);
  return {
    master_password: body.master_password ?? derived.master,
    investor_password: body.investor_password ?? derived.investor,
  };
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

/** The login of the request's account, which another worker completes. @throws Problem if it is not open yet */
function openedLogin({ life, retryAfterSeconds }: Claim & { kind: 'busy' }): number {
  if (life.at !== 'open') throw progressProblem(retryAfterSeconds);
  return life.login;
}
