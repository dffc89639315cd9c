import { depositAfter } from '../../lib/accounts/completion.ts';
import { secretReader } from '../../lib/aws/secrets.ts';
import { platformConnections } from '../../lib/platform/connections.ts';
import { PlatformFailure, type TradingPlatform } from '../../lib/platform/platform.ts';
import type { KnownAccount } from '../../lib/records/account-operations.ts';
import type { Connection } from '../../lib/records/crm-records.ts';
import { NEVER } from '../../lib/records/due.ts';
import type { OpenOperation } from '../../lib/records/due-operations.ts';
import { isReserved } from '../../lib/records/logins.ts';
import { CommandError, counted, type Terminal, wrong } from './command.ts';
import { findConnection } from './find-connection.ts';
import { table } from './listing.ts';
import { callSignal, listed, type OperationStore, operationStore, takeUp } from './operation-store.ts';
import type { Target } from './target.ts';

const ASK_MS = 20_000;

/** Lists the openings of accounts that are not at their end, the oldest first. */
export async function listOperations(target: Target, { json }: { json?: boolean }, terminal: Terminal): Promise<void> {
  const open = await listed(await operationStore(target));
  if (json === true) return terminal.print(`${JSON.stringify(open.map(facts), null, 2)}\n`);
  const rows = open.map((one) => {
    const { operation_id, user_id, connection_id, group } = one.details;
    return [operation_id, user_id, connection_id, group, String(loginOf(one) ?? ''), missing(one)];
  });
  terminal.print(table([['ID', 'USER', 'CONNECTION', 'GROUP', 'LOGIN', 'WHAT IS MISSING'], ...rows]));
}

/** Shows what is known of an operation, what its server says, and what can be done. */
export async function showOperation(target: Target, id: string, terminal: Terminal): Promise<void> {
  const operation = await findOperation(await operationStore(target), id);
  terminal.print(`${JSON.stringify(facts(operation), null, 2)}\n`);
  terminal.print(`The server: ${await said(target, operation)}\n${advice(operation)}\n`);
}

export interface Settlement {
  login?: string;
  none?: boolean;
  deposit?: boolean;
}

/** Brings an operation to its end, by what the operator has found on the trading server. */
export async function settleOperation(target: Target, id: string, how: Settlement, terminal: Terminal): Promise<void> {
  if ([how.login, how.none, how.deposit].filter((one) => one !== undefined).length !== 1)
    throw wrong('Say what was found: --login N, --none or --deposit.');
  const store = await operationStore(target);
  const operation = await findOperation(store, id);
  if (how.none === true) await settleAsNone(store, operation);
  else if (how.deposit === true) await settleDeposit(target, store, operation);
  else await settleAsOpened(target, store, operation, Number(how.login));
  terminal.print(`The operation ${id} is settled.\n`);
}

async function settleAsOpened(target: Target, store: OperationStore, open: OpenOperation, login: number) {
  if (!Number.isSafeInteger(login) || login < 1) throw wrong('--login takes the login of the account.');
  if (open.account !== undefined) throw new CommandError(`Its account is known: ${open.account.login}.`);
  const { operation_id, group } = open.details;
  const finding = await ask(target, open, (platform, signal) =>
    platform.find({ operationId: operation_id, group, login }, signal),
  );
  if (finding?.kind === 'absent') throw new CommandError(`The server knows no account ${login}; nothing was settled.`);
  const account = { login, opened_at: new Date().toISOString(), recorded: true, ...depositAfter(open.earlier) };
  await finish(store, open, account);
}

async function settleAsNone(store: OperationStore, open: OpenOperation): Promise<void> {
  const { account, earlier } = open;
  if (account !== undefined) throw new CommandError(`Its account is known: ${account.login}.`);
  if (earlier.settleAt > Date.now())
    throw new CommandError(`Until ${iso(earlier.settleAt)} the account may yet be opened; nothing was settled.`);
  const { operation } = await takeUp(store, open);
  await store.operations.release(operation, callSignal());
}

/** The money itself is not this command's: it looks whether it is there, and says that nothing is missing any more. */
async function settleDeposit(target: Target, store: OperationStore, open: OpenOperation): Promise<void> {
  const { account } = open;
  if (account === undefined) throw new CommandError('Its account is not known: settle it with --login or --none.');
  const holdsFunds = await ask(target, open, (platform, signal) => platform.holdsFunds(account.login, signal));
  if (holdsFunds === false)
    throw new CommandError(`The account ${account.login} is empty: make the deposit on the server first.`);
  await finish(store, open, { ...account, deposit: 'made' });
}

/** Writes the account's record; what is still missing is left to the settler. */
async function finish(store: OperationStore, open: OpenOperation, account: KnownAccount): Promise<void> {
  const { operation, details } = await takeUp(store, open);
  const { login, opened_at } = account;
  await store.accounts.put({ ...details, login, opened_at }, callSignal());
  await store.operations.finish(operation, { ...account, recorded: true }, callSignal());
}

async function findOperation({ due }: OperationStore, id: string): Promise<OpenOperation> {
  const open = await due.open(callSignal());
  const found = open.find(({ details }) => details.operation_id === id);
  if (found === undefined)
    throw new CommandError(`No operation ${id} is open; ${counted(open.length, 'operation')} are.`);
  return found;
}

/** @returns undefined where the server cannot be asked */
async function ask<T>(
  target: Target,
  { details }: OpenOperation,
  question: (platform: TradingPlatform, signal: AbortSignal, connection: Connection) => Promise<T>,
): Promise<T | undefined> {
  const connection = await findConnection(target, details.connection_id);
  if (connection === undefined) return undefined;
  const signal = AbortSignal.timeout(ASK_MS);
  try {
    const platform = await platformConnections({ readSecret: secretReader(target.client) })(connection, signal);
    return await question(platform, signal, connection).finally(() => platform.close().catch(() => {}));
  } catch (error) {
    if (error instanceof PlatformFailure) return undefined;
    throw error;
  }
}

async function said(target: Target, operation: OpenOperation): Promise<string> {
  const { details, earlier, account } = operation;
  const { operation_id } = details;
  const { login } = earlier;
  if (account !== undefined) return `the account ${account.login} was opened.`;
  const finding = await ask(target, operation, (platform, signal, connection) => {
    const chosen = login === undefined ? {} : { login, reserved: isReserved(connection, login) };
    return platform.find({ operationId: operation_id, group: details.group, ...chosen }, signal);
  });
  switch (finding?.kind) {
    case 'found':
      return `it has the account ${finding.login}, which is this operation's.`;
    case 'another':
      return `the login ${login} is somebody else's.`;
    case 'absent':
      return 'it has no such account now.';
    case 'cannot_tell':
      return 'it has no way to tell. Look there for an account of this group, made at the time.';
    default:
      return 'it cannot be asked from here.';
  }
}

function advice({ account, details, earlier }: OpenOperation): string {
  const id = details.operation_id;
  if (account?.deposit === 'failed') return `When the deposit was made: settle ${id} --deposit`;
  if (account !== undefined) return 'What is missing is seen to each minute.';
  return [
    `When the account is there: settle ${id} --login N`,
    `When it is not, after ${iso(earlier.settleAt)}: settle ${id} --none`,
  ].join('\n');
}

function loginOf({ account, earlier }: OpenOperation): number | undefined {
  return account?.login ?? earlier.login;
}

function missing({ account, earlier, dueAt }: OpenOperation): string {
  if (account === undefined && dueAt === NEVER) return 'whether it was opened, which no server can tell';
  if (account === undefined) return `whether it was opened; certain after ${iso(earlier.settleAt)}`;
  if (account.deposit === 'failed') return 'the deposit, which an operator has to see to';
  return [
    !account.recorded && 'its record',
    account.deposit !== 'made' && account.deposit !== undefined && 'its deposit',
    account.told !== true && 'its event',
  ]
    .filter((one) => one !== false)
    .join(', ');
}

/** What people may see of an operation. */
function facts({ details, earlier, account }: OpenOperation): object {
  const { deposit, login, settleAt } = earlier;
  return { ...details, deposit, login, settle_at: iso(settleAt), account };
}

function iso(time: number): string {
  return new Date(time).toISOString();
}
