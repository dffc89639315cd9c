import { within } from '../deadline.ts';
import { PlatformFailure, type TradingPlatform } from '../platform/platform.ts';
import { describeError, type Telemetry } from '../telemetry.ts';
import type { Job, RequestJob } from './job.ts';
import type { CompletedFact, Fact, LifeAt, SeenFact } from './life.ts';
import { buildOrder, payableDeposit } from './order.ts';
import { hasMoved } from './reservation.ts';

/** The steps of an operation that ask the trading server. Each returns the fact that its answer shows. */

/** The timeout of one look-up, in milliseconds. */
const LOOK_MS = 7_000;
/** The longest wait for the answer to a command that names its login, in milliseconds; at most half of the time left. */
const ANSWER_MS = 7_000;

/** Sends the command once. After a fact but `opened`, `failure` is what the caller may hear. */
export async function sendCommand(job: RequestJob): Promise<{ fact: Fact; failure?: unknown }> {
  const { held, request, times, telemetry, dependencies } = job;
  const { plan } = held;
  const login = 'login' in held.life ? held.life.login : undefined;
  const platform = await firstServer(job);
  const records = await job.records();
  if (platform === undefined || records?.client === undefined) return { fact: { on: 'not_executed' } };
  const deposit = payableDeposit(plan, records);
  const order = buildOrder(request.body, records.client, held.operationId, request.passwords, deposit, login);
  const leftMs = times.platformEndsAt - dependencies.now();
  const answerMs = plan?.keyed === true ? Math.min(ANSWER_MS, leftMs / 2) : leftMs;
  try {
    const opened = await platform.open(order, times.openingEndsAt, within(answerMs));
    if (login === undefined || opened.login === login) return { fact: { on: 'opened', login: opened.login } };
    telemetry.event('AnswerLost', { reason: 'another_login', login: opened.login });
    return { fact: { on: 'other_login', login: opened.login } };
  } catch (failure) {
    return { fact: factOfFailure(failure, telemetry), failure };
  }
}

/** The server that got the first command; undefined if it cannot be asked, or if the connection leads elsewhere now. */
async function firstServer(job: Job): Promise<TradingPlatform | undefined> {
  const server = await job.server();
  return server === undefined || hasMoved(job.held.plan?.server, server.connection) ? undefined : server.platform;
}

/** The fact that a failed command shows. After an unexpected error the outcome is unknown. */
function factOfFailure(failure: unknown, telemetry: Telemetry): Fact {
  if (!(failure instanceof PlatformFailure) || failure.kind === 'account_outcome_unknown') {
    telemetry.event('AnswerLost', describeError(failure));
    return { on: 'lost' };
  }
  if (failure.kind === 'login_taken') return { on: 'exists' };
  if (failure.proof === 'content') return { on: 'rejected' };
  return { on: failure.proof === 'nothing' ? 'doubtful' : 'not_executed' };
}

/**
 * Looks whose the account at a login is. Another server than the one that got the first command proves only an account
 * with our id.
 */
export async function lookAt(job: Job, login: number): Promise<SeenFact> {
  const { held, times, telemetry } = job;
  const server = await job.server();
  if (server === undefined) return { on: 'unanswered' };
  try {
    const { is } = await server.platform.look(login, held.operationId, within(LOOK_MS, times.platformSignal));
    if (is === 'ours') return { on: 'ours', login };
    return { on: hasMoved(held.plan?.server, server.connection) ? 'unanswered' : is };
  } catch (failure) {
    const refusesUs = reportRefusal(failure, telemetry);
    return { on: 'unanswered', ...(refusesUs && { refusal: failure }) };
  }
}

/** Reports a server that refuses the service: only an operator can help. @returns whether it does */
export function reportRefusal(error: unknown, telemetry: Telemetry): boolean {
  const refusesUs = error instanceof PlatformFailure && error.kind === 'platform_refused';
  if (refusesUs) telemetry.event('PlatformRefused', { reason: error.reason });
  return refusesUs;
}

/** Whether the account holds money; undefined: that cannot be found out now. */
export async function seeFunds(job: Job, { login }: LifeAt<'open'>): Promise<boolean | undefined> {
  const platform = await firstServer(job);
  if (platform === undefined) return undefined;
  try {
    return await platform.holdsFunds(login, within(LOOK_MS, job.times.platformSignal));
  } catch (error) {
    reportUnpaid(job, login, error);
    return undefined;
  }
}

/** The deposit that may be paid now, as the CRM's records are now. */
export async function depositNow(job: Job): Promise<number | undefined> {
  const { plan } = job.held;
  const records = await job.records();
  if (records?.connection === undefined || hasMoved(plan?.server, records.connection)) return undefined;
  return payableDeposit(plan, records);
}

/** Sends the payment once. */
export async function pay(job: Job, { login }: LifeAt<'open'>, amount: number): Promise<CompletedFact['deposit']> {
  const { times } = job;
  const platform = await firstServer(job);
  if (platform === undefined) return 'refused';
  try {
    await platform.fund(login, amount, times.platformEndsAt, times.platformSignal);
    return 'made';
  } catch (error) {
    reportUnpaid(job, login, error);
    return error instanceof PlatformFailure && error.proof !== 'nothing' ? 'refused' : 'unknown';
  }
}

function reportUnpaid({ telemetry }: Job, login: number, error: unknown): void {
  telemetry.event('OperationNotSettled', { step: 'deposit', login, ...describeError(error) });
}
