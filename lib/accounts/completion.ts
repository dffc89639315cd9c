import { within } from '../deadline.ts';
import type { OpenedAccount } from '../messages/notices.ts';
import { PlatformFailure, type TradingPlatform } from '../platform/platform.ts';
import type { AskedNotices, EarlierWork, KnownAccount } from '../records/account-operations.ts';
import { accountOpened } from '../records/events.ts';
import { LeaseLost } from '../records/operations.ts';
import { bestEffort, describeError, type Telemetry } from '../telemetry.ts';
import type { NamedRecords } from './order.ts';
import { askUntilCertain, settledAfterDeath, settleMs, type Work } from './work.ts';

/** The server that pays deposits. */
interface Payer {
  platform: TradingPlatform;
  /** What the account is to be funded with, in units of its currency. */
  deposit: number | undefined;
}

/**
 * Everything that an account needs once it is open: its record and its deposit, then the operation's end; then others are
 * told. What cannot be done now is left to whoever takes the operation up next; nothing of it changes the answer.
 * @param payer undefined when the platform cannot be asked
 * @param notice tells the client, where that is this worker's; never once more, so not before the end is written
 */
export async function complete(
  work: Work,
  account: KnownAccount,
  payer: Payer | undefined,
  notice: () => Promise<void> = async () => {},
): Promise<void> {
  const { services, operation } = work;
  const telemetry = work.telemetry.with({ login: account.login });
  const [deposit, recorded] = await Promise.all([
    payer === undefined ? account : seeToDeposit({ ...work, telemetry }, payer, account),
    account.recorded || record(work, account, telemetry),
  ]);
  const { deposit_settle_at, ...known } = account;
  const settleAt = deposit.deposit_settle_at;
  const ending = {
    ...known,
    recorded,
    deposit: deposit.deposit,
    ...(deposit.deposit === 'sent' ? { deposit_settle_at: settleAt } : {}),
  };
  const ended = await bestEffort(telemetry, 'finish', (signal) =>
    services.operations.finish(operation, ending, signal),
  );
  if (!ended) return;
  await Promise.all([notice(), recorded && account.told !== true && tell({ ...work, telemetry }, ending)]);
}

/** How long telling may take, in milliseconds. */
const TELLING_MS = 2_000;

/** Tells others that the account is open, and notes it. */
async function tell({ services, operation, details, telemetry, signal }: Work, account: KnownAccount): Promise<void> {
  const { login, opened_at } = account;
  try {
    const event = accountOpened({ ...details, login, opened_at });
    await services.events.tell('AccountOpened', event, within(TELLING_MS, signal));
  } catch (error) {
    telemetry.event('EventFailed', describeError(error));
    return;
  }
  await bestEffort(telemetry, 'told', async (settling) => {
    try {
      await services.operations.finish(operation, { ...account, told: true }, settling);
    } catch (error) {
      // Whoever has taken over tells it once more.
      if (!(error instanceof LeaseLost)) throw error;
    }
  });
}

/** What is to become of the deposit of an account that was found open. */
export function depositAfter({
  deposit,
  depositSettleAt,
}: Partial<EarlierWork>): Pick<KnownAccount, 'deposit' | 'deposit_settle_at'> {
  if (deposit === undefined) return {};
  return depositSettleAt === undefined ? { deposit: 'due' } : { deposit: 'sent', deposit_settle_at: depositSettleAt };
}

/** Writes the account's record; @returns whether it is written */
async function record(
  { services, details, signal }: Work,
  { login, opened_at }: KnownAccount,
  telemetry: Telemetry,
): Promise<boolean> {
  try {
    await services.accounts.put({ ...details, login, opened_at }, signal);
    return true;
  } catch (error) {
    telemetry.event('AccountNotRecorded', { login, ...describeError(error) });
    return false;
  }
}

type Deposit = Pick<KnownAccount, 'deposit' | 'deposit_settle_at'>;

/** The command that pays leaves once for an operation, whatever becomes of it; from then on the balance is looked at, and told. */
async function seeToDeposit(work: Work, payer: Payer, account: KnownAccount): Promise<Deposit> {
  if (account.deposit === 'due') return pay(work, payer, account.login);
  if (account.deposit !== 'sent') return account;
  return lookForDeposit(work, payer, account.login, account.deposit_settle_at ?? 0);
}

async function pay(work: Work, payer: Payer, login: number): Promise<Deposit> {
  const { services, operation, platformEndsAt, platformSignal, telemetry } = work;
  let left = false;
  const note = async () => {
    await services.operations.markPaying(operation, settledAfterDeath(work, platformEndsAt), platformSignal);
    left = true;
  };
  try {
    await payer.platform.fund(
      { deposit: payer.deposit ?? 0 },
      login,
      { note, notAfter: platformEndsAt },
      platformSignal,
    );
    return { deposit: 'made' };
  } catch (error) {
    if (!left) {
      telemetry.event('OperationNotSettled', { step: 'deposit', ...describeError(error) });
      return { deposit: 'due' };
    }
    const isKnown = error instanceof PlatformFailure && error.kind !== 'account_outcome_unknown';
    if (isKnown) return depositFailed(telemetry, error);
    telemetry.event('AnswerLost', { step: 'deposit', ...describeError(error) });
    return lookForDeposit(work, payer, login, services.clock.now() + settleMs(services));
  }
}

/** @param settleAt from when on (epoch ms) an account that is empty stays empty */
async function lookForDeposit(work: Work, { platform }: Payer, login: number, settleAt: number): Promise<Deposit> {
  const { telemetry } = work;
  const holdsFunds = await askUntilCertain(work, settleAt, async (isCertain, signal) => {
    try {
      // A protocol that cannot say will not say later either.
      const answer = (await platform.holdsFunds(login, signal)) ?? 'cannot_tell';
      return answer === false && !isCertain ? 'not_yet' : answer;
    } catch {
      return 'unreachable';
    }
  });
  if (holdsFunds === undefined) return { deposit: 'sent', deposit_settle_at: settleAt };
  return holdsFunds === true ? { deposit: 'made' } : depositFailed(telemetry, new EmptyAccount('It stayed empty.'));
}

class EmptyAccount extends Error {
  override readonly name = 'EmptyAccount';
}

/** Told once: it is not paid again by itself. */
function depositFailed(telemetry: Telemetry, error: unknown): Deposit {
  telemetry.event('DepositFailed', describeError(error));
  return { deposit: 'failed' };
}

/** Sends the notices that the request asks for; one that fails is counted. */
export async function notify(
  work: Work,
  { client, connection }: NamedRecords,
  login: number,
  asked: AskedNotices,
): Promise<void> {
  const { services, details, signal } = work;
  const telemetry = work.telemetry.with({ login });
  const account: OpenedAccount = {
    login,
    version: details.version,
    group: details.group,
    leverage: details.leverage,
    readonly: details.enable_readonly,
    demo: connection.demo,
    ...(connection.name === undefined ? {} : { serverName: connection.name }),
  };
  const language = asked.language ?? client.language;
  const noticed = async (notice: string, send: () => Promise<void>) => {
    try {
      await send();
    } catch (error) {
      telemetry.event('NoticeFailed', { notice, ...describeError(error) });
    }
  };
  await Promise.all([
    asked.send_email === true && noticed('email', () => services.notices.email(client, account, language, signal)),
    asked.send_pop_up === true && noticed('popup', () => services.notices.popUp(client.id, account, language, signal)),
  ]);
}
