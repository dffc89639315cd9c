import { type ChildProcess, spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Fault } from '../../infra/local/faults.ts';
import type { SentMessage } from '../../infra/local/outbox.ts';
import { type Channel, OTP_TYPES } from '../../lib/validators/otp-types.ts';
import { checked } from '../support/openapi.ts';
import { codeIn, hurried, PATH } from '../support/registration-world.ts';

const PNG = Buffer.concat([
  Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex'),
  Buffer.from('MARKED-DOCUMENT-CONTENT'),
]);

let service: ChildProcess;
let url = '';
let printed = '';
const answers: string[] = [];

beforeAll(async () => {
  const file = fileURLToPath(new URL('../support/loud-registration.ts', import.meta.url));
  service = spawn(process.execPath, [file], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  for (const stream of [service.stdout, service.stderr]) {
    stream?.setEncoding('utf8').on('data', (chunk: string) => {
      printed += chunk;
    });
  }
  const end = Date.now() + 30_000;
  while (url === '' && Date.now() < end) {
    await new Promise((resolve) => setTimeout(resolve, 20));
    url = /^ready (\S+)$/m.exec(printed)?.[1] ?? '';
  }
  if (url === '') throw new Error(`The service did not start: ${printed}`);
});
afterAll(() => {
  service.kill();
});

/** Everything that a person may type here, each with a word that nothing else holds. */
const TYPED = {
  email: (serial: number) => `marked-address-${serial}@marked-domain.example`,
  name: 'Marked-Name O’Hara',
  password: 'marked-pässword\n    at 77',
  number: (serial: number) => `74000${String(serial).padStart(2, '0')}734`,
  document: PNG.toString('base64'),
  fileName: 'marked-file.png',
  documentId: 'marked-document-id',
  field: 'marked-field-value',
  key: 'marked-key',
};

const MARKS = [
  'marked-',
  'Marked-',
  'MARKED-',
  'O’Hara',
  'pässword',
  // Of every phone number.
  /7400\d{3}734/,
  TYPED.document.slice(0, 40),
  TYPED.document.slice(-24),
];

let serial = 0;
function nextPerson(): number {
  serial += 1;
  return serial;
}

async function post(
  more: Record<string, unknown> | string,
  headers: Record<string, string> = {},
  from = nextPerson(),
): Promise<number> {
  const body =
    typeof more === 'string'
      ? more
      : JSON.stringify({
          email: TYPED.email(from),
          type: 'trader',
          name: TYPED.name,
          phone: { country_code: '44', number: TYPED.number(from) },
          password: TYPED.password,
          repeat_password: TYPED.password,
          form_id: 'FORMFULL',
          field_text: TYPED.field,
          field_dynamicSelect: { [TYPED.field]: TYPED.field },
          field_document: [{ id: TYPED.documentId, name: TYPED.fileName, doc: TYPED.document }],
          ...more,
        });
  const sent = { 'content-type': 'application/json', 'idempotency-key': `${TYPED.key}-${from}`, ...headers };
  const reply = await checked(await fetch(`${url}${PATH}`, { method: 'POST', headers: sent, body }));
  answers.push(`${reply.status} ${JSON.stringify([...reply.headers])} ${await reply.text()}`);
  return reply.status;
}

async function put(target: string, fault: Partial<Fault>): Promise<void> {
  const answer = await fetch(`${url}/_local/faults/${target}`, { method: 'PUT', body: JSON.stringify(fault) });
  expect(answer.status).toBe(200);
}

async function outbox(): Promise<SentMessage[]> {
  return (await (await fetch(`${url}/_local/outbox`)).json()) as SentMessage[];
}

const PROVIDERS: [Channel, string][] = [
  ['email', 'ses'],
  ['sms', 'sns'],
  ['call', 'voice'],
  ['whatsapp', 'whatsapp'],
];

/**
 * Of the requests, records and messages, and of a log line's part. Among many there may be one that holds a code's
 * digits.
 */
const RANDOM_IDS = /[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}|(?<="id":")[\da-f]{16}(?=")/g;

function expectNothingOf(text: string, codes: string[]): void {
  for (const mark of MARKS) expect(text).not.toMatch(mark);
  for (const address of ['ann@example.com', '7400123456', '127.0.0.1']) expect(text).not.toContain(address);
  const withoutIds = text.replace(RANDOM_IDS, '');
  for (const code of codes) expect(withoutIds).not.toMatch(new RegExp(`(?<!\\d)${code}(?!\\d)`));
}

async function codesSent(): Promise<string[]> {
  const codes = (await outbox()).map(codeIn).filter((code) => code !== undefined);
  expect(codes.length).toBeGreaterThan(10);
  return codes;
}

/** The secret is not cached at first. */
async function everyoneRegisters(): Promise<void> {
  await put('secrets', { kind: 'refused', times: 1 });
  expect(await post({})).toBe(500);

  for (const otp_type of OTP_TYPES) expect(await post({ otp_type })).toBe(204);
  // A client's own addresses.
  for (const otp_type of OTP_TYPES) {
    const owner = { email: 'ann@example.com', phone: { country_code: '44', number: '7400123456' } };
    expect(await post({ otp_type, ...owner })).toBe(204);
  }
}

async function providersFail(): Promise<void> {
  for (const [otp_type, target] of PROVIDERS) {
    for (const kind of ['throttled', 'refused', 'down'] as const) {
      await put(target, { kind, times: 1 });
      expect(await post({ otp_type })).toBe(502);
    }
  }
  await put('ses', { kind: 'slow', times: 1, ms: 3_500 });
  expect(await post({}, hurried(3_000))).toBe(204);
}

/** The bucket and the tables, at every call of a request. */
async function storesFail(): Promise<void> {
  for (const kind of ['refused', 'throttled', 'down'] as const) {
    await put('s3', { kind, times: 9 });
    expect(await post({})).toBe(500);
    await put('s3', { kind, times: 0 });
  }
  for (let after = 0; after < 13; after += 1) {
    for (const otp_type of ['email', 'sms']) {
      await put('dynamodb', { kind: 'refused', times: 1, after });
      expect([204, 500]).toContain(await post({ otp_type }));
    }
  }
  for (const after of [0, 2, 4, 7]) {
    await put('dynamodb', { kind: 'refused', times: 1_000, after });
    expect([204, 500]).toContain(await post({ otp_type: 'email' }));
    await put('dynamodb', { kind: 'refused', times: 0 });
  }
}

async function callersTryAgain(): Promise<void> {
  const again = nextPerson();
  expect(await post({}, {}, again)).toBe(204);
  expect(await post({}, {}, again)).toBe(204);
  expect(await post({ name: 'Marked-Other' }, {}, again)).toBe(422);
  expect(await post({}, { 'idempotency-key': 'marked-other-key' }, again)).toBe(429);
  expect(await post({}, { 'idempotency-key': 'marked key with spaces' })).toBe(400);
}

async function callersErr(): Promise<void> {
  expect(await post('')).toBe(400);
  expect(await post('{"email":"marked-address@marked-domain.example",\n    at marked-stack (marked-file.js:1:1)')).toBe(
    400,
  );
  expect(await post('{"__proto__":{"name":"marked-proto"}}')).toBe(400);
  expect(await post({}, { 'content-type': 'text/marked-type' })).toBe(415);
  expect(await post({ field_textarea: 'marked-'.repeat(900_000) })).toBe(413);
  expect(await post({ form_id: 'marked-x' })).toBe(400);
  expect(await post({ referrer_id: 'marked-x' })).toBe(400);
  expect(await post({ field_document: [{ id: '1', name: 'marked-name', doc: 'TUFSS0VELQ==' }] })).toBe(400);
  const wrong = Object.fromEntries(
    ['email', 'type', 'name', 'phone', 'otp_type', 'repeat_password', 'language', 'field_date', 'field_number'].map(
      (field) => [field, `marked-${field}\u0000`],
    ),
  );
  expect(await post(wrong)).toBe(400);
}

describe('Nothing that a person typed, and no code', () => {
  beforeAll(async () => {
    await everyoneRegisters();
    await providersFail();
    await storesFail();
    await callersTryAgain();
    await callersErr();
  }, 120_000);

  it('is in a log or a metric', async () => {
    expectNothingOf(printed.replace(/^ready .*$/m, ''), await codesSent());
  });

  it('is in an answer', async () => {
    expect(answers.length).toBeGreaterThan(50);
    const codes = await codesSent();
    for (const answer of answers) expectNothingOf(answer, codes);
  });

  it('was kept out of what there was to say: every event that registration knows was logged and counted', () => {
    const events = [
      'RegistrationRequested',
      'RegistrationRefused',
      'OtpSent',
      'OtpDeliveryFailed',
      'OtpOutcomeUnknown',
      'LimitReached',
      'LimitUncheckable',
      'OperationNotSettled',
      'RequestRefused',
      'InternalError',
    ];
    for (const event of events) {
      expect(printed).toMatch(new RegExp(`"message":"${event}"`));
      expect(printed).toMatch(new RegExp(`"${event}":1[,}]`));
    }
    expect(printed).toContain('"_aws"');
  });
});
