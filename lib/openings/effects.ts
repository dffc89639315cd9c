import { within } from '../deadline.ts';
import type { OpenedAccount } from '../messages/notices.ts';
import { PlatformFailure, type PlatformFailureKind, type TradingPlatform } from '../platform/platform.ts';
import { Problem } from '../problem.ts';
import type { AccountClient } from '../records/account-directory.ts';
import type { AccountDetails, AccountRecord } from '../records/accounts.ts';
import type { Connection } from '../records/crm-records.ts';
import { accountOpened } from '../records/events.ts';
import { describeError, type Telemetry } from '../telemetry.ts';
import type { TradingAccountRequest } from '../validators/trading-account.ts';
import type { AccountDependencies, Times } from './dependencies.ts';
import type { Effects, Learned, OpenLife } from './drive.ts';
import type { Held, Plan } from './ledger.ts';
import type { PaymentOutcome } from './life.ts';
import { buildDetails, buildOrder, chosenLogins, demoDeposit, judgeOrder, type NamedRecords } from './order.ts';

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
  /** The master password, if it is known here; `given`: the caller chose it. */
  master(): Promise<{ password: string | undefined; given: boolean }>;
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
}

/** One look-up takes no longer than this, in milliseconds. */
const LOOK_MS = 7_000;
/** The answer to an opening is awaited this long, and at most half of the remaining time, in milliseconds. */
const ANSWER_MS = 7_000;
/** Publishing an event may take this long, in milliseconds. */
const PUBLISH_MS = 2_000;
/** Refusals about the content of the order. The server gives the same answer to the same command. */
const CONTENT: ReadonlySet<PlatformFailureKind> = new Set([
  'group_not_found',
  'password_rejected',
  'validation_failed',
]);

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
    nextLogin: () => undefined,
    noLoginFailure: neverSent,
  };
}

export function requestEffects(work: Work, request: AccountRequest): Effects {
  const { held, times, telemetry, dependencies } = work;
  const { body, version, passwords } = request;
  let logins = (): Iterable<number> => [];

  return {
    ...sharedEffects(work),

    async prepare() {
      const found = await request.found();
      const server = await work.server();
      if (server === undefined) throw new Problem('platform_unavailable', { retryAfterSeconds: 5 });
      const { platform, connection } = server;
      const deposit = demoDeposit(found);
      const order = buildOrder(body, found.client, held, passwords, deposit);
      judgeOrder(order, connection, platform);
      await request.ready;
      logins = () => chosenLogins(held.nonce, body.login, connection);
      const [first] = logins();
      const own = platform.keyed ? body.login : undefined;
      const unseen = own !== undefined && (await requireFree(platform, own, held, times.platformSignal)) === 'silent';
      const plan: Plan = {
        ...buildDetails(request, held.operationId),
        send_email: body.send_email,
        send_pop_up: body.send_pop_up,
        language: body.language,
        keyed: platform.keyed,
        deposit,
        deposit_with_opening: platform.fundsWithOpening,
        master_given: body.master_password !== undefined,
        unseen,
        server: address(connection),
      };
      return { plan, login: platform.keyed ? first : undefined };
    },

    nextLogin(login) {
      const all = [...logins()];
      return all[all.indexOf(login) + 1];
    },

    noLoginFailure: () =>
      new PlatformFailure(body.login === undefined ? 'login_range_exhausted' : 'login_taken', {
        reason: 'login_exists',
      }),

    async send(login) {
      const server = await work.server();
      if (server?.client === undefined) return { on: 'unclear' };
      // The first server may have the account.
      if (hasMoved(held, server)) return { on: 'foreign' };
      const order = buildOrder(body, server.client, held, passwords, held.plan?.deposit, login);
      const leftMs = times.platformEndsAt - dependencies.now();
      const answerMs = held.plan?.keyed === true ? Math.min(ANSWER_MS, leftMs / 2) : leftMs;
      try {
        const opened = await server.platform.open(order, times.openingEndsAt, within(answerMs));
        if (login !== undefined && opened.login !== login) {
          telemetry.event('AnswerLost', { reason: 'another_login', login: opened.login });
          return { on: 'lost', elsewhere: true };
        }
        return { on: 'opened', login: opened.login };
      } catch (failure) {
        return failureFact(failure, telemetry);
      }
    },
  };

  /** A caller's login is looked up before anything is sent: it may lie outside of the ranges. */
  async function requireFree(platform: TradingPlatform, login: number, { operationId }: Held, signal: AbortSignal) {
    const sighting = await platform.look({ operationId, login }, within(LOOK_MS, signal));
    if (sighting !== 'absent' && sighting !== 'silent') {
      throw new PlatformFailure('login_taken', { reason: `login_exists_${version}` });
    }
    return sighting;
  }
}

/** The fact that a failed command shows. After an unexpected error the outcome is unknown. */
function failureFact(failure: unknown, telemetry: Telemetry): Learned {
  const kind = failure instanceof PlatformFailure ? failure.kind : 'account_outcome_unknown';
  if (kind === 'login_taken') return { on: 'exists', failure };
  if (kind !== 'account_outcome_unknown') return { on: CONTENT.has(kind) ? 'rejected' : 'refused', failure };
  telemetry.event('AnswerLost', describeError(failure));
  return { on: 'lost', failure };
}

function sharedEffects(work: Work): Omit<Effects, 'prepare' | 'send' | 'nextLogin' | 'noLoginFailure'> {
  const { held, times, dependencies } = work;

  const record = async (life: OpenLife) => {
    try {
      await dependencies.accounts.put(accountRecord(held, life), times.signal);
      return true;
    } catch (error) {
      work.telemetry.event('AccountNotRecorded', { login: life.login, ...describeError(error) });
      return false;
    }
  };

  return {
    record,

    async look(login) {
      const server = await work.server();
      if (server === undefined) return { on: 'unclear' };
      try {
        const { password, given } = await work.master();
        const generated = password === undefined || given ? undefined : { role: 'master' as const, password };
        const mark = { operationId: held.operationId, login, generated };
        const sighting = await server.platform.look(mark, within(LOOK_MS, times.platformSignal));
        const isUncertain = hasMoved(held, server) || held.plan?.unseen === true;
        return { on: sighting === 'unmarked' && isUncertain ? 'foreign' : sighting };
      } catch (failure) {
        reportRefusal(failure, work.telemetry);
        return { on: 'unclear' };
      }
    },

    async complete(life, pay) {
      const [recorded, deposit] = await Promise.all([life.recorded || record(life), payment(work, life, pay)]);
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

/** Pays, or checks whether an earlier payment has arrived. */
async function payment(work: Work, life: OpenLife, pay: boolean): Promise<PaymentOutcome> {
  const { held, times, telemetry } = work;
  if (life.deposit !== 'sent') return 'kept';
  const server = await work.server();
  if (server === undefined || hasMoved(held, server)) return pay ? 'refused' : 'unknown';
  const { platform } = server;
  const log = (error: unknown) =>
    telemetry.event('OperationNotSettled', { step: 'deposit', login: life.login, ...describeError(error) });
  if (pay) {
    try {
      await platform.fund(life.login, held.plan?.deposit ?? 0, times.platformEndsAt, times.platformSignal);
      return 'made';
    } catch (error) {
      log(error);
      if (error instanceof PlatformFailure && error.proof !== 'nothing') return 'refused';
    }
  }
  try {
    return (await platform.holdsFunds(life.login, within(LOOK_MS, times.platformSignal))) ? 'made' : 'unknown';
  } catch (error) {
    log(error);
    return 'unknown';
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
  const { send_email, send_pop_up, language, keyed, deposit, deposit_with_opening, master_given, ...more } = plan;
  const { unseen, server, ...details } = more;
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
