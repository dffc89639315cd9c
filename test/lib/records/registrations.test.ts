import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type PendingRegistration, type Registrations, registrationsIn } from '../../../lib/records/registrations.ts';
import { sealCode } from '../../../lib/secrets/one-time-code.ts';
import { parsePepper } from '../../../lib/secrets/pepper.ts';
import { type TestDatabase, testDatabase } from '../../support/database.ts';

const signal = () => AbortSignal.timeout(30_000);
const NOW = 1_800_000_000_000;
const DAY_MS = 24 * 60 * 60_000;
const PEPPER = parsePepper(JSON.stringify({ current: '1', '1': 'p'.repeat(32) }));

let database: TestDatabase;
let registrations: Registrations;
let now = NOW;
beforeAll(async () => {
  database = await testDatabase(afterAll);
  registrations = registrationsIn(database.tables.registrations, () => now);
});

let ids = 0;
/** A registration with an id that no other has. */
function registration(address: string): PendingRegistration {
  ids += 1;
  const registrationId = `r${ids}`;
  return {
    registration_id: registrationId,
    type: 'trader',
    otp_type: 'email',
    address,
    email: address,
    email_key: address,
    name: 'Bob',
    password_hash: '$argon2id$',
    form_id: 'FORM0001',
    custom_fields: '{"a":1e300}',
    source: '192.0.2.1',
    documents: [{ field_key: 'd', index: 0, id: '1', key: 'k', media_type: 'image/png', bytes: 3, sha256: 'aGFzaA==' }],
    code: sealCode('123456', { registrationId, channel: 'email', address }, PEPPER, NOW),
    requested_at: new Date(NOW).toISOString(),
  };
}

async function keep(address: string): Promise<PendingRegistration> {
  const record = registration(address);
  await registrations.put(record, NOW, signal());
  return record;
}

async function idsOf(address: string): Promise<string[]> {
  const found = await registrations.newest('email', address, signal());
  return found.map(({ registration_id }) => registration_id);
}

describe('A pending registration', () => {
  it('is found by its id and by its address, as it was kept, for 24 hours', async () => {
    const record = await keep('kept@example.com');
    expect(await registrations.get(record.registration_id, signal())).toMatchObject(record);
    expect(await registrations.newest('email', 'kept@example.com', signal())).toMatchObject([record]);
    expect(await registrations.newest('sms', 'kept@example.com', signal())).toEqual([]);
    now = NOW + DAY_MS - 1;
    expect(await idsOf('kept@example.com')).toHaveLength(1);
    now = NOW + DAY_MS;
    expect(await idsOf('kept@example.com')).toEqual([]);
    expect(await registrations.get(record.registration_id, signal())).toBeUndefined();
    now = NOW;
  });

  it('stands beside those before it, three at most, newest first', async () => {
    const kept = [];
    for (let i = 0; i < 5; i += 1) kept.unshift((await keep('side@example.com')).registration_id);
    expect(await idsOf('side@example.com')).toEqual(kept.slice(0, 3));
  });

  it('that is taken back leaves the others as if it had never been, wherever it stands', async () => {
    for (const place of [0, 1, 2, 3]) {
      const address = `back${place}@example.com`;
      const kept: PendingRegistration[] = [];
      for (let i = 0; i < 4; i += 1) kept.unshift(await keep(address));
      const [back] = kept.splice(place, 1);
      if (back === undefined) throw new Error('no registration');
      await registrations.remove(back, signal());
      await registrations.remove(back, signal());
      expect(await idsOf(address)).toEqual(kept.map(({ registration_id }) => registration_id));
      expect(await registrations.get(back.registration_id, signal())).toBeUndefined();
    }
  });

  it('is not written twice by a repeat that arrives late, behind the note of its delivery', async () => {
    const record = await keep('late@example.com');
    const delivery = { kind: 'owner_notice', outcome: 'sent', email_taken: true } as const;
    await registrations.noteDelivery(record.registration_id, delivery, signal());
    await registrations.put(record, NOW, signal());
    expect(await registrations.newest('email', 'late@example.com', signal())).toMatchObject([{ ...record, delivery }]);
  });

  it('that was taken back comes not back with the note of its delivery', async () => {
    const record = await keep('gone@example.com');
    await registrations.remove(record, signal());
    const delivery = { kind: 'code', outcome: 'sent', email_taken: false } as const;
    await expect(registrations.noteDelivery(record.registration_id, delivery, signal())).rejects.toThrow();
    expect(await idsOf('gone@example.com')).toEqual([]);
  });

  it('is looked for with the same calls, whether there are some or none', async () => {
    await keep('there@example.com');
    const calls = [];
    for (const address of ['there@example.com', 'nobody@example.com']) {
      database.calls.length = 0;
      await idsOf(address);
      calls.push(database.calls.map(({ operation }) => operation));
    }
    expect(calls[0]).toEqual(['GetItem', 'BatchGetItem']);
    expect(calls[1]).toEqual(calls[0]);
  });
});

describe('A confirmed registration of which nobody has noted that it is told', () => {
  const confirmation = { confirmed_at: new Date(NOW).toISOString(), email_taken: false, told: false };
  const untold = async () => (await registrations.untold(signal())).map(({ registration_id }) => registration_id);

  it('is to be told once whoever confirmed it has had the time, the oldest first, until it is noted', async () => {
    now = NOW;
    const [first, second] = [await keep('untold@example.com'), await keep('untold@example.com')];
    await registrations.confirm(second.registration_id, confirmation, signal());
    expect(await untold()).toEqual([]);
    now += 10_000;
    await registrations.confirm(first.registration_id, confirmation, signal());
    now += 31_000;
    expect(await untold()).toEqual([second.registration_id, first.registration_id]);
    await registrations.noteTold(second.registration_id, signal());
    expect(await untold()).toEqual([first.registration_id]);
    await registrations.noteTold(first.registration_id, signal());
    expect(await untold()).toEqual([]);
  });
});
