import * as v from 'valibot';
import { describe, expect, it } from 'vitest';
import type { Item } from '../../../lib/aws/dynamodb.ts';
import { REDELIVERY } from '../../../lib/config/deployment.ts';
import { notifyCrm, type WebhookDependencies } from '../../../lib/crm-webhook/delivery.ts';
import { MESSAGE_SCHEMAS } from '../../../lib/crm-webhook/messages.ts';
import { type CrmAnswer, EventNotAccepted } from '../../../lib/crm-webhook/post.ts';
import { clientItem, dynamoCrmClients } from '../../../lib/records/crm-clients.ts';
import { type Client, clientSchema } from '../../../lib/records/crm-records.ts';
import { s3Documents } from '../../../lib/records/documents.ts';
import { dynamoRegistrations } from '../../../lib/records/registrations.ts';
import type { EventFields, EventName, Telemetry } from '../../../lib/telemetry.ts';
import { closedObject } from '../../../lib/validators/primitives.ts';
import { testTables } from '../../support/database.ts';
import { NEVER_ABORTED } from '../../support/outcomes.ts';
import { leaseOf, registrationRecord } from '../../support/registration-record.ts';
import {
  directStep,
  faultySteps,
  numberedSteps,
  type Step,
  tableOfSteps,
  withFaults,
} from '../../support/step-faults.ts';

const NOW = Date.UTC(2026, 10, 23);

const { tables } = await testTables('Registrations', 'Crm');

const CONFIRMED = { confirmed_at: new Date(NOW).toISOString(), published: false };

let serial = 0;

/** A confirmed registration with a phone and a document, and a CRM that answers with a client's id. */
class World {
  readonly id: string;
  readonly clientId: string;
  readonly email: string;
  phone: string;
  /** The bodies that the CRM accepted. */
  accepted: { id: string; body: string }[] = [];
  answer: () => CrmAnswer = () => ({ client_id: this.clientId });
  /** The events that went to the queue of undelivered ones. */
  aside: string[] = [];
  events: EventName[] = [];
  fields: EventFields = {};
  /** The outgoing calls. */
  readonly steps: string[] = [];

  constructor() {
    serial += 1;
    this.id = `r${serial}`;
    this.clientId = `CLI${String(serial).padStart(5, '0')}`;
    this.email = `Ann${serial}@Example.com`;
    this.phone = `+4474${String(serial * 10_007).padStart(8, '0')}`;
  }

  async register(isConfirmed = true): Promise<void> {
    const key = `registrations/${this.id}/1`;
    const registration = registrationRecord(this.id, this.email.toLowerCase(), {
      email: this.email,
      name: 'Ann',
      phone: this.phone,
      password_hash: '$argon2id$v=19$m=19456,t=2,p=1$c2FsdA$aGFzaA',
      custom_fields: '{"k3J9xQ":"some","n":1.5}',
      consents: [{ key: 'a9TermS', version: '2026-11' }],
      documents: [
        { field_key: 'd', index: 0, id: '1', name: 'ü.pdf', key, media_type: 'application/pdf', bytes: 9, sha256: 's' },
      ],
      language: 'de',
      source: '203.0.113.9',
      user_agent: 'browser',
      requested_at: new Date(NOW).toISOString(),
    });
    await this.registrations.store(leaseOf(this.id, NOW), registration, NEVER_ABORTED);
    if (isConfirmed) await this.registrations.confirm(registration, CONFIRMED, NEVER_ABORTED);
  }

  get registrations() {
    return dynamoRegistrations(tables.registrations, () => NOW);
  }

  /** As the bus has it. */
  get event() {
    const times = { requested_at: new Date(NOW).toISOString(), confirmed_at: new Date(NOW).toISOString() };
    const detail = { id: this.id, otp_type: 'email', verified: 'email', form_id: 'FORM0001', ...times };
    return JSON.stringify({ id: 'e-1', source: 'broker.api', 'detail-type': 'RegistrationConfirmed', detail });
  }

  notify({ step = directStep, signal = NEVER_ABORTED, body = this.event } = {}): Promise<boolean> {
    return notifyCrm(this.#dependencies(numberedSteps(step, this.steps)), body, this.#telemetry, signal);
  }

  /** Of the table of CRM records: the item of this client. */
  async items(): Promise<Item[]> {
    return tables.crm.getMany([{ pk: `client#${this.clientId}` }], NEVER_ABORTED);
  }

  get #telemetry(): Telemetry {
    const event: Telemetry['event'] = (name, fields) => {
      this.events.push(name);
      Object.assign(this.fields, fields);
    };
    return { event, with: () => this.#telemetry };
  }

  #dependencies(step: Step): WebhookDependencies {
    const objects = {
      put: () => Promise.reject(new Error('not asked for')),
      deleteTags: () => Promise.reject(new Error('not asked for')),
      link: async (key: string, seconds: number) => `https://s3.example/${key}?seconds=${seconds}`,
    };
    return {
      registrations: dynamoRegistrations(tableOfSteps('registrations', tables.registrations, step), () => NOW),
      documents: s3Documents({ documentsBucket: 'documents' }, async () => objects),
      clients: dynamoCrmClients(tableOfSteps('crm', tables.crm, step)),
      post: (message, signal) =>
        step(
          'post',
          async () => {
            const answer = this.answer();
            this.accepted.push(message);
            return answer;
          },
          signal,
        ),
      setAside: (event, signal) => step('setAside', async () => void this.aside.push(event), signal),
    };
  }
}

async function registered(): Promise<World> {
  const world = new World();
  await world.register();
  return world;
}

/** What the record of a client has of a registration, member by member; undefined: a registration does not know it. */
function clientOf({ clientId: id, email, phone }: World) {
  return {
    ...{ id, email, name: 'Ann', language: 'de' },
    phone: { country_code: '44', number: phone.slice(3) },
    country: 'GB',
    referral_code: undefined,
    // The phone was only typed.
    unproven: ['phone'],
  } satisfies { [Member in keyof Required<Client>]: Client[Member] };
}

const itemsOf = async (world: World) => [JSON.parse(JSON.stringify(await clientItem(clientOf(world))))];

describe('The message of a confirmed registration', () => {
  it('has everything that was given, and links to the documents', async () => {
    const world = await registered();
    expect(await world.notify()).toBe(true);
    const [{ id, body } = { id: '', body: '' }] = world.accepted;
    expect(id).toBe(world.id);
    const { type, timestamp, data } = v.parse(
      v.pipe(v.string(), v.parseJson(), MESSAGE_SCHEMAS.RegistrationConfirmed),
      body,
    );
    expect([type, timestamp]).toEqual(['RegistrationConfirmed', '2026-11-23T00:00:00.000Z']);
    expect(data).toEqual({
      id: world.id,
      otp_type: 'email',
      verified: 'email',
      form_id: 'FORM0001',
      requested_at: timestamp,
      confirmed_at: timestamp,
      type: 'trader',
      email: world.email,
      name: 'Ann',
      phone: world.phone,
      language: 'de',
      custom_fields: { k3J9xQ: 'some', n: 1.5 },
      consents: [{ key: 'a9TermS', version: '2026-11' }],
      documents: [
        {
          field_key: 'd',
          index: 0,
          id: '1',
          name: 'ü.pdf',
          media_type: 'application/pdf',
          bytes: 9,
          sha256: 's',
          url: `https://s3.example/registrations/${world.id}/1?seconds=3600`,
        },
      ],
      password_hash: '$argon2id$v=19$m=19456,t=2,p=1$c2FsdA$aGFzaA',
      source: '203.0.113.9',
      user_agent: 'browser',
    });
  });

  it('is not sent before a person has confirmed the registration, even if another program puts its event on the bus', async () => {
    const world = new World();
    await world.register(false);
    expect(await world.notify()).toBe(false);
    expect([world.accepted, await world.items()]).toEqual([[], []]);
    expect(world.events).toEqual(['CrmNotNotified']);
  });

  it('takes its content from the record, not from the event', async () => {
    const world = await registered();
    const forged = {
      otp_type: 'sms',
      verified: 'phone',
      form_id: 'FORM0009',
      referrer_user_id: 'C',
    };
    const { detail, ...event } = JSON.parse(world.event);
    await world.notify({ body: JSON.stringify({ ...event, detail: { ...detail, ...forged } }) });
    await world.notify();
    const [first, second] = world.accepted.map(({ body }) => body);
    expect(first).toBe(second);
    expect(await world.items()).toEqual(await itemsOf(world));
  });

  it('is not sent when the registration is gone, which the log says', async () => {
    const world = new World();
    expect(await world.notify()).toBe(true);
    expect([world.accepted, world.events]).toEqual([[], ['CrmNotNotified']]);
    expect(world.fields).toEqual({ reason: 'registration_gone' });
  });
});

describe('The client that the CRM names in its answer', () => {
  it('is found by the verified address alone, and a repeat changes nothing', async () => {
    const world = await registered();
    for (let times = 0; times < 2; times += 1) {
      expect(await world.notify()).toBe(true);
      expect(await world.items()).toEqual(await itemsOf(world));
    }
    expect(new Set(world.accepted.map(({ id }) => id))).toEqual(new Set([world.id]));
    expect(world.events).toEqual(['CrmNotified', 'CrmNotified']);
  });

  it('is written without the phone’s country if ISO 3166-1 does not have it, so that the record can be read', async () => {
    const world = new World();
    world.phone = '+24740123';
    await world.register();
    expect(await world.notify()).toBe(true);
    const record = (await world.items()).find(({ pk }) => pk === `client#${world.clientId}`)?.record;
    expect(v.parse(clientSchema(closedObject), record)).toMatchObject({
      phone: { country_code: '247', number: '40123' },
    });
    expect(record).not.toHaveProperty('country');
  });

  it.each(['+358358488826', '+27278445829', '+358401234567'])(
    'has the phone that the person gave, also if its national number begins with the dial code: %s',
    async (phone) => {
      const world = new World();
      world.phone = phone;
      await world.register();
      expect(await world.notify()).toBe(true);
      expect(await world.items()).toMatchObject([{ e164: phone }]);
    },
  );

  it('is not written if the answer names none', async () => {
    const world = await registered();
    world.answer = () => ({});
    expect(await world.notify()).toBe(true);
    expect(await world.items()).toEqual([]);
  });

  it('never overwrites another client', async () => {
    const [first, second] = [await registered(), await registered()];
    await first.notify();
    second.answer = () => ({ client_id: first.clientId });
    expect(await second.notify()).toBe(true);
    expect(second.events).toEqual(['ClientNotWritten', 'CrmNotified']);
    expect(second.fields).toEqual({ reason: 'another_client', user_id: first.clientId });
    expect(await first.items()).toEqual(await itemsOf(first));
    expect(await second.items()).toEqual([]);
  });
});

/** Every call of a delivery, in this order. */
const STEPS = [
  ['reading the registration', 'registrations.get'],
  ['posting', 'post'],
  ['writing the client', 'crm.put'],
] as const;

describe('A delivery', () => {
  it('takes these steps', async () => {
    const world = await registered();
    expect(await world.notify()).toBe(true);
    expect(world.steps).toEqual(STEPS.map(([, step]) => step));
  });
});

describe.concurrent('A delivery in which one step goes wrong', () => {
  const whats = new Map<string, string>(STEPS.map(([what, step]) => [step, what]));
  const cases = withFaults([...whats.keys()], /^(registrations|tags)/).map(
    ([step, fault]) => [whats.get(step) ?? '', fault, step] as const,
  );
  it.each(cases)(
    '%s: %s, is repeated, and the CRM and the records end as after a delivery without a fault',
    async (what, fault, step) => {
      const world = await registered();
      const steps = faultySteps(step, fault);
      const killed = fault.startsWith('killed');
      expect(await Promise.race([world.notify(steps), steps.died])).toBe(killed ? 'killed' : false);
      const isPosted =
        what.endsWith('the client') || (what === 'posting' && !['refused', 'slow', 'killed before'].includes(fault));
      expect(world.accepted.length).toBe(isPosted ? 1 : 0);
      expect(await world.notify()).toBe(true);
      expect(new Set(world.accepted.map(({ id, body }) => `${id} ${body}`)).size).toBe(1);
      expect(await world.items()).toEqual(await itemsOf(world));
    },
  );

  it.each(['', '{}', '{"detail-type":"Other","detail":{}}', '{"detail-type":"AccountOpened","detail":{"id":"a"}}'])(
    'is never done for an event that this service did not make: %j',
    async (body) => {
      const world = new World();
      expect(await world.notify({ body })).toBe(false);
      expect([world.accepted, world.events]).toEqual([[], ['CrmNotNotified']]);
    },
  );
});

/** An account that was opened, as the bus has it. */
const ACCOUNT_OPENED = JSON.stringify({
  'detail-type': 'AccountOpened',
  detail: {
    id: 'o-1',
    user_id: 'CLIENT01',
    version: 'tp5',
    connection_id: 'tp5-live-1',
    login: 500_001,
    group: 'real',
    leverage: 100,
    enable_readonly: false,
    enable_rebate: false,
    opened_at: new Date(NOW).toISOString(),
    caller: 'crm',
  },
});

describe('An event of either kind', () => {
  it.each([
    ['registration', {}],
    ['account', { body: ACCOUNT_OPENED }],
  ])('is done when the CRM accepts it, and delivered again when it does not: %s', async (_, event) => {
    const world = await registered();
    world.answer = () => ({});
    expect(await world.notify(event)).toBe(true);
    world.answer = () => {
      throw new EventNotAccepted('http_500');
    };
    expect(await world.notify(event)).toBe(false);
    expect(world.events).toEqual(['CrmNotified', 'CrmNotNotified']);
  });

  it.each([
    ['registration', undefined],
    ['account', ACCOUNT_OPENED],
  ])('leaves its queue for that of undelivered ones if the address of the CRM is gone: %s', async (_, event) => {
    const world = await registered();
    world.answer = () => {
      throw new EventNotAccepted('http_410', { isGone: true });
    };
    const body = event ?? world.event;
    expect(await world.notify({ body })).toBe(true);
    expect([world.events, world.aside]).toEqual([['CrmNotNotified'], [body]]);
    // If it cannot be moved there, it stays.
    expect(await world.notify({ body, ...faultySteps('setAside', 'refused') })).toBe(false);
    expect(world.aside).toEqual([body]);
  });

  it('whose CRM answers with an id that no client can have is reported to the operators, once', async () => {
    const world = await registered();
    world.answer = () => ({ unusable: 'client_id_malformed' });
    expect(await world.notify()).toBe(true);
    expect(world.events).toEqual(['ClientNotWritten', 'CrmNotified']);
    expect(await world.items()).toEqual([]);
  });
});

it('One event is delivered for a day, and fewer times than SQS counts', () => {
  expect(REDELIVERY.everySeconds * REDELIVERY.deliveries).toBe(24 * 3_600);
  expect(REDELIVERY.deliveries).toBeLessThanOrEqual(1_000);
});
