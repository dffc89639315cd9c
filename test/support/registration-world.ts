import type { LambdaHandler } from '../../infra/local/gateway.ts';
import type { SentMessage } from '../../infra/local/outbox.ts';
import { type ServiceOptions, startService } from '../../infra/local/service.ts';
import { localClient } from '../../infra/local-client.ts';
import { NOTIFIER } from '../../infra/routes.ts';
import { secretReader } from '../../lib/aws/secrets.ts';
import { parsePepper } from '../../lib/secrets/pepper.ts';
import type { Channel } from '../../lib/validators/otp-types.ts';
import { withCheapHashes } from './cheap-hashes.ts';
import { PATIENT } from './database.ts';
import { newSource } from './gateway-events.ts';
import { tablesOf } from './local-service.ts';
import { checked } from './openapi.ts';
import { crmRecords, newPersons, type Person } from './persons.ts';

export const PATH = '/public/v1/account/register/request';
export const CONFIRM_PATH = '/public/v1/account/register/confirm';
export const PASSWORD = 'correct horse battery';

export type Reply = Awaited<ReturnType<typeof replyOf>>;
export type RegistrationWorld = Awaited<ReturnType<typeof registrationWorld>>;

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

let starts = 0;
/** Starts a function: its modules are loaded once, its cold start is repeated. Its password hashes are cheap. */
export async function coldStart(name: string): Promise<LambdaHandler> {
  const cheap = withCheapHashes(name);
  if (cheap !== undefined) return cheap;
  starts += 1;
  const url = new URL(`../../functions/${name}.ts?start=${starts}`, import.meta.url);
  return ((await import(/* @vite-ignore */ url.href)) as { handler: LambdaHandler }).handler;
}

/** Loads a function whose requests may be short of time. */
export async function loadForTests(name: string): Promise<LambdaHandler> {
  const warm = await coldStart(name);
  if (name === NOTIFIER.name) return warm;
  return async (event, context) => {
    const ms = event.headers[REMAINING];
    const endsAt = Date.now() + Number(ms);
    if (ms === undefined) return warm(event, context);
    return warm(event, { ...context, getRemainingTimeInMillis: () => endsAt - Date.now() });
  };
}

/**
 * A header that limits the time of a request, in milliseconds, as if the function had started earlier; the last four
 * seconds are extra.
 */
export function hurried(ms: number): Record<string, string> {
  return { [REMAINING]: String(4_000 + ms) };
}

function addressOf(channel: Channel, person: Person): string {
  return channel === 'email' ? person.email.toLowerCase() : person.e164;
}

/** An answer, checked against the OpenAPI document. */
async function replyOf(answer: Response) {
  const text = await (await checked(answer)).text();
  return {
    status: answer.status,
    headers: [...answer.headers],
    header: (name: string) => answer.headers.get(name) ?? undefined,
    text,
    /** The body, if there is one. */
    json: (text === '' ? {} : JSON.parse(text)) as Record<string, unknown>,
  };
}

/** The local service, with helpers for tests of registrations. */
export async function registrationWorld({ clients = 40, ...options }: ServiceOptions & { clients?: number } = {}) {
  const service = await startService({ records: crmRecords(clients), load: loadForTests, ...options });
  const { environment } = service;
  const { registrations, table, items, close } = tablesOf(service);
  const readSecret = secretReader({ ...localClient(environment, 'AWS_ENDPOINT_URL_SECRETS_MANAGER'), ...PATIENT });
  const patience = () => AbortSignal.timeout(60_000);
  const pepper = parsePepper(await readSecret(environment.PEPPER_SECRET ?? '', patience()));

  /** Posts a body (as JSON unless it is a text) from a unique source address. */
  const postTo = async (path: string, body: unknown, headers: Record<string, string> = {}) =>
    replyOf(
      await fetch(service.url + path, {
        method: 'POST',
        // A busy machine may use a kept connection after the service has closed it.
        headers: {
          'content-type': 'application/json',
          connection: 'close',
          'x-forwarded-for': newSource(),
          ...headers,
        },
        body: typeof body === 'string' ? body : JSON.stringify(body),
      }),
    );

  return {
    service,
    registrations,
    pepper,
    ...newPersons(clients),
    postTo,
    post: (body: unknown, headers: Record<string, string> = {}) => postTo(PATH, body, headers),
    /** The messages that a person got on a channel. */
    sentTo: (channel: Channel, person: Person): SentMessage[] =>
      service.outbox
        .list()
        .filter(({ kind, to }) => kind === channel && to === (channel === 'email' ? person.email : person.e164)),
    /** The newest registration of a person on a channel. */
    async record(channel: Channel, person: Person) {
      const listed = await registrations.list({ otp_type: channel, address: addressOf(channel, person) }, patience());
      const [newest] = listed.toSorted((a, b) => b.requested_at_ms - a.requested_at_ms);
      return newest && registrations.get(newest.registration_id, patience());
    },
    items,
    /** As if the waits of all limits were over. */
    async forgetLimits() {
      await Promise.all(
        (await items('limits')).map(({ pk }) => table('limits').delete({ pk: String(pk) }, patience())),
      );
    },
    async close() {
      close();
      await service.close();
    },
  };
}

/** The parts of an answer that should not differ between two. */
export function visibleAnswer(reply: Reply) {
  const own = ['date', 'x-request-id', 'apigw-requestid'];
  return {
    status: reply.status,
    headers: reply.headers.map(([name, value]) => (own.includes(name.toLowerCase()) ? name : `${name}: ${value}`)),
    body: reply.text.replaceAll(reply.header('x-request-id') ?? '', '<request id>'),
  };
}

/** The code that a message brings. */
export function codeIn(message: SentMessage | undefined): string | undefined {
  return /(?<!\d)\d{6}(?!\d)/.exec(message?.text ?? '')?.[0];
}

/** The texts that a notice must not contain. */
export function hasCode(message: SentMessage): boolean {
  return /(?<!\d)\d{6}(?!\d)|(?<!\d)\d(?:\D{1,3}\d){5}(?!\d)/.test(`${message.subject ?? ''} ${message.text}`);
}
