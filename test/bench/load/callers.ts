import { randomInt, randomUUID } from 'node:crypto';
import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { DOCUMENT_KEY, FORM, PLACES, type Place } from './records.ts';

/** One try of an operation. */
export interface Attempt {
  /** 0: no answer. */
  status: number;
  /** The problem's type, where it was one. */
  type?: string;
  ms: number;
}

/** One thing that a caller wants done, and how it went. */
export interface Operation {
  route: 'registration' | 'tp5' | 'tp4';
  path: string;
  body: Record<string, unknown>;
  key: string;
  source: string;
  /** Of a registration: the channel, and the address that its message goes to. */
  channel?: string;
  to?: string;
  /** Of an account: where it is opened, and for whom. */
  place?: Place;
  userId?: string;
  attempts: Attempt[];
  /** The body of the answer that ended it well. */
  answer?: Record<string, unknown>;
  end: 'running' | 'done' | 'for the operator' | 'refused' | 'given up';
}

const PASSWORD = 'correct horse battery';
/** Longer than the gateway's own limit. */
const PATIENCE_MS = 35_000;
const LONGEST_PAUSE_MS = 5_000;
const PHONE_CHANNELS = ['sms', 'call', 'whatsapp'];
const DOCUMENT = { id: '1', name: 'note.txt', doc: Buffer.from('a document\n'.repeat(100)).toString('base64') };

let numbers = 0;
/** How many accounts were asked for on a connection: the leverage of each is its mark, so a connection has 5000. */
const asked = new Map<string, number>();
const MAX_MARKS = 5_000;

/** Half registrations, half accounts. Recipients and sources are unique, so that no limit is met. */
export function newOperation(): Operation {
  const number = numbers;
  numbers += 1;
  const source = `10.${(number >> 16) & 255}.${(number >> 8) & 255}.${number & 255}`;
  const common = { key: randomUUID(), source, attempts: [], end: 'running' as const };
  const place = PLACES[randomInt(PLACES.length * 2)];
  const mark = place === undefined ? 0 : (asked.get(place.id) ?? 0) + 1;
  if (place === undefined || mark > MAX_MARKS) return { ...common, ...registration(number) };
  asked.set(place.id, mark);
  return { ...common, ...account(place, mark) };
}

function registration(number: number) {
  const channel = randomInt(8) === 0 ? (PHONE_CHANNELS[number % 3] ?? 'sms') : 'email';
  const email = `load${number}@example.com`;
  // A prefix (all but the last four digits) of its own for each of 4000 numbers.
  const phone = {
    country_code: '44',
    number: `74${String(number % 4_000).padStart(4, '0')}${1_000 + (number % 9_000)}`,
  };
  const body = {
    email,
    type: 'trader',
    name: `Load ${number}`,
    otp_type: channel,
    ...(channel === 'email' ? {} : { phone }),
    password: PASSWORD,
    repeat_password: PASSWORD,
    form_id: FORM,
    ...(randomInt(10) === 0 ? { [DOCUMENT_KEY]: [DOCUMENT] } : {}),
  };
  const to = channel === 'email' ? email : `+44${phone.number}`;
  return { route: 'registration' as const, path: '/public/v1/account/register/request', body, channel, to };
}

function account(place: Place, mark: number) {
  const userId = place.clients[mark % place.clients.length] ?? '';
  const body = {
    connection_id: place.id,
    group: place.group,
    leverage: mark,
    ...(place.accountTypeId === undefined ? {} : { account_type_id: place.accountTypeId }),
    ...(place.customLogin && mark % 2 === 0 ? { login: 5_000_000 + mark } : {}),
    ...(mark % 3 === 0 ? { master_password: `aB3$${mark}xyz`, investor_password: `aB4$${mark}xyz` } : {}),
    ...(mark % 5 === 0 ? { send_email: true } : {}),
    ...(mark % 7 === 0 ? { send_pop_up: true } : {}),
  };
  const path = `/public/v1/users/${userId}/${place.version}/accounts`;
  return { route: place.version, path, body, place, userId };
}

/**
 * Does as a good integrator: repeats with the same key until it is done, waits as long as it is told to, and stops when
 * the answer is that no repeating will help.
 * @param giveUpAt of `performance.now()`
 */
export async function carryOut(url: string, operation: Operation, giveUpAt: number): Promise<void> {
  for (;;) {
    const { status, type, body, retryAfter } = await attempt(url, operation);
    if (status === 204 || status === 200) {
      operation.answer = body;
      operation.end = 'done';
      return;
    }
    if (status === 409 && type === 'account_outcome_unknown') {
      operation.end = 'for the operator';
      return;
    }
    if (status !== 0 && status < 500 && status !== 429 && type !== 'request_in_progress') {
      operation.end = 'refused';
      return;
    }
    const backoff = Math.min(LONGEST_PAUSE_MS, 200 * 2 ** operation.attempts.length) * (0.5 + Math.random());
    const pause = retryAfter === undefined ? backoff : retryAfter * 1_000 + 200 * Math.random();
    if (performance.now() + pause > giveUpAt) {
      operation.end = 'given up';
      return;
    }
    await sleep(pause);
  }
}

/** The same request once more. */
export async function attempt(url: string, operation: Operation) {
  const startedAt = performance.now();
  const note = (status: number, type?: string) => {
    const ms = performance.now() - startedAt;
    operation.attempts.push({ status, ms, ...(type === undefined ? {} : { type }) });
  };
  try {
    const answer = await fetch(url + operation.path, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'idempotency-key': operation.key,
        'x-forwarded-for': operation.source,
      },
      body: JSON.stringify(operation.body),
      signal: AbortSignal.timeout(PATIENCE_MS),
    });
    const text = await answer.text();
    const body = text === '' ? {} : (JSON.parse(text) as Record<string, unknown>);
    const type = typeof body.type === 'string' ? body.type : undefined;
    note(answer.status, type);
    const retryAfter = answer.headers.get('retry-after');
    return { status: answer.status, type, body, ...(retryAfter === null ? {} : { retryAfter: Number(retryAfter) }) };
  } catch {
    note(0);
    return { status: 0, type: undefined, body: {} };
  }
}
