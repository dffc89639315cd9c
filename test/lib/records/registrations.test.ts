import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  dynamoRegistrations,
  type PendingRegistration,
  type Registrations,
} from '../../../lib/records/registrations.ts';
import { parsePepper } from '../../../lib/secrets/keys.ts';
import { sealCodeAndPassword } from '../../../lib/secrets/one-time-code.ts';
import { CONFIRMED_INDEX } from '../../../lib/validators/deployment.ts';
import { scanItems, type TestDatabase, testDatabase } from '../../support/database.ts';
import { NEVER_ABORTED } from '../../support/outcomes.ts';
import { registrationRecord } from '../../support/registration-record.ts';
import { writeUnits } from '../../support/write-units.ts';

const NOW = 1_800_000_000_000;
const DAY_MS = 24 * 60 * 60_000;
const PEPPER = parsePepper(JSON.stringify({ current: '1', '1': 'p'.repeat(32) }));
const SENT = { kind: 'code', outcome: 'sent', email_taken: false, phone_taken: false } as const;

let database: TestDatabase;
let registrations: Registrations;
let now = NOW;
beforeAll(async () => {
  database = await testDatabase(afterAll);
  registrations = dynamoRegistrations(database.tables.registrations, () => now);
});

let ids = 0;
/** A registration with an id that no other has. */
function registration(address: string): PendingRegistration {
  ids += 1;
  return registrationRecord(`r${ids}`, address, {
    custom_fields: '{"a":1e300}',
    documents: [
      { field_key: 'd', index: 0, id: '1', name: 'n', key: 'k', media_type: 'image/png', bytes: 3, sha256: 'aGFzaA==' },
    ],
    requested_at: new Date(now).toISOString(),
  });
}

async function keep(address: string): Promise<PendingRegistration> {
  const record = registration(address);
  await registrations.put(record, sealsOf(record), now, NEVER_ABORTED);
  return record;
}

function sealsOf({ registration_id: registrationId, address }: PendingRegistration) {
  const secrets = { code: '123456', passwordHash: '$argon2id$' };
  return sealCodeAndPassword(secrets, { registrationId, channel: 'email', address }, PEPPER, now);
}

const list = (address: string) => registrations.list({ otp_type: 'email', address }, NEVER_ABORTED);
const idsOf = async (address: string) => (await list(address)).map(({ registration_id }) => registration_id);

describe('A pending registration', () => {
  it('is found by its id for 24 hours, and by its address, with its seals', async () => {
    const record = await keep('kept@example.com');
    expect(await registrations.get(record.registration_id, NEVER_ABORTED)).toMatchObject(record);
    expect(await list('kept@example.com')).toEqual([
      { registration_id: record.registration_id, requested_at_ms: NOW, guesses: [], ...sealsOf(record) },
    ]);
    expect(await registrations.list({ otp_type: 'sms', address: 'kept@example.com' }, NEVER_ABORTED)).toEqual([]);
    now = NOW + DAY_MS - 1;
    expect(await registrations.get(record.registration_id, NEVER_ABORTED)).toBeDefined();
    now = NOW + DAY_MS;
    expect(await registrations.get(record.registration_id, NEVER_ABORTED)).toBeUndefined();
  });

  it.each<[string, Partial<PendingRegistration>, object, object]>([
    [
      'the email address',
      { otp_type: 'email', email: 'Bob@Bücher.example' },
      { email: 'eve@evil.example', email_key: 'eve@evil.example' },
      { email: 'bob@xn--bcher-kva.example', email_key: 'bob@xn--bcher-kva.example' },
    ],
    [
      'the phone number',
      { otp_type: 'sms', phone: '+447400123456' },
      { phone: '+447400666666' },
      { phone: '+447400123456' },
    ],
  ])('that was edited keeps %s that gets its code', async (_, typed, edit, kept) => {
    const address = typed.phone ?? 'bob@xn--bcher-kva.example';
    const record = { ...registration(address), ...typed };
    await registrations.put(record, sealsOf(record), now, NEVER_ABORTED);
    const read = () => registrations.get(record.registration_id, NEVER_ABORTED);
    expect(await read()).toMatchObject(typed);
    const names = Object.keys(edit);
    const update = `SET ${names.map((name) => `${name} = :${name}`).join(', ')}`;
    const values = Object.fromEntries(Object.entries(edit).map(([name, value]) => [`:${name}`, value]));
    const key = { pk: `registration#${record.registration_id}` };
    await database.tables.registrations.update(key, { update, values }, NEVER_ABORTED);
    expect(await read()).toMatchObject(kept);
    await database.tables.registrations.update(key, { update: `REMOVE ${names.join(', ')}` }, NEVER_ABORTED);
    expect(await read()).toMatchObject(kept);
  });

  it('that is removed leaves the other registrations of the address as if it had never existed', async () => {
    const kept: PendingRegistration[] = [];
    for (let i = 0; i < 4; i += 1) kept.unshift(await keep('back@example.com'));
    const [back] = kept.splice(2, 1);
    if (back === undefined) throw new Error('no registration');
    await registrations.remove(back, NEVER_ABORTED);
    await registrations.remove(back, NEVER_ABORTED);
    expect((await idsOf('back@example.com')).toSorted()).toEqual(kept.map((one) => one.registration_id).toSorted());
    expect(await registrations.get(back.registration_id, NEVER_ABORTED)).toBeUndefined();
  });

  it('is not written twice by a repeat that arrives late, after its delivery and a guess', async () => {
    const record = await keep('late@example.com');
    const delivery = {
      kind: 'owner_notice',
      outcome: 'sent',
      sent_at: record.requested_at,
      email_taken: true,
      phone_taken: false,
    } as const;
    await registrations.noteDelivery(record.registration_id, delivery, NEVER_ABORTED);
    const guess = [{ registrationId: record.registration_id, guess: 'x' }];
    await registrations.countGuesses(record, guess, await list('late@example.com'), NEVER_ABORTED);
    await registrations.put(record, sealsOf(record), now, NEVER_ABORTED);
    expect(await registrations.get(record.registration_id, NEVER_ABORTED)).toMatchObject({ ...record, delivery });
    expect(await list('late@example.com')).toMatchObject([{ guesses: ['x'] }]);
  });

  it('that was removed does not come back with the note of its delivery', async () => {
    const record = await keep('gone@example.com');
    await registrations.remove(record, NEVER_ABORTED);
    await registrations.noteDelivery(record.registration_id, { ...SENT, sent_at: record.requested_at }, NEVER_ABORTED);
    expect(await registrations.get(record.registration_id, NEVER_ABORTED)).toBeUndefined();
    expect(await idsOf('gone@example.com')).toEqual([]);
  });
});

it('The note of a delivery rewrites nothing of the registration, and is read with it', async () => {
  const record = await keep('note@example.com');
  const delivery = { ...SENT, sent_at: record.requested_at };
  database.calls.length = 0;
  await registrations.noteDelivery(record.registration_id, delivery, NEVER_ABORTED);
  expect(await registrations.get(record.registration_id, NEVER_ABORTED)).toMatchObject({ ...record, delivery });
  expect(database.calls.map(({ operation }) => operation)).toEqual(['PutItem', 'BatchGetItem']);
  const item = await database.tables.registrations.get({ pk: `registration#${record.registration_id}` }, NEVER_ABORTED);
  expect(item).not.toHaveProperty('delivery');
});

it('A registration with 5 kB of fields costs 8 write units to keep and note, and 13 to confirm and publish', async () => {
  const own = await testDatabase();
  const kept = dynamoRegistrations(own.tables.registrations, () => now);
  let units = 0;
  own.onWritten((changes) => {
    units += changes.reduce((sum, one) => sum + writeUnits(one), 0);
  });
  const spent = async (work: () => Promise<unknown>) => {
    units = 0;
    await work();
    return units;
  };
  const fields = JSON.stringify({ k3J9xQ: 'x'.repeat(5_000) });
  const record = registrationRecord('wide', 'wide@example.com', { custom_fields: fields });
  const delivery = { ...SENT, sent_at: record.requested_at };
  const confirmation = { confirmed_at: delivery.sent_at, email_taken: false, phone_taken: false, published: false };
  expect(await spent(() => kept.put(record, sealsOf(record), now, NEVER_ABORTED))).toBe(7);
  expect(await spent(() => kept.noteDelivery(record.registration_id, delivery, NEVER_ABORTED))).toBe(1);
  // The fields are kept for longer from now on, and the event's note removes them from the list of unpublished ones.
  expect(await spent(() => kept.confirm(record, confirmation, NEVER_ABORTED))).toBe(7);
  expect(await spent(() => kept.notePublished(record.registration_id, NEVER_ABORTED))).toBe(6);
});

/** A confirmation of now, whose event is published. */
function publishedConfirmation() {
  return { confirmed_at: new Date(now).toISOString(), email_taken: false, phone_taken: false, published: true };
}

it('The index of confirmed registrations has all members of each, and no registration that is not confirmed', async () => {
  const record = await keep('reader@example.com');
  const pending = await keep('reader@example.com');
  const confirmation = publishedConfirmation();
  await registrations.confirm(record, confirmation, NEVER_ABORTED);
  const indexed = await scanItems(database.client, 'registrations', CONFIRMED_INDEX);
  expect(indexed).toEqual([await database.tables.registrations.get({ pk: indexed[0]?.pk as string }, NEVER_ABORTED)]);
  expect(indexed).toMatchObject([{ ...record, confirmation, confirmed_id: record.registration_id }]);
  expect(await registrations.get(pending.registration_id, NEVER_ABORTED)).toMatchObject(pending);
});

describe('The registrations of one address', () => {
  const place = { otp_type: 'email', address: 'many@example.com' } as const;

  it('are all kept while their codes are valid', async () => {
    for (let i = 0; i < 70; i += 1) await keep(place.address);
    expect(await idsOf(place.address)).toHaveLength(70);
  });

  it('are kept, after their codes have expired, if they are confirmed or among the newest fifty', async () => {
    const [first, second] = (await list(place.address)).toReversed();
    const record = await registrations.get(second?.registration_id ?? '', NEVER_ABORTED);
    if (record === undefined) throw new Error('no registration');
    const confirmation = publishedConfirmation();
    await registrations.confirm(record, confirmation, NEVER_ABORTED);
    now += 10 * 60_000;
    const newest = await keep(place.address);
    const kept = await idsOf(place.address);
    expect(kept).toHaveLength(50);
    expect(kept.slice(0, 2)).toEqual([second?.registration_id, newest.registration_id]);
    expect(kept).not.toContain(first?.registration_id);
  });

  it('are dropped after 25 hours, the confirmed ones too', async () => {
    now += 25 * 60 * 60_000;
    expect(await idsOf(place.address)).toEqual([]);
    const newest = await keep(place.address);
    expect(await idsOf(place.address)).toEqual([newest.registration_id]);
    const item = await database.tables.registrations.get({ pk: `email#${place.address}` }, NEVER_ABORTED);
    expect(Object.keys(item ?? {}).toSorted()).toEqual(['expires_at', newest.registration_id, 'pk'].toSorted());
    expect(item?.expires_at).toBe(Math.ceil((now + 25 * 60 * 60_000) / 1_000));
  });
});

it('A registration that cannot be read does not count as expired: its event is not dropped', async () => {
  const { registration_id } = await keep('pending@example.com');
  const broken = { update: 'REMOVE password_hash' };
  await database.tables.registrations.update({ pk: `registration#${registration_id}` }, broken, NEVER_ABORTED);
  await expect(registrations.get(registration_id, NEVER_ABORTED)).rejects.toMatchObject({
    reason: 'RegistrationMalformed',
    item: `registration#${registration_id}`,
  });
  expect(await registrations.get('unknown', NEVER_ABORTED)).toBeUndefined();
});

describe('A confirmed registration whose event is not known to be published', () => {
  const confirmation = {
    confirmed_at: new Date(NOW).toISOString(),
    email_taken: false,
    phone_taken: false,
    published: false,
  };
  const unpublished = async () =>
    (await registrations.unpublished(NEVER_ABORTED)).registrations.map(({ registration_id }) => registration_id);

  it('is listed, the oldest first, from the deadline of the confirming request until the publication is recorded', async () => {
    const [first, second] = [await keep('pending@example.com'), await keep('pending@example.com')];
    await registrations.confirm(second, confirmation, NEVER_ABORTED);
    expect(await unpublished()).toEqual([]);
    now += 10_000;
    await registrations.confirm(first, confirmation, NEVER_ABORTED);
    now += 31_000;
    expect(await unpublished()).toEqual([second.registration_id, first.registration_id]);
    await registrations.notePublished(second.registration_id, NEVER_ABORTED);
    expect(await unpublished()).toEqual([first.registration_id]);
    await registrations.notePublished(first.registration_id, NEVER_ABORTED);
    expect(await unpublished()).toEqual([]);
  });
});
