import { describe, expect, it } from 'vitest';
import { startSns } from '../../../../infra/local/stand-ins/sns.ts';
import { snsPublisher } from '../../../../lib/aws/sns.ts';
import { failureOf, forever } from '../../../support/outcomes.ts';
import { started } from '../../../support/senders.ts';
import { clientSettings } from '../../../support/servers.ts';

const TEXT = { phoneNumber: '+447400123456', message: '123456', attributes: {} };

async function sns() {
  const { standIn, faults, outbox } = await started(startSns, {});
  const publish = snsPublisher(clientSettings(standIn.url));
  return { standIn, faults, outbox, send: () => publish(TEXT, forever) };
}

describe('A stand-in that is down', () => {
  it('refuses connections as often as requested or until it is cleared, and then works at the same port', async () => {
    const { standIn, faults, outbox, send } = await sns();
    faults.set({ kind: 'down', times: 2, after: 1 });
    await send();
    for (let refused = 1; refused <= 2; refused += 1) {
      expect(await failureOf(send())).toMatchObject({ kind: 'retryable', reason: 'ECONNREFUSED' });
    }
    await send();
    expect([outbox.length, standIn.requests]).toEqual([2, 2]);
    expect(faults.list()).toEqual([]);
    faults.set({ kind: 'down', times: 100 });
    await failureOf(send());
    faults.clear();
    await send();
  });
});

describe('A stand-in that is slow', () => {
  it('accepts the message although its caller has gone', async () => {
    const { standIn, faults, outbox } = await sns();
    faults.set({ kind: 'slow', times: 1, ms: 300 });
    const caller = new AbortController();
    const sending = failureOf(snsPublisher(clientSettings(standIn.url))(TEXT, caller.signal));
    await expect.poll(() => standIn.requests).toBe(1);
    caller.abort();
    expect(await sending).toMatchObject({ kind: 'unknown_outcome' });
    expect(outbox).toHaveLength(0);
    await expect.poll(() => outbox.length).toBe(1);
    expect(standIn.requests).toBe(1);
  });
});
