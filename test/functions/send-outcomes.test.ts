import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  type Person,
  type RegistrationWorld,
  registrationOf,
  registrationWorld,
  visibleAnswer,
} from '../support/registration-world.ts';

/**
 * How the broker's own provider answers a message, and what the person hears, after how many calls.
 * `test/lib/messages/provider.test.ts` has every answer, `test/lib/registration/of-clients.test.ts` every failure on each
 * channel, and `registration.test.ts` a service of AWS that refuses.
 */
type Row = readonly [answer: number | 'closed', status: 204 | 502, calls: number];
const ROWS: readonly Row[] = [
  [200, 204, 1],
  ['closed', 204, 1],
  [401, 502, 1],
];

let world: RegistrationWorld;
let answer: Row[0] = 200;
let providerCalls = 0;
const provider = createServer((request, response) => {
  request.resume().on('end', () => {
    providerCalls += 1;
    if (answer === 'closed') response.destroy();
    else response.writeHead(answer, { location: '/elsewhere' }).end();
  });
});
beforeAll(async () => {
  await once(provider.listen(0, '127.0.0.1'), 'listening');
  const { port } = provider.address() as AddressInfo;
  const settings = { provider: { sms: `http://127.0.0.1:${port}/sms` } };
  world = await registrationWorld({ settings });
});
afterAll(async () => {
  await world.close();
  provider.close();
});

/** An answer whose `retry-after` is that of a fast machine: a multiple of half a minute. */
function timelessAnswer(reply: Parameters<typeof visibleAnswer>[0]) {
  const { headers, ...answer } = visibleAnswer(reply);
  const round = (_: string, seconds: string) => `retry-after: ${Math.ceil(Number(seconds) / 30) * 30}`;
  return { ...answer, headers: headers.map((line) => line.replace(/^retry-after: (\d+)$/i, round)) };
}

/** What a person's request shows: two answers, the calls to the database, and those to the provider. */
async function observe(person: Person) {
  const calls = providerCalls;
  world.service.database.calls.length = 0;
  const request = () =>
    world.post(registrationOf(person, { otp_type: 'sms' }), { 'idempotency-key': `key-${person.email}` });
  const first = timelessAnswer(await request());
  const database = world.service.database.calls
    .filter(({ repeated }) => repeated !== true)
    .map(({ operation, table }) => `${operation} ${table}`)
    // Only the form is read by its key, once in half a minute.
    .filter((call) => call !== 'GetItem crm')
    .toSorted();
  const firstCalls = providerCalls - calls;
  return { first, database, firstCalls, second: timelessAnswer(await request()), calls: providerCalls - calls };
}

describe('The broker’s own provider', () => {
  it.each(ROWS)('that answers %s shows the same of a client and a stranger: %i', async (given, status, calls) => {
    answer = given;
    const ours = await observe(world.client());
    const theirs = await observe(world.stranger());
    expect(ours).toEqual(theirs);
    expect([ours.first.status, ours.firstCalls]).toEqual([status, calls]);
  });

  // `test/lib/registration/refusals.test.ts` has every failure, and `test/lib/limits/at-once.test.ts` the limits.
  it('that throttles is called three times for each of the five messages that a source may send at once', async () => {
    answer = 429;
    const calls = providerCalls;
    const headers = { 'x-forwarded-for': '198.51.100.1' };
    const replies = await Promise.all(
      Array.from({ length: 10 }, (_, index) =>
        world.post(registrationOf(index % 2 === 0 ? world.client() : world.stranger(), { otp_type: 'sms' }), headers),
      ),
    );
    // On a busy machine fewer pass: a lost answer of the database uses up a count.
    const passed = replies.filter(({ status }) => status === 502).length;
    expect([1, 2, 3, 4, 5]).toContain(passed);
    expect(providerCalls - calls).toBeGreaterThanOrEqual(passed * 3);
    expect(providerCalls - calls).toBeLessThanOrEqual(5 * 3);
  });
});
