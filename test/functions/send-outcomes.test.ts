import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { SENDING_SERVICES } from '../../infra/local/stand-ins/senders.ts';
import { type Channel, OTP_TYPES, type PhoneChannel } from '../../lib/validators/otp-types.ts';
import {
  type Person,
  type RegistrationWorld,
  registrationOf,
  registrationWorld,
  visibleAnswer,
} from '../support/registration-world.ts';

/**
 * How the broker's own provider answers a message, and what the person hears, after how many calls: each outcome once.
 * `test/lib/messages/provider.test.ts` has every answer, `test/lib/registration/of-clients.test.ts` every failure.
 */
type Row = readonly [answer: number | 'closed', status: 204 | 502, calls: number];
const ROWS: readonly Row[] = [
  [200, 204, 1],
  [400, 204, 1],
  ['closed', 204, 1],
  [401, 502, 1],
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
beforeAll(() => once(provider.listen(0, '127.0.0.1'), 'listening'));
afterAll(() => void provider.close());

/** Starts a world for the tests of a `describe`. @param byProvider the channels that the broker's own provider serves */
function useWorld(byProvider: readonly PhoneChannel[]): void {
  beforeAll(async () => {
    const { port } = provider.address() as AddressInfo;
    const urls = Object.fromEntries(byProvider.map((name) => [name, `http://127.0.0.1:${port}/${name}`]));
    world = await registrationWorld({ clients: 100, settings: { provider: urls } });
  });
  afterAll(() => world.close());
}

/** How many calls reached the sender of a channel's messages. */
type Calls = () => number;
const callsOfProvider: Calls = () => providerCalls;
const callsOfAws = (channel: Channel) => () => world.service.standIns[SENDING_SERVICES[channel]].requests;

/** An answer whose `retry-after` is that of a fast machine: a multiple of half a minute. */
function timelessAnswer(reply: Parameters<typeof visibleAnswer>[0]) {
  const { headers, ...answer } = visibleAnswer(reply);
  const round = (_: string, seconds: string) => `retry-after: ${Math.ceil(Number(seconds) / 30) * 30}`;
  return { ...answer, headers: headers.map((line) => line.replace(/^retry-after: (\d+)$/i, round)) };
}

/** What a person's request shows: two answers, the calls to the database, and those to the sender. */
async function observe(person: Person, channel: Channel, sender: Calls, prepare: () => void = () => {}) {
  const calls = sender();
  world.service.database.calls.length = 0;
  const request = () => {
    prepare();
    return world.post(registrationOf(person, { otp_type: channel }), { 'idempotency-key': `key-${person.email}` });
  };
  const first = timelessAnswer(await request());
  const database = world.service.database.calls
    .filter(({ repeated }) => repeated !== true)
    .map(({ operation, table }) => `${operation} ${table}`)
    // Only the form is read by its key, once in half a minute.
    .filter((call) => call !== 'GetItem crm')
    .toSorted();
  const firstCalls = sender() - calls;
  return { first, database, firstCalls, second: timelessAnswer(await request()), calls: sender() - calls };
}

let sources = 0;
/**
 * Makes 25 requests of one source at once, for clients and strangers in turn. It may send five messages in ten minutes.
 * On a busy machine fewer pass: a lost answer of the database uses up a count.
 */
async function expectLimited(channel: Channel, sender: Calls, status: 204 | 502, attempts: number): Promise<void> {
  sources += 1;
  const headers = { 'x-forwarded-for': `198.51.100.${sources}` };
  const calls = sender();
  const replies = await Promise.all(
    Array.from({ length: 25 }, (_, index) =>
      world.post(registrationOf(index % 2 === 0 ? world.client() : world.stranger(), { otp_type: channel }), headers),
    ),
  );
  const passed = replies.filter((reply) => reply.status === status).length;
  expect([1, 2, 3, 4, 5]).toContain(passed);
  expect(sender() - calls).toBeGreaterThanOrEqual(passed * attempts);
  expect(sender() - calls).toBeLessThanOrEqual(5 * attempts);
}

/** `test/lib/registration/refusals.test.ts` has every failure; here one that is repeated, and one that may have been sent. */
const BURSTS = ROWS.filter(([given]) => given === 429 || given === 'closed');

describe('The broker’s own provider', () => {
  useWorld(['sms']);

  it.each(ROWS)('that answers %s shows the same of a client and a stranger: %i', async (given, status, calls) => {
    answer = given;
    const ours = await observe(world.client(), 'sms', callsOfProvider);
    const theirs = await observe(world.stranger(), 'sms', callsOfProvider);
    expect(ours).toEqual(theirs);
    expect([ours.first.status, ours.firstCalls]).toEqual([status, calls]);
  });

  it.each(BURSTS)('that answers %s is called no more often than a source may send', async (given, status, calls) => {
    answer = given;
    await expectLimited('sms', callsOfProvider, status, calls);
  });
});

describe('A service of AWS', () => {
  useWorld([]);

  describe.each(OTP_TYPES)('that sends by %s', (channel) => {
    // Without pauses between attempts.
    it('and refuses shows the same of a client and a stranger', async () => {
      const faults = world.service.faults(SENDING_SERVICES[channel]);
      const prepare = () => faults.set({ kind: 'refused', times: 1 });
      const ours = await observe(world.client(), channel, callsOfAws(channel), prepare);
      const theirs = await observe(world.stranger(), channel, callsOfAws(channel), prepare);
      expect(ours).toEqual(theirs);
      expect([ours.first.status, ours.firstCalls]).toEqual([502, 1]);
    });

    it('and throttles is called three times for each message that a source may send', async () => {
      const faults = world.service.faults(SENDING_SERVICES[channel]);
      faults.set({ kind: 'throttled', times: 100 });
      await expectLimited(channel, callsOfAws(channel), 502, 3);
      faults.clear();
    });
  });
});
