import { expect } from 'vitest';
import type { SentMessage } from '../../infra/local/outbox.ts';
import type { SimulatedAccount } from '../../infra/local/platforms/simulated-server.ts';
import type { StoredRegistration } from '../../lib/records/registrations.ts';
import { asciiEmail } from '../../lib/validators/email.ts';
import type { Channel } from '../../lib/validators/otp-types.ts';
import { type Answer, bodyOf, messagesTo, nextTrader, type Sending, sendRequest } from './caller.ts';
import { DEMO_PLACES, RECORDS } from './records.ts';
import type { Change, Version } from './table.ts';
import type { World } from './world.ts';

/** A registration body, and its expected record. */
type RegistrationBody = Record<string, unknown> & {
  otp_type?: Channel;
  email: string;
  phone?: { country_code: string; number: string };
};

/** Sends a good request and checks everything that its operation promises. */
export async function checkAccepted(world: World, change: Change): Promise<void> {
  const { operation } = change;
  if (operation === 'registration') await registerAndCheck(world, change);
  else await openAccount(world, { ...change, operation });
}

/** Sends a good registration and checks all promises: the answer, the message and the record. */
export async function registerAndCheck(world: World, change: Change, sending: Sending = {}) {
  const given = bodyOf(change);
  const answer = await sendRequest(world, change, { ...sending, raw: sending.raw ?? JSON.stringify(given) });
  expect(answer).toMatchObject({ status: 204, text: '' });

  const body = JSON.parse(JSON.stringify(given)) as RegistrationBody;
  const { otp_type: channel = 'email', email, phone } = body;
  const e164 = `+${phone?.country_code}${phone?.number}`;
  const messages = messagesTo(world, channel === 'email' ? asciiEmail(email) : e164);
  expect(messages).toEqual([expect.objectContaining({ kind: channel })]);
  const [message] = messages;
  expect(message?.text).toMatch(/\d(\D{0,40}\d){5}/);

  const kept = await world.items.registration(answer.headers.get('registration-id') ?? '');
  checkKept(world, body, kept);
  return { message: message as SentMessage, kept };
}

/** The record has the sent data, and no password. */
function checkKept(world: World, body: RegistrationBody, kept: StoredRegistration | undefined): void {
  const { email, name, form_id, otp_type = 'email' } = body;
  expect(kept).toMatchObject({ email, type: 'trader', name, form_id, otp_type });
  const form = RECORDS.forms.find(({ id }) => id === form_id);
  const given = form?.fields.filter(({ key }) => Object.hasOwn(body, key)) ?? [];
  const [documents, others] = [true, false].map((wanted) =>
    given.filter(({ type }) => (type === 'document') === wanted),
  );
  expect(JSON.parse(String(kept?.custom_fields))).toEqual(
    Object.fromEntries(others?.map(({ key }) => [key, body[key]]) ?? []),
  );
  expect(JSON.stringify(kept)).not.toContain(JSON.stringify(body.password));
  checkDocuments(
    world,
    documents?.flatMap(({ key }) => documentsIn(body[key])),
    kept,
  );
}

function documentsIn(value: unknown): { id: string; doc: string }[] {
  return Array.isArray(value) ? value : [];
}

/** Every document is an object of the store, whose bytes are those that were sent. */
function checkDocuments({ service }: World, sent: { id: string; doc: string }[] = [], kept?: StoredRegistration): void {
  const documents = kept?.documents ?? [];
  expect(documents.map(({ id }) => id)).toEqual(sent.map(({ id }) => id));
  for (const [index, { key }] of documents.entries()) {
    const stored = service.standIns.s3.objects.get(`${service.environment.DOCUMENTS_BUCKET}/${key}`);
    expect(stored?.body.toString('base64')).toBe(sent[index]?.doc);
  }
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

/** The result of a good request for an account. */
interface Opened {
  answer: Answer;
  login: number;
  /** As they were answered. */
  passwords: { master: string; investor: string };
}

/**
 * Sends a good request for an account and checks everything that is promised: answer, account, passwords, record,
 * notices.
 */
export async function openAccount(
  world: World,
  change: Change & { operation: Version },
  sending: Sending = {},
): Promise<{ answer: Answer; messages: readonly SentMessage[] }> {
  const { operation: version, userId = nextTrader() } = change;
  const given = bodyOf(change);
  const body = JSON.parse(JSON.stringify(given)) as AccountBody;
  const before = world.service.outbox.list().length;
  const raw = sending.raw ?? JSON.stringify(given);
  const opened = checkOpened(await sendRequest(world, { ...change, userId }, { ...sending, raw }), body);
  const { login, passwords, answer } = opened;
  checkHosted(world, userId, version, body, opened);

  const record = await world.items.account(userId, version, body.connection_id, login);
  const { leverage, enable_readonly = false, enable_rebate = false } = body;
  expect(record).toMatchObject({ login, leverage, enable_readonly, enable_rebate });
  expect([record?.rebate_user_id, record?.account_type_id]).toEqual([body.rebate_user_id, body.account_type_id]);
  expect(JSON.stringify(record)).not.toContain(JSON.stringify(passwords.master).slice(1, -1));
  return { answer, messages: checkNotices(world.service.outbox.list().slice(before), userId, body, login) };
}

/** The answer has exactly three members, with the values of the request. */
function checkOpened(answer: Answer, body: AccountBody): Opened {
  expect(answer).toMatchObject({ status: 200 });
  expect(answer.headers.get('content-type')).toBe('application/json');
  const { login, master_password, investor_password, ...more } = answer.body as Record<string, unknown>;
  expect(more).toEqual({});
  expect([typeof login, typeof master_password, typeof investor_password]).toEqual(['number', 'string', 'string']);
  expect({ login, master_password, investor_password }).toMatchObject(
    Object.fromEntries(Object.entries(body).filter(([name]) => /^login$|password$/.test(name))),
  );
  const passwords = { master: String(master_password), investor: String(investor_password) };
  return { answer, login: Number(login), passwords };
}

/** The platform has the requested account, and each password gives its rights. */
function checkHosted(
  { service }: World,
  userId: string,
  version: Version,
  body: AccountBody,
  { login, passwords }: Opened,
): void {
  const client = RECORDS.clients.find(({ id }) => id === userId);
  const { funded, deposit } = DEMO_PLACES[version];
  const server = service.platforms.get(body.connection_id);
  expect(server?.accounts().find((one) => one.login === login)).toEqual({
    login,
    group: body.group,
    leverage: body.leverage,
    name: client?.name,
    email: client?.email,
    readonly: body.enable_readonly ?? false,
    balance: body.account_type_id === funded ? deposit : 0,
    comment: expect.any(String),
  } satisfies Record<keyof SimulatedAccount, unknown>);
  const names = new Intl.DisplayNames('en', { type: 'region' });
  expect(server?.details(login)).toMatchObject({ country: client?.country ? names.of(client.country) : '' });
  for (const [access, password] of Object.entries(passwords)) expect(server?.access(login, password)).toBe(access);
}

/** The client got the notices that were asked for, each with the login. */
function checkNotices(
  sent: readonly SentMessage[],
  userId: string,
  body: AccountBody,
  login: number,
): readonly SentMessage[] {
  const email = RECORDS.clients.find(({ id }) => id === userId)?.email ?? '';
  const messages = sent.filter(({ to }) => [email, userId].includes(to));
  const notices = [
    ...(body.send_email === true ? [`email ${email}`] : []),
    ...(body.send_pop_up === true ? [`popup ${userId}`] : []),
  ];
  expect(messages.map(({ kind, to }) => `${kind} ${to}`).sort()).toEqual(notices);
  for (const { text } of messages) expect(text).toContain(String(login));
  return messages;
}
