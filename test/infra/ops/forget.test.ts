import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { DEMO_RECORDS } from '../../../infra/local/demo-records.ts';
import { register } from '../../support/local-service.ts';
import { Operators } from '../../support/operators.ts';
import { NEVER_ABORTED } from '../../support/outcomes.ts';

const operators = new Operators();
const EMAIL = 'new@example.com';
const PHONE = { country_code: '44', number: '7400123499' };
const E164 = '+447400123499';
const DOCUMENT = { id: '1', name: 'passport.pdf', doc: Buffer.from('%PDF-1.4\n').toString('base64') };
const [ANN] = DEMO_RECORDS.clients;

/** The items of the table that names a person, and the stored documents. */
async function kept() {
  return {
    registrations: await operators.items('registrations'),
    documents: [...operators.service.standIns.s3.objects.keys()],
  };
}

afterEach(async () => {
  for (const table of ['registrations', 'limits']) {
    for (const { pk } of await operators.items(table))
      await operators.tableOf(table).delete({ pk: String(pk) }, NEVER_ABORTED);
  }
  operators.service.standIns.s3.objects.clear();
});

describe('npm run ops -- forget', () => {
  beforeEach(async () => {
    const withDocument = { form_id: 'FORM0001', k3J9xQ: 'some', d0cUpl: [DOCUMENT], email: EMAIL };
    expect((await register(operators.service, withDocument)).status).toBe(204);
    expect((await register(operators.service, { email: EMAIL, otp_type: 'sms', phone: PHONE })).status).toBe(204);
    expect((await register(operators.service, { email: 'other@example.com', phone: PHONE })).status).toBe(204);
  });

  it('deletes the registrations whose codes went to the address, and no record in which somebody else typed it', async () => {
    const proven = { pk: `address#${EMAIL}`, address: EMAIL };
    await operators.tableOf('registrations').put(proven, NEVER_ABORTED);
    const { code, out } = await operators.local('forget', EMAIL.toUpperCase());
    expect(out).toContain('1 registration, 1 document deleted.\nNo client has proven this address.\nNot deleted: ');
    expect(code).toBe(0);
    const left = await kept();
    expect(left).toMatchObject({ documents: [] });
    expect(left.registrations.map(({ address }) => address).toSorted()).toEqual([E164, 'other@example.com']);
    expect((await operators.local('forget', E164)).out).toContain('1 registration, 0 documents deleted.\n');
    expect((await kept()).registrations).toMatchObject([{ address: 'other@example.com', phone: E164 }]);
  });

  it('shows with --dry-run what it would delete, and deletes nothing', async () => {
    const before = await kept();
    const { out } = await operators.local('forget', EMAIL, '--dry-run');
    expect(out).toContain('1 registration, 1 document would be deleted.\n');
    expect(await kept()).toEqual(before);
  });
});

it.each([[[]], [[EMAIL, '--client', 'CLIENT01']]])(
  'npm run ops -- forget needs an address or a client: %j',
  async (args) => {
    expect(await operators.local('forget', ...args)).toMatchObject({ code: 2 });
  },
);

describe('A client who is forgotten', () => {
  it.each([['ann@example.com'], ['+447400123456'], ['--client', 'CLIENT01']])(
    'is deleted with the registrations of every proven address: %s %s',
    async (...args) => {
      const sms = { email: 'x@example.com', otp_type: 'sms', phone: ANN?.phone };
      expect((await register(operators.service, sms)).status).toBe(204);
      const { out } = await operators.local('forget', ...args.filter((arg) => arg !== undefined));
      expect(out).toContain('1 registration, 0 documents deleted.\n');
      expect(out).toContain('1 record changed in the local service.\n');
      expect(await operators.keys()).not.toContain('client#CLIENT01');
    },
  );

  it('is kept if other clients have proven the address too, and all of them are named', async () => {
    await operators.local('import', {
      clients: [{ ...ANN, id: 'CLIENT88', phone: undefined, referral_code: undefined }],
    });
    const before = await operators.keys();
    const { code, reported } = await operators.local('forget', 'ann@example.com');
    expect([code, reported]).toEqual([1, expect.stringContaining('address: CLIENT01, CLIENT88. Nothing was deleted')]);
    expect(await operators.keys()).toEqual(before);
    const { out } = await operators.local('forget', '--client', 'CLIENT88');
    expect(out).toContain('The data about ann@example.com is kept: CLIENT01 has proven it too.\n');
    expect(await operators.keys()).toEqual(before.filter((key) => key !== 'client#CLIENT88'));
  });
});
