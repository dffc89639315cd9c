import type { Item } from '../../../lib/aws/dynamodb.ts';

/** What is known of the key of a request. */
export interface Used {
  /** Until when it is certainly kept, on the world's clock. */
  keptUntil: number;
  /** How often it may have been used anew, so that the work was done once more. */
  uses: number;
}

/** A moment on the world's clock, and what the service kept of the key then. */
interface Seen {
  at: number;
  kept: Item | undefined;
}

/** A try with a key that may have been forgotten may do the work once more. @returns whether it is such a one */
export function use(key: Used, at: number, keptMs: number): boolean {
  if (at < key.keptUntil) return false;
  key.uses += 1;
  key.keptUntil = at + keptMs;
  return true;
}

/**
 * A try has ended. Its key is kept anew only if something was done under it: one that was killed before, or was given
 * an answer that was there already, does nothing.
 */
export function noteUse(key: Used, began: Seen, ended: Seen, keptMs: number): void {
  if (ended.kept === undefined || !isChanged(began.kept, ended.kept)) return;
  // It was forgotten while the try was on its way.
  const isAnew = began.kept !== undefined && began.kept.operation_id !== ended.kept.operation_id;
  if (isAnew && ended.at >= key.keptUntil) key.uses += 1;
  key.keptUntil = Math.max(key.keptUntil, began.at + keptMs);
}

function isChanged(before: Item | undefined, after: Item): boolean {
  return ['operation_id', 'lease', 'revision', 'state'].some((name) => before?.[name] !== after[name]);
}
