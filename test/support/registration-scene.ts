import { setImmediate } from 'node:timers/promises';
import * as v from 'valibot';
import type { Item, Table } from '../../lib/aws/dynamodb.ts';
import { AwsFailure } from '../../lib/aws/failure.ts';
import type { Limits } from '../../lib/config/registration-settings.ts';
import type { RegistrationConfig } from '../../lib/config.ts';
import type { ApiAnswer, ApiRequest } from '../../lib/http/endpoint.ts';
import { dynamoLimits } from '../../lib/limits/limits.ts';
import {
  DeliveryFailure,
  type DeliveryFailureKind,
  type OtpChannel,
  SEND_FAILURE_EVENTS,
} from '../../lib/messages/message.ts';
import { Problem, type ProblemType } from '../../lib/problem.ts';
import { s3Documents } from '../../lib/records/documents.ts';
import type { EventDetail } from '../../lib/records/event-schemas.ts';
import { dynamoRegistrationDirectory } from '../../lib/records/registration-directory.ts';
import { dynamoRegistrations, type StoredRegistration } from '../../lib/records/registrations.ts';
import {
  type ConfirmationDependencies,
  confirmRegistration,
  publishPending,
} from '../../lib/registration/confirmation.ts';
import { type RegistrationDependencies, requestRegistration } from '../../lib/registration/request.ts';
import { type Pepper, parsePepper } from '../../lib/secrets/keys.ts';
import type { EventFields, EventName } from '../../lib/telemetry.ts';
import { ALL_COUNTRIES } from '../../lib/validators/countries.ts';
import type { Form } from '../../lib/validators/form.ts';
import { type Channel, OTP_TYPES } from '../../lib/validators/otp-types.ts';
import {
  type Recipient,
  type RegistrationRequest,
  registrationRequestSchema,
} from '../../lib/validators/registration.ts';
import { scanItems, testTables } from './database.ts';
import { SMALLEST_FILES } from './document-files.ts';
import { checkEvent } from './events.ts';
import { DEPLOYED } from './function-environment.ts';
import { recordingTelemetry } from './openings.ts';
import { NEVER_ABORTED } from './outcomes.ts';
import { directStep, interceptTable, numberedSteps, type Step } from './step-faults.ts';
import { USUAL_LIMITS } from './usual-limits.ts';

export const NOW = Date.UTC(2026, 0, 1, 12);
export const MINUTE = 60_000;
export const DAY = 24 * 60 * MINUTE;
const KEYS = { 1: 'p'.repeat(32), 2: 'q'.repeat(32) };
const PEPPER = parsePepper(JSON.stringify({ current: '1', 1: KEYS[1] }));
/** While the pepper is rotated. */
export const TWO_KEYS = parsePepper(JSON.stringify({ current: '2', ...KEYS }));
export const PASSWORD = 'correct horse battery';
export const CODE = '987654';
export const SERVICE_UNAVAILABLE = new AwsFailure('ServiceUnavailable');

export const FAILURE_KINDS = Object.keys(SEND_FAILURE_EVENTS) as DeliveryFailureKind[];

/** A form with a text and pictures. */
const FORM: Form = {
  id: 'FORM0001',
  fields: [
    { key: 'k3J9xQ', type: 'text' },
    { key: 'd0cUpl', type: 'document', accept: ['image/*'] },
  ],
};
/** Two documents, as members of a request. */
export const DOCUMENTS = {
  d0cUpl: ['passport', 'bill'].map((id) => ({ id, name: id, doc: SMALLEST_FILES.png.toString('base64') })),
};

const PHONE = { key: '+447400123456', to: '+447400123456', country: 'GB' };
/** The recipient of a request of Bob, on each channel. */
export const RECIPIENTS = Object.fromEntries(
  OTP_TYPES.map((channel) => [
    channel,
    channel === 'email' ? { channel, key: 'bob@example.com', to: 'Bob@example.com' } : { channel, ...PHONE },
  ]),
) as Record<Channel, Recipient>;

/** A valid request to register, as the route reads it. */
const REQUEST_BODY = await v.parseAsync(registrationRequestSchema([ALL_COUNTRIES]), {
  email: 'Bob@example.com',
  type: 'trader',
  name: 'Bob',
  phone: { country_code: '44', number: '7400123456' },
  password: PASSWORD,
  repeat_password: PASSWORD,
  form_id: 'FORM0001',
});

const CAPTCHA = {
  passed: { kind: 'passed' },
  refused: { kind: 'refused', reason: 'token' },
  down: { kind: 'unavailable', reason: 'TimeoutError' },
} as const;

/** A request of Bob by email, with these differences. */
export interface BobRequest extends Partial<Omit<ApiRequest<RegistrationRequest>, 'body' | 'captcha'>> {
  by?: Channel;
  body?: Partial<RegistrationRequest> | RegistrationRequest;
  /** The members of the body that are not fixed fields. */
  members?: Record<string, unknown>;
  captcha?: keyof typeof CAPTCHA;
  step?: Step;
  signal?: AbortSignal;
}

/** A confirmation of the newest registration, with these differences. */
export interface BobConfirmation extends Pick<BobRequest, 'step' | 'signal'> {
  code?: string;
  id?: string;
}

type SceneDatabase = Awaited<ReturnType<typeof testTables>>;

/** An answer in short. */
export type Answer = 204 | 'replayed' | ProblemType;

/**
 * The use cases of a registration, with the real records and limits on tables in memory, a form, S3, a provider, a bus
 * and a clock. Every outgoing call is a step with a name: `put registration`, `send`, a second one `put document 2`.
 */
export class RegistrationScene {
  /** Epoch milliseconds. */
  now = NOW;
  pepper: Pepper = PEPPER;
  settings: RegistrationConfig = { ...DEPLOYED, channels: [...OTP_TYPES] };
  limits: Limits;
  /** The code of the next request. */
  code = CODE;
  /** The messages that have left. */
  readonly sent: { channel: Channel; to: string; code: string; language: string | undefined }[] = [];
  prepare: OtpChannel['prepare'];
  readonly published: EventDetail<'RegistrationConfirmed'>[] = [];
  readonly events: { name: EventName; fields: EventFields }[] = [];
  /** The stored documents, by key. A pending document disappears after a day. */
  readonly documents = new Map<string, 'pending' | 'kept'>();
  /** The steps of the last use case. */
  steps: string[] = [];
  /** The steps, with `<step> done` after the end of each. */
  log: string[] = [];
  /** The registration that the last answer named. */
  registrationId = '';
  /** The error of the last use case. */
  problem: Problem | undefined;
  readonly #database: SceneDatabase;

  private constructor(database: SceneDatabase, limits: Limits) {
    this.#database = database;
    this.limits = limits;
  }

  static async start(limits: Limits = USUAL_LIMITS): Promise<RegistrationScene> {
    const database = await testTables('Crm', 'Limits', 'Registrations');
    await database.tables.crm.put({ pk: 'form#FORM0001', record: FORM }, NEVER_ABORTED);
    return new RegistrationScene(database, limits);
  }

  /** Makes these addresses of Bob a client's, from now on. */
  async addClient({ email = false, phone = false }): Promise<void> {
    const proven = { ...(email && { proven_email: 'bob@example.com' }), ...(phone && { proven_phone: PHONE.key }) };
    await this.#database.tables.crm.put({ pk: 'client#CLIENT01', referral_code: 'REFANN01', ...proven }, NEVER_ABORTED);
  }

  /** The same tables and limits in another process of the function. */
  twin(): RegistrationScene {
    return new RegistrationScene(this.#database, this.limits);
  }

  items(kind: 'limits' | 'registrations'): Promise<Item[]> {
    return scanItems(this.#database.client, kind);
  }

  request(asked: BobRequest = {}): Promise<Answer> {
    const { by = 'email', body, members = {}, captcha, step, signal = NEVER_ABORTED, ...more } = asked;
    const recipient = body?.recipient ?? RECIPIENTS[by];
    const sent = { ...REQUEST_BODY, otp_type: recipient.channel, members, ...body, recipient };
    return this.#run(step, (numbered) =>
      requestRegistration(
        this.#dependencies(numbered, signal),
        {
          sentBody: { ...sent, repeat_password: sent.password },
          parameters: {},
          idempotencyKey: undefined,
          source: '203.0.113.7',
          userAgent: 'Browser/1.0',
          caller: undefined,
          endsAt: this.now + 20_000,
          ...(captcha && { captcha: (until) => numbered('captcha', async () => CAPTCHA[captcha], until) }),
          ...more,
          body: sent,
        },
        recordingTelemetry(this.events),
        signal,
      ),
    );
  }

  confirm(confirmed: BobConfirmation = {}): Promise<Answer> {
    const { id = this.registrationId, code = CODE, step, signal = NEVER_ABORTED } = confirmed;
    const body = { registration_id: id, code };
    const caller = { source: '203.0.113.7', caller: undefined, endsAt: this.now };
    const request = { body, sentBody: {}, parameters: {}, idempotencyKey: undefined, ...caller };
    return this.#run(step, (numbered) =>
      confirmRegistration(this.#dependencies(numbered, signal), request, recordingTelemetry(this.events), signal),
    );
  }

  /** Publishes pending events, as the settler does each minute. */
  async publishPending(): Promise<void> {
    await publishPending(this.#dependencies(directStep, NEVER_ABORTED), recordingTelemetry(this.events), NEVER_ABORTED);
  }

  /** The registrations that are kept, in any order. */
  async registrations(): Promise<StoredRegistration[]> {
    const ids = (await this.items('registrations')).flatMap(({ registration_id: id }) => (id ? [String(id)] : []));
    const { get } = dynamoRegistrations(this.#database.tables.registrations, () => this.now);
    return (await Promise.all(ids.map((id) => get(id, NEVER_ABORTED)))).filter((one) => one !== undefined);
  }

  /** What the counters have counted, by kind. */
  async counts(): Promise<Record<string, number>> {
    const counted = (await this.items('limits')).map(({ pk, ...item }) => {
      const windows = Object.entries(item).filter(([name]) => name.startsWith('n_'));
      return [String(pk).split('#')[0], Math.max(...windows.map(([, count]) => Number(count)))] as const;
    });
    return Object.fromEntries(counted);
  }

  async #run(step: Step = directStep, use: (step: Step) => Promise<ApiAnswer>) {
    const { steps, log } = Object.assign(this, { steps: [] as string[], log: [] as string[], problem: undefined });
    const numbered: Step = numberedSteps(async (name, call, until) => {
      log.push(name);
      try {
        // Parallel calls all begin before the first one ends.
        await setImmediate();
        if (until.aborted) throw new AwsFailure('TimeoutError');
        return await step(name, call, until);
      } finally {
        log.push(`${name} done`);
      }
    }, steps);
    try {
      const { headers, replayed } = await use(numbered);
      this.registrationId = headers?.['registration-id'] ?? this.registrationId;
      return replayed ? 'replayed' : 204;
    } catch (error) {
      this.problem = error instanceof Problem ? error : new Problem('internal_error', { cause: error });
      return this.problem.type;
    }
  }

  #dependencies(step: Step, signal: AbortSignal): RegistrationDependencies & ConfirmationDependencies {
    const now = () => this.now;
    const { tables } = this.#database;
    const table = (name: keyof typeof tables) => steppedTable(tables[name], step);
    return {
      settings: this.settings,
      directory: dynamoRegistrationDirectory(table('crm'), now),
      registrations: dynamoRegistrations(table('registrations'), now),
      limits: dynamoLimits(table('limits'), this.limits, now),
      documents: s3Documents({ documentsBucket: 'documents' }, async () => this.#objects(step)),
      channel: (name) => step('open channel', async () => this.#channel(name, step), signal),
      events: {
        publish: (type, detail, until) => step('publish', async () => this.#publish(type, detail), until),
      },
      pepper: (until) => step('secret', async () => this.pepper, until),
      hashPassword: (password) => step('hash', async () => `hash of ${password}`, signal),
      verifyPassword: (phc, password) => step('verify', async () => phc === `hash of ${password}`, signal),
      makeCode: () => this.code,
      pause: async () => {},
      now,
    };
  }

  #channel(channel: Channel, step: Step): OtpChannel {
    return {
      ...(this.prepare && { prepare: this.prepare }),
      send: async (to, code, language, signal) => {
        const send = async () => void this.sent.push({ channel, to, code, language });
        const { length } = this.sent;
        await step('send', send, signal).catch((error: unknown) => {
          if (!(error instanceof AwsFailure)) throw error;
          // A service that is unavailable has certainly sent nothing.
          const isRefused = error.reason === 'ServiceUnavailable' && this.sent.length === length;
          throw new DeliveryFailure(isRefused ? 'retryable' : 'unknown_outcome', error.reason);
        });
        return { messageId: 'message-1' };
      },
    };
  }

  #publish(type: string, detail: object): void {
    checkEvent(type, detail);
    this.published.push(detail as EventDetail<'RegistrationConfirmed'>);
  }

  #objects(step: Step) {
    const never = () => Promise.reject(new Error('not asked for'));
    const change = (name: string, work: (key: string) => void) => (key: string, signal: AbortSignal) =>
      step(`${name} document`, async () => work(key), signal);
    const put = change('put', (key) => this.documents.set(key, 'pending'));
    return {
      put: ({ key }: { key: string }, signal: AbortSignal) => put(key, signal),
      deleteTags: change('keep', (key) => this.documents.set(key, 'kept')),
      link: never,
    };
  }
}

const VERBS: Record<string, string> = {
  get: 'read',

  getMany: 'read',
  findKeys: 'find',
  queryIndex: 'find',
};

/** A table whose calls are steps: `put registration`, `read form`, `find proven_email`. */
function steppedTable(table: Table, step: Step): Table {
  return interceptTable(table, (method, call, signal, [first]) => {
    const [key = first] = [first].flat() as unknown[];
    if (method === 'transact')
      return step(Array.isArray(first) && first.length === 1 ? 'update registration' : 'confirm', call, signal);
    const kind = typeof key === 'string' ? key : (String((key as { pk?: string }).pk).split('#')[0] ?? '');
    return step(`${VERBS[method] ?? method} ${kind}`, call, signal);
  });
}
