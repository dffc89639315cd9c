import { Agent, request } from 'node:http';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { ScanCommand } from '@aws-sdk/lib-dynamodb';
import { localClient } from '../../infra/local/aws.ts';
import type { LambdaHandler } from '../../infra/local/gateway.ts';
import type { SentMessage } from '../../infra/local/outbox.ts';
import { type LocalService, type ServiceOptions, startService } from '../../infra/local/service.ts';
import { NOTIFIER } from '../../infra/routes.ts';
import { databaseClient, dynamoTable, type Item, type Table } from '../../lib/aws/dynamodb.ts';
import { secretReader } from '../../lib/aws/secrets.ts';
import { dynamoRegistrations, type StoredRegistration } from '../../lib/records/registrations.ts';
import { sealGuess } from '../../lib/secrets/one-time-code.ts';
import { type Pepper, parsePepper } from '../../lib/secrets/pepper.ts';
import type { Channel } from '../../lib/validators/otp-types.ts';
import { withCheapHashes } from './cheap-hashes.ts';
import { PATIENT } from './database.ts';
import { checkAnswer } from './openapi.ts';
import { crmRecords, newPersons, type Person, type Persons } from './persons.ts';

export const PATH = '/public/v1/account/register/request';
export const CONFIRM_PATH = '/public/v1/account/register/confirm';
export const PASSWORD = 'correct horse battery';

export interface Reply {
  status: number;
  /** In the order in which they came. */
  headers: [name: string, value: string][];
  header(name: string): string | undefined;
  text: string;
  /** The body, if there is one. */
  json: Record<string, unknown>;
}

export interface RegistrationWorld extends Persons {
  service: LocalService;
  tables: Record<'crm' | 'operations' | 'registrations' | 'limits', Table>;
  pepper: Pepper;
  /** Posts a body (as JSON unless it is a text) from a unique source address. */
  post(body: unknown, headers?: Record<string, string>): Promise<Reply>;
  send(options: {
    method: string;
    path: string;
    headers?: Record<string, string>;
    body?: string | Buffer;
  }): Promise<Reply>;
  /** The messages that a person got on a channel. */
  sentTo(channel: Channel, person: Person): SentMessage[];
  /** The registrations of a person on a channel, newest first. */
  records(channel: Channel, person: Person): Promise<StoredRegistration[]>;
  record(channel: Channel, person: Person): Promise<StoredRegistration | undefined>;
  /** Whether this code belongs to one of them. */
  isCodeOf(channel: Channel, person: Person, code: string | undefined): Promise<boolean>;
  /** All items of a table. */
  items(table: 'operations' | 'registrations' | 'limits'): Promise<Item[]>;
  /** As if the waits of all limits were over. */
  forgetLimits(): Promise<void>;
  /** Expires the leases of all operations. */
  endLeases(): Promise<void>;
  close(): Promise<void>;
}

let sources = 0;
/** A source address that no other request has. */
export function newSource(): string {
  sources += 1;
  return `10.${(sources >> 16) & 255}.${(sources >> 8) & 255}.${sources & 255}`;
}

/** A registration that keeps every rule. */
export function registrationOf(person: Person, more: Record<string, unknown> = {}): Record<string, unknown> {
  return {
    email: person.email,
    type: 'trader',
    name: 'Bob Stone',
    phone: person.phone,
    otp_type: 'email',
    password: PASSWORD,
    repeat_password: PASSWORD,
    form_id: 'FORM0002',
    ...more,
  };
}

/** A request with this header is given that many milliseconds instead of the function's 20 seconds. */
const REMAINING = 'x-remaining-ms';
/** A request with this header is worked on by a function that was just started. */
export const COLD = { 'x-cold': 'true' };

let starts = 0;
/** Starts a function: its modules are loaded once, its cold start is repeated. Its password hashes are cheap. */
export async function coldStart(name: string): Promise<LambdaHandler> {
  const cheap = withCheapHashes(name);
  if (cheap !== undefined) return cheap;
  starts += 1;
  const url = new URL(`../../functions/${name}.ts?start=${starts}`, import.meta.url);
  return ((await import(/* @vite-ignore */ url.href)) as { handler: LambdaHandler }).handler;
}

/** Loads a function whose requests may be short of time, or find it cold. */
async function loadForTests(name: string): Promise<LambdaHandler> {
  const warm = await coldStart(name);
  if (name === NOTIFIER.name) return warm;
  return async (event, context) => {
    const ms = event.headers[REMAINING];
    const endsAt = Date.now() + Number(ms);
    const handler = 'x-cold' in event.headers ? await coldStart(name) : warm;
    if (ms === undefined) return handler(event, context);
    return handler(event, { ...context, getRemainingTimeInMillis: () => endsAt - Date.now() });
  };
}

/**
 * A header that limits the time of a request, in milliseconds, as if the function had started earlier; the last four
 * seconds are extra.
 */
export function hurried(ms: number): Record<string, string> {
  return { [REMAINING]: String(4_000 + ms) };
}

function tablesOf(database: ReturnType<typeof databaseClient>): RegistrationWorld['tables'] {
  return {
    crm: dynamoTable(database, 'crm'),
    operations: dynamoTable(database, 'operations'),
    registrations: dynamoTable(database, 'registrations'),
    limits: dynamoTable(database, 'limits'),
  };
}

async function pepperOf({ environment }: LocalService): Promise<Pepper> {
  const readSecret = secretReader({ ...localClient(environment, 'AWS_ENDPOINT_URL_SECRETS_MANAGER'), ...PATIENT });
  return parsePepper(await readSecret(environment.PEPPER_SECRET ?? '', AbortSignal.timeout(60_000)));
}

function addressOf(channel: Channel, person: Person): string {
  return channel === 'email' ? person.email.toLowerCase() : person.e164;
}

/** Skips waiting. */
function passingTime(
  tables: RegistrationWorld['tables'],
  items: RegistrationWorld['items'],
): Pick<RegistrationWorld, 'forgetLimits' | 'endLeases'> {
  return {
    async forgetLimits() {
      const counters = await items('limits');
      await Promise.all(
        counters.map(({ pk }) => tables.limits.delete({ pk: String(pk) }, AbortSignal.timeout(60_000))),
      );
    },
    async endLeases() {
      const end = { update: 'SET lease_until = :zero', values: { ':zero': 0 } };
      const operations = await items('operations');
      await Promise.all(
        operations.map(({ pk }) => tables.operations.update({ pk: String(pk) }, end, AbortSignal.timeout(60_000))),
      );
    },
  };
}

/** The local service, with helpers for tests of registrations. */
export async function registrationWorld({
  clients = 40,
  ...options
}: ServiceOptions & { clients?: number } = {}): Promise<RegistrationWorld> {
  const service = await startService({ records: crmRecords(clients), load: loadForTests, ...options });
  const database = databaseClient({ ...localClient(service.environment, 'AWS_ENDPOINT_URL_DYNAMODB'), ...PATIENT });
  const tables = tablesOf(database);
  const pepper = await pepperOf(service);
  const agent = new Agent({ keepAlive: true });

  async function send({ method, path, headers = {}, body }: Parameters<RegistrationWorld['send']>[0]): Promise<Reply> {
    return new Promise((resolve, reject) => {
      request(`${service.url}${path}`, { method, headers, agent }, (response) => {
        const read = text(response).then((answer) => {
          const { rawHeaders } = response;
          const pairs = rawHeaders.flatMap((name, at): [string, string][] =>
            at % 2 === 0 ? [[name, rawHeaders[at + 1] ?? '']] : [],
          );
          if (method === 'POST' && [PATH, CONFIRM_PATH].includes(path)) {
            checkAnswer(method, path, response.statusCode ?? 0, new Headers(pairs), answer);
          }
          resolve({
            status: response.statusCode ?? 0,
            headers: pairs,
            header: (wanted) => pairs.find(([name]) => name.toLowerCase() === wanted)?.[1],
            text: answer,
            json: answer === '' ? {} : (JSON.parse(answer) as Record<string, unknown>),
          });
        });
        read.catch(reject);
      })
        .on('error', reject)
        .end(body);
    });
  }

  async function items(name: Parameters<RegistrationWorld['items']>[0]): Promise<Item[]> {
    return (await database.send(new ScanCommand({ TableName: name }))).Items ?? [];
  }

  const registrations = dynamoRegistrations(tables.registrations);
  const patience = () => AbortSignal.timeout(60_000);
  const listed = (channel: Channel, person: Person) =>
    registrations.list({ otp_type: channel, address: addressOf(channel, person) }, patience());
  const records = async (channel: Channel, person: Person) => {
    const newest = (await listed(channel, person)).toSorted((a, b) => b.requested_at_ms - a.requested_at_ms);
    const found = await Promise.all(newest.map((one) => registrations.get(one.registration_id, patience())));
    return found.flatMap((one) => one ?? []);
  };

  return {
    service,
    tables,
    pepper,
    ...newPersons(clients),
    post: (body, headers = {}) =>
      send({
        method: 'POST',
        path: PATH,
        headers: { 'content-type': 'application/json', 'x-forwarded-for': newSource(), ...headers },
        body: typeof body === 'string' || Buffer.isBuffer(body) ? body : JSON.stringify(body),
      }),
    send,
    sentTo: (channel, person) =>
      service.outbox
        .list()
        .filter(({ kind, to }) => kind === channel && to === (channel === 'email' ? person.email : person.e164)),
    records,
    record: async (channel, person) => (await records(channel, person))[0],
    async isCodeOf(channel, person, code = '') {
      const sent = (await records(channel, person)).filter(({ delivery }) => delivery?.kind !== 'owner_notice');
      return (await listed(channel, person)).some((seals) => {
        const binding = { registrationId: seals.registration_id, channel, address: addressOf(channel, person) };
        const isSent = sent.some(({ registration_id }) => registration_id === seals.registration_id);
        return isSent && sealGuess(code, binding, seals, pepper) === seals.code;
      });
    },
    items,
    ...passingTime(tables, items),
    async close() {
      agent.destroy();
      database.destroy();
      await service.close();
    },
  };
}

/** The parts of an answer that should not differ between two. */
export function whatIsTold(reply: Reply) {
  const own = ['date', 'x-request-id', 'apigw-requestid'];
  return {
    status: reply.status,
    headers: reply.headers.map(([name, value]) => (own.includes(name.toLowerCase()) ? name : `${name}: ${value}`)),
    body: reply.text.replaceAll(reply.header('x-request-id') ?? '', '<request id>'),
  };
}

/** Waits for something that is about to happen. */
export async function until(condition: () => boolean): Promise<void> {
  const end = Date.now() + 10_000;
  while (!condition()) {
    if (Date.now() > end) throw new Error('It did not come to that.');
    await sleep(1);
  }
}

/** The code that a message brings. */
export function codeIn(message: SentMessage | undefined): string | undefined {
  return /(?<!\d)\d{6}(?!\d)/.exec(message?.text ?? '')?.[0];
}

/** The texts that a notice must not contain. */
export function hasCode(message: SentMessage): boolean {
  return /(?<!\d)\d{6}(?!\d)|(?<!\d)\d(?:\D{1,3}\d){5}(?!\d)/.test(`${message.subject ?? ''} ${message.text}`);
}
