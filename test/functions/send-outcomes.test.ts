import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Channel, OTP_TYPES } from '../../lib/validators/otp-types.ts';
import { SENDING_SERVICES } from '../support/local-service.ts';
import {
  type Person,
  type RegistrationWorld,
  registrationOf,
  registrationWorld,
  visibleAnswer,
} from '../support/registration-world.ts';

/** How the broker's own provider answers a message, and what the person hears, after how many calls. */
type Row = readonly [answer: number | 'closed', status: 204 | 502, calls: number];
const ROWS: readonly Row[] = [
  ...([200, 302, 400, 403, 404, 408, 409, 413, 415, 500, 503, 'closed'] as const).map((one) => [one, 204, 1] as const),
  ...([401, 410, 422, 451] as const).map((one) => [one, 502, 1] as const),
  [429, 502, 3],
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
  world = await registrationWorld({ clients: 40, settings });
});
afterAll(async () => {
  await world.close();
  provider.close();
});

/** How many calls reached the service that sends the messages of a channel. */
const callsBy = (channel: Channel) =>
  channel === 'sms' ? providerCalls : world.service.standIns[SENDING_SERVICES[channel]].requests;

/** What a person's request shows: two answers, the calls to the database, and those to the sender. */
async function observe(person: Person, channel: Channel, prepare: () => void = () => {}) {
  const calls = callsBy(channel);
  world.service.database.calls.length = 0;
  const request = () => {
    prepare();
    return world.post(registrationOf(person, { otp_type: channel }), { 'idempotency-key': `key-${person.email}` });
  };
  const first = visibleAnswer(await request());
  const database = world.service.database.calls
    .filter(({ repeated }) => repeated !== true)
    .map(({ operation, table }) => `${operation} ${table}`)
    // Only the form is read by its key, once in half a minute.
    .filter((call) => call !== 'GetItem crm')
    .toSorted();
  const firstCalls = callsBy(channel) - calls;
  return { first, database, firstCalls, second: visibleAnswer(await request()), calls: callsBy(channel) - calls };
}

describe('A client and a stranger see the same', () => {
  it.each(ROWS)('of a provider that answers %s: %i', async (given, status, calls) => {
    answer = given;
    const ours = await observe(world.client(), 'sms');
    const theirs = await observe(world.stranger(), 'sms');
    expect(ours).toEqual(theirs);
    expect([ours.first.status, ours.firstCalls]).toEqual([status, calls]);
  });

  it.each(
    OTP_TYPES.filter((channel) => channel !== 'sms').flatMap((channel) =>
      (['refused', 'refused_recipient', 'throttled'] as const).map((kind) => [channel, kind] as const),
    ),
  )('of a service of AWS: %s, %s', async (channel, kind) => {
    const faults = world.service.faults(SENDING_SERVICES[channel]);
    const prepare = () => faults.set({ kind, times: 3 });
    const ours = await observe(world.client(), channel, prepare);
    const theirs = await observe(world.stranger(), channel, prepare);
    faults.clear();
    expect(ours).toEqual(theirs);
    expect([ours.first.status, ours.firstCalls]).toEqual([502, kind === 'throttled' ? 3 : 1]);
  });
});

/** Of each kind of failure one; `test/lib/registration/refusals.test.ts` has them all. */
const BURSTS = ROWS.filter(([given]) => [400, 401, 413, 422, 429, 'closed'].includes(given));

describe('25 requests of one source', () => {
  it.each(BURSTS)(
    'reach a provider that answers %s no more often than the source may',
    async (given, status, calls) => {
      answer = given;
      const before = providerCalls;
      const headers = { 'x-forwarded-for': `198.51.100.${ROWS.findIndex(([one]) => one === given) + 1}` };
      const replies = await Promise.all(
        Array.from({ length: 25 }, () => world.post(registrationOf(world.stranger(), { otp_type: 'sms' }), headers)),
      );
      const statuses = replies.map((reply) => reply.status).toSorted((a, b) => a - b);
      const refused = Array.from({ length: 20 }, () => 429);
      expect(statuses).toEqual([...Array.from({ length: 5 }, () => status), ...refused].toSorted((a, b) => a - b));
      expect(providerCalls - before).toBe(5 * calls);
    },
  );
});
