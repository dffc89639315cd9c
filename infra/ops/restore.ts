import * as v from 'valibot';
import type { Item } from '../../lib/aws/dynamodb.ts';
import { connectionPlace, type ReservationPlace, reservationKey } from '../../lib/openings/reservation-key.ts';
import { reservedAt } from '../../lib/openings/reservation-writes.ts';
import type { AccountRecord } from '../../lib/records/accounts.ts';
import { dueAttributes, OPERATOR_ONLY } from '../../lib/records/due.ts';
import { EXPIRY_ATTRIBUTE, logicalId, type TableName } from '../tables.ts';
import { readAccountRecords } from './account-records.ts';
import { CommandError, countOf, wrongUsage } from './command.ts';
import { CrmFileError } from './crm-items.ts';
import { chunksOf, crmTable, type TableItems } from './crm-table.ts';
import { connectionErrors, findConnection, parseCrmItems, summarizeChanges, writeRecords } from './table-records.ts';
import { openTable, type Target } from './target.ts';
import type { Terminal } from './terminal.ts';
import { UnreadableItems } from './unreadable.ts';

/** `from`: the name of the table that AWS restored. */
type RestoreOptions = { from: string; dryRun?: boolean };

/**
 * How the items of a table are copied back. An item whose key exists is never overwritten: the existing one is newer.
 */
interface RestoreRule {
  table: TableName;
  /** The reason for which an item is not restored, in a few words; undefined if it is restored. */
  leaveOut?(item: Item): string | undefined;
  /** The copied item. */
  copied?(item: Item): Item;
  /** The attribute that names the owner: two items of one key are the same thing only if it is equal. */
  owner?: 'operation_id';
  /** The reservation that an item needs before it is copied. */
  reservation?(item: Item): Item | undefined;
}

const RULES: Readonly<Record<string, RestoreRule>> = {
  logins: { table: 'Logins', owner: 'operation_id' },
  operations: {
    table: 'Operations',
    copied: reopen,
    owner: 'operation_id',
    reservation,
  },
  accounts: { table: 'Accounts' },
  registrations: {
    table: 'Registrations',
    // Pending registrations stay out: their codes have expired, and guesses would be counted from an earlier state.
    leaveOut: ({ confirmation }) => (confirmation === undefined ? 'not confirmed' : undefined),
  },
};

/** The members of an operation that decide how it is copied. Operations of registrations have no `life`. */
const OperationSchema = v.object({
  operation_id: v.string(),
  /** Without the incarnation, the reservation could not be released. */
  incarnation: v.optional(v.string()),
  life: v.looseObject({ at: v.string(), login: v.optional(v.number()), deposit: v.optional(v.string()) }),
  plan: v.optional(
    v.looseObject({
      version: v.picklist(['tp5', 'tp4']),
      connection_id: v.string(),
      keyed: v.boolean(),
      deposit: v.optional(v.number()),
      deposit_with_opening: v.boolean(),
      server: v.optional(v.string()),
    }),
  ),
});

/**
 * Opens an operation again, because its unfinished work may have been completed after the restored state. The settler
 * looks for its account and its deposit, and pays nothing. An operator decides about accounts that cannot be looked up.
 */
function reopen(item: Item): Item {
  const parsed = v.safeParse(OperationSchema, item);
  if (!parsed.success) return item;
  const { operation_id, life, plan } = parsed.output;
  const now = dueAttributes(operation_id, Date.now());
  if (life.at === 'open') {
    const isPaid = life.deposit === 'none' || life.deposit === 'made' || life.deposit === 'failed';
    return { ...item, ...now, life: { ...life, deposit: isPaid ? life.deposit : 'found' }, lease_until: 0 };
  }
  if (life.at === 'sent' && plan?.keyed === true)
    return { ...item, ...now, life: { ...life, commands: 'found' }, lease_until: 0 };
  if (life.at !== 'claimed' && life.at !== 'sent') return item;
  const { [EXPIRY_ATTRIBUTE]: _, ...kept } = item;
  const undecided = { at: 'undecided', ...(life.login === undefined ? {} : { login: life.login }) };
  const unpaid = plan && (plan.deposit_with_opening ? plan : { ...plan, deposit: undefined });
  return { ...kept, life: undecided, plan: unpaid, lease_until: 0, ...dueAttributes(operation_id, OPERATOR_ONLY) };
}

/** An account at a login belongs to the operation that holds the reservation (lib/openings/ledger.ts). */
function reservation(item: Item): Item | undefined {
  const parsed = v.safeParse(OperationSchema, item);
  if (!parsed.success || parsed.output.plan === undefined) return undefined;
  const { operation_id, incarnation, life, plan } = parsed.output;
  if (life.login === undefined) return undefined;
  return { pk: reservationKey(plan, life.login), operation_id, incarnation, connection_id: plan.connection_id };
}

/** The maximum number of accounts without a place that are named. */
const MAX_UNPLACED = 20;

/**
 * Writes reservations again from the records of accounts, under the keys that requests give them. An item whose key
 * exists is never overwritten.
 */
export async function rebuildReservations(
  target: Target,
  { dryRun = false }: { dryRun?: boolean },
  terminal: Terminal,
) {
  const [accounts, live] = [await openTable(target, 'Accounts'), await openTable(target, 'Logins')];
  const run = { live, logins: live, rule: RULES.logins as RestoreRule, report: new Report(), dryRun };
  const placeOf = placeFinder(target);
  for await (const page of accounts.pages()) {
    const { records, unreadable } = readAccountRecords(page);
    for (const key of unreadable) run.report.unplaced.add(`${key}: cannot be read`);
    const reservations: Item[] = [];
    for (const record of records) {
      const place = await placeOf(record);
      if (typeof place === 'string')
        run.report.unplaced.add(`${record.user_id} ${record.version} ${record.login}: ${place}`);
      else reservations.push(accountReservation(record, place));
    }
    for (const part of chunksOf(reservations, 100)) await copy(part, run);
  }
  run.report.print('logins', dryRun, terminal);
}

function accountReservation({ login, operation_id, connection_id, opened_at }: AccountRecord, place: ReservationPlace) {
  const reserved_at = reservedAt(Date.parse(opened_at));
  return { pk: reservationKey(place, login), operation_id, connection_id, reserved_at };
}

/** Makes a function that finds where an account's login is reserved, or says why it is reserved nowhere. */
function placeFinder(target: Target): (account: AccountRecord) => Promise<ReservationPlace | string> {
  const found = new Map<string, ReservationPlace | string>();
  async function find(id: string): Promise<ReservationPlace | string> {
    try {
      const connection = await findConnection(target, id);
      return connection === undefined ? `the CRM has no connection ${id}` : connectionPlace(connection);
    } catch (error) {
      if (error instanceof CommandError) return `the connection ${id} cannot be read`;
      throw error;
    }
  }
  return async ({ connection_id, version }) => {
    // Every protocol of this version names the login.
    if (version === 'tp5') return { version, connection_id, keyed: true };
    const place = found.get(connection_id) ?? (await find(connection_id));
    found.set(connection_id, place);
    if (typeof place === 'string' || place.version === version) return place;
    return `the connection ${connection_id} is one of ${place.version} now`;
  };
}

/** Copies lost items from a table that AWS restored. */
export async function restoreTable(
  target: Target,
  name: string,
  options: RestoreOptions,
  terminal: Terminal,
): Promise<void> {
  if (name === 'limits') throw new CommandError('The limits are not restored: their windows start again.');
  const rule = RULES[name];
  if (rule === undefined && name !== 'crm') throw wrongUsage(`TABLE is crm, ${Object.keys(RULES).join(', ')}.`);
  const source = target.isTable ? undefined : await target.resource(logicalId(rule?.table ?? 'Crm'));
  if (source !== undefined && !options.from.startsWith(`${source}-restored`))
    throw new CommandError(
      `${options.from} is no restored table of ${name}: its name must begin with ${source}-restored.`,
    );
  if (rule === undefined) return restoreCrm(target, options, terminal);
  const live = await openTable(target, rule.table);
  const restored = await openTable(target, rule.table, options.from);
  const logins = await openTable(target, 'Logins');
  const report = new Report();
  const run = { live, logins, rule, report, dryRun: options.dryRun === true };
  for await (const page of restored.pages()) await copy(page, run);
  report.print(name, run.dryRun, terminal);
}

interface Run {
  live: TableItems;
  logins: TableItems;
  rule: RestoreRule;
  report: Report;
  dryRun: boolean;
}

async function copy(items: Item[], run: Run): Promise<void> {
  const { live, rule, report } = run;
  const candidates = items.filter((item) => {
    const reason = isExpired(item) ? 'expired' : rule.leaveOut?.(item);
    if (reason !== undefined) report.leftOut.set(reason, (report.leftOut.get(reason) ?? 0) + 1);
    return reason === undefined;
  });
  if (candidates.length === 0) return;
  const keyOf = (item: Item) => JSON.stringify(live.itemKey(item));
  // Two accounts may share one reservation.
  const wanted = new Map(candidates.map((item) => [keyOf(item), item]));
  const existing = new Map((await live.get([...wanted.values()])).map((item) => [keyOf(item), item]));
  for (const item of candidates) {
    const current = existing.get(keyOf(item));
    if (current !== undefined) {
      report.existing += 1;
      if (rule.owner !== undefined) report.compareOwners(item, current, rule.owner);
    } else if (await add(item, run)) {
      report.copied += 1;
      existing.set(keyOf(item), item);
    }
  }
}

/** Adds an item. @returns false if another operation holds the login, or the item was written in the meantime */
async function add(item: Item, { live, logins, rule, report, dryRun }: Run): Promise<boolean> {
  const reservation = rule.reservation?.(item);
  if (reservation !== undefined) {
    const reserved = !dryRun && (await logins.add(reservation));
    const [holder] = reserved ? [reservation] : await logins.get([reservation]);
    if (holder !== undefined && report.compareOwners(reservation, holder, 'operation_id')) return false;
  }
  return dryRun || live.add(rule.copied?.(item) ?? item);
}

function isExpired({ [EXPIRY_ATTRIBUTE]: expiry }: Item): boolean {
  return typeof expiry === 'number' && expiry * 1_000 <= Date.now();
}

/** The lines of a list below its title; none for an empty list. */
function titled(title: string, { listed, count }: ErrorList<string>): string[] {
  const more = count > listed.length ? [`and ${count - listed.length} more`] : [];
  return count === 0 ? [] : [title, ...[...listed, ...more].map((line) => `  ${line}`)];
}

/** The first errors, and the number of all. */
class ErrorList<E> {
  readonly listed: E[] = [];
  count = 0;
  readonly #most: number;

  constructor(most = 1_000) {
    this.#most = most;
  }

  add(...errors: readonly E[]): void {
    this.listed.push(...errors.slice(0, Math.max(0, this.#most - this.listed.length)));
    this.count += errors.length;
  }
}

class Report {
  copied = 0;
  existing = 0;
  readonly leftOut = new Map<string, number>();
  /** Items that belong to other operations than the restored ones. */
  readonly conflicts = new ErrorList<string>();
  /** Accounts, each with the reason for which its reservation has no key. */
  readonly unplaced = new ErrorList<string>(MAX_UNPLACED);

  /** @throws CommandError if items of other operations were found, or accounts without a place */
  print(name: string, dryRun: boolean, terminal: Terminal): void {
    const leftOut = [...this.leftOut].sort().map(([reason, count]) => `, ${count} left out (${reason})`);
    const done = dryRun ? 'would be copied to' : 'copied to';
    const note = dryRun ? '; nothing was written' : '';
    const there = `${this.existing} exist there${leftOut.join('')}${note}`;
    terminal.print(`${countOf(this.copied, 'item')} ${done} ${name}; ${there}.`);
    const { conflicts, unplaced } = this;
    const found = `${countOf(conflicts.count, 'item')} of another operation ${conflicts.count === 1 ? 'exists' : 'exist'} now`;
    const problems = [
      ...titled(`${found}; nothing was overwritten:`, conflicts),
      ...titled(`${countOf(unplaced.count, 'account')} could not be placed:`, unplaced),
    ];
    if (problems.length > 0) throw new CommandError(problems);
  }

  /** Reports two items that differ in their owner. @returns whether they differ */
  compareOwners(restored: Item, current: Item, owner: string): boolean {
    const differ = restored[owner] !== current[owner];
    if (differ)
      this.conflicts.add(`${String(restored.pk)}: restored ${String(restored[owner])}, now ${String(current[owner])}`);
    return differ;
  }
}

/** A record whose key exists is never overwritten: an import of the old state does that. */
async function restoreCrm(target: Target, { from, dryRun = false }: RestoreOptions, terminal: Terminal) {
  const restored = crmTable(from, target.database);
  const where = { target, dryRun, terminal };
  const unreadable = new UnreadableItems(terminal);
  let added = 0;
  for await (const page of restored.pages()) {
    const located = parseCrmItems(target, page, unreadable.name);
    const existing = new Set((await target.table.readMany(located.map(({ path }) => path))).map(({ pk }) => pk));
    const missing = located.filter(({ path }) => !existing.has(path));
    const connections = missing.filter((one) => one.kind === 'connections');
    const errors = await connectionErrors(where, connections);
    if (errors.length > 0) throw new CrmFileError(errors);
    added += await writeRecords(where, missing);
  }
  if (added === 0) terminal.print('No record is missing.');
  else summarizeChanges(where, added);
  unreadable.finish('the others were compared');
}
