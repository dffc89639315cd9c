import { describe, expect, it } from 'vitest';
import type { ServedCountries } from '../../../lib/validators/registration.ts';
import { faultsOf, least, parse, phone, rulesOf } from '../../support/registration-request.ts';

describe('the phone of a registration request', () => {
  const none = ['#/phone/country_code required', '#/phone/number required'];

  it.each(['sms', 'call', 'whatsapp'])('is needed whole for %s', async (otp_type) => {
    expect(await faultsOf({ ...least, otp_type, phone: { country_code: '44' } })).toEqual([
      { pointer: '#/phone/number', rule: 'required', detail: `is required when otp_type is ${otp_type}` },
    ]);
  });

  it('is reported as missing also if other fields are wrong', async () => {
    expect(await rulesOf({ ...least, email: 'x', otp_type: 'sms' })).toEqual(['#/email format', ...none]);
  });

  it('is optional for email, whole or in part', async () => {
    for (const part of [undefined, {}, { country_code: '44' }, { number: '7' }, { country_code: '', number: '' }]) {
      const body = part === undefined ? least : { ...least, phone: part };
      expect((await parse(body)).phoneE164).toBeUndefined();
    }
    expect((await parse({ ...least, phone })).phoneE164).toBe('+447400123456');
  });

  it.each(['email', 'sms'])('is checked for %s when it is whole', async (otp_type) => {
    const invalid = { country_code: '44', number: '123' };
    expect(await rulesOf({ ...least, otp_type, phone: invalid })).toEqual(['#/phone/number phone']);
    expect(await rulesOf({ ...least, otp_type, phone: invalid, name: '' })).toEqual([
      '#/name required',
      '#/phone/number phone',
    ]);
  });
});

describe('the number that a message goes to', () => {
  const premium = { country_code: '44', number: '909 879 0000' };
  const landline = { country_code: '44', number: '20 7123 4567' };
  const rulesWhere = (served: ServedCountries, body: object) => rulesOf({ ...least, ...body }, served);

  it('is not checked if the message goes by email', async () => {
    for (const other of [premium, landline]) expect(await rulesWhere(['DE'], { phone: other })).toEqual([]);
  });
});
