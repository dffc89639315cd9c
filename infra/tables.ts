import { CONFIRMED_INDEX, CRM_INDEXES, RESERVATION_INDEX } from '../lib/config/deployment.ts';

/** A table of the stack. Its id in the template is `<Name>Table`; its key is `pk`, or `pk` and `sk`. */
interface StackTable {
  /** Several items share one `pk`. */
  sortKey?: true;
  /** Items expire at the time in `EXPIRY_ATTRIBUTE`. */
  expires?: true;
  /** Unfinished items are found by the time at which they are due. Without unfinished items, the index is empty. */
  due?: true;
  /** Items with one of these attributes are found by it, in an index of the same name. */
  indexes?: readonly string[];
  /** Items with this attribute are found by it with all their attributes, in an index of the same name. */
  copies?: string;
  /**
   * The number of days for which the table can be restored. AWS allows at most 35; counters are not worth restoring.
   */
  recoveryDays: 35 | 1;
}

/** Every table: the stack creates them, the doctor checks them, `npm run ops -- restore` copies back to them. */
const TABLES = {
  /** The records that the functions read; operators write them. */
  Crm: { recoveryDays: 35, indexes: CRM_INDEXES },
  /** Opened accounts. */
  Accounts: { sortKey: true, recoveryDays: 35 },
  /** Reserved logins, kept indefinitely. If they are lost, a connection needs a fresh range. */
  Logins: { recoveryDays: 35, indexes: [RESERVATION_INDEX] },
  /** Operations, kept indefinitely; those that sent nothing expire after 24 hours. */
  Operations: { expires: true, due: true, recoveryDays: 35 },
  /** Pending registrations, kept for 24 hours, and confirmed ones, kept as the setting `confirmedDays` says. */
  Registrations: { expires: true, due: true, copies: CONFIRMED_INDEX, recoveryDays: 35 },
  /** The counters of the limits: 24 hours. */
  Limits: { expires: true, recoveryDays: 1 },
} as const satisfies Record<string, StackTable>;

export type TableName = keyof typeof TABLES;
export const TABLE_NAMES = Object.keys(TABLES) as TableName[];

/** The tables that `npm run ops -- restore` copies back to. */
export const RESTORABLE_TABLES = TABLE_NAMES.filter((name) => TABLES[name].recoveryDays === 35);

export const EXPIRY_ATTRIBUTE = 'expires_at';

export function stackTable(name: TableName): StackTable {
  return TABLES[name];
}

/** The attributes of a table's key. */
export function keyAttributes(name: TableName): string[] {
  return stackTable(name).sortKey ? ['pk', 'sk'] : ['pk'];
}

/** The table's logical id in the template. */
export const logicalId = (name: TableName) => `${name}Table`;
