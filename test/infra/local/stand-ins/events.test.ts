import { EventBridgeClient, PutEventsCommand, type PutEventsRequestEntry } from '@aws-sdk/client-eventbridge';
import { describe, expect, it, onTestFinished } from 'vitest';
import { Faults } from '../../../../infra/local/faults.ts';
import { type BusEvent, startEvents } from '../../../../infra/local/stand-ins/events.ts';
import { clientOf } from '../../../support/senders.ts';

const ENTRY = { Source: 'broker', DetailType: 'AccountOpened', Detail: '{"id":"o-1"}', EventBusName: 'events' };

async function events() {
  const faults = new Faults();
  const delivered: BusEvent[] = [];
  const standIn = await startEvents({ faults, buses: ['events'], deliver: (event) => delivered.push(event) });
  const client = new EventBridgeClient({ ...clientOf(standIn), maxAttempts: 1 });
  onTestFinished(async () => {
    client.destroy();
    await standIn.close();
  });
  const put = (...Entries: PutEventsRequestEntry[]) => client.send(new PutEventsCommand({ Entries }));
  return { faults, delivered, put };
}

describe('The stand-in of EventBridge', () => {
  it('delivers an event as a rule’s target gets it', async () => {
    const { delivered, put } = await events();
    const answer = await put({ ...ENTRY, Time: new Date('2026-11-22T10:00:00.500Z'), Resources: ['arn:x'] });
    expect(answer).toMatchObject({ FailedEntryCount: 0, Entries: [{ EventId: expect.any(String) }] });
    expect(delivered).toEqual([
      {
        version: '0',
        id: answer.Entries?.[0]?.EventId,
        'detail-type': 'AccountOpened',
        source: 'broker',
        account: '000000000000',
        time: '2026-11-22T10:00:00Z',
        region: 'eu-west-1',
        resources: ['arn:x'],
        detail: { id: 'o-1' },
      },
    ]);
  });

  it('takes a bus by its ARN', async () => {
    const { delivered, put } = await events();
    await put({ ...ENTRY, EventBusName: 'arn:aws:events:eu-west-1:000000000000:event-bus/events' });
    expect(delivered).toHaveLength(1);
  });

  it.each([
    ['no source', { Source: undefined }, 'InvalidArgument'],
    ['an empty source', { Source: '' }, 'InvalidArgument'],
    ['no detail type', { DetailType: undefined }, 'InvalidArgument'],
    ['a detail type of more than 128 letters', { DetailType: 'x'.repeat(129) }, 'InvalidArgument'],
    ['no detail', { Detail: undefined }, 'InvalidArgument'],
    ['a detail that is no JSON', { Detail: '{' }, 'MalformedDetail'],
    ['a detail that is a list', { Detail: '[]' }, 'MalformedDetail'],
    ['a detail that is null', { Detail: 'null' }, 'MalformedDetail'],
    ['a source of AWS', { Source: 'aws.broker' }, 'NotAuthorizedForSourceException'],
    ['a bus that is not there', { EventBusName: 'other' }, 'InvalidArgument'],
    ['the default bus', { EventBusName: undefined }, 'InvalidArgument'],
  ])('refuses an entry with %s, and takes the others of the call', async (_, change, ErrorCode) => {
    const { delivered, put } = await events();
    const answer = await put(ENTRY, { ...ENTRY, ...change }, ENTRY);
    expect(answer.FailedEntryCount).toBe(1);
    expect(answer.Entries).toMatchObject([
      { EventId: expect.any(String) },
      { ErrorCode },
      { EventId: expect.any(String) },
    ]);
    expect(delivered).toHaveLength(2);
  });

  it.each([0, 11])('refuses a call of %i entries', async (count) => {
    const { delivered, put } = await events();
    await expect(put(...Array.from({ length: count }, () => ENTRY))).rejects.toMatchObject({
      name: 'ValidationException',
    });
    expect(delivered).toEqual([]);
  });

  it('takes 256 KB in one call, and not a byte more', async () => {
    const { delivered, put } = await events();
    const rest = 262_144 / 2 - 'broker'.length - 'AccountOpened'.length - '{"id":""}'.length;
    const half = { ...ENTRY, Detail: JSON.stringify({ id: 'x'.repeat(rest) }) };
    await put(half, half);
    expect(delivered).toHaveLength(2);
    const more = { ...ENTRY, Detail: JSON.stringify({ id: 'x'.repeat(rest + 1) }) };
    await expect(put(half, more)).rejects.toMatchObject({ name: 'ValidationException' });
    expect(delivered).toHaveLength(2);
  });

  it.each([
    ['throttled', 'ThrottlingException'],
    ['refused', 'AccessDeniedException'],
  ] as const)('fails as it is asked to: %s', async (kind, name) => {
    const { delivered, faults, put } = await events();
    faults.set({ kind, times: 1 });
    await expect(put(ENTRY)).rejects.toMatchObject({ name });
    expect(delivered).toEqual([]);
    await put(ENTRY);
    expect(delivered).toHaveLength(1);
  });

  it('fails for the first entry of a call alone where it is asked to', async () => {
    const { delivered, faults, put } = await events();
    faults.set({ kind: 'partial', times: 1 });
    const answer = await put(ENTRY, { ...ENTRY, Detail: '{"id":"o-2"}' });
    expect(answer).toMatchObject({ FailedEntryCount: 1, Entries: [{ ErrorCode: 'InternalFailure' }, {}] });
    expect(delivered.map(({ detail }) => detail)).toEqual([{ id: 'o-2' }]);
  });
});
