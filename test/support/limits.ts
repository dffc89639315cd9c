import { beforeEach } from 'vitest';
import type { Table } from '../../lib/aws/dynamodb.ts';
import type { Limits } from '../../lib/config/registration-settings.ts';
import { dynamoLimits, type LimitDecision } from '../../lib/limits/limits.ts';
import { parsePepper } from '../../lib/secrets/keys.ts';
import type { PhoneChannel } from '../../lib/validators/otp-types.ts';
import type { Recipient } from '../../lib/validators/registration.ts';
import { scanItems, testTables } from './database.ts';
import { NEVER_ABORTED } from './outcomes.ts';
import { interceptTable } from './step-faults.ts';
import { USUAL_LIMITS } from './usual-limits.ts';

export const SECOND_MS = 1_000;
export const MINUTE_MS = 60 * SECOND_MS;
export const HOUR_MS = 60 * MINUTE_MS;

export interface LimitedMessage {
  recipient?: Recipient;
  source?: string;
}

/** How a request ended at the limits, and how long it must wait, in seconds; 0 if it passed. */
export interface Passage {
  kind: LimitDecision['kind'];
  waits: number;
}

/** Limits on their table and on a clock. Every test of a file starts with an empty table. */
export class LimitsWorld {
  /** Epoch milliseconds. */
  now = 0;
  readonly pepper = parsePepper(JSON.stringify({ current: '1', 1: 'p'.repeat(32) }));
  #database: Awaited<ReturnType<typeof testTables>> | undefined;
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
    this.#database = await testTables('Limits');
    this.#table = interceptTable(this.#database.tables.limits, (method, call, _, [asked]) => {
      // Items without keys are not asked for.
      if (!Array.isArray(asked) || asked.length > 0) this.calls.push(method);
      return call();
    });
  }

  get table(): Table {
    if (this.#table === undefined) throw new Error('No test has begun.');
    return this.#table;
  }

  items() {
    if (this.#database === undefined) throw new Error('No test has begun.');
    return scanItems(this.#database.client, 'limits');
  }

  limits(settings: Partial<Limits> = {}, table: Table = this.table) {
    return dynamoLimits(table, { ...USUAL_LIMITS, ...settings }, () => this.now);
  }

  /** A request with a new value of everything that limits count. It shares only the given values with other requests. */
  asked(given: LimitedMessage = {}): Required<LimitedMessage> {
    this.#serial += 1;
    const serial = this.#serial;
    const source = `10.${serial >> 16}.${(serial >> 8) & 255}.${serial & 255}`;
    return { recipient: toEmail(`ann@p${serial}.example`), source, ...given };
  }

  arrive(limits: ReturnType<LimitsWorld['limits']>, given: LimitedMessage = {}) {
    return limits.countArrival(this.asked(given), this.pepper, NEVER_ABORTED);
  }

  /** A request through all limits, as far as they let it. */
  async pass(limits: ReturnType<LimitsWorld['limits']>, given: LimitedMessage = {}): Promise<Passage> {
    const arrival = await this.arrive(limits, given);
    const seen = [async () => arrival.source, async () => arrival.room];
    let kind: Passage['kind'] = 'allowed';
    for (const step of [...seen, arrival.countRecipient, arrival.countMessage]) {
      const decision = await step(NEVER_ABORTED);
      if (decision.kind === 'reached') return { kind: 'reached', waits: decision.retryAfterSeconds };
      if (decision.kind === 'unchecked') kind = 'unchecked';
    }
    return { kind, waits: 0 };
  }
}

/** The recipient with this email address. @param key in its look-up form */
export function toEmail(key: string): Recipient {
  return { channel: 'email', key, to: key };
}

/** @param key in E.164 */
export function toPhone(key: string, channel: PhoneChannel = 'sms', country = 'GB'): Recipient {
  return { channel, key, to: key, country };
}
