import { beforeEach } from 'vitest';
import type { Item, Table } from '../../lib/aws/dynamodb.ts';
import {
  type Admission,
  type CountedRequest,
  type Counter,
  dynamoLimits,
  type LimitDecision,
} from '../../lib/limits/limits.ts';
import { parsePepper } from '../../lib/secrets/keys.ts';
import { WINDOW_MS } from '../../lib/validators/limits.ts';
import type { PhoneChannel } from '../../lib/validators/otp-types.ts';
import type { Recipient } from '../../lib/validators/registration.ts';
import type { Limits } from '../../lib/validators/registration-settings.ts';
import { testTables } from './database.ts';
import { NEVER_ABORTED } from './outcomes.ts';
import { REQUEST_BODY } from './registration-scene.ts';
import { interceptTable } from './step-faults.ts';
import { USUAL_LIMITS } from './usual-limits.ts';

export const SECOND_MS = 1_000;
export const MINUTE_MS = 60 * SECOND_MS;
export const HOUR_MS = 60 * MINUTE_MS;
export const DAY_MS = 24 * HOUR_MS;

export interface LimitedMessage {
  recipient?: Recipient;
  source?: string;
  userAgent?: string;
}

/** The result of a request through the limits, with its counts, which are released if nothing is sent. */
export interface Passage {
  kind: LimitDecision['kind'];
  /** The wait until a request may pass, in seconds; 0 if it passed. */
  waits: number;
  counted: readonly CountedRequest[];
}

/** Limits on their table and on a clock. Every test of a file starts with an empty table. */
export class LimitsWorld {
  /** Epoch milliseconds. */
  now = 0;
  readonly pepper = parsePepper(JSON.stringify({ current: '1', 1: 'p'.repeat(32) }));
  #table: Table | undefined;
  /** The names of the calls of the table. */
  readonly calls: string[] = [];
  #serial = 0;

  constructor() {
    beforeEach(() => this.forget());
  }

  /** Empties all counts. */
  async forget(): Promise<void> {
    this.now = Date.UTC(2026, 0, 1);
    this.calls.length = 0;
    const { tables } = await testTables('Limits');
    this.#table = interceptTable(tables.limits, (method, call, _, [asked]) => {
      // Items without keys are not asked for.
      if (!Array.isArray(asked) || asked.length > 0) this.calls.push(method);
      return call();
    });
  }

  get table(): Table {
    if (this.#table === undefined) throw new Error('No test has begun.');
    return this.#table;
  }

  limits(settings: Partial<Limits> = {}, table: Table = this.table) {
    return dynamoLimits(
      table,
      () => table,
      { ...USUAL_LIMITS, ...settings },
      () => this.now,
    );
  }

  /**
   * A request with a new value of everything that limits count. It shares only the given values with other requests.
   */
  asked(given: LimitedMessage = {}): Required<LimitedMessage> {
    this.#serial += 1;
    const serial = this.#serial;
    const source = `10.${serial >> 16}.${(serial >> 8) & 255}.${serial & 255}`;
    return { recipient: toEmail(`ann@p${serial}.example`), source, userAgent: `agent ${serial}`, ...given };
  }

  admit(limits: ReturnType<LimitsWorld['limits']>, given: LimitedMessage = {}): Promise<Admission> {
    const { recipient, ...request } = this.asked(given);
    return limits.admit({ ...request, body: { ...REQUEST_BODY, recipient } }, this.pepper, NEVER_ABORTED);
  }

  /** A request through all limits. If it is refused, its counts are released. */
  async pass(limits: ReturnType<LimitsWorld['limits']>, given: LimitedMessage = {}): Promise<Passage> {
    const admission = await this.admit(limits, given);
    const passage: Passage = { kind: 'allowed', waits: 0, counted: [] };
    const read = [async () => admission.source, async () => admission.roomForMessage];
    const steps = [...read, admission.countRecipient, admission.countMessage];
    for (const step of steps) {
      const decision = await step(NEVER_ABORTED);
      passage.counted = [...passage.counted, ...decision.counted];
      if (decision.kind === 'unchecked') passage.kind = 'unchecked';
      if (decision.kind !== 'reached') continue;
      await limits.release(passage.counted, NEVER_ABORTED);
      return { kind: 'reached', waits: decision.retryAfterSeconds, counted: [] };
    }
    return passage;
  }

  async item({ pk }: Counter): Promise<Item> {
    return (await this.table.get({ pk }, NEVER_ABORTED)) ?? {};
  }
}

/** The longest window of a counter, in milliseconds. */
export function longestWindow({ windows }: Counter): number {
  return Math.max(...windows.map(([window]) => WINDOW_MS[window]));
}

/** The recipient with this email address. @param key in its look-up form */
export function toEmail(key: string): Recipient {
  return { channel: 'email', key, to: key };
}

/** @param key in E.164 */
export function toPhone(key: string, channel: PhoneChannel = 'sms', country = 'GB'): Recipient {
  return { channel, key, to: key, country };
}
