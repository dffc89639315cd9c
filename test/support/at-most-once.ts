import type { EventEmitter } from 'node:events';
import { expect, it } from 'vitest';
import type { Faults } from '../../infra/local/faults.ts';
import type { OutboxEntry } from '../../infra/local/outbox.ts';
import type { StandIn } from '../../infra/local/stand-ins/stand-in.ts';
import type { OtpChannel } from '../../lib/messages/message.ts';
import { failureOf, NEVER_ABORTED } from './outcomes.ts';

interface Opened {
  channel: OtpChannel;
  standIn: StandIn;
  faults: Faults;
  outbox: OutboxEntry[];
  taken: EventEmitter<{ message: [] }>;
}

const CODE = { kind: 'code', code: '012345' } as const;

/** The tests that every channel passes: a certain failure is reported as certain, and nothing is sent twice. */
export function itSendsAtMostOnce(open: () => Promise<Opened>, to: string): void {
  it.each([
    ['throttled', 'throttled'],
    ['refused', 'misconfigured'],
    ['refused_recipient', 'refused_recipient'],
    ['down', 'retryable'],
  ] as const)('says that certainly nothing was sent when its service is %s', async (fault, kind) => {
    const { channel, faults, outbox } = await open();
    faults.set({ kind: fault, times: 1 });
    expect(await failureOf(channel.send(to, CODE, 'en', NEVER_ABORTED))).toMatchObject({ kind });
    expect(outbox).toEqual([]);
    await channel.send(to, CODE, 'en', NEVER_ABORTED);
    expect(outbox).toHaveLength(1);
  });

  it('does not resend a message that may have been sent', async () => {
    const { channel, standIn, outbox, taken } = await open();
    const caller = new AbortController();
    taken.once('message', () => caller.abort());
    expect(await failureOf(channel.send(to, CODE, 'en', caller.signal))).toMatchObject({ kind: 'unknown_outcome' });
    expect(outbox).toHaveLength(1);
    expect(standIn.requests).toBe(1);
  });
}
