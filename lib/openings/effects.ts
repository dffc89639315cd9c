import { within } from '../deadline.ts';
import type { OpenedAccount } from '../messages/notices.ts';
import {
  type AccountOrder,
  type Mark,
  type PasswordRole,
  PlatformFailure,
  type Sighting,
  type TradingPlatform,
} from '../platform/platform.ts';
import { invalid, Problem } from '../problem.ts';
import type { AccountClient, AccountDirectory } from '../records/account-directory.ts';
import type { AccountDetails, AccountRecord } from '../records/accounts.ts';
import { type AccountType, type Connection, isManagerGroup, loginRanges } from '../records/crm-records.ts';
import { accountOpened } from '../records/events.ts';
import { describeError, type Telemetry } from '../telemetry.ts';
import type { PlatformVersion, TradingAccountRequest } from '../validators/trading-account.ts';
import type { AccountDependencies, Times } from './dependencies.ts';
import type { Effects, Learned, LookStep, OpenLife, PayStep } from './drive.ts';
import type { Held, Plan } from './ledger.ts';
import type { PaymentOutcome } from './life.ts';
import type { LoginSearch } from './login-search.ts';

/** The trading server of an operation, and its client; the client is absent if the CRM no longer has it. */
export interface Server {
  platform: TradingPlatform;
  connection: Connection;
  client: AccountClient | undefined;
}

/** An operation that a worker has acquired. */
export interface Work {
  dependencies: AccountDependencies;
  held: Held;
  times: Times;
  telemetry: Telemetry;
  /** @returns undefined if the server cannot be asked now */
  server(): Promise<Server | undefined>;
  /** A generated password of the account; undefined if the caller gave both. */
  generated(): Promise<Mark['generated']>;
}

/** The request of a caller. */
export interface AccountRequest {
  body: TradingAccountRequest;
  userId: string;
  version: AccountDetails['version'];
  caller: string;
  passwords: { master_password: string; investor_password: string };
  /** The records that the request names; rejects with the Problem of the first that is missing. */
  found(): Promise<NamedRecords>;
  /** Resolves after login on the platform. */
  ready: Promise<void>;
  /** The record of the operation's account, where the protocol cannot name the login: it would open a second one. */
  recorded: Promise<AccountRecord | undefined>;
  /** The logins that the operation may ask for; rejects if the reservations cannot be read. */
  logins: Promise<LoginSearch>;
}

/** One look-up takes no longer than this, in milliseconds. */
const LOOK_MS = 7_000;
/** The answer to an opening is awaited this long, and at most half of the remaining time, in milliseconds. */
const ANSWER_MS = 7_000;
/** From this many tries on an event counts. */
const MANY_TRIES = 3;
/** Publishing an event may take this long, in milliseconds. */
const PUBLISH_MS = 2_000;

/** The effects of the settler and the operators' command, which never send a command that opens an account. */
export function settlerEffects(work: Work): Effects {
  const neverSent = () => {
    throw new Error('Only a request sends.');
  };
  return {
    ...sharedEffects(work),
    prepare: neverSent,
    send: neverSent,
    // The guards of `life.ts` call it in every state.
    nextLogin: async () => undefined,
    noLoginFailure: neverSent,
  };
}

export function requestEffects(work: Work, request: AccountRequest): Effects {
  const { held, times, telemetry, dependencies } = work;
  const { body, version, passwords } = request;
  const { nextLogin, noLoginFailure } = loginChoice(work, request);

  return {
    ...sharedEffects(work),
    nextLogin,
    noLoginFailure,

    async prepare() {
      const records = await request.found();
      const server = await work.server();
      if (server === undefined) throw new Problem('platform_unavailable', { retryAfterSeconds: 5 });
      const { platform, connection } = server;
      const deposit = demoDeposit(records);
      const order = buildOrder(body, records.client, held, passwords, deposit);
      judgeOrder(order, connection, platform);
      const details = buildDetails(request, held.operationId);
      const [record] = await Promise.all([request.recorded, request.ready]);
      const own = platform.keyed ? body.login : undefined;
      const login = platform.keyed ? (held.found ?? (await nextLogin())) : undefined;
      if (platform.keyed && login === undefined) throw noLoginFailure();
      const found = held.found !== undefined || (own !== undefined && (await isOwnAccount(platform, own)));
      const plan: Plan = {
        ...details,
        send_email: body.send_email,
        send_pop_up: body.send_pop_up,
        language: body.language,
        keyed: platform.keyed,
        exclusive: isExclusive(connection, own),
        login_given: own !== undefined,
        deposit,
        deposit_with_opening: platform.fundsWithOpening,
        generated: generatedRole(body),
        server: address(connection),
      };
      if (record === undefined) return { plan, fact: { on: 'ready', login, found } };
      return { plan, fact: { on: 'recorded', login: record.login, opened_at: record.opened_at } };
    },

    async send(login) {
      const server = await work.server();
      if (server?.client === undefined) return { on: 'unclear' };
      // The first server may have the account.
      if (hasMoved(held, server)) return { on: 'moved' };
      const order = buildOrder(body, server.client, held, passwords, held.plan?.deposit, login);
      const leftMs = times.platformEndsAt - dependencies.now();
      const answerMs = held.plan?.keyed === true ? Math.min(ANSWER_MS, leftMs / 2) : leftMs;
      try {
        const opened = await server.platform.open(order, times.openingEndsAt, within(answerMs));
        if (login !== undefined && opened.login !== login) {
          telemetry.event('AnswerLost', { reason: 'another_login', login: opened.login });
          return { on: 'lost', other: opened.login };
        }
        return { on: 'opened', login: opened.login };
      } catch (failure) {
        return failureFact(failure, telemetry);
      }
    },
  };

  /**
   * A caller's login is looked up before anything is sent: it may be outside of the ranges.
   * @returns whether the account there is this operation's. @throws PlatformFailure `login_taken`
   */
  async function isOwnAccount(platform: TradingPlatform, login: number): Promise<boolean> {
    const sighting = await sight(work, platform, login);
    if (sighting === 'ours') return true;
    if (sighting === 'absent' || sighting === 'silent') return false;
    throw new PlatformFailure('login_taken', { reason: `login_exists_${version}` });
  }
}

async function sight(work: Work, platform: TradingPlatform, login: number): Promise<Sighting> {
  const mark: Mark = { operationId: work.held.operationId, login, generated: await work.generated() };
  return platform.look(mark, within(LOOK_MS, work.times.platformSignal));
}

/** The password that the service generates, of those that can be compared. */
export function generatedRole({ master_password, investor_password }: TradingAccountRequest): PasswordRole | undefined {
  if (master_password === undefined) return 'master';
  return investor_password === undefined ? 'investor' : undefined;
}

/** The logins to ask for, one after the other. */
function loginChoice({ held, telemetry }: Work, { body, logins: searching }: AccountRequest) {
  let isSearched = true;
  return {
    async nextLogin() {
      const logins = await searching;
      const { login, tries } = await logins.next(held.operationId);
      if (tries >= MANY_TRIES) telemetry.event('LoginsScarce', { login_tries: tries });
      isSearched = logins.isComplete;
      return login;
    },
    noLoginFailure() {
      if (body.login !== undefined) return new PlatformFailure('login_taken', { reason: 'login_exists' });
      // With more time a retry may find a free one.
      const retry = isSearched ? {} : { retryAfterSeconds: 5 };
      return new PlatformFailure('login_range_exhausted', { reason: 'logins_taken', ...retry });
    },
  };
}

/** The fact that a failed command shows. After an unexpected error the outcome is unknown. */
function failureFact(failure: unknown, telemetry: Telemetry): Learned {
  if (failure instanceof PlatformFailure && failure.kind !== 'account_outcome_unknown') {
    if (failure.kind === 'login_taken') return { on: 'exists', failure };
    if (failure.proof === 'content') return { on: 'rejected', failure };
    return { on: failure.proof === 'nothing' ? 'doubtful' : 'not_executed', failure };
  }
  telemetry.event('AnswerLost', describeError(failure));
  return { on: 'lost', failure };
}

function sharedEffects(work: Work): Omit<Effects, 'prepare' | 'send' | 'nextLogin' | 'noLoginFailure'> {
  const { held, times, dependencies } = work;

  const putRecord = async (life: OpenLife) => {
    try {
      await dependencies.accounts.put(accountRecord(held, life), times.signal);
      return true;
    } catch (error) {
      work.telemetry.event('AccountNotRecorded', { login: life.login, ...describeError(error) });
      return false;
    }
  };

  return {
    async record(life) {
      const isComplete = life.deposit === 'none';
      const [recorded, published] = await Promise.all([putRecord(life), isComplete && publish(work, life)]);
      return { recorded, published };
    },

    async look(login, step) {
      const noAnswer: Learned = { on: step === 'look' ? 'unclear' : 'unconfirmed' };
      const server = await work.server();
      if (server === undefined) return noAnswer;
      try {
        const sighting = await sight(work, server.platform, login);
        if (sighting === 'ours') return { on: 'ours' };
        if (hasMoved(held, server)) return { on: 'moved' };
        if (sighting === 'absent' && (await isRecorded(work, login))) return { on: 'deleted' };
        return { on: LOOK_FACTS[sighting][step] };
      } catch (failure) {
        reportRefusal(failure, work.telemetry);
        return noAnswer;
      }
    },

    async complete(life, pay) {
      const [recorded, deposit] = await Promise.all([life.recorded || putRecord(life), payment(work, life, pay)]);
      const published = life.published || (recorded && (await publish(work, life)));
      return { on: 'completed', recorded, deposit, published };
    },

    async notify(login) {
      const { plan } = held;
      if (plan === undefined || (plan.send_email !== true && plan.send_pop_up !== true)) return;
      const server = await work.server();
      if (server?.client !== undefined) await notifyClient(work, plan, server.client, server.connection, login);
    },
  };
}

/** The fact that a sighting is in each step. `prove`: the server has said that the login exists. */
const LOOK_FACTS: Record<Exclude<Sighting, 'ours'>, Record<LookStep, 'foreign' | 'unproven' | LookResult>> = {
  foreign: { look: 'foreign', prove: 'foreign', confirm: 'foreign' },
  unmarked: { look: 'unproven', prove: 'unproven', confirm: 'unproven' },
  absent: { look: 'absent', prove: 'absent', confirm: 'refused' },
  silent: { look: 'silent', prove: 'unproven', confirm: 'unconfirmed' },
};
type LookResult = 'absent' | 'silent' | 'refused' | 'unconfirmed';

/** Whether the account's record exists: an account that the server no longer has was deleted. @throws AwsFailure */
async function isRecorded({ dependencies, held, times }: Work, login: number): Promise<boolean> {
  if (held.plan === undefined) return false;
  const record = await dependencies.accounts.read({ ...held.plan, login }, times.signal);
  return record?.operation_id === held.operationId;
}

function address({ host, port }: Connection): string {
  return `${host.toLowerCase()}:${port}`;
}

/** Whether the connection has led to another server since the first command. */
function hasMoved({ plan }: Held, { connection }: Server): boolean {
  return plan?.server !== undefined && plan.server !== address(connection);
}

/** Only an operator can help if a server refuses the service. */
export function reportRefusal(error: unknown, telemetry: Telemetry): void {
  const isRefusal = error instanceof PlatformFailure && error.kind === 'platform_refused';
  if (isRefusal) telemetry.event('PlatformRefused', { reason: error.reason });
}

/** Pays, or checks whether an earlier payment has arrived. A repeated payment is sent to an empty account only. */
async function payment(work: Work, life: OpenLife, pay: PayStep | undefined): Promise<PaymentOutcome> {
  const { held, times, telemetry } = work;
  if (life.deposit !== 'sent' && life.deposit !== 'found') return 'kept';
  const server = await work.server();
  if (server === undefined || hasMoved(held, server)) return pay === undefined ? 'unknown' : 'refused';
  const { platform } = server;
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
    await platform.fund(life.login, held.plan?.deposit ?? 0, times.platformEndsAt, times.platformSignal);
    return 'made';
  } catch (error) {
    log(error);
    return error instanceof PlatformFailure && error.proof !== 'nothing' ? 'refused' : balance();
  }
}

async function publish({ dependencies, held, times, telemetry }: Work, life: OpenLife): Promise<boolean> {
  try {
    const signal = within(Math.min(PUBLISH_MS, times.workEndsAt - dependencies.now()));
    await dependencies.events.publish('AccountOpened', accountOpened(accountRecord(held, life)), signal);
    return true;
  } catch (error) {
    telemetry.event('EventFailed', { login: life.login, ...describeError(error) });
    return false;
  }
}

/** The record of an open account. */
export function accountRecord({ plan }: Held, { login, opened_at }: OpenLife): AccountRecord {
  if (plan === undefined) throw new Error('An open account has a plan.');
  const { send_email, send_pop_up, language, keyed, deposit, deposit_with_opening, generated, ...more } = plan;
  const { exclusive, login_given, server, ...details } = more;
  return { ...details, login, opened_at };
}

/** The address that the CRM recorded or a code proved. One that a person only typed may be a stranger's. */
function provenEmail({ email, unproven = [] }: AccountClient): string | undefined {
  return unproven.includes('email') ? undefined : email;
}

/** Sends the notices that the request asks for. One that fails is logged and changes nothing. */
async function notifyClient(
  { dependencies, times, telemetry }: Work,
  plan: Plan,
  client: AccountClient,
  connection: Connection,
  login: number,
): Promise<void> {
  const account: OpenedAccount = {
    login,
    version: plan.version,
    group: plan.group,
    leverage: plan.leverage,
    readonly: plan.enable_readonly,
    demo: connection.demo,
    ...(connection.name === undefined ? {} : { serverName: connection.name }),
  };
  const language = plan.language ?? client.language;
  const send = async (notice: string, deliver: () => Promise<void>) => {
    try {
      await deliver();
    } catch (error) {
      telemetry.event('NoticeFailed', { login, notice, ...describeError(error) });
    }
  };
  const { notices } = dependencies;
  const mailbox = plan.send_email === true ? provenEmail(client) : undefined;
  if (plan.send_email === true && mailbox === undefined) telemetry.event('EmailNotProven', { login });
  await Promise.all([
    mailbox && send('email', () => notices.email({ email: mailbox }, account, language, times.signal)),
    plan.send_pop_up === true && send('popup', () => notices.popUp(client.id, account, language, times.signal)),
  ]);
}

/** The records that a request names, as far as the CRM has them. */
export type FoundRecords = Awaited<ReturnType<AccountDirectory['readAccountRecords']>>;

/** The records of the CRM that an order is made of. */
export interface NamedRecords {
  client: AccountClient;
  connection: Connection;
  accountType: AccountType | undefined;
}

/**
 * The records that the request names, in the contract's order; @throws Problem for the first that is missing or of the
 * other version
 */
export function findRecords(
  version: PlatformVersion,
  body: TradingAccountRequest,
  records: FoundRecords,
): NamedRecords {
  const { client, connection, accountType, rebateUser } = records;
  if (client === undefined) throw new Problem('user_not_found');
  if (connection === undefined || connection.platform !== version) throw new Problem(`${version}_connection_not_found`);
  if (body.account_type_id === undefined) {
    if (connection.demo) throw new Problem('account_type_required');
  } else if (accountType === undefined || accountType.platform !== version) {
    throw new Problem('account_type_not_found');
  }
  if (body.rebate_user_id !== undefined && rebateUser === undefined) throw new Problem('rebate_user_not_found');
  return { client, connection, accountType };
}

/**
 * Whether the connection takes this order. An order that was sent is not judged again, even if the connection has
 * changed.
 * @throws Problem
 */
export function judgeOrder(
  order: AccountOrder,
  connection: Connection,
  platform: Pick<TradingPlatform, 'unsupported'>,
) {
  if (!offers(connection, order.group)) throw new Problem('group_not_found');
  const { max_leverage: max } = connection;
  if (max !== undefined && order.leverage > max) {
    throw invalid([{ pointer: '#/leverage', rule: 'maximum', detail: `must be at most ${max} on this connection` }]);
  }
  const errors = platform.unsupported(order);
  if (errors.length > 0) throw new Problem('not_supported_by_connection', { errors });
}

function offers({ groups }: Connection, group: string): boolean {
  if (isManagerGroup(group)) return false;
  if (groups === undefined) return true;
  return Array.isArray(groups) ? groups.includes(group) : Object.hasOwn(groups, group);
}

/**
 * Whether an account without proof counts as ours, if our command may have opened it: only this service opens accounts
 * in the ranges. @param own the caller's login
 */
function isExclusive(connection: Connection, own: number | undefined): boolean {
  if (!('logins' in connection) || connection.strict === true) return false;
  return own === undefined || loginRanges(connection).some(({ from, to }) => from <= own && own <= to);
}

/** The deposit of a new account, on demo connections only. */
export function demoDeposit({ connection, accountType }: NamedRecords): number | undefined {
  const deposit = accountType?.deposit ?? 0;
  return connection.demo && deposit > 0 ? deposit : undefined;
}

/** The order for the platform. @param login the one to open the account at; absent: the caller's own, if any */
export function buildOrder(
  body: TradingAccountRequest,
  client: AccountClient,
  operation: { operationId: string },
  passwords: { master_password: string; investor_password: string },
  deposit: number | undefined,
  login: number | undefined = body.login,
): AccountOrder {
  return {
    operationId: operation.operationId,
    group: body.group,
    leverage: body.leverage,
    ...(login === undefined ? {} : { login }),
    loginGiven: body.login !== undefined,
    masterPassword: passwords.master_password,
    investorPassword: passwords.investor_password,
    name: client.name,
    email: client.email ?? '',
    ...(client.phone === undefined ? {} : { phone: client.phone }),
    ...(client.country === undefined ? {} : { country: client.country }),
    readonly: body.enable_readonly ?? false,
    ...(deposit === undefined ? {} : { deposit }),
  };
}

/** The account's record before the opening. */
export function buildDetails(
  request: { version: PlatformVersion; userId: string; body: TradingAccountRequest; caller: string },
  operationId: string,
): AccountDetails {
  const { version, userId, body, caller } = request;
  return {
    user_id: userId,
    version,
    connection_id: body.connection_id,
    group: body.group,
    leverage: body.leverage,
    account_type_id: body.account_type_id,
    enable_readonly: body.enable_readonly ?? false,
    enable_rebate: body.enable_rebate ?? false,
    rebate_user_id: body.rebate_user_id,
    operation_id: operationId,
    caller,
  };
}
