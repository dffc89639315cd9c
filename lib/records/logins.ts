import { ConditionFailed, type Table } from '../aws/dynamodb.ts';
import { type Connection, loginRangeOf } from './crm-records.ts';
import type { Operation } from './operations.ts';

/**
 * Which operation has a login for itself. A login of the connection's range that is reserved here before it is sent
 * belongs to that operation: nobody else opens accounts in the range, and no other operation is let to this login. So
 * whatever account has it then is ours, also on a server that does not show whose an account is.
 *
 * A reservation is kept for ever. The account that has the login lives longer than its operation: were the reservation
 * forgotten, a later operation could come upon the same login and take the account that it finds there for its own.
 */
export interface Logins {
  /** @returns false when another operation has it */
  reserve(connection: Connection, login: number, operation: Operation, signal: AbortSignal): Promise<boolean>;
  /** Certainly no command with this login was carried out, nor ever will be: gives back what is this operation's. */
  giveBack(connection: Connection, login: number, operation: Operation, signal: AbortSignal): Promise<void>;
}

/** True of a login of the connection's range, a caller's own among them. */
export function isReserved(connection: Connection, login: number): boolean {
  const range = loginRangeOf(connection);
  return range !== undefined && range.from <= login && login <= range.to;
}

/** Reservations in the table of operations: one item each, without an end. */
export function loginsIn(table: Table): Logins {
  const isOurs = 'attribute_not_exists(pk) OR operation_id = :operation_id';
  const ours = ({ operationId }: Operation) => ({ condition: isOurs, values: { ':operation_id': operationId } });

  return {
    async reserve(connection, login, operation, signal) {
      const item = { ...keyOf(connection, login), operation_id: operation.operationId };
      return unlessTaken(() => table.put(item, signal, ours(operation)));
    },

    async giveBack(connection, login, operation, signal) {
      await unlessTaken(() => table.delete(keyOf(connection, login), signal, ours(operation)));
    },
  };
}

/** By the platform alone, whichever server it is: one that moves, or has another name, takes its accounts with it. */
function keyOf({ platform }: Connection, login: number): { pk: string } {
  return { pk: `login#${platform}#${login}` };
}

async function unlessTaken(work: () => Promise<unknown>): Promise<boolean> {
  try {
    await work();
    return true;
  } catch (error) {
    if (error instanceof ConditionFailed) return false;
    throw error;
  }
}
