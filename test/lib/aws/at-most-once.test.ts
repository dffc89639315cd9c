import { describe, expect, it } from 'vitest';
import { localResources } from '../../../infra/local/local-settings.ts';
import { SENDERS } from '../../../infra/local/stand-ins/senders.ts';
import type { StandInOptions } from '../../../infra/local/stand-ins/stand-in.ts';
import { type Channel, OTP_TYPES } from '../../../lib/validators/otp-types.ts';
import { AWS_CHANNELS, SETTINGS } from '../../support/aws-channels.ts';
import { failureOf, NEVER_ABORTED } from '../../support/outcomes.ts';
import { startedStandIn } from '../../support/senders.ts';
import { clientSettings } from '../../support/servers.ts';

const CODE = '012345';

async function open(name: Channel) {
  const start = (options: StandInOptions) => SENDERS[name].start(options, SETTINGS, localResources(SETTINGS));
  const service = await startedStandIn(start, {});
  return { ...service, channel: AWS_CHANNELS[name](clientSettings(service.standIn.url)) };
}

describe.each(OTP_TYPES)('The channel %s', (name) => {
  const to = name === 'email' ? 'ann@example.org' : '+447400123456';

  it.each([
    ['throttled', 'throttled'],
    ['refused', 'misconfigured'],
    ['refused_recipient', 'refused_recipient'],
    ['down', 'retryable'],
  ] as const)('says that certainly nothing was sent when its service is %s', async (fault, kind) => {
    const { channel, faults, outbox } = await open(name);
    faults.set({ kind: fault, times: 1 });
    expect(await failureOf(channel.send(to, CODE, 'en', NEVER_ABORTED))).toMatchObject({ kind });
    expect(outbox).toEqual([]);
    await channel.send(to, CODE, 'en', NEVER_ABORTED);
    expect(outbox).toHaveLength(1);
  });

  it('does not resend a message that may have been sent', async () => {
    const { channel, standIn, outbox, taken } = await open(name);
    const caller = new AbortController();
    taken.once('message', () => caller.abort());
    expect(await failureOf(channel.send(to, CODE, 'en', caller.signal))).toMatchObject({ kind: 'unknown_outcome' });
    expect(outbox).toHaveLength(1);
    expect(standIn.requests).toBe(1);
  });
});
