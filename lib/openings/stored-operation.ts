import * as v from 'valibot';
import type { Item } from '../aws/dynamodb.ts';
import { AwsFailure } from '../aws/failure.ts';
import type { Identity } from './derivation.ts';
import type { Life, LifeAt } from './life.ts';

/** The item of an operation, and how it is read. */

/** The data to finish an operation without its caller. The plan holds no personal data and no password. */
export type OperationPlan = v.InferOutput<typeof PlanSchema>;

/**
 * An operation as it was read, or as this worker holds it. Its version is the lease with the revision; every write raises
 * the revision.
 */
export interface HeldOperation extends Identity {
  readonly lease: string;
  /** The end of the lease, in epoch milliseconds; 0: it is released. */
  leaseUntil: number;
  revision: number;
  life: Life;
  /** Present in the state `sent` and later. */
  plan?: OperationPlan | undefined;
  /** When a request wrote the state `sent`, which is before the first command, in epoch milliseconds. */
  since?: number | undefined;
  /**
   * The logins of which an operator has said that no account is the request's. They are not used again. Empty: he has
   * said so, and no login was known.
   */
  closed?: readonly number[] | undefined;
  /** The number of the last event about the operation's account; 0: there is none. */
  event: number;
}

/** The reason of an item that cannot be read. */
export const OPERATION_MALFORMED = 'OperationMalformed';

const text = v.string();
const flag = v.boolean();
const optionalText = v.optional(text);
const optionalFlag = v.optional(flag);
const login = v.pipe(v.number(), v.integer(), v.minValue(1));
const optionalLogin = v.optional(login);

const DepositSchema = v.picklist(['none', 'due', 'sent', 'made', 'unpaid', 'again', 'found', 'failed']);
const LifeSchema = v.variant('at', [
  v.object({ at: v.literal('claimed') }),
  v.object({ at: v.literal('sent'), login: optionalLogin, commands: v.picklist(['one', 'many', 'taken', 'found']) }),
  v.object({ at: v.literal('undecided'), login: optionalLogin, other: optionalLogin }),
  v.object({
    at: v.literal('open'),
    login,
    opened_at: text,
    word: optionalFlag,
    recorded: flag,
    published: flag,
    mail: v.optional(v.picklist(['none', 'due', 'sent', 'failed']), 'none'),
    deposit: DepositSchema,
    paid_at: optionalText,
  }),
  v.object({ at: v.literal('done'), login, opened_at: text, unpaid: flag }),
]);

const PlanSchema = v.object({
  // The known part of the account's record.
  user_id: text,
  version: v.picklist(['tp5', 'tp4']),
  connection_id: text,
  group: text,
  leverage: v.number(),
  account_type_id: optionalText,
  enable_readonly: flag,
  enable_rebate: flag,
  rebate_user_id: optionalText,
  operation_id: text,
  caller: text,
  send_email: optionalFlag,
  send_pop_up: optionalFlag,
  /** The language of the notices, as a BCP 47 tag. Absent: the client's own. */
  language: optionalText,
  /** True: the protocol names the login, and the platform refuses a login that exists. */
  keyed: flag,
  /** True: the login is in a range of ours, and the connection is not `strict`. */
  exclusive: flag,
  /** The caller chose the login. */
  login_given: flag,
  /** The deposit, in units of the account's currency. */
  deposit: v.optional(v.number()),
  /** True: the command that opens the account also funds it. */
  deposit_with_opening: flag,
  /** The address of the server that the first command went to. */
  server: optionalText,
});

const StoredSchema = v.object({
  pk: text,
  operation_id: text,
  // The origin that the passwords and the logins follow from.
  fingerprint: text,
  secret: text,
  derivation: v.number(),
  lease: text,
  lease_until: v.number(),
  revision: v.number(),
  life: LifeSchema,
  plan: v.optional(PlanSchema),
  since: v.optional(v.number()),
  closed: v.optional(v.array(login)),
  event: v.optional(v.number()),
});

/** Reads the item of an operation. @throws AwsFailure `OperationMalformed` */
export function parseHeld(item: Item): HeldOperation {
  const result = v.safeParse(StoredSchema, item);
  if (!result.success) throw AwsFailure.ofItem(OPERATION_MALFORMED, item.pk);
  const { operation_id: operationId, lease_until: leaseUntil, life: stored, event, ...same } = result.output;
  const life = lifeOfItem(stored);
  return { ...same, operationId, leaseUntil, life, event: event ?? (life.at === 'open' ? 1 : 0) };
}

/** Whether the settler can work on an operation. */
export function isReadable(item: Item): boolean {
  return item.plan !== undefined && v.safeParse(StoredSchema, item).success;
}

/** The state of an item; states of 1.x go on under today's rules. */
function lifeOfItem(stored: v.InferOutput<typeof LifeSchema>): Life {
  switch (stored.at) {
    case 'sent':
      return stored.commands === 'found'
        ? { at: 'undecided', login: stored.login }
        : { ...stored, commands: stored.commands };
    case 'open':
      return { ...stored, deposit: depositOfItem(stored.deposit) };
    case 'done': {
      const { login, opened_at, unpaid } = stored;
      const deposit = unpaid ? 'unpaid' : 'none';
      return { at: 'open', login, opened_at, recorded: true, published: true, mail: 'none', deposit };
    }
    default:
      return stored;
  }
}

/** A deposit that 1.x has found, or has given up, is an operator's. */
function depositOfItem(stored: v.InferOutput<typeof DepositSchema>): LifeAt<'open'>['deposit'] {
  if (stored === 'again') return 'due';
  return stored === 'found' || stored === 'failed' ? 'unpaid' : stored;
}
