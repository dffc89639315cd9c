import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { DEMO_RECORDS } from '../../infra/local/demo-records.ts';
import { REDELIVERY } from '../../lib/config/deployment.ts';
import { SMALLEST_FILES } from '../support/document-files.ts';
import { runOperatorsCommand } from '../support/operators.ts';
import {
  CONFIRM_PATH,
  codeIn,
  type Person,
  type RegistrationWorld,
  registrationOf,
  registrationWorld,
} from '../support/registration-world.ts';

let world: RegistrationWorld;
beforeAll(async () => {
  world = await registrationWorld({ records: DEMO_RECORDS });
});
afterAll(() => world.close());
beforeEach(() => world.service.faults('crm').clear());

/** A new person who has confirmed; the event is pending. @returns the registration's id */
async function confirmed(
  person: Person = world.stranger(),
  more: object = {},
  otp_type: 'email' | 'sms' = 'email',
): Promise<string> {
  const sent = await world.post(registrationOf(person, { otp_type, ...more }));
  expect(sent.status).toBe(204);
  const code = codeIn(world.sentTo(otp_type, person).at(-1));
  const id = sent.header('registration-id') ?? '';
  expect((await world.postTo(CONFIRM_PATH, { registration_id: id, code })).status).toBe(204);
  return id;
}

/** How the right code of a new registration is answered. */
async function confirmAgain(person: Person, otp_type: 'email' | 'sms'): Promise<number> {
  await world.forgetLimits();
  const sent = await world.post(registrationOf(person, { otp_type }));
  const code = codeIn(world.sentTo(otp_type, person).at(-1));
  return (await world.postTo(CONFIRM_PATH, { registration_id: sent.header('registration-id'), code })).status;
}

const delivery = (id: string) => world.service.deliveries.list().find((one) => one.id === id);
const received = (id: string) => world.service.crm?.received().filter((one) => one.id === id) ?? [];
const clients = (id: string) => world.service.crm?.clients().filter((one) => one.registration_id === id) ?? [];

describe('A confirmed registration', () => {
  it('reaches the CRM, and the client that it makes can open an account at once and be found by the proven address', async () => {
    const person = world.stranger();
    const d0cUpl = [{ id: '1', name: 'passport.png', doc: SMALLEST_FILES.png.toString('base64') }];
    const id = await confirmed(person, { form_id: 'FORM0001', k3J9xQ: 'some', d0cUpl });
    await expect.poll(() => delivery(id)?.state).toBe('delivered');
    expect(received(id)).toMatchObject([{ type: 'RegistrationConfirmed', data: { email: person.email } }]);
    const [document] = (received(id)[0]?.data.documents ?? []) as { url: string; name: string }[];
    const download = await fetch(document?.url ?? '');
    expect([document?.name, Buffer.from(await download.arrayBuffer())]).toEqual(['passport.png', SMALLEST_FILES.png]);
    const [client] = clients(id);
    const order = { connection_id: 'tp5-live-1', group: 'real\\standard', leverage: 100 };
    const opened = await world.postTo(`/public/v1/users/${client?.id}/tp5/accounts`, order);
    expect(opened.status).toBe(200);
    await expect
      .poll(() => world.service.crm?.received().at(-1))
      .toMatchObject({ type: 'AccountOpened', data: { user_id: client?.id, login: opened.json.login } });
    // The address is a client's now; the phone was only typed.
    expect([await confirmAgain(person, 'email'), await confirmAgain(person, 'sms')]).toEqual([409, 204]);
  });

  it('still reaches a CRM whose answers are lost twice, and becomes one client', async () => {
    world.service.faults('crm').set({ kind: 'reply_lost', times: 2 });
    const id = await confirmed();
    const deliverAgain = async () => {
      await world.service.deliveries.deliverNow();
      return delivery(id)?.state;
    };
    await expect.poll(deliverAgain).toBe('delivered');
    expect([received(id).length, clients(id).length]).toEqual([1, 1]);
  });

  it('is kept at once if the address of the CRM is gone, and delivered again by an operator', async () => {
    world.service.faults('crm').set({ kind: 'gone', times: 2 });
    const id = await confirmed();
    await expect.poll(() => delivery(id)?.state).toBe('undelivered');
    const redeliver = () => runOperatorsCommand(['redeliver', '--local', world.service.url]);
    for (const state of ['undelivered', 'delivered']) {
      expect(await redeliver()).toMatchObject({
        code: 0,
        out: '1 event will be delivered again.\n',
      });
      await expect.poll(() => delivery(id)).toMatchObject({ state, deliveries: 1 });
    }
    expect([received(id).length, clients(id).length]).toEqual([1, 1]);
  });

  it('that the CRM does not accept for a day is kept, and delivered again by an operator', async () => {
    world.service.faults('crm').set({ kind: 'down', times: 1_000 });
    const id = await confirmed();
    for (let failed = 1; failed <= REDELIVERY.deliveries; failed += 1) await world.service.deliveries.deliverNow();
    expect(delivery(id)).toMatchObject({ state: 'undelivered', deliveries: REDELIVERY.deliveries });
    await world.service.deliveries.deliverNow();
    expect(delivery(id)).toMatchObject({ state: 'undelivered' });
    world.service.faults('crm').clear();
    const redeliver = () => runOperatorsCommand(['redeliver', '--local', world.service.url]);
    expect(await redeliver()).toEqual({
      code: 0,
      reported: '',
      out: '1 event will be delivered again.\n',
    });
    await expect.poll(() => delivery(id)?.state).toBe('delivered');
    expect([received(id).length, clients(id).length]).toEqual([1, 1]);
    expect(await redeliver()).toMatchObject({
      code: 0,
      out: 'No event is set aside.\n',
    });
  });
});

it('Accounts that are opened at once are posted to the CRM once each', async () => {
  const { deliveries } = world.service;
  const before = deliveries.list().length;
  const order = { connection_id: 'tp5-live-1', group: 'real\\standard', leverage: 100 };
  const open = () => world.postTo('/public/v1/users/CLIENT01/tp5/accounts', order);
  const opened = await Promise.all(Array.from({ length: 8 }, open));
  expect(opened.filter(({ status }) => status === 200)).toHaveLength(8);
  await deliveries.settled();
  const posted = deliveries.list().slice(before);
  expect(posted.map((one) => [one.state, one.deliveries])).toEqual(opened.map(() => ['delivered', 1]));
});

describe('An address that somebody only typed', () => {
  it('stays its owner’s: a client with a stranger’s email takes no code from it, and gets no mail there', async () => {
    const victim = world.stranger();
    const id = await confirmed(world.stranger(), { email: victim.email }, 'sms');
    await expect.poll(() => delivery(id)?.state).toBe('delivered');
    expect(received(id)).toMatchObject([{ data: { verified: 'phone' } }]);
    const order = { connection_id: 'tp5-live-1', group: 'real\\standard', leverage: 100, send_email: true };
    const opened = await world.postTo(`/public/v1/users/${clients(id)[0]?.id}/tp5/accounts`, order);
    expect(opened.status).toBe(200);
    expect(world.sentTo('email', victim)).toEqual([]);
    expect(await confirmAgain(victim, 'email')).toBe(204);
  });
});
