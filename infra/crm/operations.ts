import { secretReader } from '../../lib/aws/secrets.ts';
import { platformConnections } from '../../lib/platform/connections.ts';
import { PlatformFailure, type TradingPlatform } from '../../lib/platform/platform.ts';
import type { Connection } from '../../lib/records/crm-records.ts';
import { isReserved } from '../../lib/records/logins.ts';
import { CommandError, counted, type Terminal, wrong } from './command.ts';
import { findConnection } from './find-connection.ts';
import { table } from './listing.ts';
import { type OpenOperation, operationStore } from './operation-store.ts';
import type { Target } from './target.ts';

const ASK_MS = 20_000;

/** Lists the openings of accounts that are not at their end, the oldest first. */
export async function listOperations(target: Target, { json }: { json?: boolean }, terminal: Terminal): Promise<void> {
  const open = await (await operationStore(target)).open();
  if (json === true) return terminal.print(`${JSON.stringify(open.map(facts), null, 2)}\n`);
  const rows = open.map((one) => {
    const { user_id, connection_id, group } = one.details;
    return [one.operation_id, user_id, connection_id, group, String(loginOf(one) ?? ''), missing(one)];
  });
  terminal.print(table([['ID', 'USER', 'CONNECTION', 'GROUP', 'LOGIN', 'WHAT IS MISSING'], ...rows]));
}

/** Shows what is known of an operation, what its server says, and what can be done. */
export async function showOperation(target: Target, id: string, terminal: Terminal): Promise<void> {
  const operation = await findOperation(target, id);
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
  const operation = await findOperation(target, id);
  if (how.none === true) await settleAsNone(target, operation);
  else if (how.deposit === true) await settleDeposit(target, operation);
  else await settleAsOpened(target, operation, Number(how.login));
  terminal.print(`The operation ${id} is settled.\n`);
}

async function settleAsOpened(target: Target, operation: OpenOperation, login: number): Promise<void> {
  if (!Number.isSafeInteger(login) || login < 1) throw wrong('--login takes the login of the account.');
  if (operation.account !== undefined) throw new CommandError(`Its account is known: ${operation.account.login}.`);
  const { details, operation_id, deposit_settle_at } = operation;
  const finding = await ask(target, operation, (platform, signal) =>
    platform.find({ operationId: operation_id, group: details.group, login }, signal),
  );
  if (finding?.kind === 'absent') throw new CommandError(`The server knows no account ${login}; nothing was settled.`);
  const deposit = deposit_settle_at === undefined ? ('due' as const) : ('sent' as const);
  const taken = await (await operationStore(target)).take(operation);
  await taken.finish({
    login,
    opened_at: new Date().toISOString(),
    recorded: true,
    ...(details.deposit === undefined ? {} : { deposit }),
  });
}

async function settleAsNone(target: Target, operation: OpenOperation): Promise<void> {
  if (operation.account !== undefined) throw new CommandError(`Its account is known: ${operation.account.login}.`);
  if (operation.settle_at > Date.now())
    throw new CommandError(`Until ${iso(operation.settle_at)} the account may yet be opened; nothing was settled.`);
  const taken = await (await operationStore(target)).take(operation);
  await taken.release();
}

/** The money itself is not this command's: it looks whether it is there, and says that nothing is missing any more. */
async function settleDeposit(target: Target, operation: OpenOperation): Promise<void> {
  const { account } = operation;
  if (account === undefined) throw new CommandError('Its account is not known: settle it with --login or --none.');
  const holdsFunds = await ask(target, operation, (platform, signal) => platform.holdsFunds(account.login, signal));
  if (holdsFunds === false)
    throw new CommandError(`The account ${account.login} is empty: make the deposit on the server first.`);
  const taken = await (await operationStore(target)).take(operation);
  await taken.finish({ ...account, deposit: 'made' });
}

async function findOperation(target: Target, id: string): Promise<OpenOperation> {
  const open = await (await operationStore(target)).open();
  const found = open.find(({ operation_id }) => operation_id === id);
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
  const { operation_id, details, login } = operation;
  if (operation.account !== undefined) return `the account ${operation.account.login} was opened.`;
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

function advice(operation: OpenOperation): string {
  if (operation.account !== undefined) return `When nothing is missing: settle ${operation.operation_id} --deposit`;
  return [
    `When the account is there: settle ${operation.operation_id} --login N`,
    `When it is not, after ${iso(operation.settle_at)}: settle ${operation.operation_id} --none`,
  ].join('\n');
}

function loginOf({ account, login }: OpenOperation): number | undefined {
  return account?.login ?? login;
}

function missing({ account, settle_at }: OpenOperation): string {
  if (account === undefined) return `whether it was opened; certain after ${iso(settle_at)}`;
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
function facts({ operation_id, details, settle_at, login, account }: OpenOperation): object {
  return { operation_id, ...details, login, settle_at: iso(settle_at), account };
}

function iso(time: number): string {
  return new Date(time).toISOString();
}
