import { describe, expect, it } from 'vitest';
import { Bus } from '../../../infra/local/bus.ts';
import { DEMO_RECORDS } from '../../../infra/local/demo-records.ts';
import { Faults } from '../../../infra/local/faults.ts';
import { firstCalls } from '../../../infra/local/first-calls.ts';
import { type LiveSources, LiveState, SHOWN_PER_KIND } from '../../../infra/local/live-state.ts';
import type { LocalClient } from '../../../infra/local/local-crm.ts';
import { Outbox } from '../../../infra/local/outbox.ts';
import type { SimulatedAccount } from '../../../infra/local/platforms/simulated-server.ts';
import type { BusEvent } from '../../../infra/local/stand-ins/events.ts';

const TEXT = { kind: 'sms', to: '+447400123456', text: '048271 is your code.' } as const;
const ACCOUNT: SimulatedAccount = {
  login: 1,
  group: 'real\\standard',
  leverage: 100,
  name: 'Ann',
  email: '',
  readonly: false,
  balance: 0,
  comment: '',
};

function sources(): LiveSources {
  return {
    outbox: new Outbox(),
    bus: new Bus(),
    crm: { clients: () => [] },
    platforms: new Map(),
    firstCalls: firstCalls(DEMO_RECORDS),
    faults: () => ({}),
  };
}

function world() {
  const outbox = new Outbox();
  const accounts: SimulatedAccount[] = [];
  const faults: ReturnType<LiveSources['faults']> = { ses: { kinds: ['down'], waiting: [], version: 1 } };
  const platforms = new Map([['tp5-live-1', { accounts: () => accounts }]]);
  return { outbox, accounts, faults, state: new LiveState({ ...sources(), outbox, platforms, faults: () => faults }) };
}

describe('what an outbox page is told', () => {
  it('is everything at first, and then nothing until something changes', () => {
    const { outbox, state } = world();
    outbox.record({ ...TEXT, kind: 'email', html: '<p>Hello</p>' });
    expect(state.next()).toEqual({
      calls: firstCalls(DEMO_RECORDS),
      outbox: {
        reset: true,
        messages: [{ ...TEXT, id: '1', at: expect.any(String), kind: 'email', html: true }],
        counts: { email: 1, sms: 0, call: 0, whatsapp: 0, popup: 0 },
      },
      accounts: { 'tp5-live-1': { total: 0, newest: [] } },
      faults: { ses: { kinds: ['down'], waiting: [], version: 1 } },
      crm: { total: 0, events: [], clients: [] },
    });
    expect(state.next()).toEqual({});
  });

  it('is each new message once, with its code, also after the outbox was cleared', () => {
    const { outbox, state } = world();
    state.next();
    outbox.record(TEXT);
    expect(state.next().outbox).toMatchObject({ reset: false, messages: [{ id: '1', code: '048271' }] });
    outbox.record(TEXT);
    expect(state.next().outbox).toMatchObject({ reset: false, messages: [{ id: '2' }], counts: { sms: 2 } });
    outbox.clear();
    outbox.record(TEXT);
    expect(state.next().outbox).toMatchObject({ reset: true, messages: [{ id: '3' }], counts: { sms: 1 } });
    outbox.clear();
    expect(state.next().outbox).toMatchObject({ reset: true, messages: [], counts: { sms: 0 } });
  });

  it('is no more than the newest of each kind, and how many there are', () => {
    const { outbox, state } = world();
    outbox.record({ ...TEXT, kind: 'call' });
    for (let sent = 0; sent < SHOWN_PER_KIND + 1; sent += 1) outbox.record(TEXT);
    const told = state.next().outbox;
    expect(told?.counts).toMatchObject({ call: 1, sms: SHOWN_PER_KIND + 1 });
    expect(told?.messages.map(({ id }) => id)).toEqual([
      '1',
      ...Array.from({ length: SHOWN_PER_KIND }, (_, place) => String(place + 3)),
    ]);
  });

  it('is accounts, newest first, and faults, as they change', () => {
    const { accounts, faults, state } = world();
    state.next();
    accounts.push(ACCOUNT, { ...ACCOUNT, login: 2 });
    expect(state.next()).toEqual({
      accounts: { 'tp5-live-1': { total: 2, newest: [{ ...ACCOUNT, login: 2 }, ACCOUNT] } },
    });
    faults.ses?.waiting.push({ kind: 'down', times: 1 });
    expect(state.next()).toEqual({
      faults: { ses: { kinds: ['down'], waiting: [{ kind: 'down', times: 1 }], version: 1 } },
    });
  });

  it('is of a fault also where it was set and used up since the last look', () => {
    const ses = new Faults();
    const faults = () => ({ ses: { kinds: ['down'] as const, waiting: ses.list(), version: ses.version } });
    const state = new LiveState({ ...sources(), faults });
    const before = state.next().faults?.ses?.version ?? 0;
    ses.set({ kind: 'down', times: 1 });
    ses.next();
    const { ses: told } = state.next().faults ?? {};
    expect(told?.waiting).toEqual([]);
    expect(told?.version).toBeGreaterThan(before + 1);
    expect(state.next()).toEqual({});
  });
});

describe('what the page is told of the CRM', () => {
  const EVENT: BusEvent = {
    version: '0',
    id: 'e-1',
    'detail-type': 'RegistrationConfirmed',
    source: 'broker.api',
    account: '000000000000',
    time: '2026-11-22T10:00:00Z',
    region: 'eu-west-1',
    resources: [],
    detail: { id: 'r-1' },
  };

  it('is each event and each client, newest first', () => {
    const bus = new Bus();
    const client = { id: 'C1', name: 'Nia', email: 'nia@example.com', registration_id: 'r-1', at: EVENT.time };
    const clients: LocalClient[] = [];
    const state = new LiveState({ ...sources(), bus, crm: { clients: () => clients } });
    state.next();
    bus.deliver(EVENT);
    bus.deliver({ ...EVENT, id: 'e-2', 'detail-type': 'AccountOpened' });
    expect(state.next()).toEqual({
      crm: {
        total: 2,
        events: [
          { id: 'e-2', type: 'AccountOpened', at: EVENT.time, detail: { id: 'r-1' } },
          { id: 'e-1', type: 'RegistrationConfirmed', at: EVENT.time, detail: { id: 'r-1' } },
        ],
        clients: [],
      },
    });
    clients.push(client, { ...client, id: 'C2' });
    expect(state.next().crm?.clients.map(({ id }) => id)).toEqual(['C2', 'C1']);
    expect(state.next()).toEqual({});
  });
});

describe('the calls for a person who has made none', () => {
  it('are of a form without required fields, and of a server with groups that is no demo one', () => {
    const { registration, account } = firstCalls(DEMO_RECORDS);
    expect(registration?.body).toMatchObject({ form_id: 'FORM0002' });
    expect(account?.path).toBe('/public/v1/users/CLIENT01/tp5/accounts');
    expect(account?.body).toMatchObject({ connection_id: 'tp5-live-1', group: 'real\\standard' });
  });

  it('name a group of a server whose groups have indices', () => {
    const connections = DEMO_RECORDS.connections.filter(({ id }) => id === 'tp4-live-1');
    expect(firstCalls({ ...DEMO_RECORDS, connections }).account).toMatchObject({
      path: '/public/v1/users/CLIENT01/tp4/accounts',
      body: { group: 'standard' },
    });
  });

  it('are not proposed where no record fits', () => {
    expect(firstCalls({ forms: [], clients: [], account_types: [], connections: [] })).toEqual({});
  });
});
