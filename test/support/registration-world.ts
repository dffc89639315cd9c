import { ROUTES } from '../../infra/functions.ts';
import { DEMO_RECORDS } from '../../infra/local/demo-records.ts';
import type { LambdaHandler } from '../../infra/local/gateway.ts';
import type { SentMessage } from '../../infra/local/outbox.ts';
import { type ServiceOptions, startService } from '../../infra/local/service.ts';
import type { CrmFile } from '../../infra/ops/crm-file.ts';
import type { Channel } from '../../lib/validators/otp-types.ts';
import { withCheapHashes } from './cheap-hashes.ts';
import { postJson, tablesOf } from './local-service.ts';

export const REGISTER_PATH = '/public/v1/account/register/request';
export const CONFIRM_PATH = '/public/v1/account/register/confirm';
const PASSWORD = 'correct horse battery';

type Reply = Awaited<ReturnType<typeof replyOf>>;
export type RegistrationWorld = Awaited<ReturnType<typeof registrationWorld>>;

/** A person with a unique address and phone in a world. */
export interface Person {
  email: string;
  phone: { country_code: string; number: string };
  /** The stored phone. */
  e164: string;
}

const FIRST_STRANGER = 6_000;

/** No two persons share a mail domain or the prefix of their numbers, which are British mobile ones. */
function personOf(index: number, domain: string): Person {
  const number = String(7_400_001_234 + index * 10_000);
  return { email: `Person${index}@p${index}-${domain}`, phone: { country_code: '44', number }, e164: `+44${number}` };
}

/** The records of the local service with this many additional clients, and without trading servers. */
function crmRecords(clients: number): CrmFile {
  return {
    ...DEMO_RECORDS,
    connections: [],
    clients: [
      ...DEMO_RECORDS.clients,
      ...Array.from({ length: clients }, (_, index) => {
        const { email, phone } = personOf(index + 1, 'clients.example');
        return { id: `KNOWN${String(index + 1).padStart(3, '0')}`, email, name: 'Known', phone };
      }),
    ],
  };
}

/** Persons whose addresses were not used before. */
function newPersons(clients: number) {
  let used = 0;
  let strangers = 0;
  return {
    stranger(): Person {
      strangers += 1;
      return personOf(FIRST_STRANGER + strangers, 'strangers.example');
    },
    client(): Person {
      used += 1;
      if (used > clients) throw new Error('There are no more clients.');
      return personOf(used, 'clients.example');
    },
  };
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

/** The header with the milliseconds that a request gets instead of the function's 20 seconds. */
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
  if (!ROUTES.some((one) => one.name === name)) return warm;
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
export function remainingTime(ms: number): Record<string, string> {
  return { [REMAINING]: String(4_000 + ms) };
}

/** An answer, with its body. */
async function replyOf(answer: Response) {
  const text = await answer.text();
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
  const { registrations, table, items } = tablesOf(service);
  const patience = () => AbortSignal.timeout(60_000);

  /** Posts a body (as JSON unless it is a text) from a unique source address. */
  const postTo = async (path: string, body: unknown, headers: Record<string, string> = {}) =>
    replyOf(await postJson(service, path, body, headers));

  return {
    service,
    ...newPersons(clients),
    postTo,
    post: (body: unknown, headers: Record<string, string> = {}) => postTo(REGISTER_PATH, body, headers),
    /** The messages that a person got on a channel. */
    sentTo: (channel: Channel, person: Person): SentMessage[] =>
      service.outbox
        .list()
        .filter(({ kind, to }) => kind === channel && to === (channel === 'email' ? person.email : person.e164)),
    /** The registration that an answer named. */
    record: (reply: Reply) => registrations.get(reply.header('registration-id') ?? '', patience()),
    /** Ends the waits of all limits. */
    async forgetLimits() {
      await Promise.all(
        (await items('limits')).map(({ pk }) => table('limits').delete({ pk: String(pk) }, patience())),
      );
    },
    close: () => service.close(),
  };
}

/** The parts of an answer that should not differ between two. */
export function visibleAnswer(reply: Reply) {
  const different = ['date', 'x-request-id', 'apigw-requestid', 'registration-id'];
  return {
    status: reply.status,
    headers: reply.headers.map(([name, value]) =>
      different.includes(name.toLowerCase()) ? name : `${name}: ${value}`,
    ),
    body: reply.text.replaceAll(reply.header('x-request-id') ?? '', '<request id>'),
  };
}

/** The code that a message brings. */
export function codeIn(message: SentMessage | undefined): string | undefined {
  return /(?<!\d)\d{6}(?!\d)/.exec(message?.text ?? '')?.[0];
}
