import { databaseClient, dynamoTable, type Item, transactionWriter } from '../../lib/aws/dynamodb.ts';
import { secretReader } from '../../lib/aws/secrets.ts';
import { planTimes } from '../../lib/openings/dependencies.ts';
import { driveOperation } from '../../lib/openings/drive.ts';
import type { Job, Learned } from '../../lib/openings/effects.ts';
import {
  dynamoLedger,
  type HeldOperation,
  type Ledger,
  type ListedOperation,
  type OperationPlan,
  parseHeld,
} from '../../lib/openings/ledger.ts';
import { platformConnections } from '../../lib/platform/connections.ts';
import {
  PlatformFailure,
  type PlatformInspector,
  type Sighting,
  type TradingPlatform,
} from '../../lib/platform/platform.ts';
import { type AccountRecord, type Accounts, dynamoAccounts, openedAccounts } from '../../lib/records/accounts.ts';
import type { Connection } from '../../lib/records/crm-records.ts';
import { OPERATOR_ONLY } from '../../lib/records/due.ts';
import type { Telemetry } from '../../lib/telemetry.ts';
import { CommandError, countOf, type Terminal, wrongUsage } from './command.ts';
import { itemKey } from './crm-items.ts';
import { textTable } from './records.ts';
import { findConnection } from './table-records.ts';
import { openTable, type Target } from './target.ts';

/** How long a trading server may take to accept our login and to answer all questions. */
const ASK_MS = 20_000;
const CALL_MS = 10_000;
/** An operator's command holds an operation for this long at most. */
const LEASE_MS = 60_000;
const DAY_MS = 24 * 60 * 60_000;
const callSignal = () => AbortSignal.timeout(CALL_MS);

interface Store {
  ledger: Ledger;
  accounts: Accounts;
}

/** The ledger of a deployment or of the local service. @throws CommandError if only a table of CRM records is named */
export async function openLedger({ clientOf, resource }: Target): Promise<Store> {
  const client = databaseClient(clientOf('DYNAMODB'));
  const names = { operations: await resource('OperationsTable'), logins: await resource('LoginsTable') };
  const [operations, logins] = [dynamoTable(client, names.operations), dynamoTable(client, names.logins)];
  return {
    ledger: dynamoLedger({ operations, logins, names, transact: transactionWriter(client) }),
    accounts: dynamoAccounts(dynamoTable(client, await resource('AccountsTable'))),
  };
}

/** All operations that have not ended, the oldest first. */
function openOperations({ ledger }: Store): Promise<ListedOperation[]> {
  return ledger.open(callSignal());
}

/** Lists the operations that have not ended. */
export async function listOperations(target: Target, { json }: { json?: boolean }, terminal: Terminal): Promise<void> {
  const open = await openOperations(await openLedger(target));
  if (json === true) return terminal.print(`${JSON.stringify(open.map(facts), null, 2)}\n`);
  terminal.print(textTable(operationRows(open)));
}

/** The columns of operations in a list, after a line of headings. */
function operationRows(open: readonly ListedOperation[]): string[][] {
  const rows = open.map((one) => {
    const { held } = one;
    const { user_id = '', connection_id = '', group = '' } = held.plan ?? {};
    return [held.operationId, user_id, connection_id, group, String(operationLogin(held) ?? ''), missing(one)];
  });
  return [['ID', 'USER', 'CONNECTION', 'GROUP', 'LOGIN', 'WHAT IS MISSING'], ...rows];
}

/** Shows an operation, its account on the server, and the possible commands. */
export async function showOperation(target: Target, id: string, terminal: Terminal): Promise<void> {
  const open = await openOperations(await openLedger(target));
  const one = open.find(({ held }) => held.operationId === id) ?? (await findUnlisted(target, id));
  const traces = one?.held.plan === undefined ? describeTraces(await findTraces(target, id)) : '';
  if (one === undefined) throw notFound(id, open, traces);
  terminal.print(`${JSON.stringify(facts(one), null, 2)}\n`);
  terminal.print(`The server: ${await sighting(target, one.held)}\n${advice(one)}${traces}\n`);
}

/** What is known of an operation apart from its own item, which a restore may have lost or set back. */
interface Traces {
  record?: AccountRecord;
  /** The login that is reserved for it. */
  reserved?: number;
}

/** Scans both tables: their keys do not name the operation. */
async function findTraces(target: Target, id: string): Promise<Traces> {
  const find = async (table: 'Accounts' | 'Logins') => {
    for await (const page of (await openTable(target, table)).pages()) {
      const item = page.find(({ operation_id }) => operation_id === id);
      if (item !== undefined) return item;
    }
    return undefined;
  };
  const record = (await find('Accounts')) as (AccountRecord & Item) | undefined;
  const reservation = await find('Logins');
  return {
    ...(record === undefined ? {} : { record }),
    ...(reservation === undefined ? {} : { reserved: Number(String(reservation.pk).split('#').at(-1)) }),
  };
}

/** The traces as sentences. */
function describeTraces({ record, reserved }: Traces): string {
  const found = [
    record && `Its record says that it has opened the account ${record.login} of the client ${record.user_id}.`,
    reserved !== undefined && `The login ${reserved} is reserved for it, so it may have opened that account.`,
  ].filter((one) => typeof one === 'string');
  return found.length === 0 ? '' : ` ${found.join(' ')}`;
}

/** The plan of an operation whose item has none, from the account's record. */
function recordedPlan(
  { login, opened_at: _, ...details }: AccountRecord,
  { keyed }: { keyed: boolean },
): OperationPlan {
  return { ...details, keyed, exclusive: false, login_given: false, deposit_with_opening: false };
}

/** An operation as `operation` shows it. Without `dueAt` it is not on the list: it has ended, or waits for a retry. */
type Shown = Pick<ListedOperation, 'held'> & Partial<ListedOperation>;

/** Scans the table, because the key of an item does not name the operation. */
async function findUnlisted(target: Target, id: string): Promise<Shown | undefined> {
  for await (const page of (await openTable(target, 'Operations')).pages()) {
    // Operations of registrations have no `life`.
    const item = page.find(({ operation_id, life }) => operation_id === id && life !== undefined);
    if (item !== undefined) return { held: parseHeld(item) };
  }
  return undefined;
}

export interface Settlement {
  login?: string;
  foreign?: string;
  none?: boolean;
  deposit?: boolean;
}

/** Ends an operation that only an operator can decide, with the operator's finding on the trading server. */
export async function settleOperation(target: Target, id: string, how: Settlement, terminal: Terminal): Promise<void> {
  if ([how.login, how.foreign, how.none, how.deposit].filter((one) => one !== undefined).length !== 1)
    throw wrongUsage('Say what was found: --login N, --foreign N, --none or --deposit.');
  const finding: Finding = {
    ...how,
    login: parseLogin('--login', how.login),
    foreign: parseLogin('--foreign', how.foreign),
  };
  const store = await openLedger(target);
  const { held: found, dueAt } = await findOperation(target, store, id);
  // First the lease, then the state: a retry may be at work.
  const held = await store.ledger.acquire(found.pk, 'operator', LEASE_MS, callSignal());
  if (held === undefined) throw new CommandError('Another worker holds it now; try again in a minute.');
  const fact = await factAfterRestore(target, held, finding).catch(async (error: unknown) => {
    // Nothing was written yet. Later a write may have arrived without an answer, and is not taken back.
    await store.ledger.rest(held, dueAt, callSignal()).catch(() => {});
    throw error;
  });
  await settle(store, held, fact);
  terminal.print(`The operation ${id} is settled.\n`);
}

interface Finding {
  login: number | undefined;
  foreign: number | undefined;
  none?: boolean;
  deposit?: boolean;
}

/** @throws CommandError for a text that is no login */
function parseLogin(option: string, text: string | undefined): number | undefined {
  const login = text === undefined ? undefined : Number(text);
  if (login !== undefined && (!Number.isSafeInteger(login) || login < 1))
    throw wrongUsage(`${option} takes the login of the account.`);
  return login;
}

/** The same for an operation that a restore left without its plan: it is found by its record or its reservation. */
async function factAfterRestore(target: Target, held: HeldOperation, finding: Finding): Promise<Learned> {
  if (held.plan !== undefined) return operatorFact(target, held, finding);
  const { record, reserved } = await findTraces(target, held.operationId);
  if (record !== undefined) {
    const connection = await findConnection(target, record.connection_id);
    held.plan = recordedPlan(record, { keyed: connection?.protocol !== 'web-registration' });
  } else if (finding.login !== undefined) {
    throw new CommandError(
      'Its plan is lost, so its record cannot be written. A retry with the same key goes on with it.',
    );
  } else if (finding.none === true && reserved !== undefined) {
    throw new CommandError(`The login ${reserved} is reserved for it, so it may have opened that account.`);
  }
  return operatorFact(target, held, finding);
}

/** The operator's finding as a fact of `life.ts`. @throws CommandError if it contradicts the state or the server */
async function operatorFact(
  target: Target,
  held: HeldOperation,
  { login, foreign, deposit }: Finding,
): Promise<Learned> {
  const { life, plan } = held;
  if (deposit === true) return depositFact(target, held);
  if (life.at === 'open' || life.at === 'done') throw new CommandError(`Its account is known: ${life.login}.`);
  if (login === undefined && foreign === undefined) return absenceFact(target, held);
  if (life.at !== 'undecided') throw new CommandError(NOT_UNDECIDED);
  if (foreign !== undefined) {
    if (plan?.keyed !== true || foreign !== life.login)
      throw new CommandError(plan?.keyed === true ? `It has asked for the login ${life.login}.` : NO_LOGINS);
    const seen = await look(target, held, foreign);
    if (seen === 'ours') throw new CommandError(`The account ${foreign} shows this operation: settle it with --login.`);
    if (seen === 'absent') throw new CommandError(`The server has no account ${foreign}; nothing was settled.`);
    return { on: 'operator_foreign' };
  }
  const found = login ?? 0;
  if (plan?.keyed === true && found !== life.login && found !== life.other)
    throw new CommandError(`It has only asked for the login ${life.login}.`);
  const exists = await ask(target, held, (platform, signal) => platform.exists(found, signal));
  if (exists === false) throw new CommandError(`The server has no account ${found}; nothing was settled.`);
  return { on: 'operator_found', login: found };
}

const NOT_UNDECIDED = 'The settler still looks for its account: only what waits for an operator can be settled.';
const NO_LOGINS = 'Its server chooses the logins, so no account of somebody else is in its way.';

async function depositFact(target: Target, held: HeldOperation): Promise<Learned> {
  const { life } = held;
  if (life.at !== 'done' || !life.unpaid) throw new CommandError('Its deposit is not known to be missing.');
  const holdsFunds = await ask(target, held, (platform, signal) => platform.holdsFunds(life.login, signal));
  if (holdsFunds === false)
    throw new CommandError(`The account ${life.login} is empty: make the deposit on the server first.`);
  return { on: 'operator_paid' };
}

/** There is no account. The server is asked once more. */
async function absenceFact(target: Target, held: HeldOperation): Promise<Learned> {
  const { life, plan, sentAt = Date.now() } = held;
  const isOldAndOwn = life.at === 'sent' && plan?.login_given === true && Date.now() - sentAt > DAY_MS;
  if (life.at !== 'undecided' && !isOldAndOwn) throw new CommandError(NOT_UNDECIDED);
  const known = await knownLogin(target, held);
  if (known !== undefined)
    throw new CommandError(`It has opened the account ${known}: settle it with --login ${known}.`);
  if (plan?.keyed === true && life.login !== undefined) {
    const seen = await look(target, held, life.login);
    if (seen === undefined)
      throw new CommandError('The server cannot be asked now, so nothing was settled. Repeat the command later.');
    if (seen === 'foreign' || seen === 'unmarked')
      throw new CommandError(
        `The server has an account ${life.login}: settle it with --login ${life.login}, or with --foreign ${life.login} if it is somebody else's.`,
      );
  }
  return { on: 'operator_found_none' };
}

function look(target: Target, held: HeldOperation, login: number): Promise<Sighting | undefined> {
  const { operationId } = held;
  return ask(target, held, (platform, signal) => platform.look({ operationId, login }, signal));
}

/** The login of its account, if the account's record or its mark on the server shows it. */
async function knownLogin(target: Target, held: HeldOperation): Promise<number | undefined> {
  const { operationId, life, plan } = held;
  if (plan === undefined) return undefined;
  const records = await readAccounts(target, plan.user_id);
  const record = records.find(({ operation_id }) => operation_id === operationId);
  const login = record?.login ?? ('login' in life ? life.login : undefined);
  if (login === undefined || !plan.keyed) return login;
  const seen = await look(target, held, login);
  // A server that was restored may have lost an account that has a record.
  const isKnown = seen === 'ours' || (record !== undefined && seen !== 'absent');
  return isKnown ? login : undefined;
}

/** Applies the fact, and records the account. The settler pays, publishes and completes. */
async function settle({ ledger, accounts }: Store, held: HeldOperation, fact: Learned): Promise<void> {
  const { now } = Date;
  const before = held.life;
  const job: Job = {
    worker: 'operator',
    held,
    times: planTimes(now(), now() + ASK_MS),
    telemetry: SILENT,
    dependencies: { ledger, accounts, now },
    server: async () => undefined,
    generated: async () => undefined,
    keys: async () => [],
  };
  const end = await driveOperation(job, fact);
  if (fact.on === 'operator_found' && end.kind !== 'opened')
    throw new CommandError(`The login ${fact.login} belongs to another operation; nothing was settled.`);
  if (end.kind === 'overtaken') throw new CommandError('Another worker has acquired it; look at it again.');
  if (held.life === before) throw new CommandError('It could not be written. Repeat the command in a minute.');
}

const SILENT: Telemetry = { event: () => {}, with: () => SILENT };

/** @throws CommandError with the traces of an operation that the ledger does not have, or has as a claim only */
async function findOperation(target: Target, store: Store, id: string): Promise<ListedOperation> {
  const open = await openOperations(store);
  const found = open.find(({ held }) => held.operationId === id);
  if (found === undefined) throw notFound(id, open, describeTraces(await findTraces(target, id)));
  return found;
}

function notFound(id: string, open: readonly ListedOperation[], traces: string): CommandError {
  const retry = traces === '' ? '' : ' A retry with the same key goes on with it.';
  return new CommandError(`No operation ${id} is open; ${countOf(open.length, 'operation')} are.${traces}${retry}`);
}

type Question<T> = (server: TradingPlatform & PlatformInspector, signal: AbortSignal) => Promise<T>;

/** Asks a trading server, and ends the session. @throws PlatformFailure if the server does not accept our login */
export async function askServer<T>({ clientOf }: Target, connection: Connection, question: Question<T>): Promise<T> {
  const signal = AbortSignal.timeout(ASK_MS);
  const readSecret = secretReader(clientOf('SECRETS_MANAGER'));
  const server = await platformConnections({ readSecret })(connection, signal);
  return question(server, signal).finally(() => server.close().catch(() => {}));
}

/** @returns undefined if the server cannot be asked */
async function ask<T>(target: Target, { plan }: HeldOperation, question: Question<T>): Promise<T | undefined> {
  const connection = await findConnection(target, plan?.connection_id ?? '');
  if (connection === undefined) return undefined;
  try {
    return await askServer(target, connection, question);
  } catch (error) {
    if (error instanceof PlatformFailure) return undefined;
    throw error;
  }
}

async function sighting(target: Target, held: HeldOperation): Promise<string> {
  const login = operationLogin(held);
  if (held.life.at === 'claimed') return 'nothing was sent to it.';
  if (held.life.at === 'open' || held.life.at === 'done') return `the account ${login} was opened.`;
  const seen = login === undefined ? 'silent' : await look(target, held, login);
  switch (seen) {
    case 'ours':
      return `it has the account ${login}, with this operation's id.`;
    case 'foreign':
      return `the account ${login} shows another operation's id.`;
    case 'unmarked':
      return `it has the account ${login}, without an id.`;
    case 'absent':
      return `it has no account ${login}.`;
    case 'silent':
      return 'it cannot say. Look there for an account of this group, opened at the time.';
    default:
      return 'it cannot be asked from here.';
  }
}

function advice({ held: { life, operationId: id }, dueAt }: Shown): string {
  if (life.at === 'claimed') return 'It waits for a retry with the same key, which sends the first command.';
  if (dueAt === undefined)
    return life.at === 'done' ? 'It has ended.' : 'It waits for a retry with the same key, which sends the same login.';
  if (life.at === 'done') return `When the deposit was made: settle ${id} --deposit`;
  if (life.at === 'open') return 'The settler completes what is missing, each minute.';
  if (life.at === 'sent') return 'The settler looks for it. A retry with the same key sends the same login again.';
  return [
    ...(life.at !== 'undecided' || life.other === undefined
      ? []
      : [`The server answered with the login ${life.other}, which was not asked for.`]),
    `If the account is there: settle ${id} --login N`,
    `If the account there is somebody else's: settle ${id} --foreign N`,
    `If there is none: settle ${id} --none`,
  ].join('\n');
}

function operationLogin({ life }: HeldOperation): number | undefined {
  return 'login' in life ? life.login : undefined;
}

function missing({ held: { life, since = 0 } }: ListedOperation): string {
  if (life.at === 'undecided') return 'whether it was opened: an operator decides';
  if (life.at === 'sent')
    return `whether it was opened${Date.now() - since > DAY_MS ? '; its server has not answered for a day' : ''}`;
  if (life.at === 'done') return 'the deposit: an operator pays';
  if (life.at !== 'open') return '';
  const { recorded, deposit, published } = life;
  return [
    !recorded && 'its record',
    deposit !== 'none' && deposit !== 'made' && 'its deposit',
    !published && 'its event',
  ]
    .filter((one) => one !== false)
    .join(', ');
}

function facts({ held, dueAt }: Shown): object {
  const { life, plan, since } = held;
  return {
    ...plan,
    operation_id: held.operationId,
    life,
    since: since === undefined ? undefined : new Date(since).toISOString(),
    due_at: dueAt === OPERATOR_ONLY ? 'operator' : dueAt && new Date(dueAt).toISOString(),
  };
}

/** Shows the data about a client: the record, the accounts opened here, and the operations that have not ended. */
export async function showClient(target: Target, id: string, { print }: Terminal): Promise<void> {
  const store = await openLedger(target);
  const item = await target.table.read(itemKey('clients', id));
  const accounts = await listAccounts(target, id);
  const open = (await openOperations(store)).filter(({ held }) => held.plan?.user_id === id);
  if (item === undefined && accounts.length === 0 && open.length === 0)
    throw new CommandError(`There is no client ${id} in ${target.name}, and no account was opened for this id.`);
  print(`Record: ${item === undefined ? 'none' : JSON.stringify(item.record, null, 2)}\n`);
  print(`\nAccounts opened here: ${accounts.length}\n`);
  if (accounts.length > 0) print(textTable([ACCOUNT_HEADINGS, ...accounts]));
  print(`\nOpen operations: ${open.length}\n`);
  if (open.length > 0) print(textTable(operationRows(open)));
}

const ACCOUNT_HEADINGS = ['OPENED', 'VERSION', 'CONNECTION', 'LOGIN', 'GROUP', 'LEVERAGE', 'OPERATION'];

async function listAccounts(target: Target, id: string): Promise<string[][]> {
  const found = await readAccounts(target, id);
  return found.map(({ opened_at, version, connection_id, login, group, leverage, operation_id }) => [
    ...[opened_at, version, connection_id, String(login), group, String(leverage), operation_id],
  ]);
}

async function readAccounts({ clientOf, resource }: Target, id: string): Promise<AccountRecord[]> {
  const client = databaseClient(clientOf('DYNAMODB'));
  try {
    return await openedAccounts(dynamoTable(client, await resource('AccountsTable')), id, callSignal());
  } finally {
    client.destroy();
  }
}
