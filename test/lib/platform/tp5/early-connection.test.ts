import { once } from 'node:events';
import { expect, it } from 'vitest';
import { connectEarly } from '../../../../lib/platform/tp5/exchange.ts';
import { NEVER_ABORTED } from '../../../support/outcomes.ts';
import { testServer } from '../../../support/web-api.ts';

it('A connection that the server closed before it was taken is not used', async () => {
  const { port, ca, faults } = await testServer();
  const early = connectEarly({ host: '127.0.0.1', port, ca }, 5_000, NEVER_ABORTED);
  const { tls } = (await early.take()) ?? expect.fail('It stands.');
  const ended = once(tls, 'close');
  await expect
    .poll(() => {
      faults.set({ kind: 'down', times: 1 });
      return tls.destroyed;
    })
    .toBe(true);
  await ended;
  expect(await early.take()).toBeUndefined();
});
