import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ConditionFailed } from '../../../lib/aws/dynamodb.ts';
import { CONFIRMED_INDEX } from '../../../lib/config/deployment.ts';
import {
  dynamoRegistrations,
  type PendingRegistration,
  type Registrations,
} from '../../../lib/records/registrations.ts';
import { scanItems, type TestDatabase, testDatabase } from '../../support/database.ts';
import { NEVER_ABORTED } from '../../support/outcomes.ts';
import { leaseOf, registrationRecord } from '../../support/registration-record.ts';
import { writeUnits } from '../../support/write-units.ts';

const NOW = 1_800_000_000_000;
const DAY_MS = 24 * 60 * 60_000;

let database: TestDatabase;
let registrations: Registrations;
let now = NOW;
beforeAll(async () => {
  database = await testDatabase(afterAll);
  registrations = dynamoRegistrations(database.tables.registrations, () => now);
});

let ids = 0;
/** A registration with an id that no other has. */
function registration(more: Partial<PendingRegistration> = {}) {
  ids += 1;
  return registrationRecord(`r${ids}`, `bob${ids}@example.com`, { requested_at: new Date(now).toISOString(), ...more });
}

async function keep(...given: Parameters<typeof registration>) {
  const record = registration(...given);
  const lease = leaseOf(record.registration_id, now);
  expect(await registrations.store(lease, record, NEVER_ABORTED)).toBe(true);
  return record;
}

const get = (id: string) => registrations.get(id, NEVER_ABORTED);
const keyOf = ({ registration_id }: PendingRegistration) => ({ pk: `registration#${registration_id}` });
const itemOf = (record: PendingRegistration) => database.tables.registrations.get(keyOf(record), NEVER_ABORTED);
const confirmation = (published: boolean) => ({ confirmed_at: new Date(now).toISOString(), published });

describe('A pending registration', () => {
  it('is found by its id for 24 hours', async () => {
    const record = await keep({ custom_fields: '{"a":1e300}' });
    expect(await get(record.registration_id)).toMatchObject(record);
    expect(await get('unknown')).toBeUndefined();
    now = NOW + DAY_MS - 1;
    expect(await get(record.registration_id)).toBeDefined();
    now = NOW + DAY_MS;
    expect(await get(record.registration_id)).toBeUndefined();
  });

  it('that cannot be read does not count as expired: its event is not dropped', async () => {
    const record = await keep();
    await database.tables.registrations.update(keyOf(record), { update: 'REMOVE password_hash' }, NEVER_ABORTED);
    await expect(get(record.registration_id)).rejects.toMatchObject({
      reason: 'RegistrationMalformed',
      item: keyOf(record).pk,
    });
  });
});

describe('A write that arrives late, because the network repeated it, changes nothing', () => {
  const keyed = (record: PendingRegistration) => leaseOf(record.registration_id, now + 20_000, 'f');

  it('of a claim after the registration was stored, and of a store after it was confirmed', async () => {
    const record = registration();
    const lease = keyed(record);
    expect(await registrations.claim(lease, NEVER_ABORTED)).toBe(true);
    expect(await registrations.claim(lease, NEVER_ABORTED)).toBe(true);
    expect(await registrations.store(lease, record, NEVER_ABORTED)).toBe(true);
    expect(await registrations.store(lease, record, NEVER_ABORTED)).toBe(true);
    expect(await registrations.claim(lease, NEVER_ABORTED)).toBe(false);
    await registrations.finish(lease, NEVER_ABORTED);
    await registrations.confirm(record, confirmation(false), NEVER_ABORTED);
    const item = await itemOf(record);
    await registrations.store(lease, record, NEVER_ABORTED);
    await registrations.finish(lease, NEVER_ABORTED);
    expect(await itemOf(record)).toEqual(item);
  });

  it('of a store or a finish after its key was freed', async () => {
    const record = registration();
    const lease = keyed(record);
    await registrations.claim(lease, NEVER_ABORTED);
    await registrations.free(lease, NEVER_ABORTED);
    expect(await registrations.store(lease, record, NEVER_ABORTED)).toBe(false);
    await registrations.finish(lease, NEVER_ABORTED);
    expect(await itemOf(record)).toBeUndefined();
  });

  it('of a worker whose key another one has', async () => {
    const record = registration();
    const [first, second] = [keyed(record), keyed(record)];
    await registrations.claim(first, NEVER_ABORTED);
    expect(await registrations.claim(second, NEVER_ABORTED)).toBe(false);
    now += 20_000;
    expect(await registrations.claim(second, NEVER_ABORTED)).toBe(true);
    const item = await itemOf(record);
    expect(await registrations.store(first, record, NEVER_ABORTED)).toBe(false);
    await registrations.free(first, NEVER_ABORTED);
    await registrations.finish(first, NEVER_ABORTED);
    expect(await itemOf(record)).toEqual(item);
  });
});

it('A guess is counted while a transaction writes its registration', async () => {
  const { registration_id: id } = await keep();
  // As a write fails then.
  const table = { ...database.tables.registrations, update: () => Promise.reject(new ConditionFailed()) };
  expect(await dynamoRegistrations(table, () => now).countGuess(id, true, NEVER_ABORTED)).toBe(true);
});

it('A registration with 5 kB of fields costs 6 write units for each of its four writes', async () => {
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
  const record = registrationRecord('wide', 'wide@example.com', {
    custom_fields: JSON.stringify({ k3J9xQ: 'x'.repeat(5_000) }),
    requested_at: new Date(now).toISOString(),
  });
  expect(await spent(() => kept.store(leaseOf('wide', now), record, NEVER_ABORTED))).toBe(6);
  expect(await spent(() => kept.countGuess('wide', true, NEVER_ABORTED))).toBe(6);
  expect(await spent(() => kept.confirm(record, confirmation(false), NEVER_ABORTED))).toBe(7);
  expect(await spent(() => kept.notePublished('wide', NEVER_ABORTED))).toBe(6);
});

it('The index of confirmed registrations has all members of each, and no registration that is not confirmed', async () => {
  const [record, pending] = [await keep(), await keep()];
  await registrations.confirm(record, confirmation(true), NEVER_ABORTED);
  const indexed = await scanItems(database.client, 'registrations', CONFIRMED_INDEX);
  const own = indexed.filter(({ pk }) => [keyOf(record).pk, keyOf(pending).pk].includes(String(pk)));
  expect(own).toEqual([await itemOf(record)]);
  expect(own).toMatchObject([{ ...record, confirmed_id: record.registration_id }]);
});

describe('A confirmed registration', () => {
  const unpublished = async () =>
    (await registrations.unpublished(NEVER_ABORTED)).registrations.map(({ registration_id }) => registration_id);

  it('is listed, the oldest first, from the deadline of the confirming request until its event is published', async () => {
    now += DAY_MS;
    const before = await unpublished();
    const [first, second] = [await keep(), await keep()];
    await registrations.confirm(second, confirmation(false), NEVER_ABORTED);
    now += 10_000;
    await registrations.confirm(first, confirmation(false), NEVER_ABORTED);
    expect(await unpublished()).toEqual(before);
    now += 31_000;
    expect(await unpublished()).toEqual([...before, second.registration_id, first.registration_id]);
    await registrations.notePublished(second.registration_id, NEVER_ABORTED);
    expect(await unpublished()).toEqual([...before, first.registration_id]);
    await registrations.notePublished(first.registration_id, NEVER_ABORTED);
    expect(await unpublished()).toEqual(before);
  });

  it('of version 1, which has no code, stays readable', async () => {
    const { code_seal, pepper_version, ...record } = registration();
    const old = { confirmed_at: new Date(now).toISOString(), email_taken: false, phone_taken: false, published: true };
    const expires_at = Math.ceil(now / 1_000) + 3_600;
    await database.tables.registrations.put(
      { ...keyOf(record), ...record, confirmation: old, expires_at },
      NEVER_ABORTED,
    );
    expect(await get(record.registration_id)).toMatchObject({ ...record, confirmation: { published: true } });
    expect(await registrations.countGuess(record.registration_id, true, NEVER_ABORTED)).toBe(false);
  });
});
