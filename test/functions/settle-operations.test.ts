import { randomUUID } from 'node:crypto';
import { ScanCommand } from '@aws-sdk/lib-dynamodb';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type LocalService, startService } from '../../infra/local/service.ts';
import { databaseClient, table } from '../../lib/aws/dynamodb.ts';
import { checkEvent } from '../support/events.ts';
import { crm } from '../support/operators.ts';

let service: LocalService;
beforeAll(async () => {
  service = await startService({ environment: { SETTLE_SECONDS: '0' } });
});
afterAll(() => service.close());
beforeEach(() => service.bus.clear());

const DEMO = { connection_id: 'tp5-demo-1', group: 'demo\\standard', leverage: 100, account_type_id: 'ATDEMO01' };
const LIVE = { connection_id: 'tp5-live-1', group: 'real\\standard', leverage: 100 };
const PLUG_IN = { connection_id: 'tp4-live-1', group: 'standard', leverage: 100 };

async function post(path: string, body: object, key = randomUUID()) {
  const answer = await fetch(`${service.url}/public/v1/${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'idempotency-key': key },
    body: JSON.stringify(body),
  });
  const text = await answer.text();
  return { status: answer.status, body: (text === '' ? {} : JSON.parse(text)) as Record<string, unknown> };
}

/** What was told, each checked against `infra/events.json`. */
function told(): unknown[] {
  return service.bus.list().map(({ 'detail-type': type, detail }) => {
    checkEvent(type, detail as object);
    return { type, ...(detail as object) };
  });
}

/** As if the time of whoever confirmed a registration were over. */
async function makeDue(): Promise<void> {
  const client = databaseClient();
  const { Items = [] } = await client.send(new ScanCommand({ TableName: 'registrations' }));
  for (const { pk, due_at } of Items) {
    if (due_at === undefined) continue;
    const past = { update: 'SET due_at = :past', values: { ':past': 0 } };
    await table(client, 'registrations').update({ pk: String(pk) }, past, AbortSignal.timeout(60_000));
  }
  client.destroy();
}

const open = async () =>
  JSON.parse((await crm(['operations', '--open', '--json', '--local', service.url])).out) as object[];

describe('The function that settles operations', () => {
  it('does nothing where nothing is open', async () => {
    expect((await post('users/CLIENT01/tp5/accounts', DEMO)).status).toBe(200);
    service.bus.clear();
    await service.tick();
    expect(service.bus.list()).toEqual([]);
    expect(await open()).toEqual([]);
  });

  it('tells of an account that could not be told when it was opened', async () => {
    service.faults('events').set({ kind: 'refused', times: 9 });
    const { status, body } = await post('users/CLIENT01/tp5/accounts', DEMO);
    expect(status).toBe(200);
    service.faults('events').clear();
    expect(service.bus.list()).toEqual([]);
    await service.tick();
    await service.tick();
    expect(told()).toEqual([expect.objectContaining({ type: 'AccountOpened', login: body.login })]);
    expect(await open()).toEqual([]);
  });

  it('finds the account at the login that was sent, and frees the key of a request that opened none', async () => {
    const [kept, freed] = [randomUUID(), randomUUID()];
    for (const id of ['tp5-live-1', 'tp5-demo-1']) service.faults(id).set({ kind: 'session_dropped', times: 99 });
    const answers = await Promise.all([
      post('users/CLIENT01/tp5/accounts', LIVE, kept),
      post('users/CLIENT01/tp5/accounts', DEMO, freed),
    ]);
    expect(answers.map(({ status }) => status)).toEqual([504, 504]);
    for (const id of ['tp5-live-1', 'tp5-demo-1']) service.faults(id).clear();
    await service.tick();
    expect(await open()).toEqual([]);
    const { body } = await post('users/CLIENT01/tp5/accounts', LIVE, kept);
    expect(told()).toEqual([expect.objectContaining({ type: 'AccountOpened', login: body.login })]);
    expect((await post('users/CLIENT01/tp5/accounts', { ...DEMO, leverage: 50 }, freed)).status).toBe(200);
  });

  it('leaves what no server can tell to the operators, and does not ask again', async () => {
    service.faults('tp4-live-1').set({ kind: 'reply_lost', times: 1 });
    const { status, body } = await post('users/CLIENT01/tp4/accounts', PLUG_IN);
    expect([status, body.type]).toEqual([504, 'account_outcome_unknown']);
    await service.tick();
    await service.tick();
    expect(await open()).toEqual([expect.objectContaining({ operation_id: body.operation_id })]);
    const { out } = await crm(['operations', '--open', '--local', service.url]);
    expect(out).toContain('whether it was opened, which no server can tell');
    const [account = expect.fail()] = service.platforms.get('tp4-live-1')?.accounts().slice(-1) ?? [];
    const settle = ['settle', String(body.operation_id), '--login', String(account.login), '--local', service.url];
    expect((await crm(settle)).code).toBe(0);
    await service.tick();
    expect(told()).toEqual([expect.objectContaining({ type: 'AccountOpened', login: account.login })]);
    expect(await open()).toEqual([]);
  });

  it('tells of a confirmed registration that could not be told when it was confirmed', async () => {
    const person = { email: 'told.later@example.com', password: 'correct horse' };
    const request = { type: 'trader', name: 'Tom', form_id: 'FORM0002', repeat_password: person.password, ...person };
    expect((await post('account/register/request', request)).status).toBe(204);
    const code = /\d{6}/.exec(service.outbox.list().at(-1)?.text ?? '')?.[0];
    service.faults('events').set({ kind: 'refused', times: 9 });
    expect((await post('account/register/confirm', { otp_type: 'email', code, ...person })).status).toBe(204);
    service.faults('events').clear();
    await service.tick();
    expect(told()).toEqual([]);
    await makeDue();
    await service.tick();
    await service.tick();
    expect(told()).toEqual([expect.objectContaining({ type: 'RegistrationConfirmed', verified: 'email' })]);
  });
});
