import { within } from '../deadline.ts';
import type { OpenedAccount } from '../messages/notices.ts';
import { type Mark, PlatformFailure, type Sighting, type TradingPlatform } from '../platform/platform.ts';
import type { AccountDetails, AccountRecord } from '../records/accounts.ts';
import type { AccountClient } from '../records/crm-records.ts';
import { accountOpened } from '../records/events.ts';
import { describeError, type Telemetry } from '../telemetry.ts';
import { ID_LENGTH, isOperationComment } from './derivation.ts';
import type { CallerOrder, Job } from './job.ts';
import type { Fact, LifeAt, PaymentOutcome, Step } from './life.ts';
import { accountRecord, buildOrder, buildPlan, demoDeposit, judgeOrder, payableDeposit } from './order.ts';
import { hasMoved } from './reservation-key.ts';

/** What the steps of `life.ts` do outside of the ledger, and what happens when an account is open; tests pass fakes. */
export type Effects = Readonly<Record<Exclude<Step, 'resume' | 'rest' | 'stop'>, (job: Job) => Promise<Fact>>> & {
  /**
   * The login to ask for in place of another operation's login; undefined if there is none. If the operation's account
   * has a record, the fact that the record shows.
   */
  next(job: Job): Promise<number | Fact | undefined>;
  /**
   * Writes the account's record, and publishes its event unless a deposit comes first. @returns the members of the
   * state that are now true
   */
  record(job: Job, life: LifeAt<'open'>): Promise<Pick<LifeAt<'open'>, 'recorded' | 'published'>>;
  /** Sends the client's notices. */
  notify(job: Job, login: number): Promise<void>;
};

export const EFFECTS: Effects = {
  prepare,
  send,
  look: (job) => look(job, 'look'),
  pause: (job) => look(job, 'look'),
  prove: (job) => look(job, 'prove'),
  confirm: (job) => look(job, 'confirm'),
  pay: (job) => complete(job, 'pay'),
  repay: (job) => complete(job, 'repay'),
  complete: (job) => complete(job),
  next,
  record,
  notify,
};

/** The timeout of one look-up, in milliseconds. */
const LOOK_MS = 7_000;
/** The longest wait for the answer to an opening, in milliseconds; at most half of the remaining time. */
const ANSWER_MS = 7_000;
/** The longest time for publishing an event, in milliseconds. */
const PUBLISH_MS = 2_000;

function orderOf({ order }: Job): CallerOrder {
  if (order === undefined) throw new Error('Only a request sends.');
  return order;
}

/** The login of the operation's state; undefined where the protocol cannot name one. */
function loginOf({ held: { life } }: Job): number | undefined {
  return 'login' in life ? life.login : undefined;
}

/** Judges the order, unless it was sent before, and chooses its login. */
async function prepare(job: Job): Promise<Fact> {
  try {
    return await judge(job, orderOf(job));
  } catch (failure) {
    return { on: 'not_executed', failure };
  }
}

/** @throws Problem, PlatformFailure: nothing was sent */
async function judge(job: Job, order: CallerOrder): Promise<Fact> {
  const { held } = job;
  const server = await order.server();
  const { platform, connection, client } = server;
  const deposit = demoDeposit(server);
  const command = buildOrder(
    order.body,
    client,
    { operationId: held.operationId, comment: order.comment },
    order.passwords,
    deposit,
  );
  // A reservation or a record shows that the order was judged and sent before the ledger was lost.
  if (held.found === undefined) judgeOrder(command, connection, platform);
  const [record] = await Promise.all([order.recorded, order.ready]);
  const plan = buildPlan(order, held.operationId, server);
  if (record !== undefined) {
    held.plan = plan;
    return factOfRecord(job, platform, record);
  }
  if (!platform.keyed) {
    held.plan = plan;
    return { on: 'ready' };
  }
  const login = held.found ?? (await order.logins.next()).login;
  if (login === undefined) throw order.logins.failure();
  const found = held.found !== undefined || (plan.login_given && (await isOwnAccount(job, order, platform, login)));
  held.plan = plan;
  if (found) held.found = login;
  return { on: 'ready', login, found };
}

/**
 * A caller's login is looked up before anything is sent: it may be outside of the ranges.
 * @returns whether the account there is this operation's. @throws PlatformFailure `login_taken`
 */
async function isOwnAccount(
  job: Job,
  { version }: CallerOrder,
  platform: TradingPlatform,
  login: number,
): Promise<boolean> {
  const { sighting } = await sight(job, platform, login);
  if (sighting === 'ours') return true;
  if (sighting === 'absent' || sighting === 'silent') return false;
  if (await isRecorded(job, login)) return true;
  throw new PlatformFailure('login_taken', { reason: `login_exists_${version}` });
}

/**
 * The fact that the record of the operation's account shows. The server is asked where possible: the account may have
 * been deleted, and another operation may have opened its own account at the login since. @throws PlatformFailure
 */
async function factOfRecord(job: Job, platform: TradingPlatform, { login, opened_at }: AccountRecord): Promise<Fact> {
  job.held.found = login;
  if (platform.keyed) {
    const { sighting, owner } = await sight(job, platform, login);
    if (sighting === 'absent') return { on: 'deleted', login };
    if (sighting === 'foreign' && (await holderOf(job, login)) === owner) return { on: 'deleted', login };
  }
  return { on: 'recorded', login, opened_at };
}

/** The operation that holds a login. */
async function holderOf({ dependencies, order, times }: Job, login: number): Promise<string | undefined> {
  return order && (await dependencies.ledger.holders(order.version, [login], times.signal)).get(login);
}

async function next(job: Job): Promise<number | Fact | undefined> {
  try {
    const { login, record } = (await job.order?.logins.next()) ?? {};
    if (record === undefined) return login;
    const server = await job.server();
    if (server !== undefined) return await factOfRecord(job, server.platform, record);
    throw new PlatformFailure('platform_unavailable', { reason: 'no_server_for_record' });
  } catch (failure) {
    reportRefusal(failure, job.telemetry);
    // If the record or its account cannot be read, no other login is asked for.
    return job.held.life.at === 'claimed' ? { on: 'not_executed', failure } : { on: 'unclear' };
  }
}

/** Sends the command, once. */
async function send(job: Job): Promise<Fact> {
  const { held, times, telemetry, dependencies } = job;
  const order = orderOf(job);
  const login = loginOf(job);
  const server = await job.server();
  if (server?.client === undefined) return { on: 'unclear' };
  // The first server may have the account.
  if (hasMoved(held.plan?.server, server.connection)) return { on: 'moved' };
  const deposit = payableDeposit(held.plan, server);
  const command = buildOrder(
    order.body,
    server.client,
    { operationId: held.operationId, comment: order.comment },
    order.passwords,
    deposit,
    login,
  );
  const leftMs = times.platformEndsAt - dependencies.now();
  const answerMs = held.plan?.keyed === true ? Math.min(ANSWER_MS, leftMs / 2) : leftMs;
  try {
    const opened = await server.platform.open(command, times.openingEndsAt, within(answerMs));
    if (login !== undefined && opened.login !== login) {
      telemetry.event('AnswerLost', { reason: 'another_login', login: opened.login });
      return { on: 'lost', other: opened.login };
    }
    return { on: 'opened', login: opened.login };
  } catch (failure) {
    return failureFact(failure, telemetry);
  }
}

/** The fact that a failed command shows. After an unexpected error the outcome is unknown. */
function failureFact(failure: unknown, telemetry: Telemetry): Fact {
  if (failure instanceof PlatformFailure && failure.kind !== 'account_outcome_unknown') {
    if (failure.kind === 'login_taken') return { on: 'exists', failure };
    if (failure.proof === 'content') return { on: 'rejected', failure };
    return { on: failure.proof === 'nothing' ? 'doubtful' : 'not_executed', failure };
  }
  telemetry.event('AnswerLost', describeError(failure));
  return { on: 'lost', failure };
}

/** Looks at a login. @returns the sighting, and the other operation whose id is in the comment of the account */
async function sight(
  job: Job,
  platform: TradingPlatform,
  login: number,
): Promise<{ sighting: Sighting; owner: string | undefined }> {
  const { operationId, plan } = job.held;
  let owner: string | undefined;
  const version = plan?.version ?? job.order?.version;
  const isOperation = async (comment: string) => {
    const id = comment.slice(0, ID_LENGTH);
    const isOne = isOperationComment(await job.keys(), comment) || (await holdsLogin(job, version, id));
    if (isOne) owner = id;
    return isOne;
  };
  const mark: Mark = { operationId, login, generated: await job.generated(), isOperation };
  const sighting = await platform.look(mark, within(LOOK_MS, job.times.platformSignal));
  return { sighting, owner };
}

/** Looks at the operation's login. The step decides which fact a sighting is. */
async function look(job: Job, step: keyof typeof LOOK_FACTS): Promise<Fact> {
  const noAnswer: Fact = { on: step === 'look' ? 'unclear' : 'unconfirmed' };
  const login = loginOf(job) ?? 0;
  const server = await job.server();
  if (server === undefined) return noAnswer;
  try {
    const { sighting, owner } = await sight(job, server.platform, login);
    job.held.seenOwner = owner;
    const isTaken = job.held.life.at === 'sent' && job.held.life.commands === 'taken';
    if (sighting === 'ours' && !isTaken) return { on: 'ours' };
    if (sighting !== 'ours' && hasMoved(job.held.plan?.server, server.connection)) return { on: 'moved' };
    if (await isRecorded(job, login)) {
      // Our only command did not open it: it was answered before the ledger was lost.
      if (isTaken) job.held.found = login;
      return { on: sighting === 'absent' ? 'deleted' : 'ours' };
    }
    if (sighting === 'ours') return { on: 'ours' };
    return { on: LOOK_FACTS[step][sighting] };
  } catch (failure) {
    reportRefusal(failure, job.telemetry);
    return noAnswer;
  }
}

/** A UUID of version 8, which operations have. */
const ID_SHAPE = /^[\da-f]{8}-[\da-f]{4}-8/;

/**
 * Whether an id belongs to an operation with a login: for comments of version 1.0.0, and for comments that lost their
 * end.
 */
async function holdsLogin(
  { dependencies, times }: Job,
  version: AccountDetails['version'] | undefined,
  id: string,
): Promise<boolean> {
  if (version === undefined || !ID_SHAPE.test(id)) return false;
  return (await dependencies.ledger.reserved(version, id, times.signal)).length > 0;
}

/** The fact of each sighting, by step. `prove`: the server has said that the login exists. */
const LOOK_FACTS = {
  look: { foreign: 'foreign', unmarked: 'unproven', absent: 'absent', silent: 'silent' },
  prove: { foreign: 'foreign', unmarked: 'unproven', absent: 'absent', silent: 'unproven' },
  confirm: { foreign: 'foreign', unmarked: 'unproven', absent: 'refused', silent: 'unconfirmed' },
} as const satisfies Partial<Record<Step, Record<Exclude<Sighting, 'ours'>, Fact['on']>>>;

/**
 * Whether our record of the account names the operation. Such an account is the operation's; one that the server no
 * longer has was deleted. @throws AwsFailure
 */
async function isRecorded({ dependencies, held, order, times }: Job, login: number): Promise<boolean> {
  const { plan, operationId } = held;
  const place =
    plan ?? (order && { user_id: order.userId, version: order.version, connection_id: order.body.connection_id });
  if (place === undefined) return false;
  const record = await dependencies.accounts.read({ ...place, login }, times.signal);
  return record !== undefined && (order?.ids ?? [operationId]).includes(record.operation_id);
}

/** Reports a server that refuses the service: only an operator can help. */
export function reportRefusal(error: unknown, telemetry: Telemetry): void {
  const isRefusal = error instanceof PlatformFailure && error.kind === 'platform_refused';
  if (isRefusal) telemetry.event('PlatformRefused', { reason: error.reason });
}

async function putRecord({ dependencies, held, times, telemetry }: Job, life: LifeAt<'open'>): Promise<boolean> {
  try {
    await dependencies.accounts.put(accountRecord(held.plan, life), times.signal);
    return true;
  } catch (error) {
    telemetry.event('AccountNotRecorded', { login: life.login, ...describeError(error) });
    return false;
  }
}

async function record(job: Job, life: LifeAt<'open'>): Promise<Pick<LifeAt<'open'>, 'recorded' | 'published'>> {
  const isComplete = life.deposit === 'none';
  const [recorded, published] = await Promise.all([putRecord(job, life), isComplete && publish(job, life)]);
  return { recorded, published };
}

/** Completes an open account. @param pay the payment that may be sent now: the first one, or a repeated one */
async function complete(job: Job, pay?: 'pay' | 'repay'): Promise<Fact> {
  const { life } = job.held;
  if (life.at !== 'open') return { on: 'resume' };
  const [recorded, deposit] = await Promise.all([life.recorded || putRecord(job, life), payment(job, life, pay)]);
  const published = life.published || (recorded && (await publish(job, life)));
  return { on: 'completed', recorded, deposit, published };
}

/** Pays, or checks whether an earlier payment has arrived. A repeated payment is sent to an empty account only. */
async function payment(job: Job, life: LifeAt<'open'>, pay: 'pay' | 'repay' | undefined): Promise<PaymentOutcome> {
  const { held, times, telemetry } = job;
  if (life.deposit !== 'sent' && life.deposit !== 'found') return 'kept';
  const server = await job.server();
  if (server === undefined || hasMoved(held.plan?.server, server.connection))
    return pay === undefined ? 'unknown' : 'refused';
  const { platform } = server;
  const amount = payableDeposit(held.plan, server);
  if (amount === undefined && pay !== undefined) return 'refused';
  const log = (error: unknown) =>
    telemetry.event('OperationNotSettled', { step: 'deposit', login: life.login, ...describeError(error) });
  const balance = async (): Promise<PaymentOutcome> => {
    try {
      return (await platform.holdsFunds(life.login, within(LOOK_MS, times.platformSignal))) ? 'made' : 'empty';
    } catch (error) {
      log(error);
      return 'unknown';
    }
  };
  if (pay === undefined) return balance();
  if (pay === 'repay') {
    const before = await balance();
    if (before !== 'empty') return before === 'made' ? 'made' : 'refused';
  }
  try {
    await platform.fund(life.login, amount ?? 0, times.platformEndsAt, times.platformSignal);
    return 'made';
  } catch (error) {
    log(error);
    return error instanceof PlatformFailure && error.proof !== 'nothing' ? 'refused' : balance();
  }
}

async function publish({ dependencies, held, times, telemetry }: Job, life: LifeAt<'open'>): Promise<boolean> {
  const { events, now } = dependencies;
  if (events === undefined) return false;
  try {
    const signal = within(Math.min(PUBLISH_MS, times.workEndsAt - now()));
    await events.publish('AccountOpened', accountOpened(accountRecord(held.plan, life)), signal);
    return true;
  } catch (error) {
    telemetry.event('EventFailed', { login: life.login, ...describeError(error) });
    return false;
  }
}

/** The address that the CRM recorded or a code proved. An address that a person only typed may be a stranger's. */
function provenEmail({ email, unproven = [] }: AccountClient): string | undefined {
  return unproven.includes('email') ? undefined : email;
}

/** Sends the notices that the request asks for. A failed notice is logged and changes nothing. */
async function notify(job: Job, login: number): Promise<void> {
  const { held, times, telemetry } = job;
  const { plan } = held;
  const { notices } = job.dependencies;
  if (notices === undefined || plan === undefined || (plan.send_email !== true && plan.send_pop_up !== true)) return;
  const { client, connection } = (await job.server()) ?? {};
  if (client === undefined || connection === undefined) return;
  const account: OpenedAccount = {
    login,
    version: plan.version,
    group: plan.group,
    leverage: plan.leverage,
    readonly: plan.enable_readonly,
    demo: connection.demo,
    serverName: connection.name,
  };
  const language = plan.language ?? client.language;
  const send = async (notice: string, deliver: () => Promise<void>) => {
    try {
      await deliver();
    } catch (error) {
      telemetry.event('NoticeFailed', { login, notice, ...describeError(error) });
    }
  };
  const mailbox = plan.send_email === true ? provenEmail(client) : undefined;
  if (plan.send_email === true && mailbox === undefined) telemetry.event('EmailNotProven', { login });
  await Promise.all([
    mailbox && send('email', () => notices.email({ email: mailbox }, account, language, times.signal)),
    plan.send_pop_up === true && send('popup', () => notices.popUp(client.id, account, language, times.signal)),
  ]);
}
