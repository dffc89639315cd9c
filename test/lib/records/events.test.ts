import * as v from 'valibot';
import { describe, expect, it } from 'vitest';
import type { BusEntry } from '../../../lib/aws/eventbridge.ts';
import { accountOpened, EVENT_SCHEMAS, eventsOn } from '../../../lib/records/events.ts';

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

describe('The event of an opened account', () => {
  it('has the operation for its id, and the members of the record', () => {
    const { operation_id: id, ...members } = RECORD;
    const detail = accountOpened(RECORD);
    expect(detail).toEqual({ id, ...members });
    expect(v.parse(EVENT_SCHEMAS.AccountOpened, detail)).toEqual(detail);
  });
});

describe('The bus', () => {
  it('is opened by the first event, and once', async () => {
    const told: BusEntry[] = [];
    let opened = 0;
    const events = eventsOn(async () => {
      opened += 1;
      return async (entry) => void told.push(entry);
    });
    expect(opened).toBe(0);
    const signal = new AbortController().signal;
    await events.tell('AccountOpened', accountOpened(RECORD), signal);
    await events.tell('AccountOpened', accountOpened(RECORD), signal);
    expect(opened).toBe(1);
    expect(told[0]).toEqual({
      source: 'broker.api',
      detailType: 'AccountOpened',
      detail: JSON.stringify(accountOpened(RECORD)),
    });
  });
});
