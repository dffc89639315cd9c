import { fork } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Person } from '../support/persons.ts';
import {
  hurried,
  newSource,
  type RegistrationWorld,
  registrationOf,
  registrationWorld,
  until,
} from '../support/registration-world.ts';

let world: RegistrationWorld;
beforeAll(async () => {
  world = await registrationWorld();
});
afterAll(() => world.close());

let keys = 0;
/** The headers of one caller with a key that nobody used. */
function newKey(): { 'idempotency-key': string; 'x-forwarded-for': string } {
  keys += 1;
  return { 'idempotency-key': `key-${keys}`, 'x-forwarded-for': newSource() };
}

const REPLAYED = 'idempotent-replayed';

describe('A request with the Idempotency-Key of one that is finished', () => {
  it('gets the first answer again, marked as a replay, and nothing is sent twice', async () => {
    const person = world.stranger();
    const key = newKey();
    const first = await world.post(registrationOf(person), key);
    expect(first.status).toBe(204);
    expect(first.header(REPLAYED)).toBeUndefined();
    for (let retry = 0; retry < 3; retry += 1) {
      const again = await world.post(registrationOf(person), key);
      expect(again).toMatchObject({ status: 204, text: '' });
      expect(again.header(REPLAYED)).toBe('true');
    }
    expect(world.sentTo('email', person)).toHaveLength(1);
  });

  it('is the same with other white space, members in another order, and the key in quotes', async () => {
    const person = world.stranger();
    const key = newKey();
    const body = registrationOf(person);
    await world.post(body, key);
    const reversed = Object.fromEntries(Object.entries(body).reverse());
    const quoted = { ...key, 'idempotency-key': `"${key['idempotency-key']}"` };
    const again = await world.post(JSON.stringify(reversed, undefined, 2), quoted);
    expect(again.status).toBe(204);
    expect(again.header(REPLAYED)).toBe('true');
  });

  it.each([
    ['another password', { password: 'another password', repeat_password: 'another password' }],
    ['another channel', { otp_type: 'sms' }],
    ['one more member', { language: 'de' }],
  ])('and %s gets idempotency_key_reused, and nothing is sent', async (_, more) => {
    const person = world.stranger();
    const key = newKey();
    await world.post(registrationOf(person), key);
    const reply = await world.post(registrationOf(person, more), key);
    expect(reply).toMatchObject({ status: 422, json: { type: 'idempotency_key_reused' } });
    expect(world.sentTo('email', person)).toHaveLength(1);
    expect(world.sentTo('sms', person)).toEqual([]);
  });

  it('is another request when it comes from another caller', async () => {
    const [first, second] = [world.stranger(), world.stranger()];
    const key = newKey();
    await world.post(registrationOf(first), key);
    const other = await world.post(registrationOf(second), { ...key, 'x-forwarded-for': newSource() });
    expect(other.status).toBe(204);
    expect(other.header(REPLAYED)).toBeUndefined();
    expect(world.sentTo('email', second)).toHaveLength(1);
  });

  it('is remembered for 24 hours, by nothing that a person typed', async () => {
    const person = world.stranger();
    const key = newKey();
    const known = new Set((await world.items('operations')).map(({ pk }) => pk));
    await world.post(registrationOf(person), key);
    const rows = (await world.items('operations')).filter(({ pk }) => !known.has(pk));
    expect(rows).toHaveLength(1);
    const kept = Number(rows[0]?.expires_at) - Date.now() / 1_000;
    expect(Math.abs(kept - 24 * 60 * 60)).toBeLessThan(30);
    const row = JSON.stringify(rows[0]).toLowerCase();
    const traces = [person.email, person.e164, 'correct horse', 'bob stone', ...Object.values(key)];
    for (const trace of traces) expect(row).not.toContain(trace.toLowerCase());
  });
});

describe('A request with the Idempotency-Key of one that is still running', () => {
  it('gets request_in_progress with Retry-After, and then the first answer', async () => {
    const person = world.stranger();
    const key = newKey();
    const { ses } = world.service.standIns;
    const sends = ses.requests;
    world.service.faults('ses').set({ kind: 'slow', times: 1, ms: 500 });
    const first = world.post(registrationOf(person), key);
    await until(() => ses.requests > sends);
    const second = await world.post(registrationOf(person), key);
    expect(second).toMatchObject({ status: 409, json: { type: 'request_in_progress' } });
    expect(Number(second.header('retry-after'))).toBeGreaterThanOrEqual(1);
    const other = await world.post(registrationOf(person, { name: 'Another' }), key);
    expect(other.status).toBe(422);
    expect((await first).status).toBe(204);
    expect((await world.post(registrationOf(person), key)).header(REPLAYED)).toBe('true');
    expect(world.sentTo('email', person)).toHaveLength(1);
  });

  it('gets one or the other, however many come at once: one message is sent', async () => {
    const person = world.stranger();
    const key = newKey();
    const replies = await Promise.all(Array.from({ length: 10 }, () => world.post(registrationOf(person), key)));
    const worked = replies.filter((reply) => reply.status === 204 && reply.header(REPLAYED) === undefined);
    expect(worked).toHaveLength(1);
    expect(replies.every(({ status }) => status === 204 || status === 409)).toBe(true);
    expect(world.sentTo('email', person)).toHaveLength(1);
  });
});

describe('A request with the Idempotency-Key of one that failed before anything was sent', () => {
  it.each([
    ['the provider', 'ses', 0, 502],
    // After the key, the form, the source, the look at the limits and the recipient: mark, domain, look-up and record.
    ['the database', 'dynamodb', 7, 500],
  ] as const)('is processed as a new one at once when %s failed', async (_, target, after, status) => {
    const person = world.stranger();
    const key = newKey();
    world.service.faults(target).set({ kind: 'refused', times: 1, after });
    expect((await world.post(registrationOf(person), key)).status).toBe(status);
    const again = await world.post(registrationOf(person), key);
    expect(again.status).toBe(204);
    expect(again.header(REPLAYED)).toBeUndefined();
    expect((await world.post(registrationOf(person), key)).header(REPLAYED)).toBe('true');
    expect(world.sentTo('email', person)).toHaveLength(1);
  });

  it('is worked on anew when a refused body is mended', async () => {
    const person = world.stranger();
    const key = newKey();
    expect((await world.post(registrationOf(person, { form_id: 'NOFORM00' }), key)).status).toBe(400);
    expect((await world.post(registrationOf(person, { name: '' }), key)).status).toBe(400);
    const mended = await world.post(registrationOf(person), key);
    expect(mended.status).toBe(204);
    expect(mended.header(REPLAYED)).toBeUndefined();
  });

  it('is worked on anew when a limit no longer holds', async () => {
    const person = world.stranger();
    await world.post(registrationOf(person));
    const key = newKey();
    expect((await world.post(registrationOf(person), key)).status).toBe(429);
    await world.forgetLimits();
    const again = await world.post(registrationOf(person), key);
    expect(again.status).toBe(204);
    expect(again.header(REPLAYED)).toBeUndefined();
  });
});

describe('A request with the Idempotency-Key of one that may have sent', () => {
  it('and did not hear of it is answered like one that has, and its retries are, and one message is sent', async () => {
    const person = world.stranger();
    const key = newKey();
    world.service.faults('ses').set({ kind: 'slow', times: 1, ms: 2_300 });
    const first = await world.post(registrationOf(person), { ...key, ...hurried(2_000) });
    expect(first.status).toBe(204);
    expect(await world.record('email', person)).toMatchObject({ delivery: { kind: 'code', outcome: 'unknown' } });
    const again = await world.post(registrationOf(person), key);
    expect(again.header(REPLAYED)).toBe('true');
    await until(() => world.sentTo('email', person).length > 0);
    await world.post(registrationOf(person), key);
    expect(world.sentTo('email', person)).toHaveLength(1);
  });

  /** Has the request worked on in a process, and kills that at the moment. */
  async function killAt(moment: () => boolean, person: Person, key: ReturnType<typeof newKey>): Promise<void> {
    const child = fork(new URL('../support/registration-process.ts', import.meta.url), { execArgv: [] });
    await once(child, 'message');
    const { 'x-forwarded-for': sourceIp, ...headers } = key;
    child.send({
      headers: { ...headers, 'content-type': 'application/json' },
      body: JSON.stringify(registrationOf(person)),
      isBase64Encoded: false,
      routeKey: 'POST /public/v1/account/register/request',
      requestContext: { requestId: 'killed', http: { sourceIp } },
    });
    await until(moment);
    child.kill('SIGKILL');
    await once(child, 'exit');
  }

  it('and was killed in the middle of it never sends again, and every retry is answered', async () => {
    const person = world.stranger();
    const key = newKey();
    const { ses } = world.service.standIns;
    const sends = ses.requests;
    world.service.faults('ses').set({ kind: 'slow', times: 1, ms: 300 });
    await killAt(() => ses.requests > sends, person, key);

    expect(await world.post(registrationOf(person), key)).toMatchObject({ status: 409 });
    await world.endLeases();
    for (let retry = 0; retry < 3; retry += 1) {
      const again = await world.post(registrationOf(person), key);
      expect(again.status, again.text).toBe(204);
      expect(again.header(REPLAYED)).toBe('true');
    }
    await until(() => world.sentTo('email', person).length > 0);
    expect(world.sentTo('email', person)).toHaveLength(1);
    expect(ses.requests).toBe(sends + 1);
  });

  // Calls to the database: key, form, source, and a look at the limits; the recipient; mark, domain, look-up, record and
  // pointer; the note and the key's end.
  it.each([
    ['while its key was claimed', 1, 1],
    ['while its limits were counted', 5, 1],
    ['while its record was kept', 6, undefined],
    ['while its delivery was noted', 11, 1],
  ])('or was killed %s sends once at most', async (_, calls, messages) => {
    const person = world.stranger();
    const key = newKey();
    const { database } = world.service;
    world.service.faults('dynamodb').set({ kind: 'slow', times: 1_000, ms: 60 });
    database.calls.length = 0;
    await killAt(() => database.calls.length >= calls, person, key);
    world.service.faults('dynamodb').clear();
    // What was on its way arrives.
    await sleep(150);
    await world.endLeases();

    // What it had counted stays counted, so a retry may have to wait.
    if (calls < 10) await world.forgetLimits();
    const again = await world.post(registrationOf(person), key);
    expect(again.status, again.text).toBe(204);
    expect((await world.post(registrationOf(person), key)).header(REPLAYED)).toBe('true');
    // Killed between the mark and the send nobody can tell: it counts as sent.
    expect([0, 1]).toContain(world.sentTo('email', person).length);
    if (messages !== undefined) expect(world.sentTo('email', person)).toHaveLength(messages);
  });
});
