import { createHash } from 'node:crypto';
import { describe, expect, it, onTestFinished } from 'vitest';
import { Faults } from '../../../infra/local/faults.ts';
import { startEvents } from '../../../infra/local/stand-ins/events.ts';
import { startS3 } from '../../../infra/local/stand-ins/s3.ts';
import { startSecretsManager } from '../../../infra/local/stand-ins/secrets.ts';
import { eventBus } from '../../../lib/aws/eventbridge.ts';
import { AwsFailure } from '../../../lib/aws/failure.ts';
import { objectStore } from '../../../lib/aws/s3.ts';
import { secretReader } from '../../../lib/aws/secrets.ts';
import { testDatabase } from '../../support/database.ts';
import { NEVER_ABORTED } from '../../support/outcomes.ts';
import { clientSettings } from '../../support/servers.ts';

/** A service with its faults, and a call of it. */
interface Called {
  faults: Faults;
  call(signal: AbortSignal): Promise<unknown>;
}

/** A stand-in that ends with its test. */
async function settingsOf(started: Promise<{ url: string; close(): Promise<void> }>) {
  const { url, close } = await started;
  onTestFinished(() => close());
  return clientSettings(url);
}

const DOCUMENT = {
  key: 'registrations/r-1/1',
  body: Buffer.from('content'),
  mediaType: 'application/pdf',
  sha256: createHash('sha256').update('content').digest('base64'),
};

async function documents() {
  const faults = new Faults();
  return { faults, store: objectStore('documents', await settingsOf(startS3({ faults, buckets: ['documents'] }))) };
}

const SERVICES: Record<string, () => Promise<Called>> = {
  async 'of a table'() {
    const { faults, tables } = await testDatabase(onTestFinished, {});
    await tables.registrations.put({ pk: 'a' }, NEVER_ABORTED);
    return { faults, call: (signal) => tables.registrations.get({ pk: 'a' }, signal) };
  },
  async 'that puts a document'() {
    const { faults, store } = await documents();
    return { faults, call: (signal) => store.put(DOCUMENT, signal) };
  },
  async 'that deletes tags'() {
    const { faults, store } = await documents();
    await store.put(DOCUMENT, NEVER_ABORTED);
    return { faults, call: (signal) => store.deleteTags(DOCUMENT.key, signal) };
  },
  async 'of a secret'() {
    const faults = new Faults();
    const settings = await settingsOf(startSecretsManager({ faults, secrets: new Map([['name', 'value']]) }));
    return { faults, call: (signal) => secretReader(settings)('name', signal) };
  },
  async 'of the bus'() {
    const faults = new Faults();
    const settings = await settingsOf(startEvents({ faults, buses: ['events'], deliver: () => {} }));
    return { faults, call: (signal) => eventBus('events', settings)('AccountOpened', '{"id":"o-1"}', signal) };
  },
};

/** The services have different error names. */
const BUSY = /^(ProvisionedThroughputExceededException|SlowDown|ThrottlingException)$/;
const GONE = /^ECONN(REFUSED|RESET)$/;
const REFUSED = /^AccessDenied(Exception)?$/;

/** All services at once: they wait between their attempts. */
async function each(check: (start: () => Promise<Called>, name: string) => Promise<void>): Promise<void> {
  await Promise.all(Object.entries(SERVICES).map(([name, start]) => check(start, name)));
}

describe('A call of each service', () => {
  it.each([
    ['throttled', 3, BUSY],
    ['down', 3, GONE],
    ['refused', 1, REFUSED],
  ] as const)('that is %s has %i attempts', async (kind, attempts, reason) => {
    await each(async (start, name) => {
      const [succeeding, failing] = await Promise.all([start(), start()]);
      succeeding.faults.set({ kind, times: attempts - 1 });
      failing.faults.set({ kind, times: attempts + 1 });
      const failed = failing.call(NEVER_ABORTED).catch((error: unknown) => error);
      await succeeding.call(NEVER_ABORTED);
      const failure: unknown = await failed;
      expect(failure, name).toBeInstanceOf(AwsFailure);
      expect((failure as AwsFailure).reason, name).toMatch(reason);
      expect(failing.faults.list(), name).toMatchObject([{ times: 1 }]);
    });
  });

  it('is given up when the time is over', async () => {
    await each(async (start, name) => {
      const { faults, call } = await start();
      faults.set({ kind: 'slow', times: 1, ms: 20_000 });
      const begun = performance.now();
      await expect(call(AbortSignal.timeout(50)), name).rejects.toMatchObject({ reason: 'request_out_of_time' });
      expect(performance.now() - begun, name).toBeLessThan(15_000);
    });
  });
});
