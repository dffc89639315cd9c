import { afterAll, beforeAll, describe, it } from 'vitest';
import type { Channel } from '../../lib/validators/otp-types.ts';
import { LASTING, type Walk, walk } from '../support/registration-walk.ts';
import { COLD, type RegistrationWorld, registrationOf, registrationWorld } from '../support/registration-world.ts';

let world: RegistrationWorld;
beforeAll(async () => {
  world = await registrationWorld();
  // From here on the secret is at hand.
  await world.post(registrationOf(world.stranger()));
});
afterAll(() => world.close());

/** A service that sends is asked once, whatever it answers. */
async function walkProvider(target: Walk['target'], channel: Channel): Promise<void> {
  for (const kind of ['throttled', 'refused', 'down'] as const) {
    await walk(world, { target, channel, fault: { kind }, status: 502 });
  }
  await walk(world, { target, channel, fault: { kind: 'slow', ms: 100 }, status: 204 });
  // It may have gone out, and has: whoever retries is told so.
  await walk(world, { target, channel, fault: { kind: 'slow', ms: 3_300 }, status: 204, time: 3_000 });
}

/** Services with faults of their own, which none of the others meets, are walked side by side. */
describe.concurrent('A failure of', { timeout: 60_000 }, () => {
  /** Of a service that is asked again. */
  const repeated = [
    [{ kind: 'throttled' }, 204],
    [{ kind: 'throttled', times: LASTING }, 500],
    [{ kind: 'refused' }, 500],
    [{ kind: 'down' }, 204],
    [{ kind: 'down', times: LASTING }, 500],
    [{ kind: 'slow', ms: 100 }, 204],
  ] as const;

  it('Secrets Manager, at the first request of a function, gets the contract’s answer', async () => {
    for (const [fault, status] of repeated) await walk(world, { target: 'secrets', fault, status, headers: COLD });
    const silent = { kind: 'slow', ms: 1_000 } as const;
    await walk(world, { target: 'secrets', fault: silent, status: 500, time: 500, headers: COLD });
  });

  it('S3 gets the contract’s answer', async () => {
    for (const [fault, status] of repeated) await walk(world, { target: 's3', fault, status, document: true });
    const silent = { kind: 'slow', ms: 1_500 } as const;
    await walk(world, { target: 's3', fault: silent, status: 500, time: 1_000, document: true });
  });

  it.each([
    ['sns', 'sms'],
    ['voice', 'call'],
    ['whatsapp', 'whatsapp'],
  ] as const)('%s gets the contract’s answer', walkProvider);
});

describe('A failure of SES', () => {
  it('gets the contract’s answer', () => walkProvider('ses', 'email'));
});
