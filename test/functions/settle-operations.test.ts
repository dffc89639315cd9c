import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type LocalService, startService } from '../../infra/local/service.ts';
import { DUE_SHARDS } from '../../lib/records/due.ts';
import { checkEvent } from '../support/events.ts';
import { openAccount, postJson, register, tablesOf } from '../support/local-service.ts';

let service: LocalService;
beforeAll(async () => {
  service = await startService();
});
afterAll(() => service.close());
beforeEach(() => service.bus.clear());

const LIVE = { connection_id: 'tp5-live-1', group: 'real\\standard' };

/** The published events, each compared with `infra/events.json`. */
function published(): unknown[] {
  return service.bus.list().map(({ 'detail-type': type, detail }) => {
    checkEvent(type, detail as object);
    return { type, ...(detail as object) };
  });
}

/** As if the lease of the last worker had ended. */
async function makeDue(name: 'operations' | 'registrations'): Promise<void> {
  const { items, table } = tablesOf(service);
  const past = { update: 'SET due_at = :past, lease_until = :past', values: { ':past': 0 } };
  for (const { pk, due_at } of await items(name)) {
    if (due_at !== undefined) await table(name).update({ pk: String(pk) }, past, AbortSignal.timeout(60_000));
  }
}

describe('The settler publishes', () => {
  it('an account that could be neither recorded nor published, and sends its notices', async () => {
    service.faults('events').set({ kind: 'refused', times: 99 });
    // From the write that follows the answer of the server.
    service.faults('dynamodb').set({ kind: 'refused', after: 3, times: 99 });
    service.outbox.clear();
    const { status, body } = await openAccount(service, 'tp5', { ...LIVE, send_email: true, send_pop_up: true });
    for (const target of ['dynamodb', 'events']) service.faults(target).clear();
    expect([status, service.outbox.list()]).toEqual([200, []]);
    await makeDue('operations');
    await service.tick();
    expect(published()).toEqual([expect.objectContaining({ type: 'AccountOpened', login: body.login })]);
    const kinds = service.outbox.list().map(({ kind }) => kind);
    expect(kinds.sort()).toEqual(['email', 'popup']);
  });

  it('nothing for an operation whose account the server does not show', async () => {
    service.faults('tp5-live-1').set({ kind: 'retcode', code: 10, times: 1 });
    expect((await openAccount(service, 'tp5', LIVE)).status).toBe(503);
    await makeDue('operations');
    await service.tick();
    expect(published()).toEqual([]);
  });

  it('a confirmed registration whose event was refused, once', async () => {
    const requested = await register(service, { email: 'told.later@example.com' });
    expect(requested.status).toBe(204);
    const code = /\d{6}/.exec(service.outbox.list().at(-1)?.text ?? '')?.[0];
    service.faults('events').set({ kind: 'refused', times: 9 });
    const confirmed = await postJson(service, '/public/v1/account/register/confirm', {
      registration_id: requested.headers.get('registration-id'),
      code,
    });
    expect(confirmed.status).toBe(204);
    service.faults('events').clear();
    await service.tick();
    expect(published()).toEqual([]);
    await makeDue('registrations');
    await service.tick();
    await service.tick();
    expect(published()).toEqual([expect.objectContaining({ type: 'RegistrationConfirmed', verified: 'email' })]);
  });
});

/** An item that somebody has written into the table of operations, as if a deposit of an open account were due. */
describe('The settler believes no stored amount: a written item with a due deposit of 1,000,000', () => {
  const DEMO = { connection_id: 'tp5-demo-1', group: 'demoforex', account_type_id: 'ATLIVE05' };
  it.each<[string, typeof LIVE, string | undefined, number]>([
    ['of live accounts pays nothing', LIVE, undefined, 0],
    ['of live accounts, with the account type of demo ones, pays nothing', LIVE, 'ATDEMO01', 0],
    ['of demo accounts, whose type has no deposit, pays nothing', DEMO, 'ATLIVE05', 0],
    ['of demo accounts, whose type is of the other version, pays nothing', DEMO, 'ATDEMO04', 0],
    ['of demo accounts pays what their type says', DEMO, 'ATDEMO01', 10_000],
  ])('%s', async (_, order, account_type_id, paid) => {
    const { items, table } = tablesOf(service);
    const { body } = await openAccount(service, 'tp5', order);
    const server = service.platforms.get(order.connection_id);
    const balance = () => server?.accounts().find(({ login }) => login === body.login)?.balance;
    expect(balance()).toBe(0);
    const opened = (await items('operations')).find(({ life }) => (life as { login?: unknown })?.login === body.login);
    const life = {
      ...{ at: 'open', login: body.login, opened_at: new Date().toISOString() },
      ...{ recorded: true, published: true, mail: 'none', deposit: 'due' },
    };
    const plan = { ...(opened?.plan as object), account_type_id, deposit: 1_000_000 };
    const pk = `written ${body.login}`;
    const due = { due_shard: DUE_SHARDS[0], due_at: 0, lease_until: 0 };
    await table('operations').put({ ...opened, ...due, pk, life, plan }, AbortSignal.timeout(60_000));
    await service.tick();
    const item = await table('operations').get({ pk }, AbortSignal.timeout(60_000));
    expect(item?.life).toMatchObject({ at: 'open', deposit: paid === 0 ? 'due' : 'made' });
    expect(balance()).toBe(paid);
  });
});
