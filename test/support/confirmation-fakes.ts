import { ConditionFailed, type Table } from '../../lib/aws/dynamodb.ts';
import { AwsFailure } from '../../lib/aws/failure.ts';
import { dynamoLimits, type LimitDecision } from '../../lib/limits/limits.ts';
import { Problem } from '../../lib/problem.ts';
import { s3Documents } from '../../lib/records/documents.ts';
import type { EventDetail } from '../../lib/records/event-schemas.ts';
import { dynamoRegistrationDirectory } from '../../lib/records/registration-directory.ts';
import { type Delivery, dynamoRegistrations } from '../../lib/records/registrations.ts';
import {
  type ConfirmationDependencies,
  confirmRegistration,
  publishPending,
} from '../../lib/registration/confirmation.ts';
import { passwordSalt, sealSecrets } from '../../lib/secrets/one-time-code.ts';
import { type Pepper, parsePepper } from '../../lib/secrets/pepper.ts';
import type { EventFields, EventName, Telemetry } from '../../lib/telemetry.ts';
import { DEFAULT_LIMITS } from '../../lib/validators/deployment.ts';
import type { TestDatabase } from './database.ts';
import { checkEvent } from './events.ts';
import { around } from './interleave.ts';
import { forever } from './outcomes.ts';
import { registrationRecord } from './registration-record.ts';

export const NOW = Date.UTC(2026, 0, 1, 12);
export const MINUTE = 60_000;
export const DAY = 24 * 60 * MINUTE;
const KEYS = { 1: 'p'.repeat(32), 2: 'q'.repeat(32) };
const PEPPER = parsePepper(JSON.stringify({ current: '1', 1: KEYS[1] }));
/** While the pepper is rotated. */
export const TWO_KEYS = parsePepper(JSON.stringify({ current: '2', ...KEYS }));

/** Does a call of the use case to something outside, by its name; a test may have it go wrong. */
export type Step = <T>(name: string, call: () => Promise<T>, signal: AbortSignal) => Promise<T>;

export interface Given {
  code?: string;
  password?: string;
  delivery?: Omit<Delivery, 'sent_at'>;
  /** How many documents it has. */
  documents?: number;
}

interface Change {
  table?: Table;
  isClient?: boolean;
  limit?: LimitDecision;
  /** Given, the directory and the limit are real too. */
  step?: Step;
  signal?: AbortSignal;
}

export const atOnce: Step = (_, call) => call();

let serial = 0;

/** The use case for a unique address, with fakes; its records are in a database. */
export class FakeConfirmations {
  readonly #database: TestDatabase;
  readonly #source: string;
  readonly address: string;
  pepper: Pepper = PEPPER;
  /** Epoch milliseconds. */
  now = NOW;
  /** How many passwords were hashed. */
  hashes = 0;
  published: EventDetail<'RegistrationConfirmed'>[] = [];
  readonly events: EventName[] = [];
  readonly fields: EventFields[] = [];
  /** The keys of documents that disappear after a day. */
  readonly passing = new Set<string>();
  /** How often S3 was called. */
  objectCalls = 0;

  constructor(database: TestDatabase) {
    this.#database = database;
    serial += 1;
    this.address = `ann${serial}@example.com`;
    this.#source = `10.0.${serial >> 8}.${serial & 255}`;
    database.calls.length = 0;
  }

  /** Keeps a registration as a request does. @returns its id */
  async register({ code = '012345', password = 'right password', delivery, documents = 0 }: Given = {}) {
    const { address, now } = this;
    serial += 1;
    const registrationId = `r${serial}`;
    const keys = Array.from({ length: documents }, (_, place) => `registrations/${registrationId}/${place + 1}`);
    const record = registrationRecord(registrationId, address, {
      password_hash: hashOf(password, passwordSalt(this.pepper.keys[0], 'email', address)),
      referrer_user_id: 'CLIENT01',
      source: this.#source,
      documents: keys.map((key, index) => ({ ...DOCUMENT, index, key })),
      requested_at: new Date(now).toISOString(),
    });
    for (const key of keys) this.passing.add(key);
    const place = { registrationId, channel: 'email', address } as const;
    const seals = sealSecrets({ code, passwordHash: record.password_hash }, place, this.pepper, now);
    await this.registrations.put(record, seals, now, forever);
    const sent = delivery ?? { kind: 'code', outcome: 'sent', email_taken: false };
    // A message takes a second.
    const sent_at = new Date(now + 1_000).toISOString();
    await this.registrations.noteDelivery(registrationId, { ...sent, sent_at }, forever);
    this.#database.calls.length = 0;
    return registrationId;
  }

  /** The items in the database, without faults. */
  get registrations() {
    return dynamoRegistrations(this.#database.tables.registrations, () => this.now);
  }

  /** @returns 204, or the type of the problem */
  async confirm({ code = '012345', password = 'right password' }: Given = {}, change: Change = {}) {
    const body = { channel: 'email', address: this.address, code, password } as const;
    const request = { body, sentBody: {}, parameters: {}, idempotencyKey: undefined, caller: undefined };
    const source = { source: this.#source, endsAt: this.now };
    try {
      await confirmRegistration(
        this.#dependencies(change),
        { ...request, ...source },
        this.#telemetry,
        change.signal ?? forever,
      );
      return 204;
    } catch (error) {
      if (error instanceof Problem) return error.type;
      throw error;
    }
  }

  /** As the settler does each minute, for all registrations of the database. */
  async publishPending(): Promise<void> {
    await publishPending(this.#dependencies({}), this.#telemetry, forever);
  }

  get #telemetry(): Telemetry {
    const event: Telemetry['event'] = (name, fields = {}) => {
      this.events.push(name);
      this.fields.push(fields);
    };
    return { event, with: () => this.#telemetry };
  }

  #dependencies({
    table,
    isClient = false,
    limit = { kind: 'allowed', counted: [] },
    step = atOnce,
  }: Change): ConfirmationDependencies {
    const { tables } = this.#database;
    const now = () => this.now;
    const walked = step !== atOnce;
    return {
      directory: walked
        ? dynamoRegistrationDirectory(stepping('crm', tables.crm, step))
        : { isClient: async () => ({ email: isClient, phone: false }) },
      registrations: dynamoRegistrations(stepping('registrations', table ?? tables.registrations, step), now),
      documents: s3Documents('documents', { open: async () => this.#objects(step) }),
      events: {
        prepare: () => {},
        publish: (type, detail, signal) =>
          step('bus', async () => this.#hear(type, detail as EventDetail<'RegistrationConfirmed'>), signal),
      },
      pepper: (signal) => step('secret', async () => this.pepper, signal),
      limits: walked
        ? dynamoLimits(stepping('limits', tables.limits, step), () => tables.limits, DEFAULT_LIMITS, now)
        : { countConfirmation: async () => limit },
      hashPassword: async (password, salt) => {
        this.hashes += 1;
        return hashOf(password, salt);
      },
      now,
    };
  }

  #hear(type: string, detail: EventDetail<'RegistrationConfirmed'>): void {
    checkEvent(type, detail);
    this.published.push(detail);
  }

  #objects(step: Step) {
    return {
      put: notAskedFor,
      tags: notAskedFor,
      putTags: notAskedFor,
      deleteTags: (key: string, signal: AbortSignal) =>
        step(
          'documents',
          async () => {
            this.objectCalls += 1;
            this.passing.delete(key);
          },
          signal,
        ),
    };
  }
}

const notAskedFor = () => Promise.reject(new Error('not asked for'));

function hashOf(password: string, salt: Buffer): string {
  return `hash of ${password} with ${salt.toString('hex')}`;
}

const DOCUMENT = {
  field_key: 'd0cUpl',
  id: 'passport',
  name: 'passport.png',
  media_type: 'image/png',
  bytes: 1,
  sha256: '',
};

/** A table whose calls are steps: `registrations.update`. */
export function stepping(name: string, table: Table, step: Step): Table {
  return around(table, (method, call, signal) => step(`${name}.${method}`, call, signal));
}

/** The fault of a step. `slow` and `unanswered`: it takes until the timeout. */
export const FAULTS = ['refused', 'slow', 'answer lost', 'unanswered', 'killed before', 'killed after'] as const;
export type StepFault = (typeof FAULTS)[number];

const DONE: readonly StepFault[] = ['answer lost', 'unanswered', 'killed after'];

/**
 * Steps of one confirmation, of which one goes wrong.
 * @param at the name of the step, with its number where others have the same: `registrations.update 2`
 */
export function stepsWith(at?: string, fault?: StepFault) {
  const names: string[] = [];
  const time = new AbortController();
  const death = Promise.withResolvers<'killed'>();
  const step: Step = async (name, call, signal) => {
    const number = names.filter((other) => other.startsWith(`${name} `)).length + 1;
    names.push(`${name} ${number}`);
    if (fault === undefined || `${name} ${number}` !== at) return call();
    if (DONE.includes(fault)) await call().catch(orThrowUnlessRefused);
    if (fault === 'refused' || fault === 'answer lost') throw new AwsFailure('ServiceUnavailable');
    if (fault === 'killed before' || fault === 'killed after') {
      death.resolve('killed');
      return new Promise(() => {});
    }
    const over = new Promise<never>((_, reject) => {
      signal.addEventListener('abort', () => reject(new AwsFailure('TimeoutError')));
    });
    time.abort();
    return over;
  };
  return { names, step, signal: time.signal, died: death.promise };
}

/** A condition may keep a write from being done. */
function orThrowUnlessRefused(error: unknown): void {
  if (!(error instanceof ConditionFailed)) throw error;
}
