import { awaitAll, within } from '../deadline.ts';
import { DeliveryFailure } from '../messages/message.ts';
import type { OpenedAccount } from '../messages/notices.ts';
import type { AccountClient } from '../records/crm-records.ts';
import { accountOpened } from '../records/events.ts';
import { describeError } from '../telemetry.ts';
import type { Job } from './job.ts';
import { LAST_WRITE_MS, learn, reportUnwritten } from './learn.ts';
import { ReservationConflict } from './ledger.ts';
import { type CompletedFact, isFinished, type Life, type LifeAt } from './life.ts';
import { accountRecord } from './order.ts';
import { heldLogins } from './reservation.ts';
import { depositNow, pay, seeFunds } from './server-steps.ts';

/** What follows when an account is open: its record, its event, its deposit and the client's notices. */

/** The longest time for publishing an event, in milliseconds. */
const PUBLISH_MS = 2_000;

type OpenLife = LifeAt<'open'>;
type Done = Pick<CompletedFact, 'recorded' | 'published'>;

/**
 * Completes an open account as far as possible now. What fails is logged, and is completed later by any worker.
 * @param life the state that was learned; it is written here if the operation was not open before
 * @param isFirstPayment no payment can have left before, so the balance need not be read
 * @returns the state of the operation; it is undecided if another operation has proved that the login is its own
 */
export async function completeAccount(job: Job, life: OpenLife, isFirstPayment = false): Promise<Life> {
  const { held } = job;
  const isNew = held.life.at !== 'open';
  if (!isNew && isFinished(life)) return life;
  const done = isNew ? await announceAccount(job, life) : await followUp(job, life);
  if (done === undefined) return held.life;
  const [deposit, mail] = await awaitAll([
    completeDeposit(job, isFirstPayment),
    sendMail(job),
    isNew && sendPopUp(job, life),
  ]);
  try {
    // If the first write has failed, this one reserves the login too.
    return await learn(job, { on: 'completed', ...done, mail, deposit }, held.life.at === 'open' ? held.life : life);
  } catch (error) {
    reportUnwritten(job, 'open', error);
    return life;
  }
}

/**
 * Writes that the account is open, with its record and its event. If its login is reserved, they go out at the same time;
 * else only after the write, which reserves it.
 * @returns undefined if the login belongs to another operation
 */
async function announceAccount(job: Job, life: OpenLife): Promise<Done | undefined> {
  const { held } = job;
  // Stored with the state, by the first write that succeeds.
  held.event += 1;
  if (heldLogins(held.life, held).includes(life.login)) {
    const [, done] = await awaitAll([writeOpen(job, life), followUp(job, life)]);
    return done;
  }
  if ((await writeOpen(job, life)).at !== 'open') return undefined;
  return held.life.at === 'open' ? followUp(job, life) : { recorded: false, published: false };
}

/**
 * Writes that the account is open. A login that the server has chosen is reserved by this write. If an operator has
 * given it to another operation, the server's answer counts more. A write that fails is left to the one at the end of
 * `completeAccount`.
 */
async function writeOpen(job: Job, life: OpenLife): Promise<Life> {
  const { held, dependencies, telemetry } = job;
  const { ledger } = dependencies;
  const signal = within(LAST_WRITE_MS);
  try {
    await ledger.write(held, { life }, signal);
  } catch (error) {
    if (error instanceof ReservationConflict) {
      const loser = await ledger.takeFromWord(held, { life }, signal);
      if (loser === undefined) return learn(job, { on: 'other_login', login: life.login });
      telemetry.with({ operation_id: loser }).event('AccountOutcomeUnknown', { reason: 'given_away' });
    } else {
      reportUnwritten(job, 'open', error);
    }
  }
  return life;
}

/** Records the account and publishes its event, at the same time. */
async function followUp(job: Job, life: OpenLife): Promise<Done> {
  const [recorded, published] = await Promise.all([
    life.recorded || putRecord(job, life),
    life.published || publish(job, life),
  ]);
  return { recorded, published };
}

async function putRecord({ dependencies, held, telemetry }: Job, life: OpenLife): Promise<boolean> {
  try {
    await dependencies.accounts.put(accountRecord(held, life), within(LAST_WRITE_MS));
    return true;
  } catch (error) {
    telemetry.event('AccountNotRecorded', { login: life.login, ...describeError(error) });
    return false;
  }
}

async function publish({ dependencies, held, times, telemetry }: Job, life: OpenLife): Promise<boolean> {
  const { events, now } = dependencies;
  try {
    const signal = within(Math.min(PUBLISH_MS, times.workEndsAt - now()));
    await events.publish('AccountOpened', accountOpened(accountRecord(held, life)), signal);
    return true;
  } catch (error) {
    telemetry.event('EventFailed', { login: life.login, ...describeError(error) });
    return false;
  }
}

/** Pays a deposit that is due, or looks for a payment that may have left. Each payment is written before it leaves. */
async function completeDeposit(job: Job, isFirstPayment: boolean): Promise<CompletedFact['deposit']> {
  const { held } = job;
  const { life } = held;
  if (life.at !== 'open' || (life.deposit !== 'due' && life.deposit !== 'sent')) return 'kept';
  if (life.deposit === 'sent' || !isFirstPayment) {
    const holdsFunds = await seeFunds(job, life);
    if (holdsFunds === true) return 'made';
    if (life.deposit === 'sent' || holdsFunds === undefined) return 'unknown';
  }
  const amount = await depositNow(job);
  if (amount === undefined) return 'refused';
  try {
    await learn(job, { on: 'paying' });
  } catch (error) {
    reportUnwritten(job, 'open', error);
    return 'unknown';
  }
  const outcome = await pay(job, life, amount);
  if (outcome !== 'unknown') return outcome;
  return (await seeFunds(job, life)) === true ? 'made' : 'unknown';
}

/** What the notices of an account need; undefined if the CRM no longer has its client. */
async function noticeOf({ held, records }: Job, { login }: OpenLife) {
  const { client, connection } = (await records()) ?? {};
  const { plan } = held;
  if (plan === undefined || client === undefined || connection === undefined) return undefined;
  const { version, group, leverage, enable_readonly: readonly } = plan;
  const { demo, name: serverName } = connection;
  const account: OpenedAccount = { login, version, group, leverage, readonly, demo, serverName };
  return { client, account, language: plan.language ?? client.language };
}

/** The address that the CRM recorded or a code proved. An address that a person only typed may be a stranger's. */
function provenEmail({ email, unproven = [] }: AccountClient): string | undefined {
  return unproven.includes('email') ? undefined : email;
}

/**
 * Sends the client's mail, once it is written that the account is open. Only a certain refusal is tried again: after a
 * lost answer the mail may have left.
 */
async function sendMail(job: Job): Promise<CompletedFact['mail']> {
  const { held, dependencies, telemetry, times } = job;
  const { life } = held;
  if (life.at !== 'open' || life.mail !== 'due') return 'kept';
  const { login } = life;
  const notice = await noticeOf(job, life);
  if (notice === undefined) return 'refused';
  const email = provenEmail(notice.client);
  if (email === undefined) {
    telemetry.event('EmailNotProven', { login });
    return 'sent';
  }
  try {
    await dependencies.notices.email({ email }, notice.account, notice.language, times.signal);
    return 'sent';
  } catch (error) {
    const isRefused = error instanceof DeliveryFailure && error.kind !== 'unknown_outcome';
    telemetry.event(isRefused ? 'MailRefused' : 'NoticeFailed', { login, notice: 'email', ...describeError(error) });
    return isRefused ? 'refused' : 'sent';
  }
}

/** Sends the message on the topic at most once: only the worker that has written that the account is open sends it. */
async function sendPopUp(job: Job, life: OpenLife): Promise<void> {
  const { held, dependencies, telemetry, times } = job;
  if (held.plan?.send_pop_up !== true || held.life !== life) return;
  const notice = await noticeOf(job, life);
  if (notice === undefined) return;
  try {
    await dependencies.notices.popUp(notice.client.id, notice.account, notice.language, times.signal);
  } catch (error) {
    telemetry.event('NoticeFailed', { login: life.login, notice: 'popup', ...describeError(error) });
  }
}
