import { randomInt } from 'node:crypto';
import { expect } from 'vitest';
import type { SentMessage } from '../../infra/local/outbox.ts';
import type { SimulatedAccount } from '../../infra/local/platforms/simulated-server.ts';
import type { LocalService } from '../../infra/local/service.ts';
import { databaseClient, type Item, table } from '../../lib/aws/dynamodb.ts';
import { asciiEmail, emailKey } from '../../lib/validators/email.ts';
import { clientSettings } from './database.ts';
import { checkAnswer, checkRequest } from './openapi.ts';
import { CLIENT, DEMO_PLACES, FORM, PLACES, RECORDS, TRADERS } from './specification-records.ts';
import type { Change, Version } from './specification-table.ts';

export interface Answer {
  status: number;
  headers: Headers;
  text: string;
  /** The body as JSON; undefined where there is none. */
  body: Record<string, unknown> | undefined;
}

/** What a request has that says nothing of the specification. */
export interface Sending {
  /** The whole body as it is sent, instead of the good one. */
  raw?: string;
  /** Whom the request comes from; a new one where absent. */
  source?: string;
}

export const PATHS = {
  registration: '/public/v1/account/register/request',
  tp5: '/public/v1/users/{user_id}/tp5/accounts',
  tp4: '/public/v1/users/{user_id}/tp4/accounts',
} as const;

const PASSWORD = 'correct horse battery';

let count = 0;

/** An address that no request came from. */
export function newSource(): string {
  count += 1;
  return `10.${(count >> 16) & 255}.${(count >> 8) & 255}.${count & 255}`;
}

/** The messages that were sent to an address. */
export function messagesTo(service: LocalService, address: string): SentMessage[] {
  return service.outbox.list().filter(({ to }) => to === address);
}

/** A client for whom no other account is opened at the same time. */
function nextTrader(): string {
  count += 1;
  return TRADERS[count % TRADERS.length]?.id ?? '';
}

/** An address that no message was sent to. */
export function newEmail(): string {
  count += 1;
  return `trader${count}@example.com`;
}

/** A number that no message was sent to, with a prefix of its own. */
export function newPhone(): { country_code: string; number: string } {
  count += 1;
  return { country_code: '44', number: `740${String(count % 1_000).padStart(3, '0')}${randomInt(1_000, 10_000)}` };
}

/** A good body of an operation, changed as a case says. */
export function bodyOf({ operation, body = {} }: Change): Record<string, unknown> {
  if (operation !== 'registration') return { ...PLACES[operation], leverage: 100, ...body };
  const phone = ['sms', 'call', 'whatsapp'].includes(String(body.otp_type)) ? { phone: newPhone() } : {};
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

/** Calls the running service as an integrator does, and checks every answer, and every body that is accepted, against the OpenAPI document. */
export async function call(service: LocalService, change: Change, sending: Sending = {}): Promise<Answer> {
  const { operation, userId = CLIENT.id, headers = {} } = change;
  const path = PATHS[operation].replace('{user_id}', encodeURIComponent(userId));
  const raw = sending.raw ?? JSON.stringify(bodyOf(change));
  const answer = await request(service, 'POST', path, raw, {
    'content-type': 'application/json',
    'x-forwarded-for': sending.source ?? newSource(),
    ...headers,
  });
  checkAnswer('POST', PATHS[operation], answer.status, answer.headers, answer.text);
  if (answer.status < 300) {
    const body = JSON.parse(raw) as Record<string, unknown>;
    const form = RECORDS.forms.find(({ id }) => id === body.form_id);
    checkRequest(PATHS[operation], body, new Map(form?.fields.map(({ key, type }) => [key, type])));
  }
  expect(Object.fromEntries(answer.headers)).toMatchObject({
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
    'x-request-id': expect.stringMatching(/./),
  });
  return answer;
}

export async function request(
  service: LocalService,
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

/** The tables of the running service. */
export function itemsOf(service: LocalService) {
  const client = databaseClient(clientSettings(service.database.url));
  const read = (name: string, key: Record<string, string>): Promise<Item | undefined> =>
    table(client, name).get(key, AbortSignal.timeout(5_000));
  return {
    registration: (channel: string, address: string) => read('registrations', { pk: `${channel}#${address}` }),
    account: (userId: string, version: Version, connectionId: string, login: number) =>
      read('accounts', { pk: userId, sk: `${version}#${connectionId}#${login}` }),
    close: () => client.destroy(),
  };
}
export type Items = ReturnType<typeof itemsOf>;

/** Sends a good registration and checks everything that is promised: the answer, the message and what is kept. */
export async function register(
  service: LocalService,
  items: Items,
  change: Change,
  sending: Sending = {},
): Promise<SentMessage> {
  const body = bodyOf(change);
  const answer = await call(service, change, { ...sending, raw: sending.raw ?? JSON.stringify(body) });
  expect(answer).toMatchObject({ status: 204, text: '' });

  const {
    otp_type: channel = 'email',
    email,
    phone,
  } = JSON.parse(JSON.stringify(body)) as {
    otp_type?: string;
    email: string;
    phone?: { country_code: string; number: string };
  };
  const e164 = `+${phone?.country_code}${phone?.number}`;
  const to = channel === 'email' ? asciiEmail(email) : e164;
  const messages = messagesTo(service, to);
  expect(messages).toEqual([expect.objectContaining({ kind: channel })]);
  const [message] = messages;
  expect(message?.text).toMatch(/\d(\D{0,40}\d){5}/);

  const kept = await items.registration(channel, channel === 'email' ? emailKey(email) : e164);
  const form = RECORDS.forms.find(({ id }) => id === body.form_id);
  const sent = JSON.parse(JSON.stringify(body)) as Record<string, unknown>;
  const fields = form?.fields.filter(({ key, type }) => type !== 'document' && Object.hasOwn(sent, key)) ?? [];
  expect(kept).toMatchObject({ email, type: 'trader', name: sent.name, form_id: body.form_id, otp_type: channel });
  expect(JSON.parse(String(kept?.custom_fields))).toEqual(
    Object.fromEntries(fields.map(({ key }) => [key, sent[key]])),
  );
  expect(JSON.stringify(kept)).not.toContain(JSON.stringify(body.password));
  checkDocuments(
    service,
    form?.fields.flatMap(({ key, type }) => (type === 'document' ? documentsIn(sent[key]) : [])),
    kept,
  );
  return message as SentMessage;
}

function documentsIn(value: unknown): { id: string; doc: string }[] {
  return Array.isArray(value) ? value : [];
}

/** Every document is an object of the store, whose bytes are those that were sent. */
function checkDocuments(service: LocalService, sent: { id: string; doc: string }[] = [], kept: Item = {}): void {
  const documents = kept.documents as { id: string; key: string }[];
  expect(documents.map(({ id }) => id)).toEqual(sent.map(({ id }) => id));
  for (const [index, { key }] of documents.entries()) {
    const stored = service.standIns.s3.objects.get(`${service.environment.DOCUMENTS_BUCKET}/${key}`);
    expect(stored?.body.toString('base64')).toBe(sent[index]?.doc);
  }
}

/** Sends a good request for an account and checks everything that is promised: answer, account, passwords, record, notices. */
export async function openAccount(
  service: LocalService,
  items: Items,
  change: Change & { operation: Version },
  sending: Sending = {},
): Promise<{ answer: Answer; account: SimulatedAccount; messages: readonly SentMessage[] }> {
  const { operation: version, userId = nextTrader() } = change;
  const body = JSON.parse(JSON.stringify(bodyOf(change))) as AccountBody;
  const before = service.outbox.list().length;
  const answer = await call(service, { ...change, userId }, sending);
  expect(answer).toMatchObject({ status: 200 });
  expect(answer.headers.get('content-type')).toBe('application/json');
  const { login, master_password, investor_password, ...more } = answer.body as Record<string, unknown>;
  expect(more).toEqual({});
  expect([typeof login, typeof master_password, typeof investor_password]).toEqual(['number', 'string', 'string']);
  expect({ login, master_password, investor_password }).toMatchObject(
    Object.fromEntries(Object.entries(body).filter(([name]) => /^login$|password$/.test(name))),
  );

  const client = RECORDS.clients.find(({ id }) => id === userId);
  const at = `/_local/platforms/${body.connection_id}`;
  const accounts = (await request(service, 'GET', `${at}/accounts`, undefined, {}))
    .body as unknown as SimulatedAccount[];
  const account = accounts.find((one) => one.login === login) as SimulatedAccount;
  const { funded, deposit } = DEMO_PLACES[version];
  expect(account).toEqual({
    login,
    group: body.group,
    leverage: body.leverage,
    name: client?.name,
    email: client?.email,
    readonly: body.enable_readonly ?? false,
    balance: body.account_type_id === funded ? deposit : 0,
    comment: expect.any(String),
  });
  for (const [password, access] of Object.entries({ master: master_password, investor: investor_password })) {
    const opened = await request(service, 'POST', `${at}/login`, JSON.stringify({ login, password: access }), {});
    expect(opened.body).toEqual({ access: password });
  }

  const record = await items.account(userId, version, body.connection_id, Number(login));
  expect(record).toMatchObject({
    login,
    leverage: body.leverage,
    enable_readonly: body.enable_readonly ?? false,
    enable_rebate: body.enable_rebate ?? false,
  });
  expect([record?.rebate_user_id, record?.account_type_id]).toEqual([body.rebate_user_id, body.account_type_id]);
  expect(JSON.stringify(record)).not.toContain(JSON.stringify(master_password).slice(1, -1));

  const messages = service.outbox
    .list()
    .slice(before)
    .filter(({ to }) => [client?.email, userId].includes(to));
  const notices = [
    ...(body.send_email === true ? [`email ${client?.email}`] : []),
    ...(body.send_pop_up === true ? [`popup ${userId}`] : []),
  ];
  expect(messages.map(({ kind, to }) => `${kind} ${to}`).sort()).toEqual(notices);
  for (const { text } of messages) expect(text).toContain(String(login));
  return { answer, account, messages };
}

interface AccountBody {
  connection_id: string;
  group: string;
  leverage: number;
  account_type_id?: string;
  rebate_user_id?: string;
  enable_readonly?: boolean;
  enable_rebate?: boolean;
  send_email?: boolean;
  send_pop_up?: boolean;
}
