import { randomInt, randomUUID } from 'node:crypto';
import { expect } from 'vitest';
import type { SentMessage } from '../../infra/local/outbox.ts';
import { newSource } from '../support/gateway-events.ts';
import { checkAnswer, checkRequest } from '../support/openapi.ts';
import { CLIENT, FORM, PLACES, TRADERS } from './records.ts';
import { type Change, type Operation, PHONE_CHANNELS } from './table.ts';
import type { World } from './world.ts';

export interface Answer {
  status: number;
  headers: Headers;
  text: string;
  /** The body as JSON; undefined if it is absent. */
  body: Record<string, unknown> | undefined;
}

/** The parts of a request outside the specification. */
export interface Sending {
  /** The whole body, instead of the good one. */
  raw?: string;
  /** The source of the request; a new one if absent. */
  source?: string;
}

export const PATHS = {
  registration: '/public/v1/account/register/request',
  tp5: '/public/v1/users/{user_id}/tp5/accounts',
  tp4: '/public/v1/users/{user_id}/tp4/accounts',
} as const;

const PASSWORD = 'correct horse battery';

let count = 0;

/** The messages that were sent to an address. */
export function messagesTo({ service }: World, address: string): SentMessage[] {
  return service.outbox.list().filter(({ to }) => to === address);
}

/** A client for whom no other account is opened at the same time. */
export function nextTrader(): string {
  count += 1;
  return TRADERS[count % TRADERS.length]?.id ?? '';
}

/** An address that no message was sent to. */
export function newEmail(): string {
  count += 1;
  // A separate domain: few mails an hour are sent to one domain.
  return `trader${count}@company${count}.example`;
}

/** A number that no message was sent to, with a prefix of its own. */
export function newPhone(): { country_code: string; number: string } {
  count += 1;
  return { country_code: '44', number: `740${String(count % 1_000).padStart(3, '0')}${randomInt(1_000, 10_000)}` };
}

/** A good body of an operation, with the changes of a case. */
export function bodyOf({ operation, body = {} }: Change): Record<string, unknown> {
  if (operation !== 'registration') return { ...PLACES[operation], leverage: 100, ...body };
  const phone = PHONE_CHANNELS.some((channel) => channel === body.otp_type) ? { phone: newPhone() } : {};
  return {
    email: newEmail(),
    type: 'trader',
    name: 'New Trader',
    password: PASSWORD,
    repeat_password: PASSWORD,
    form_id: FORM,
    ...phone,
    ...body,
  };
}

/**
 * Calls the running service as an integrator does, and checks every answer, and every body that is accepted, against
 * the OpenAPI document.
 */
export async function sendRequest(world: World, change: Change, sending: Sending = {}): Promise<Answer> {
  const { operation, userId = CLIENT.id, headers = {} } = change;
  const path = PATHS[operation].replace('{user_id}', encodeURIComponent(userId));
  const raw = sending.raw ?? JSON.stringify(bodyOf(change));
  const answer = await sendAnyRequest(world, 'POST', path, raw, {
    'content-type': 'application/json',
    'x-forwarded-for': sending.source ?? newSource(),
    ...headers,
  });
  checkAnswer(PATHS[operation], answer.status, answer.headers, answer.text);
  if (answer.status < 300) checkDocumented(operation, raw);
  expect(Object.fromEntries(answer.headers)).toMatchObject({
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
    'strict-transport-security': 'max-age=63072000',
    'x-request-id': expect.stringMatching(/./),
  });
  return answer;
}

/** Checks a body that is accepted against the OpenAPI document. */
export function checkDocumented(operation: Operation, raw: string): void {
  checkRequest(PATHS[operation], JSON.parse(raw) as Record<string, unknown>);
}

/** One request of any method and path, with these headers alone. */
export async function sendAnyRequest(
  { service }: World,
  method: string,
  path: string,
  body: string | undefined,
  headers: Record<string, string>,
): Promise<Answer> {
  const sent = Object.entries(headers).filter(([, value]) => value !== '');
  const answer = await fetch(service.url + path, {
    method,
    headers: sent,
    // As bytes, because `fetch` gives a text a content type of its own.
    ...(body === undefined ? {} : { body: Buffer.from(body) }),
  });
  const text = await answer.text();
  const isJson = text !== '' && /json/.test(answer.headers.get('content-type') ?? '');
  const parsed = isJson ? (JSON.parse(text) as Record<string, unknown>) : undefined;
  return { status: answer.status, headers: answer.headers, text, body: parsed };
}

/** The headers of a body in JSON. */
export const JSON_TYPE = { 'content-type': 'application/json' };

/** An `Idempotency-Key` of its own. */
export const newKey = () => ({ 'idempotency-key': randomUUID() });
