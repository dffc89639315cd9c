import { setImmediate } from 'node:timers/promises';
import * as v from 'valibot';
import { AwsFailure } from '../../lib/aws/failure.ts';
import { registrationConfig } from '../../lib/config.ts';
import type { Answer, Request } from '../../lib/http/endpoint.ts';
import type { Counted, CounterKind, LimitDecision, RegistrationLimits } from '../../lib/limits/limits.ts';
import type { Message, OtpChannel } from '../../lib/messages/message.ts';
import { Problem, type ProblemType } from '../../lib/problem.ts';
import type { HeldKey, KeyClaim } from '../../lib/records/registration-keys.ts';
import type { Delivery, PendingRegistration } from '../../lib/records/registrations.ts';
import { type RegistrationDependencies, requestRegistration } from '../../lib/registration/registration.ts';
import { type Pepper, parsePepper } from '../../lib/secrets/keys.ts';
import type { Seals } from '../../lib/secrets/one-time-code.ts';
import type { EventFields, EventName } from '../../lib/telemetry.ts';
import { ALL_COUNTRIES } from '../../lib/validators/deployment.ts';
import type { Form } from '../../lib/validators/form.ts';
import type { Channel } from '../../lib/validators/otp-types.ts';
import type { Violation } from '../../lib/validators/primitives.ts';
import {
  type Recipient,
  type RegistrationRequest,
  registrationRequestSchema,
} from '../../lib/validators/registration.ts';
import { functionEnvironment } from './function-environment.ts';
import { recordingTelemetry } from './openings.ts';
import { registrationRecord } from './registration-record.ts';

export const FORM: Form = { id: 'FORM0001', fields: [{ key: 'k3J9xQ', type: 'text' }] };
export const NOW = 1_800_000_000_000;
export const PEPPER: Pepper = parsePepper(JSON.stringify({ current: '1', '1': 'p'.repeat(32) }));
export const HELD_KEY: HeldKey = { pk: 'key#1', lease: 'lease', revision: 0 };

/** The minimal settings of a deployment. */
export const DEPLOYED = registrationConfig(functionEnvironment({ senderAddress: 'no-reply@example.com' }));

/** The steps that count, each with a counter. */
const COUNTERS = {
  admit: 'source',
  'count recipient': 'recipient',
  'count shared': 'prefix',
  'count wrong id': 'wrong',
  'count replay': 'replay',
} as const satisfies Record<string, CounterKind>;
type CountStep = keyof typeof COUNTERS;
type FakeDecision = { kind: 'allowed' | 'unchecked' } | { kind: 'reached'; retryAfterSeconds: number };

export interface FakeSettings {
  deployed?: Partial<typeof DEPLOYED>;
  form?: Form | undefined;
  referrerId?: string | undefined;
  /** Which of the addresses are a client's. */
  known?: { email: boolean; phone: boolean };
  /** The decisions of the limits; all allow by default. */
  limits?: Partial<Record<CountStep | 'room', FakeDecision>>;
  claim?: KeyClaim;
  /** Of the registration that an earlier request with the key has kept, while it is kept. */
  keptHash?: string;
  wrongDocuments?: Violation[];
  prepare?: OtpChannel['prepare'];
  /** The error of a step. */
  failures?: Readonly<Record<string, unknown>>;
  /** Limits in a database, instead of those decisions, with the pepper of their counters. */
  realLimits?: { limits: RegistrationLimits; pepper: Pepper };
  /** Called when a step begins. */
  onStep?: (step: string) => void;
}

/** The calls of the fakes, with their arguments. */
interface Notes {
  sent: { channel: Channel; to: string; message: Message; language: string | undefined }[];
  kept: { record?: PendingRegistration; seals?: Seals; delivery?: Delivery; mark?: string };
  asked: { scope?: string[] | undefined; fingerprints?: string[]; leaseMs?: number; counted?: object; salt?: Buffer };
  /** The steps whose counts were released. */
  released: string[];
}

/** Records that a step begins and ends, and may fail at it. */
type NotedStep = <T>(name: string, result: T) => Promise<T>;

function fakeRecords(
  step: NotedStep,
  settings: FakeSettings,
  { kept, asked }: Notes,
): Pick<RegistrationDependencies, 'directory' | 'keys' | 'registrations' | 'documents'> {
  const registrations: Partial<RegistrationDependencies['registrations']> = {
    put: async (record, seals) => {
      await step('record', undefined);
      Object.assign(kept, { record, seals });
    },
    remove: () => step('undo record', undefined),
    noteDelivery: async (_, delivery) => {
      await step('note', undefined);
      kept.delivery = delivery;
    },
    get: async (id) => {
      await step('get record', undefined);
      const { keptHash } = settings;
      return keptHash === undefined ? undefined : registrationRecord(id, undefined, { password_hash: keptHash });
    },
  };
  return {
    directory: {
      readRegistrationRecords: () =>
        step('form', { form: 'form' in settings ? settings.form : FORM, referrerId: settings.referrerId }),
      isClient: () => step('lookup', settings.known ?? { email: false, phone: false }),
    },
    keys: {
      claim: (scope, fingerprints, leaseMs) => {
        Object.assign(asked, { scope, fingerprints, leaseMs });
        return step('claim', settings.claim ?? { kind: 'fresh', held: HELD_KEY });
      },
      markSent: async (_, registrationId) => {
        await step('mark', undefined);
        kept.mark = registrationId;
      },
      finish: () => step('finish', undefined),
      release: () => step('release', undefined),
    },
    registrations: registrations as RegistrationDependencies['registrations'],
    documents: {
      inspect: () => step('inspect', settings.wrongDocuments ?? []),
      store: () => step('documents', []),
      remove: () => step('undo documents', undefined),
    } as Partial<RegistrationDependencies['documents']> as RegistrationDependencies['documents'],
  };
}

function fakeSending(
  step: NotedStep,
  settings: FakeSettings,
  { sent, asked, released }: Notes,
): Omit<RegistrationDependencies, keyof ReturnType<typeof fakeRecords>> {
  /** If a limit is not reached, something is counted. */
  const count = (name: CountStep): Promise<LimitDecision> => {
    const decision = settings.limits?.[name] ?? { kind: 'allowed' };
    const counted = decision.kind === 'reached' ? [] : [{ id: name, counter: { kind: COUNTERS[name] } } as Counted];
    return step(name, { ...decision, counted });
  };

  return {
    settings: { ...DEPLOYED, channels: ['email', 'sms', 'call', 'whatsapp'], ...settings.deployed },
    channel: (channel) =>
      step('channel', {
        prepare: settings.prepare ?? (async () => {}),
        send: async (to, message, language) => {
          await step('send', undefined);
          sent.push({ channel, to, message, language });
          return { messageId: 'message-1' };
        },
      }),
    pepper: () => step('pepper', settings.realLimits?.pepper ?? PEPPER),
    limits: settings.realLimits?.limits ?? {
      async admit(counted) {
        asked.counted = counted;
        return {
          source: await count('admit'),
          room: { kind: 'allowed', ...settings.limits?.room, counted: [] } as LimitDecision,
          countRecipient: () => count('count recipient'),
          countShared: () => count('count shared'),
          countWrongId: () => count('count wrong id'),
        };
      },
      countReplay: () => count('count replay'),
      countConfirmation: () => Promise.reject(new Error('not asked for here')),
      async release(counted) {
        released.push(...counted.map(({ id }) => id));
        await step('release counts', undefined);
      },
    },
    hashPassword: (_, salt) => {
      asked.salt = salt;
      return step('hash', '$argon2id$fake');
    },
    matchesPassword: (hash, password) => step('verify', hash === undefined || hash === `hash of ${password}`),
    makeCode: () => '987654',
    now: () => NOW,
  };
}

/** A registration with fakes, and its steps: each step as it begins, and with `done` as it ends. */
export function fakeRegistration(settings: FakeSettings = {}) {
  const log: string[] = [];
  const events: { name: EventName; fields: EventFields }[] = [];
  const telemetry = recordingTelemetry(events);
  const notes: Notes = { sent: [], kept: {}, asked: {}, released: [] };

  async function step<T>(name: string, result: T): Promise<T> {
    log.push(name);
    settings.onStep?.(name);
    await setImmediate();
    log.push(`${name} done`);
    const failure = settings.failures?.[name];
    if (failure !== undefined) throw failure;
    return result;
  }

  const dependencies: RegistrationDependencies = {
    ...fakeRecords(step, settings, notes),
    ...fakeSending(step, settings, notes),
  };

  return {
    log,
    /** The steps in the order in which they began. */
    steps: () => log.filter((line) => !line.endsWith(' done')),
    events,
    ...notes,
    /** @returns the answer, or the problem that it ended with */
    async run(request: Request<RegistrationRequest>, signal = AbortSignal.timeout(10_000)): Promise<Answer | Problem> {
      try {
        return await requestRegistration(dependencies, request, telemetry, signal);
      } catch (error) {
        if (error instanceof Problem) return error;
        return new Problem('internal_error', { cause: error });
      }
    },
  };
}

/** The recipient of such a request, on each channel. */
export const RECIPIENTS = {
  email: { channel: 'email', key: 'bob@example.com', to: 'Bob@example.com' },
  sms: { channel: 'sms', key: '+447400123456', to: '+447400123456', country: 'GB' },
  call: { channel: 'call', key: '+447400123456', to: '+447400123456', country: 'GB' },
  whatsapp: { channel: 'whatsapp', key: '+447400123456', to: '+447400123456', country: 'GB' },
} as const satisfies Record<Channel, Recipient>;

const PARSED = await v.parseAsync(registrationRequestSchema([ALL_COUNTRIES]), {
  email: 'Bob@example.com',
  type: 'trader',
  name: 'Bob',
  phone: { country_code: '44', number: '7400123456' },
  password: 'correct horse battery',
  repeat_password: 'correct horse battery',
  form_id: 'FORM0001',
});

/** A valid request, as the endpoint passes it on. */
export function registrationRequest(
  body: Partial<RegistrationRequest> = {},
  request: Partial<Omit<Request<RegistrationRequest>, 'body'>> = {},
): Request<RegistrationRequest> {
  return {
    sentBody: { email: 'Bob@Example.com' },
    parameters: {},
    idempotencyKey: undefined,
    source: '203.0.113.7',
    userAgent: 'Browser/1.0',
    caller: undefined,
    endsAt: NOW + 20_000,
    ...request,
    body: {
      ...PARSED,
      members: {},
      ...body,
    },
  };
}

export const KEYED = { idempotencyKey: 'key-1' };
export const DOWN = new AwsFailure('ServiceUnavailable');
export const REACHED = { kind: 'reached', retryAfterSeconds: 41 } as const;

export function typeOf(answer: unknown): ProblemType | 'answered' {
  return answer instanceof Problem ? answer.type : 'answered';
}
