import * as v from 'valibot';
import { describe, expect, it } from 'vitest';
import { ConfirmationRequestSchema } from '../../../lib/validators/confirmation.ts';
import { listViolations } from '../../../lib/validators/primitives.ts';

const least = { otp_type: 'email', email: 'Ann@MÜNCHEN.de', code: '012345', password: 'correct horse' };
const phone = { country_code: '44', number: '07400 123456' };

async function rulesOf(body: unknown): Promise<string[]> {
  const result = await v.safeParseAsync(ConfirmationRequestSchema, body);
  return (result.issues ? listViolations(result.issues) : []).map(({ pointer, rule }) => `${pointer} ${rule}`);
}

describe('a confirmation', () => {
  it('names the channel and the address in its look-up form, the code and the password', async () => {
    const { code, password } = least;
    expect(await v.parseAsync(ConfirmationRequestSchema, least)).toEqual({
      channel: 'email',
      address: 'ann@xn--mnchen-3ya.de',
      code,
      password,
    });
    for (const otp_type of ['sms', 'call', 'whatsapp']) {
      expect(await v.parseAsync(ConfirmationRequestSchema, { otp_type, phone, code, password })).toEqual({
        channel: otp_type,
        address: '+447400123456',
        code,
        password,
      });
    }
  });

  it('needs every field', async () => {
    for (const field of ['otp_type', 'email', 'code', 'password']) {
      expect(await rulesOf({ ...least, [field]: undefined })).toEqual([`#/${field} required`]);
    }
  });

  it.each([
    ['email', 'ann', 'format'],
    ['code', '12345', 'format'],
    ['code', '1234567', 'format'],
    ['code', '１２３４５６', 'format'],
    ['code', 123456, 'type'],
    ['password', 'short', 'length'],
    ['otp_type', 'fax', 'one_of'],
    ['name', 'Ann', 'unknown_field'],
    ['phone', phone, 'unknown_field'],
  ])('with %s %j breaks rule %s', async (field, value, rule) => {
    expect(await rulesOf({ ...least, [field]: value })).toEqual([`#/${field} ${rule}`]);
  });

  it.each([
    ['without a channel', {}, ['#/otp_type required', '#/code required', '#/password required']],
    [
      'of an unknown channel',
      { otp_type: '', code: '1' },
      ['#/otp_type one_of', '#/code format', '#/password required'],
    ],
    [
      'of an invalid phone',
      { otp_type: 'sms', phone: { ...phone, number: '123' }, code: '1' },
      ['#/code format', '#/password required', '#/phone/number phone'],
    ],
  ])('%s has all its violations listed at once', async (_, body, rules) => {
    expect(await rulesOf(body)).toEqual(rules);
  });

  it('by phone has both members of it', async () => {
    const { code, password } = least;
    const body = { otp_type: 'call', phone: { country_code: '', number: '' }, code, password };
    expect(await rulesOf(body)).toEqual(['#/phone/country_code format', '#/phone/number length']);
  });

  it('by phone has a valid number', async () => {
    const { code, password } = least;
    const body = { otp_type: 'sms', phone: { ...phone, number: '123' }, code, password };
    expect(await rulesOf(body)).toEqual(['#/phone/number phone']);
  });
});
