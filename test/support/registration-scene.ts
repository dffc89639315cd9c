import type { AwsFailure } from '../../lib/aws/failure.ts';
import { dynamoLimits, type LimitDecision } from '../../lib/limits/limits.ts';
import { DeliveryFailure, type Message } from '../../lib/messages/message.ts';
import { Problem } from '../../lib/problem.ts';
import { s3Documents } from '../../lib/records/documents.ts';
import type { EventDetail } from '../../lib/records/event-schemas.ts';
import { dynamoRegistrationDirectory } from '../../lib/records/registration-directory.ts';
import { dynamoRegistrationKeys } from '../../lib/records/registration-keys.ts';
import { type Delivery, dynamoRegistrations } from '../../lib/records/registrations.ts';
import {
  type ConfirmationDependencies,
  confirmRegistration,
  publishPending,
} from '../../lib/registration/confirmation.ts';
import { type RegistrationDependencies, requestRegistration } from '../../lib/registration/registration.ts';
import { type Pepper, parsePepper } from '../../lib/secrets/keys.ts';
import { passwordSalt, sealSecrets } from '../../lib/secrets/one-time-code.ts';
import type { EventFields, EventName } from '../../lib/telemetry.ts';
import { DEFAULT_LIMITS } from '../../lib/validators/deployment.ts';
import type { TestDatabase } from './database.ts';
import { FILES } from './document-files.ts';
import { checkEvent } from './events.ts';
import { recordingTelemetry } from './openings.ts';
import { forever } from './outcomes.ts';
import { DEPLOYED, registrationRequest } from './registration-fakes.ts';
import { registrationRecord } from './registration-record.ts';
import { atOnce, type Step, stepping } from './step-faults.ts';

export const NOW = Date.UTC(2026, 0, 1, 12);
export const MINUTE = 60_000;
export const DAY = 24 * 60 * MINUTE;
const KEYS = { 1: 'p'.repeat(32), 2: 'q'.repeat(32) };
const PEPPER = parsePepper(JSON.stringify({ current: '1', 1: KEYS[1] }));
/** While the pepper is rotated. */
export const TWO_KEYS = parsePepper(JSON.stringify({ current: '2', ...KEYS }));
/** A form with documents, as the table has it. */
export const FORM_ITEM = {
  pk: 'form#FORM0001',
  record: { id: 'FORM0001', fields: [{ key: 'd0cUpl', type: 'document' }] },
};

export interface Given {
  code?: string;
  password?: string;
  delivery?: Omit<Delivery, 'sent_at'>;
  /** How many documents it has. */
  documents?: number;
}

interface Change {
  table?: ReturnType<typeof stepping>;
  known?: Partial<Record<'email' | 'phone', boolean>>;
  limit?: LimitDecision;
  /** If given, the directory and the limit are real too. */
  step?: Step;
  signal?: AbortSignal;
}

let serial = 0;

/** The use cases of a registration for a unique address, with fakes; its records are in a database. */
export class RegistrationScene {
  readonly #database: TestDatabase;
  readonly source: string;
  readonly address: string;
  pepper: Pepper = PEPPER;
  /** Epoch milliseconds. */
  now = NOW;
  /** How many passwords were hashed. */
  hashes = 0;
  published: EventDetail<'RegistrationConfirmed'>[] = [];
  /** The codes that were sent. */
  readonly codes: (string | undefined)[] = [];
  readonly events: { name: EventName; fields: EventFields }[] = [];
  readonly #telemetry = recordingTelemetry(this.events);
  /** The keys of documents that disappear after a day. */
  readonly passing = new Set<string>();
  /** How often S3 was called. */
  objectCalls = 0;

  constructor(database: TestDatabase) {
    this.#database = database;
    serial += 1;
    this.address = `ann${serial}@example${serial}.com`;
    this.source = `10.0.${serial >> 8}.${serial & 255}`;
    database.calls.length = 0;
  }

  /** Requests a registration by email with a key and two documents. @returns 204, or the type of the problem */
  async request({ step, signal = forever }: Pick<Change, 'step' | 'signal'> = {}) {
    const { address, now, source } = this;
    const documents = ['png', 'pdf'].map((id) => ({ id, name: id, doc: FILES.png.toString('base64') }));
    const body = {
      email: address,
      emailKey: address,
      recipient: { channel: 'email', key: address, to: address },
    } as const;
    const more = { sentBody: { email: address }, idempotencyKey: `key of ${address}`, source, endsAt: now + 20_000 };
    const request = registrationRequest({ ...body, password: 'right password', members: { d0cUpl: documents } }, more);
    return this.#answer(() =>
      requestRegistration(
        this.#dependencies({ step: step ?? ((_, call) => call()) }),
        request,
        this.#telemetry,
        signal,
      ),
    );
  }

  /** Keeps a registration as a request does. @returns its id */
  async register({ code = '012345', password = 'right password', delivery, documents = 0 }: Given = {}) {
    const { address, now } = this;
    serial += 1;
    const registrationId = `r${serial}`;
    const keys = Array.from({ length: documents }, (_, place) => `registrations/${registrationId}/${place + 1}`);
    const record = registrationRecord(registrationId, address, {
      password_hash: hashOf(password, passwordSalt(this.pepper.current, 'email', address)),
      referrer_user_id: 'CLIENT01',
      source: this.source,
      documents: keys.map((key, index) => ({ ...DOCUMENT, index, key })),
      requested_at: new Date(now).toISOString(),
    });
    for (const key of keys) this.passing.add(key);
    const place = { registrationId, channel: 'email', address } as const;
    const seals = sealSecrets({ code, passwordHash: record.password_hash }, place, this.pepper, now);
    await this.registrations.put(record, seals, now, forever);
    const sent = delivery ?? { kind: 'code', outcome: 'sent', email_taken: false, phone_taken: false };
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
    const source = { source: this.source, endsAt: this.now };
    const { signal = forever } = change;
    return this.#answer(() =>
      confirmRegistration(this.#dependencies(change), { ...request, ...source }, this.#telemetry, signal),
    );
  }

  /** As the settler does each minute, for all registrations of the database. */
  async publishPending(): Promise<void> {
    await publishPending(this.#dependencies({}), this.#telemetry, forever);
  }

  async #answer(work: () => Promise<unknown>) {
    try {
      await work();
      return 204;
    } catch (error) {
      if (error instanceof Problem) return error.type;
      throw error;
    }
  }

  #dependencies({
    table,
    known = {},
    limit = { kind: 'allowed', counted: [] },
    step = atOnce,
  }: Change): RegistrationDependencies & ConfirmationDependencies {
    const { tables } = this.#database;
    const now = () => this.now;
    const directory = dynamoRegistrationDirectory(stepping('crm', tables.crm, step));
    const counting = stepping('limits', tables.limits, step);
    const limits = dynamoLimits(counting, () => tables.limits, DEFAULT_LIMITS, now);
    const walked = step !== atOnce;
    return {
      settings: DEPLOYED,
      directory: walked
        ? directory
        : { ...directory, isClient: async () => ({ email: false, phone: false, ...known }) },
      keys: dynamoRegistrationKeys(stepping('operations', tables.operations, step), now),
      registrations: dynamoRegistrations(stepping('registrations', table ?? tables.registrations, step), now),
      documents: s3Documents({ documentsBucket: 'documents', confirmation: true }, async () => this.#objects(step)),
      channel: async () => ({ send: (_, message, __, signal) => this.#send(message, signal, step) }),
      events: {
        prepare: () => {},
        publish: (type, detail, signal) =>
          step('bus', async () => this.#hear(type, detail as EventDetail<'RegistrationConfirmed'>), signal),
      },
      pepper: (signal) => step('secret', async () => this.pepper, signal),
      limits: walked ? limits : { ...limits, countConfirmation: async () => limit },
      hashPassword: async (password, salt) => {
        this.hashes += 1;
        return hashOf(password, salt);
      },
      matchesPassword: async (hash, password) => hash?.startsWith(`hash of ${password} with `) ?? true,
      makeCode: () => String(100_000 + ++serial),
      now,
    };
  }

  /** A service that refuses has certainly sent nothing. */
  async #send(message: Message, signal: AbortSignal, step: Step) {
    const { length } = this.codes;
    try {
      await step('send', async () => void this.codes.push(message.kind === 'code' ? message.code : undefined), signal);
      return { messageId: 'message-1' };
    } catch (error) {
      const { reason } = error as AwsFailure;
      const isRefused = reason === 'ServiceUnavailable' && this.codes.length === length;
      throw new DeliveryFailure(isRefused ? 'retryable' : 'unknown_outcome', reason);
    }
  }

  #hear(type: string, detail: EventDetail<'RegistrationConfirmed'>): void {
    checkEvent(type, detail);
    this.published.push(detail);
  }

  #objects(step: Step) {
    const call = (change: (key: string) => void) => (key: string, signal: AbortSignal) =>
      step(
        'documents',
        async () => {
          this.objectCalls += 1;
          change(key);
        },
        signal,
      );
    const put = call((key) => this.passing.add(key));
    const remove = call((key) => this.passing.delete(key));
    return {
      put: ({ key }: { key: string }, signal: AbortSignal) => put(key, signal),
      tags: notUsed,
      putTags: notUsed,
      link: notUsed,
      delete: remove,
      deleteTags: remove,
    };
  }
}

const notUsed = () => Promise.reject(new Error('not used here'));

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
