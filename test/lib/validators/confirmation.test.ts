import * as v from 'valibot';
import { describe, expect, it } from 'vitest';
import { ConfirmationRequestSchema } from '../../../lib/validators/confirmation.ts';
import { PHONE_CHANNELS } from '../../../lib/validators/otp-types.ts';
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
    for (const otp_type of PHONE_CHANNELS) {
      expect(await v.parseAsync(ConfirmationRequestSchema, { otp_type, phone, code, password })).toEqual({
        channel: otp_type,
        address: '+447400123456',
        code,
        password,
      });
    }
  });

  it.each([
    ' 012345\r\n',
    '012 345',
    '012-345',
    '0 1 2 3 4 5',
    '０１２３４５',
    '٠١٢٣٤٥',
    '०१२‒३४५',
    '\u200e012\u00ad345',
    '012ー345',
    '012_345.',
    '#012345',
    '(012) 345',
    '0️⃣1️⃣2️⃣345',
    '«012·345»',
  ])('accepts the code as people type it: %j', async (code) => {
    expect(await v.parseAsync(ConfirmationRequestSchema, { ...least, code })).toMatchObject({ code: '012345' });
  });

  it('has the password that was registered, in any form of Unicode', async () => {
    const password = 'éàdçxûöz';
    const body = { ...least, password: password.normalize('NFD') };
    expect(await v.parseAsync(ConfirmationRequestSchema, body)).toMatchObject({ password });
  });

  it('finds the registered address, however the person types it', async () => {
    const body = { ...least, email: ' Ann@ＭÜNCHEN.de\n' };
    expect(await v.parseAsync(ConfirmationRequestSchema, body)).toMatchObject({ address: 'ann@xn--mnchen-3ya.de' });
  });

  it.each([[undefined], [null], ['']])('needs every field: no field may be %j', async (empty) => {
    for (const field of ['otp_type', 'email', 'code', 'password']) {
      expect(await rulesOf({ ...least, [field]: empty })).toEqual([`#/${field} required`]);
    }
  });

  it.each([
    [null],
    [''],
    [{}],
    [{ country_code: '', number: null }],
    [{ country_code: ' ', number: '\t' }],
    [{ country_code: '44', number: '' }],
    [{ country_code: '44' }],
  ])('may leave the address of the other channel empty: %j', async (empty) => {
    expect(await rulesOf({ ...least, phone: empty })).toEqual([]);
  });

  it.each([
    ['email', 'ann', 'format'],
    ['code', '12345', 'format'],
    ['code', '12345a', 'format'],
    ['code', '1234567', 'format'],
    ['code', '12345½', 'format'],
    ['code', '123カ456', 'format'],
    ['code', '123456\u0000', 'format'],
    ['code', ' '.repeat(100), 'required'],
    ['code', ' '.repeat(2_000), 'format'],
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
      { otp_type: 'pigeon', code: '1' },
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

  it('by phone needs both members of the phone', async () => {
    const { code, password } = least;
    const body = { otp_type: 'call', phone: { country_code: '', number: '' }, code, password };
    expect(await rulesOf(body)).toEqual(['#/phone required']);
    const half = { ...body, phone: { country_code: '44', number: ' ' } };
    expect(await rulesOf(half)).toEqual(['#/phone/number required']);
  });

  it('by phone has a valid number', async () => {
    const { code, password } = least;
    const body = { otp_type: 'sms', phone: { ...phone, number: '123' }, code, password };
    expect(await rulesOf(body)).toEqual(['#/phone/number phone']);
  });
});
