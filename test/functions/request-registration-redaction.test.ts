import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Fault } from '../../infra/local/faults.ts';
import type { SentMessage } from '../../infra/local/outbox.ts';
import { SENDING_SERVICES } from '../../infra/local/stand-ins/senders.ts';
import { OTP_TYPES } from '../../lib/validators/otp-types.ts';
import { loudService } from '../support/loud-service.ts';
import { checkedAnswer } from '../support/openapi.ts';
import { codeIn, REGISTER_PATH, remainingTime } from '../support/registration-world.ts';
import { textsWithMarks } from '../support/secret-search.ts';

let loud: Awaited<ReturnType<typeof loudService>>;
beforeAll(async () => {
  // Wide limits, but for the recipient's.
  const limits = {
    ...{ sourceRequestsPer10Minutes: 200, sourceRequestsPerHour: 200 },
    ...{ sourceMessagesPer10Minutes: 200, sourceMessagesPerHour: 200, prefixMessagesPerHour: 200 },
  };
  loud = await loudService({ limits }, true);
});
afterAll(() => loud.stop());

const PNG = `${Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex').toString('latin1')}MARKED-DOCUMENT-CONTENT`;
const numberOf = (serial: number) => `74000${String(serial).padStart(3, '0')}34`;
const OWNER = { email: 'ann@example.com', phone: { country_code: '44', number: '7400123456' } };

/** Everything that a person may type here, each with a unique mark. */
const bodyOf = (serial: number) => ({
  email: `marked-address-${serial}@marked-domain.example`,
  type: 'trader',
  name: 'Marked-Name O’Hara',
  phone: { country_code: '44', number: numberOf(serial) },
  password: 'marked-pässword    at 77',
  repeat_password: 'marked-pässword    at 77',
  form_id: 'FORMFULL',
  field_text: 'marked-field-value',
  field_dynamicSelect: { 'marked-field-value': 'marked-field-value' },
  field_document: [
    { id: 'marked-document-id', name: 'marked-file.png', doc: Buffer.from(PNG, 'latin1').toString('base64') },
  ],
});

/** The differences from a good request, the fault of a service, and the possible answers. */
interface Try {
  expected: number | readonly number[];
  /** Members of the body, or all of it. */
  more?: Record<string, unknown> | string;
  headers?: Record<string, string>;
  /** The person of the request, if it is not a new one. */
  from?: number;
  fault?: readonly [target: string, fault: Partial<Fault>];
}

const KINDS = ['throttled', 'refused', 'down'] as const;
const SENDER_KINDS = [...KINDS, 'refused_recipient'] as const;
const REPEATING_PERSON = 900;

const EVERYONE: readonly Try[] = OTP_TYPES.flatMap((otp_type) => [
  { expected: 204, more: { otp_type } },
  { expected: 204, more: { otp_type, ...OWNER } },
]);
const SERVICES_FAIL: readonly Try[] = [
  ...Object.entries(SENDING_SERVICES).flatMap(([otp_type, target]) =>
    SENDER_KINDS.map((kind): Try => {
      // A throttled message is sent again.
      const expected = kind === 'throttled' ? 204 : 502;
      return { expected, more: { otp_type }, fault: [target, { kind, times: 1 }] };
    }),
  ),
  { expected: 204, headers: remainingTime(3_000), fault: ['ses', { kind: 'slow', times: 1, ms: 3_500 }] },
  ...KINDS.map((kind): Try => ({ expected: 500, fault: ['s3', { kind, times: 9 }] })),
  // At every call of a request, and from some on.
  ...Array.from({ length: 13 }, (_, after) => after).flatMap((after) =>
    ['email', 'sms'].map((otp_type): Try => {
      const fault = { kind: 'refused', times: 1, after } as const;
      return { expected: [204, 500], more: { otp_type }, fault: ['dynamodb', fault] };
    }),
  ),
  ...[0, 2, 4, 7].map(
    (after): Try => ({ expected: [204, 500], fault: ['dynamodb', { kind: 'refused', times: 1_000, after }] }),
  ),
];
const WRONG_FIELDS = 'email type name phone otp_type repeat_password language field_date field_number'.split(' ');
const CALLER_ERRORS: readonly Try[] = [
  { expected: 204, from: REPEATING_PERSON },
  { expected: 204, from: REPEATING_PERSON },
  { expected: 422, from: REPEATING_PERSON, more: { name: 'Marked-Other' } },
  { expected: 429, from: REPEATING_PERSON, headers: { 'idempotency-key': 'marked-other-key' } },
  { expected: 400, headers: { 'idempotency-key': 'marked key with spaces' } },
  { expected: 400, more: '' },
  { expected: 400, more: '{"email":"marked-address@marked.example",\n    at marked-stack (marked-file.js:1:1)' },
  { expected: 400, more: '{"__proto__":{"name":"marked-proto"}}' },
  { expected: 415, headers: { 'content-type': 'text/marked-type' } },
  { expected: 413, more: { field_textarea: 'marked-'.repeat(900_000) } },
  { expected: 400, more: { form_id: 'marked-x' } },
  { expected: 400, more: { referrer_id: 'marked-x' } },
  { expected: 400, more: { field_document: [{ id: '1', name: 'marked-name', doc: 'TUFSS0VELQ==' }] } },
  { expected: 400, more: Object.fromEntries(WRONG_FIELDS.map((field) => [field, `marked-${field}\u0000`])) },
];

const put = ([target, fault]: NonNullable<Try['fault']>) =>
  fetch(`${loud.url}/_local/faults/${target}`, { method: 'PUT', body: JSON.stringify(fault) });

let serial = 0;
/** @returns the answer with its headers, as text */
async function ask({ expected, more = {}, headers = {}, from = ++serial, fault }: Try): Promise<string> {
  if (fault !== undefined) expect((await put(fault)).status).toBe(200);
  const body = typeof more === 'string' ? more : JSON.stringify({ ...bodyOf(from), ...more });
  const sent = { 'content-type': 'application/json', 'idempotency-key': `marked-key-${from}`, ...headers };
  const reply = await checkedAnswer(
    await fetch(`${loud.url}${REGISTER_PATH}`, { method: 'POST', headers: sent, body }),
  );
  if (fault !== undefined) await put([fault[0], { kind: 'refused', times: 0 }]);
  expect([expected].flat(), `${JSON.stringify(fault)} ${JSON.stringify(more).slice(0, 80)}`).toContain(reply.status);
  return `${reply.status} ${JSON.stringify([...reply.headers])} ${await reply.text()}`;
}

/** Of a request, a record or a message, and of a log line's part: among many one may hold a code's digits. */
const RANDOM_IDS = /[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}|(?<="id":")[\da-f]{16}(?=")/g;

describe('Nothing that a person typed, and no code', () => {
  const texts: Record<string, string> = {};
  beforeAll(async () => {
    const answers: string[] = [];
    for (const one of [...EVERYONE, ...SERVICES_FAIL, ...CALLER_ERRORS]) answers.push(await ask(one));
    Object.assign(texts, { answers: answers.join('\n'), log: loud.lines.join('\n') });
  }, 120_000);

  it.each(['log', 'answers'])('is in the %s', async (name) => {
    const text = texts[name] ?? '';
    expect(text.split('\n').length).toBeGreaterThan(50);
    const numbers = Array.from({ length: serial }, (_, index) => numberOf(index + 1));
    const marks = ['marked', 'O’Hara', ...numbers, numberOf(REPEATING_PERSON), OWNER.email, OWNER.phone.number];
    expect(textsWithMarks(marks, { [name]: text })).toEqual([]);
    expect(text).not.toContain('127.0.0.1');
    const outbox = (await (await fetch(`${loud.url}/_local/outbox`)).json()) as SentMessage[];
    const codes = outbox.map(codeIn).filter((code) => code !== undefined);
    expect(codes.length).toBeGreaterThan(10);
    const withoutIds = text.replace(RANDOM_IDS, '');
    for (const code of codes) expect(withoutIds).not.toMatch(new RegExp(`(?<!\\d)${code}(?!\\d)`));
  });

  it('was kept out although every event of a registration was logged and counted', () => {
    const outcomes = ['RegistrationRefused', 'OtpSent', 'OtpDeliveryFailed', 'OtpOutcomeUnknown'];
    const others = ['LimitReached', 'LimitUncheckable', 'OperationNotSettled', 'RequestRefused', 'InternalError'];
    for (const event of [...outcomes, ...others]) {
      expect(texts.log).toMatch(new RegExp(`"message":"${event}"`));
      expect(texts.log).toMatch(new RegExp(`"${event}":1[,}]`));
    }
    expect(texts.log).toContain('"_aws"');
  });
});
