import type { TransactionWrite } from '../aws/dynamodb.ts';
import type { Life } from './life.ts';
import { type ReservationPlace, reservationKey } from './reservation-key.ts';

/** A reservation that goes from one holder to another: an operation, or `NOBODY`. */
export interface MovedReservation {
  /** The key of the reservation. */
  pk: string;
  from: string;
  to: string;
}

/**
 * The time at which a login was reserved, in epoch seconds: it shows the pace at which ranges fill.
 * @param at epoch milliseconds
 */
export function reservedAt(at: number | undefined): number | undefined {
  return at === undefined ? undefined : Math.floor(at / 1_000);
}

/** The stored holder of a login that no operation may use: an operator has found a stranger's account at it. */
export const NOBODY = 'nobody';

/** What a held operation says about its reservations. */
interface ReservingOperation {
  operationId: string;
  incarnation: string;
  life: Life;
  plan?: ReservationPlace | undefined;
  sentAt?: number | undefined;
  seenOwner?: string | undefined;
  moved?: readonly MovedReservation[] | undefined;
}

interface ReservationWrites {
  taken: TransactionWrite[];
  givenUp: TransactionWrite[];
  /** The key of the reservation that is given up. */
  earlier?: string;
}

/**
 * The writes of reservations that belong to a write of a state. A login is reserved with the state that names it, and
 * released with the state that gives it up. If another operation's account is at the login, it is reserved for that
 * operation instead: a retry chooses a later login, and the other's retry finds its own. A late duplicate of an earlier life
 * of the operation releases nothing: its incarnation is another one.
 */
export function reservationWrites(
  table: string,
  before: ReservingOperation,
  next: ReservingOperation,
): ReservationWrites {
  const { plan, operationId: operation_id, incarnation, moved = [] } = next;
  const [from, to] = [before.life, next.life];
  const taken = moved.map((one) => moveWrite(table, one));
  if (plan === undefined) return { taken, givenUp: [] };
  const { connection_id } = plan;
  const reserved_at = reservedAt(next.sentAt);
  const isOurs = {
    condition: 'attribute_not_exists(pk) OR operation_id = :operation',
    values: { ':operation': operation_id },
  };
  const isOfThisLife = {
    condition: 'attribute_not_exists(pk) OR incarnation = :incarnation',
    values: { ':incarnation': incarnation },
  };
  const reserve = (login: number, holder: string): TransactionWrite => ({
    table,
    put: { pk: reservationKey(plan, login), operation_id: holder, incarnation, connection_id, reserved_at },
    expression: isOurs,
  });
  const earlier = 'login' in from ? from.login : undefined;
  const later = 'login' in to ? to.login : undefined;
  const isMoved = later !== undefined && moved.some(({ pk }) => pk === reservationKey(plan, later));
  if (later !== undefined && later !== earlier && !isMoved) taken.push(reserve(later, operation_id));
  if (earlier === undefined) return { taken, givenUp: [] };
  const pk = reservationKey(plan, earlier);
  if (to.at === 'claimed') return { taken, givenUp: [reserve(earlier, NOBODY)], earlier: pk };
  // An undecided operation keeps its login: a late command may still open it.
  const isGivenUp = from.at === 'sent' && (to.at === 'gone' || later !== earlier);
  if (!isGivenUp) return { taken, givenUp: [] };
  const released = { table, delete: { pk }, expression: isOfThisLife };
  return {
    taken,
    givenUp: [before.seenOwner === undefined ? released : reserve(earlier, before.seenOwner)],
    earlier: pk,
  };
}

/** The one who held it releases only a reservation of its own incarnation. */
function moveWrite(table: string, { pk, from, to }: MovedReservation): TransactionWrite {
  const values = { ':from': from, ':to': to };
  // The reservation has moved already if the write was repeated after a lost answer.
  const condition = 'operation_id IN (:from, :to)';
  const update = 'SET operation_id = :to REMOVE incarnation';
  return { table, update: { pk }, expression: { update, condition, values } };
}
