import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { register } from '../../support/local-service.ts';
import { Operators } from '../../support/operators.ts';

const operators = new Operators();
const EMAIL = 'new@example.com';
const PHONE = { country_code: '44', number: '7400123499' };
const E164 = '+447400123499';
const DOCUMENT = { id: '1', name: 'passport.pdf', doc: Buffer.from('%PDF-1.4\n').toString('base64') };

/** The items of the two tables that name a person, and the stored documents. */
async function kept() {
  const [registrations, limits] = [await operators.items('registrations'), await operators.items('limits')];
  return {
    registrations: registrations.filter(({ registration_id }) => registration_id !== undefined),
    pointers: registrations.filter(({ registration_id }) => registration_id === undefined).map(({ pk }) => pk),
    recipients: limits.filter(({ pk }) => String(pk).startsWith('recipient#')).length,
    documents: [...operators.service.standIns.s3.objects.keys()],
  };
}

async function clear(): Promise<void> {
  for (const address of [EMAIL, E164, 'other@example.com', 'ann@example.com']) await operators.local('forget', address);
}
beforeEach(clear);
afterEach(clear);

describe('npm run crm -- forget', () => {
  beforeEach(async () => {
    const withDocument = { form_id: 'FORM0001', k3J9xQ: 'some', d0cUpl: [DOCUMENT], email: EMAIL };
    expect((await register(operators.service, withDocument)).status).toBe(204);
    expect((await register(operators.service, { email: EMAIL, otp_type: 'sms', phone: PHONE })).status).toBe(204);
    expect((await register(operators.service, { email: 'other@example.com' })).status).toBe(204);
  });

  it('deletes the registrations, documents and counters of only this email', async () => {
    expect(await kept()).toMatchObject({ pointers: expect.arrayContaining([`email#${EMAIL}`]), recipients: 3 });
    const { code, out } = await operators.local('forget', EMAIL.toUpperCase());
    expect(out).toContain('2 registrations, 1 document, 1 counter deleted.\n');
    expect(out).toContain(`The registrations also name ${E164}: forget it too.\n`);
    expect(out).toContain('No client has this address.\nNot deleted: accounts on trading servers');
    expect(code).toBe(0);
    const left = await kept();
    expect(left).toMatchObject({ recipients: 2, documents: [] });
    expect(left.registrations.map(({ email }) => email)).toEqual(['other@example.com']);
    expect(left.pointers).not.toContain(`email#${EMAIL}`);
  });

  it('deletes those of a phone number', async () => {
    expect((await operators.local('forget', E164)).out).toContain('1 registration, 0 documents, 1 counter deleted.\n');
    const left = await kept();
    expect(left.registrations.map(({ otp_type }) => otp_type)).toEqual(['email', 'email']);
    expect(JSON.stringify(left)).not.toContain(E164);
  });

  it('shows with --dry-run what it would delete, and deletes nothing', async () => {
    const before = await kept();
    const { out } = await operators.local('forget', EMAIL, '--dry-run');
    expect(out).toContain('2 registrations, 1 document, 1 counter would be deleted.\n');
    expect(await kept()).toEqual(before);
  });
});

describe('The client who has the address', () => {
  it('is kept, and named', async () => {
    const { out } = await operators.local('forget', 'ann@example.com');
    expect(out).toContain('The client CLIENT01 has this address and is kept; --client deletes the record too.\n');
    expect(await operators.keys()).toContain('client#CLIENT01');
  });

  it('is deleted with --client, and all that leads to it', async () => {
    const { out } = await operators.local('forget', '+447400123456', '--client');
    expect(out).toContain('1 record changed in the local service.\n');
    const keys = await operators.keys();
    for (const key of ['client#CLIENT01', 'email#ann@example.com', 'phone#+447400123456'])
      expect(keys).not.toContain(key);
  });
});
