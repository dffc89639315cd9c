import { describe, expect, it } from 'vitest';
import { DeliveryQueue } from '../../../infra/local/delivery-queue.ts';
import { DEMO_RECORDS } from '../../../infra/local/demo-records.ts';
import { Faults } from '../../../infra/local/faults.ts';
import { firstCalls } from '../../../infra/local/first-calls.ts';
import { Bus, Outbox } from '../../../infra/local/outbox.ts';
import { type PageState, SHOWN_PER_KIND, watchState } from '../../../infra/local/outbox-page.ts';
import { PHONE_CHANNELS } from '../../specification/table.ts';

const NONE = Object.fromEntries(['email', ...PHONE_CHANNELS, 'popup'].map((kind) => [kind, 0]));
const TEXT = { kind: 'sms', to: '+447400123456', text: '048271 is your code.' } as const;
/** The state of a page, and what it is made of. */
function world() {
  const outbox = new Outbox();
  const ses = new Faults(['down']);
  const state = watchState({
    outbox,
    bus: new Bus(),
    deliveries: new DeliveryQueue(),
    crm: undefined,
    platforms: new Map([['tp5-live-1', { accounts: () => [] }]]),
    firstCalls: firstCalls(DEMO_RECORDS),
    targets: new Map([['ses', ses]]),
  });
  return { outbox, ses, state };
}

/** The parts that have changed. */
function changes(state: ReturnType<typeof watchState>): Partial<PageState> {
  return Object.fromEntries(state().map(([name, json]) => [name, JSON.parse(json)]));
}

describe('the state of the outbox page', () => {
  it('is complete at first, and then empty until a part changes', () => {
    const { outbox, state } = world();
    outbox.record({ ...TEXT, kind: 'email', html: '<p>Hello</p>' });
    expect(changes(state)).toEqual({
      calls: firstCalls(DEMO_RECORDS),
      outbox: {
        messages: [{ ...TEXT, id: '1', at: expect.any(String), kind: 'email', html: true }],
        counts: { ...NONE, email: 1 },
      },
      accounts: { 'tp5-live-1': { total: 0, newest: [] } },
      faults: { ses: { kinds: ['down'], waiting: [], version: expect.any(Number) } },
      crm: { total: 0, events: [], clients: [], deliveries: [], received: [] },
    });
    expect(changes(state)).toEqual({});
  });

  it('has the messages, newest first, with their codes, also after the outbox was cleared', () => {
    const { outbox, state } = world();
    changes(state);
    outbox.record(TEXT);
    outbox.record(TEXT);
    expect(changes(state).outbox).toMatchObject({
      messages: [{ id: '2', code: '048271' }, { id: '1' }],
      counts: { sms: 2 },
    });
    outbox.clear();
    outbox.record(TEXT);
    expect(changes(state).outbox).toMatchObject({ messages: [{ id: '3' }], counts: { sms: 1 } });
    outbox.clear();
    expect(changes(state).outbox).toMatchObject({ messages: [], counts: { sms: 0 } });
  });

  it('has the newest messages of each kind only, and counts all', () => {
    const { outbox, state } = world();
    outbox.record({ ...TEXT, kind: 'call' });
    for (let sent = 0; sent < SHOWN_PER_KIND + 1; sent += 1) outbox.record(TEXT);
    const { messages = [], counts } = changes(state).outbox ?? {};
    expect(counts).toMatchObject({ call: 1, sms: SHOWN_PER_KIND + 1 });
    const newest = Array.from({ length: SHOWN_PER_KIND }, (_, index) => String(SHOWN_PER_KIND + 2 - index));
    expect(messages.map(({ id }) => id)).toEqual([...newest, '1']);
  });

  it('changes for a fault that was set and used up since the last time', () => {
    const { ses, state } = world();
    changes(state);
    ses.set({ kind: 'down', times: 1 });
    ses.next();
    expect(changes(state).faults?.ses?.waiting).toEqual([]);
    expect(changes(state)).toEqual({});
  });
});

it('The calls that the page suggests use a form without required fields, and a live server with groups', () => {
  const { registration, account } = firstCalls(DEMO_RECORDS);
  expect(registration?.body).toMatchObject({ form_id: 'FORM0002' });
  expect(account?.path).toBe('/public/v1/users/CLIENT01/tp5/accounts');
  expect(account?.body).toMatchObject({ connection_id: 'tp5-live-1', group: 'real\\standard' });
  expect(firstCalls({ forms: [], clients: [], account_types: [], connections: [] })).toEqual({});
});
