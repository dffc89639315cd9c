import { describe, expect, it } from 'vitest';
import { accountOpened, lazyEvents } from '../../../lib/records/events.ts';
import { checkEvent } from '../../support/events.ts';
import { NEVER_ABORTED } from '../../support/outcomes.ts';

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
  caller: 'iam:caller',
  opened_at: '2026-11-22T10:00:00.000Z',
} as const;

describe('The event of an opened account', () => {
  it('has the operation’s id as its id, and the members of the record', () => {
    const { operation_id: id, ...members } = RECORD;
    const detail = accountOpened(RECORD);
    expect(detail).toEqual({ id, ...members });
    checkEvent('AccountOpened', detail);
  });
});

describe('An event', () => {
  it('has only the members of its schema', async () => {
    const published: unknown[] = [];
    const { publish } = lazyEvents(async () => async (_, event) => void published.push(JSON.parse(event)));
    const detail = accountOpened(RECORD);
    await publish('AccountOpened', Object.assign({ name: 'Ann Lee' }, detail), NEVER_ABORTED);
    expect(published).toEqual([detail]);
  });

  it('that its schema does not know is not published', async () => {
    const { publish } = lazyEvents(async () => () => expect.fail());
    const detail = { ...accountOpened(RECORD), login: 0.5 };
    await expect(publish('AccountOpened', detail, NEVER_ABORTED)).rejects.toThrow();
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
  it('is opened when an event is about to come, and fails only with the event', async () => {
    let opened = 0;
    const events = lazyEvents(() => {
      opened += 1;
      return Promise.reject(new Error('not there'));
    });
    events.prepare();
    expect(opened).toBe(1);
    await expect(events.publish('AccountOpened', accountOpened(RECORD), NEVER_ABORTED)).rejects.toThrow('not there');
    expect(opened).toBe(1);
  });

  it('is opened by the first event, and once', async () => {
    const published: string[] = [];
    let opened = 0;
    const events = lazyEvents(async () => {
      opened += 1;
      return async (type) => void published.push(type);
    });
    expect(opened).toBe(0);
    await events.publish('AccountOpened', accountOpened(RECORD), NEVER_ABORTED);
    await events.publish('AccountOpened', accountOpened(RECORD), NEVER_ABORTED);
    expect(opened).toBe(1);
    expect(published).toEqual(['AccountOpened', 'AccountOpened']);
  });
});
