import { afterAll, beforeAll, beforeEach, expect } from 'vitest';
import type { Table } from '../../lib/aws/dynamodb.ts';
import { type Admission, type LimitRequest, sendLimits, type Verdict } from '../../lib/records/send-limits.ts';
import { parsePepper } from '../../lib/secrets/pepper.ts';
import { DEFAULT_LIMITS, type Limits } from '../../lib/validators/deployment.ts';
import type { PhoneChannel } from '../../lib/validators/otp-types.ts';
import type { Recipient } from '../../lib/validators/registration.ts';
import { type TestDatabase, testDatabase } from './database.ts';

export const SECOND = 1_000;
export const MINUTE = 60 * SECOND;
export const HOUR = 60 * MINUTE;
export const DAY = 24 * HOUR;
export const signal = new AbortController().signal;

export type Decision = { kind: 'allowed' | 'unchecked'; admission: Admission } | Extract<Verdict, { kind: 'reached' }>;

/** The limits as the use case goes through them: the source, then the message; what is refused gives its places back. */
export interface Counting {
  count(request: LimitRequest): Promise<Decision>;
  admit(request: LimitRequest): Promise<Admission>;
}

/** Limits in a database and on a clock of a test file; every test has counters of its own. */
export class LimitsWorld {
  now = 0;
  #test = 0;
  #serial = 0;
  #database: TestDatabase | undefined;

  constructor() {
    const closes: (() => Promise<void>)[] = [];
    beforeAll(async () => {
      this.#database = await testDatabase((close) => closes.push(close));
    });
    afterAll(() => Promise.all(closes.map((close) => close())));
    beforeEach(() => this.forget());
  }

  get database(): TestDatabase {
    if (this.#database === undefined) throw new Error('The database is started before the first test.');
    return this.#database;
  }

  get table(): Table {
    return this.database.tables.limits;
  }

  /** From here on nothing was ever counted. */
  forget(): void {
    this.#test += 1;
    this.now = Date.UTC(2026, 0, 1) + this.#test;
    this.database.calls.length = 0;
  }

  limits(settings: Partial<Limits> = {}, table: Table = this.table): Counting {
    const pepper = parsePepper(JSON.stringify({ current: '1', '1': `${this.#test} `.padEnd(32, 'x') }));
    const limits = sendLimits(table, { ...DEFAULT_LIMITS, ...settings }, () => this.now)(pepper);
    return {
      admit: (request) => limits.admit(request, signal),
      async count(request) {
        const admission = await limits.admit(request, signal);
        const verdict = admission.ofSource.kind === 'reached' ? admission.ofSource : await admission.ofMessage(signal);
        if (verdict.kind !== 'reached') return { kind: verdict.kind, admission };
        await admission.dropMessage(signal);
        return verdict;
      },
    };
  }

  /** Limits of which only the named ones can be felt. */
  only(settings: Partial<Limits>): Counting {
    return this.limits({
      resendSeconds: [1],
      recipientPerHour: 30,
      recipientPerDay: 30,
      sourcePer10Minutes: 30,
      sourcePerHour: 30,
      prefixPerHour: 30,
      countryPerHour: 30,
      mailDomainPerHour: 30,
      ...settings,
    });
  }

  /** A request that shares nothing with any other but what is given. */
  request(given: Partial<LimitRequest> = {}): LimitRequest {
    this.#serial += 1;
    const serial = this.#serial;
    return {
      key: undefined,
      recipient: mail(`ann@p${serial}.example`),
      source: `10.${serial >> 16}.${(serial >> 8) & 255}.${serial & 255}`,
      ...given,
    };
  }

  async allowed(counting: Counting, given: Partial<LimitRequest> = {}): Promise<boolean> {
    return (await counting.count(this.request(given))).kind === 'allowed';
  }

  async retryAfter(counting: Counting, given: Partial<LimitRequest>): Promise<number> {
    const decision = await counting.count(this.request(given));
    if (decision.kind !== 'reached') throw new Error(`The limit was not reached but ${decision.kind}.`);
    return decision.retryAfterSeconds;
  }

  /** Lets `count` requests through at once after each other, `apart` milliseconds apart. */
  async fill(counting: Counting, count: number, given: Partial<LimitRequest>, apart = SECOND): Promise<void> {
    for (let i = 0; i < count; i += 1) {
      if (i > 0) this.now += apart;
      expect(await this.allowed(counting, given)).toBe(true);
    }
  }
}

/** An address in its look-up form. */
export function mail(key: string): Recipient {
  return { channel: 'email', key, to: key };
}

/** @param key in E.164 */
export function phone(key: string, channel: PhoneChannel = 'sms', country = 'GB'): Recipient {
  return { channel, key, to: key, country };
}

/** What was allowed can be given back. */
export function admissionOf(decision: Decision): Admission {
  if (decision.kind === 'reached') throw new Error('The limit was reached.');
  return decision.admission;
}
