import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { registrationsIn } from '../../lib/records/registrations.ts';
import { type Channel, OTP_TYPES } from '../../lib/validators/otp-types.ts';
import { DOOR, throughDoor } from '../support/door.ts';
import type { Person } from '../support/persons.ts';
import {
  codeIn,
  hasCode,
  type RegistrationWorld,
  registrationOf,
  registrationWorld,
  whatIsTold,
} from '../support/registration-world.ts';

const PROVIDERS = { email: 'ses', sms: 'sns', call: 'voice', whatsapp: 'whatsapp' } as const;

/** With everything switched on: a captcha is required, and a proxy is in front. */
let world: RegistrationWorld;
beforeAll(async () => {
  world = await registrationWorld({ clients: 60, environment: DOOR });
});
afterAll(() => world.close());
const post = (body: unknown, headers = {}) => world.post(body, { ...throughDoor(world.service), ...headers });

/** Whom a branch is for, and what is done to get there. */
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

/** What a request for this person did: the answer, the calls to the database and to the channel's provider. */
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

describe('The answer tells nothing', () => {
  const cases = OTP_TYPES.flatMap((channel) => BRANCHES.map((branch) => ({ channel, branch, name: branch.name })));

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

  it('also when the code was not asked for by e-mail, and with every field of the form faulty', async () => {
    const faulty = { form_id: 'FORMFULL', field_number: 'x', other: 1 };
    const [ours, theirs] = await Promise.all(
      [world.client(), world.stranger()].map((person) => post(registrationOf(person, faulty))),
    );
    expect(ours && whatIsTold(ours)).toEqual(theirs && whatIsTold(theirs));
    expect(ours?.status).toBe(400);
  });
});

describe('The owner of a registered address', () => {
  it.each(OTP_TYPES)('gets a notice without a code on the same channel: %s', async (channel) => {
    const person = world.client();
    expect((await post(registrationOf(person, { otp_type: channel }))).status).toBe(204);
    const messages = world.sentTo(channel, person);
    expect(messages).toHaveLength(1);
    expect(messages.some(hasCode)).toBe(false);
    const all = world.service.outbox.list().filter(({ to }) => to === person.email || to === person.e164);
    expect(all).toHaveLength(1);
    const record = await world.record(channel, person);
    expect(record).toMatchObject({ delivery: { kind: 'owner_notice', outcome: 'sent', email_taken: true } });
    // Its address has a sealed code that was never sent, as a stranger's has.
    const place = { otp_type: channel, address: channel === 'email' ? person.email.toLowerCase() : person.e164 };
    const [seals] = await registrationsIn(world.tables.registrations).list(place, AbortSignal.timeout(60_000));
    expect(seals).toMatchObject({ registration_id: record?.registration_id, guesses: [] });
  });

  it('gets it once: the limits are the same', async () => {
    const person = world.client();
    const body = registrationOf(person);
    const replies = await Promise.all(Array.from({ length: 5 }, () => post(body)));
    expect(replies.map(({ status }) => status).toSorted()).toEqual([204, 429, 429, 429, 429]);
    expect(world.sentTo('email', person)).toHaveLength(1);
  });

  it('is known whatever the case of the address', async () => {
    const person = world.client();
    const shouted = { ...person, email: person.email.toUpperCase() };
    await post(registrationOf(shouted));
    const domain = shouted.email.slice(shouted.email.indexOf('@'));
    const delivered = { ...person, email: shouted.email.replace(domain, domain.toLowerCase()) };
    expect(world.sentTo('email', delivered).map(hasCode)).toEqual([false]);
  });

  it.each(['Joerg@bücher.example', 'joerg@xn--bcher-kva.example', 'JOERG@BÜCHER.EXAMPLE'])(
    'is known by an international domain in any spelling: %s',
    async (email) => {
      await world.forgetLimits();
      const before = world.service.outbox.list().length;
      expect((await post(registrationOf({ ...world.stranger(), email }))).status).toBe(204);
      const messages = world.service.outbox.list().slice(before);
      expect(messages.map(({ to }) => to.toLowerCase())).toEqual(['joerg@xn--bcher-kva.example']);
      expect(messages.some(hasCode)).toBe(false);
    },
  );

  it.each(['sms', 'call', 'whatsapp'] as const)('is on %s the one of the number', async (channel) => {
    const person = { ...world.client(), email: world.stranger().email };
    await post(registrationOf(person, { otp_type: channel }));
    expect(world.sentTo(channel, person).map(hasCode)).toEqual([false]);
    expect(await world.record(channel, person)).toMatchObject({
      delivery: { kind: 'owner_notice', email_taken: false },
    });
  });

  it.each(['sms', 'call', 'whatsapp'] as const)(
    'is not told to whoever holds another phone: the code goes there (%s), and the record says that the address is taken',
    async (channel) => {
      const owner = world.client();
      const person = { ...world.stranger(), email: owner.email };
      await post(registrationOf(person, { otp_type: channel }));
      const code = codeIn(world.sentTo(channel, person)[0]);
      expect(code).toMatch(/^\d{6}$/);
      expect(await world.record(channel, person)).toMatchObject({ delivery: { kind: 'code', email_taken: true } });
      expect(world.sentTo('email', owner)).toEqual([]);
      expect(await world.isCodeOf(channel, person, code)).toBe(true);
    },
  );
});
