import { describe, expect, it } from 'vitest';
import type { BusEntry } from '../../../lib/aws/eventbridge.ts';
import { tellOn } from '../../../lib/records/event-bus.ts';
import { accountOpened, eventsOn } from '../../../lib/records/events.ts';
import { checkEvent } from '../../support/events.ts';

const RECORD = {
  user_id: 'u-1',
  version: 'tp5',
  connection_id: 'live',
  login: 5_001,
  group: 'real\\standard',
  leverage: 100,
  enable_readonly: false,
  enable_rebate: false,
  operation_id: '8d3cbf2c-0f6a-4a77-9f0f-6a1f3c1b2d4e',
  opened_at: '2026-11-22T10:00:00.000Z',
} as const;

const signal = new AbortController().signal;

describe('The event of an opened account', () => {
  it('has the operation for its id, and the members of the record', () => {
    const { operation_id: id, ...members } = RECORD;
    const detail = accountOpened(RECORD);
    expect(detail).toEqual({ id, ...members });
    checkEvent('AccountOpened', detail);
  });
});

describe('An event', () => {
  it('has the members of its schema, and none of what else is known', async () => {
    const told: BusEntry[] = [];
    const tell = tellOn(async (entry) => void told.push(entry));
    const detail = accountOpened(RECORD);
    await tell('AccountOpened', Object.assign({ name: 'Ann Lee' }, detail), signal);
    expect(JSON.parse(told[0]?.detail ?? '')).toEqual(detail);
  });

  it('that its schema does not know is not told', async () => {
    const tell = tellOn(() => expect.fail());
    const detail = { ...accountOpened(RECORD), login: 0.5 };
    await expect(tell('AccountOpened', detail, signal)).rejects.toThrow();
  });

  it('that differs from the document is noticed by the tests', () => {
    const { id: _, ...withoutId } = accountOpened(RECORD);
    expect(() => checkEvent('AccountOpened', withoutId)).toThrow('id');
    expect(() => checkEvent('AccountOpened', { ...accountOpened(RECORD), name: 'Ann Lee' })).toThrow('additional');
    expect(() => checkEvent('AccountClosed', {})).toThrow('AccountClosed');
    expect(() => checkEvent('AccountOpened', accountOpened(RECORD), 'others')).toThrow('/source');
  });
});

describe('The bus', () => {
  it('is opened where something is about to be told, and that it could not be shows only then', async () => {
    let opened = 0;
    const events = eventsOn(() => {
      opened += 1;
      return Promise.reject(new Error('not there'));
    });
    events.prepare();
    expect(opened).toBe(1);
    await expect(events.tell('AccountOpened', accountOpened(RECORD), signal)).rejects.toThrow('not there');
    expect(opened).toBe(1);
  });

  it('is opened by the first event, and once', async () => {
    const told: BusEntry[] = [];
    let opened = 0;
    const events = eventsOn(async () => {
      opened += 1;
      return tellOn(async (entry) => void told.push(entry));
    });
    expect(opened).toBe(0);
    await events.tell('AccountOpened', accountOpened(RECORD), signal);
    await events.tell('AccountOpened', accountOpened(RECORD), signal);
    expect(opened).toBe(1);
    expect(told[0]).toMatchObject({ source: 'broker.api', detailType: 'AccountOpened' });
    expect(told).toHaveLength(2);
  });
});
