import { fork } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Channel, OTP_TYPES } from '../../lib/validators/otp-types.ts';
import { longestRow, trace } from '../support/database-trace.ts';
import { FRONT_SETTINGS, frontHeaders } from '../support/front.ts';
import type { Person } from '../support/persons.ts';
import {
  hasCode,
  newSource,
  type RegistrationWorld,
  registrationOf,
  registrationWorld,
  until,
  whatIsTold,
} from '../support/registration-world.ts';

const PROVIDERS = { email: 'ses', sms: 'sns', call: 'voice', whatsapp: 'whatsapp' } as const;
const REPLAYED = 'idempotent-replayed';

/** With everything switched on: a captcha is required, and a proxy is in front. */
let world: RegistrationWorld;
beforeAll(async () => {
  world = await registrationWorld({ environment: FRONT_SETTINGS });
});
afterAll(() => world.close());
const post = (body: unknown, headers: Record<string, string> = {}) =>
  world.post(body, { ...frontHeaders(world.service), ...headers });

let keys = 0;
/** The headers of one caller with a new key. Each request with it has a captcha token of its own. */
function newKey(): Record<string, string> {
  keys += 1;
  const { 'captcha-token': _, ...caller } = frontHeaders(world.service);
  return { ...caller, 'idempotency-key': `key-${keys}` };
}

describe('A registration request', () => {
  it('for a client’s address is a notice without a code on the same channel', async () => {
    const channel = 'sms';
    const person = world.client();
    expect((await post(registrationOf(person, { otp_type: channel }))).status).toBe(204);
    const messages = world.service.outbox.list().filter(({ to }) => to === person.email || to === person.e164);
    expect(messages.map(({ kind }) => kind)).toEqual([channel]);
    expect(messages.some(hasCode)).toBe(false);
    expect(await world.record(channel, person)).toMatchObject({
      delivery: { kind: 'owner_notice', outcome: 'sent', email_taken: true },
    });
  });

  it('leaves no trace of the person in the counters and the operation of its key', async () => {
    const person = world.stranger();
    const key = newKey();
    await post(registrationOf(person, { otp_type: 'sms' }), key);
    const rows = JSON.stringify([await world.items('limits'), await world.items('operations')]).toLowerCase();
    expect(rows).toContain('expires_at');
    const typed = [person.email, person.e164, person.phone.number, 'correct horse', 'bob stone', ...Object.values(key)];
    for (const trace of typed) expect(rows).not.toContain(trace.toLowerCase());
  });
});

/** The person of a branch, and the steps to reach it. */
interface Branch {
  name: string;
  status: number;
  /** How many requests it takes; the last one's answer counts. */
  requests?: number;
  fault?: { target: 'provider' | 'dynamodb'; kind: 'throttled' | 'refused'; times: number };
}

const BRANCHES: Branch[] = [
  { name: 'the message is sent', status: 204 },
  { name: 'a limit is reached', status: 429, requests: 2 },
  { name: 'the provider throttles', status: 502, fault: { target: 'provider', kind: 'throttled', times: 1 } },
  { name: 'the provider refuses', status: 502, fault: { target: 'provider', kind: 'refused', times: 1 } },
  { name: 'nothing can be looked up or kept', status: 500, fault: { target: 'dynamodb', kind: 'refused', times: 5 } },
];

/** The effects of a request for this person: the answer, the calls to the database and to the channel's provider. */
async function observe(person: Person, channel: Channel, branch: Branch) {
  const { service } = world;
  const provider = service.standIns[PROVIDERS[channel]];
  const body = registrationOf(person, { otp_type: channel });
  for (let request = 1; request < (branch.requests ?? 1); request += 1) await post(body);
  const target = branch.fault?.target === 'provider' ? PROVIDERS[channel] : branch.fault?.target;
  const [sends, questions] = [provider.requests, service.captcha?.requests ?? 0];
  service.database.calls.length = 0;
  if (branch.fault !== undefined && target !== undefined) {
    // Of the database: after the key, the form, the source, the look at the limits and the recipient.
    const times = target === 'dynamodb' && channel !== 'email' ? 7 : branch.fault.times;
    service.faults(target).set({ ...branch.fault, times, after: target === 'dynamodb' ? 5 : 0 });
  }
  const reply = await post(body, { 'idempotency-key': `key-${person.email}` });
  if (target !== undefined) service.faults(target).clear();
  return {
    told: whatIsTold(reply),
    // Calls that are made side by side arrive in any order, and on a busy machine a client may repeat one.
    database: service.database.calls
      .filter(({ repeated }) => repeated !== true)
      .map(({ operation, table }) => `${operation} ${table}`)
      .toSorted(),
    sends: provider.requests - sends,
    questions: (service.captcha?.requests ?? 0) - questions,
  };
}

describe('The answer reveals nothing', () => {
  // What text channels have of their own shows where the message is sent; the rest is theirs together.
  const cases = OTP_TYPES.flatMap((channel) =>
    BRANCHES.filter((_, index) => index === 0 || channel === 'email' || channel === 'sms').map((branch) => ({
      channel,
      branch,
      name: branch.name,
    })),
  );

  it.each(cases)('of whether the address is a client’s: $channel, $name', async ({ channel, branch }) => {
    const ours = await observe(world.client(), channel, branch);
    const theirs = await observe(world.stranger(), channel, branch);
    expect(ours.told.status).toBe(branch.status);
    // Time goes by between the requests of one person.
    const [wait, otherWait] = [ours, theirs].map(({ told }) =>
      Number(/retry-after: (\d+)/.exec(`${told.headers}`)?.[1] ?? 0),
    );
    expect(Math.abs(Number(wait) - Number(otherWait))).toBeLessThanOrEqual(10);
    const withoutWait = ({ told }: typeof ours) => ({
      ...told,
      headers: told.headers.map((line) => line.replace(/^retry-after: \d+$/, 'retry-after')),
    });
    expect(withoutWait(ours)).toEqual(withoutWait(theirs));
    expect(ours.database).toEqual(theirs.database);
    expect([ours.sends, ours.questions]).toEqual([theirs.sends, 1]);
    expect(theirs.questions).toBe(1);
  });

  it('also with faulty fields', async () => {
    const faulty = { form_id: 'FORMFULL', field_number: 'x', other: 1 };
    const [ours, theirs] = await Promise.all(
      [world.client(), world.stranger()].map((person) => post(registrationOf(person, faulty))),
    );
    expect(ours && whatIsTold(ours)).toEqual(theirs && whatIsTold(theirs));
    expect(ours?.status).toBe(400);
  });
});

describe('On the way to the send', () => {
  it.each([
    ['email', false],
    ['email', true],
    ['sms', true],
  ] as const)('at most three database calls follow one another: %s, with a key: %s', async (channel, keyed) => {
    const { service } = world;
    // Delayed, so that parallel calls overlap.
    service.faults('dynamodb').set({ kind: 'slow', times: 100, ms: 40 });
    const [database, provider] = [trace(service.database.url), trace(service.standIns[PROVIDERS[channel]].url)];
    const person = keyed ? world.client() : world.stranger();
    const headers = keyed ? { 'idempotency-key': `row-${channel}` } : {};
    const { status } = await post(registrationOf(person, { otp_type: channel }), headers);
    for (const one of [database, provider]) one.stop();
    service.faults('dynamodb').clear();
    expect(status).toBe(204);
    const sentAt = provider.calls[0]?.startedAt ?? 0;
    const before = database.calls.filter(({ startedAt }) => startedAt < sentAt);
    expect(before).toHaveLength((channel === 'email' ? 8 : 10) + (keyed ? 2 : 0));
    expect(longestRow(before)).toBe(3);
  });
});

describe('A request with an Idempotency-Key whose function was killed', () => {
  /** Has the request worked on in a process, and kills that at the moment. */
  async function killAt(moment: () => boolean, person: Person, key: Record<string, string>): Promise<void> {
    const child = fork(new URL('../support/registration-process.ts', import.meta.url), { execArgv: [] });
    await once(child, 'message');
    child.send({
      headers: { ...frontHeaders(world.service), ...key, 'content-type': 'application/json' },
      body: JSON.stringify(registrationOf(person)),
      isBase64Encoded: false,
      routeKey: 'POST /public/v1/account/register/request',
      requestContext: { requestId: 'killed', http: { sourceIp: newSource() } },
    });
    await until(moment);
    child.kill('SIGKILL');
    await once(child, 'exit');
  }

  it('during the send never sends again, and every retry is answered', async () => {
    const person = world.stranger();
    const key = newKey();
    const { ses } = world.service.standIns;
    const sends = ses.requests;
    world.service.faults('ses').set({ kind: 'slow', times: 1, ms: 300 });
    await killAt(() => ses.requests > sends, person, key);

    expect(await post(registrationOf(person), key)).toMatchObject({ status: 409 });
    await world.endLeases();
    for (let retry = 0; retry < 3; retry += 1) {
      const again = await post(registrationOf(person), key);
      expect(again.status, again.text).toBe(204);
      expect(again.header(REPLAYED)).toBe('true');
    }
    await until(() => world.sentTo('email', person).length > 0);
    expect(world.sentTo('email', person)).toHaveLength(1);
    expect(ses.requests).toBe(sends + 1);
  });

  // Calls to the database: key, form, source, and a look at the limits; the recipient; mark, domain, look-up, record
  // and pointer; the note and the key's end.
  it.each([
    ['while its key was claimed', 1, 1],
    ['while its limits were counted', 5, 1],
    ['while its record was kept', 6, undefined],
    ['while its delivery was noted', 11, 1],
  ])('%s sends once at most', async (_, calls, messages) => {
    const person = world.stranger();
    const key = newKey();
    const { database } = world.service;
    world.service.faults('dynamodb').set({ kind: 'slow', times: 1_000, ms: 60 });
    database.calls.length = 0;
    await killAt(() => database.calls.length >= calls, person, key);
    world.service.faults('dynamodb').clear();
    // Pending calls arrive.
    await sleep(150);
    await world.endLeases();

    // Its counts stay, so a retry may have to wait.
    if (calls < 10) await world.forgetLimits();
    const again = await post(registrationOf(person), key);
    expect(again.status, again.text).toBe(204);
    expect((await post(registrationOf(person), key)).header(REPLAYED)).toBe('true');
    // After a kill between the mark and the send, the outcome is unknown: it counts as sent.
    expect([0, 1]).toContain(world.sentTo('email', person).length);
    if (messages !== undefined) expect(world.sentTo('email', person)).toHaveLength(messages);
  });
});
