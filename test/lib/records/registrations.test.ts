import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Table } from '../../../lib/aws/dynamodb.ts';
import { type PendingRegistration, registrationKey, registrationsIn } from '../../../lib/records/registrations.ts';
import { sealCode, verifyCode } from '../../../lib/secrets/one-time-code.ts';
import { parsePepper } from '../../../lib/secrets/pepper.ts';
import { type TestDatabase, testDatabase } from '../../support/database.ts';

const signal = () => AbortSignal.timeout(10_000);
const NOW = 1_800_000_000_000;
const PEPPER = parsePepper(JSON.stringify({ current: '1', '1': 'p'.repeat(32) }));

let database: TestDatabase;
beforeAll(async () => {
  database = await testDatabase(afterAll);
});

function registration(id: string, address: string, code: string): PendingRegistration {
  return {
    registration_id: id,
    type: 'trader',
    otp_type: 'email',
    address,
    email: address,
    email_key: address,
    name: 'Bob',
    password_hash: '$argon2id$',
    form_id: 'FORM0001',
    custom_fields: '{"a":1e300}',
    documents: [{ field_key: 'd', index: 0, id: '1', key: 'k', media_type: 'image/png', bytes: 3, sha256: 'aGFzaA==' }],
    code: sealCode(code, { registrationId: id, channel: 'email', address }, PEPPER, NOW),
    requested_at: new Date(NOW).toISOString(),
  };
}

function inTable(table: Table, address: string) {
  return table.get(registrationKey('email', address), signal());
}

function guess(address: string, code: string) {
  const key = registrationKey('email', address);
  return verifyCode(database.tables.registrations, key, code, PEPPER, NOW + 1_000, signal());
}

describe('A pending registration', () => {
  it('stands under its channel and address, and expires 24 hours after the request', async () => {
    const registrations = registrationsIn(database.tables.registrations);
    const record = registration('r1', 'kept@example.com', '111111');
    await registrations.put(record, NOW, signal());
    expect(await inTable(database.tables.registrations, 'kept@example.com')).toEqual({
      pk: 'email#kept@example.com',
      ...record,
      expires_at: NOW / 1_000 + 24 * 60 * 60,
    });
  });

  it('replaces the one before, whose code is wrong then', async () => {
    const registrations = registrationsIn(database.tables.registrations);
    await registrations.put(registration('r1', 'twice@example.com', '111111'), NOW, signal());
    await registrations.put(registration('r2', 'twice@example.com', '222222'), NOW, signal());
    expect(await guess('twice@example.com', '111111')).toBe('wrong');
    expect(await guess('twice@example.com', '222222')).toBe('right');
  });

  it('that is taken back leaves the one before as it was, guesses and all', async () => {
    const registrations = registrationsIn(database.tables.registrations);
    await registrations.put(registration('r1', 'back@example.com', '111111'), NOW, signal());
    expect(await guess('back@example.com', '000000')).toBe('wrong');
    const before = await inTable(database.tables.registrations, 'back@example.com');
    const undo = await registrations.put(registration('r2', 'back@example.com', '222222'), NOW, signal());
    await undo(signal());
    expect(await inTable(database.tables.registrations, 'back@example.com')).toEqual(before);
    expect(await guess('back@example.com', '111111')).toBe('right');
  });

  it('that is taken back leaves nothing where nothing was', async () => {
    const registrations = registrationsIn(database.tables.registrations);
    const undo = await registrations.put(registration('r1', 'gone@example.com', '111111'), NOW, signal());
    await undo(signal());
    expect(await inTable(database.tables.registrations, 'gone@example.com')).toBeUndefined();
  });

  it('is not taken back once a later one stands in its place', async () => {
    const registrations = registrationsIn(database.tables.registrations);
    const undo = await registrations.put(registration('r1', 'later@example.com', '111111'), NOW, signal());
    await registrations.put(registration('r2', 'later@example.com', '222222'), NOW, signal());
    await expect(undo(signal())).rejects.toThrow('condition failed');
    expect(await guess('later@example.com', '222222')).toBe('right');
  });

  it('is not written again by a repeat that arrives late, behind the note of its delivery', async () => {
    const registrations = registrationsIn(database.tables.registrations);
    const record = registration('r1', 'late@example.com', '111111');
    await registrations.put(record, NOW, signal());
    const delivery = { kind: 'owner_notice', outcome: 'sent', email_taken: true } as const;
    await registrations.noteDelivery(record, delivery, signal());
    await registrations.put(record, NOW, signal());
    const item = await inTable(database.tables.registrations, 'late@example.com');
    expect(item).toMatchObject({ delivery });
    expect(item).not.toHaveProperty('code');
  });

  it('has its delivery noted only while it stands', async () => {
    const registrations = registrationsIn(database.tables.registrations);
    const first = registration('r1', 'noted@example.com', '111111');
    await registrations.put(first, NOW, signal());
    await registrations.put(registration('r2', 'noted@example.com', '222222'), NOW, signal());
    const delivery = { kind: 'owner_notice', outcome: 'sent', email_taken: true } as const;
    await expect(registrations.noteDelivery(first, delivery, signal())).rejects.toThrow('condition failed');
    expect(await guess('noted@example.com', '222222')).toBe('right');
  });
});
