import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { PHONE_CHANNELS } from '../../../lib/validators/otp-types.ts';
import { canReceiveMessages, parsePhone, readPhone } from '../../../lib/validators/phone.ts';

const e164Of = async (countryCode: string, number: string) => (await parsePhone(countryCode, number))?.e164;

describe('a phone', () => {
  it.each([
    ['44', '7400123456', '+447400123456'],
    ['+44', '7400 123456', '+447400123456'],
    ['44', '07400-123456', '+447400123456'],
    ['44', '(0)7400 123.456', '+447400123456'],
    ['39', '06 1234 5678', '+390612345678'],
    ['7', '8 912 345-67-89', '+79123456789'],
    ['36', '06 20 123 4567', '+36201234567'],
    ['54', '011 15 2345-6789', '+5491123456789'],
    ['1', '(202) 555-0123', '+12025550123'],
    ['+1-684', '633 1234', '+16846331234'],
    ['0044', '7400+123456', '+447400123456'],
    ['1 684', '633-1234', '+16846331234'],
    ['44', '00 44 (0)7400 123456', '+447400123456'],
    ['39', '391 234 5678', '+393912345678'],
  ])('of dial code %s and number %s is %s in E.164', async (countryCode, number, e164) => {
    expect(await e164Of(countryCode, number)).toBe(e164);
  });

  it.each([
    ['44', ''],
    ['', '7400123456'],
    ['GB', '7400123456'],
    ['044', '7400123456'],
    ['+', '7400123456'],
    ['999', '7400123456'],
    ['44', '740012345'],
    ['44', '74001234567'],
    ['44', '+49 151 23456789'],
    ['44', '7400123456 ext. 5'],
    ['44', '7400123456;ext=5'],
    ['1', '800 FLOWERS'],
    ['1', '555 555 0100'],
    ['44', '7400²123456'],
    ['81', '090カ1234カ5678'],
    ['44', '7400123456\u0000'],
    ['44', `${'0'.repeat(31)}7400123456`],
  ])('is refused with dial code %j and number %j', async (countryCode, number) => {
    expect(await e164Of(countryCode, number)).toBeUndefined();
  });

  it('is refused, or in E.164 under its dial code and stable, for any input', async () => {
    const code = fc.oneof(fc.string({ maxLength: 6 }), fc.integer({ min: 1, max: 999 }).map(String));
    const number = fc.oneof(fc.string({ unit: 'binary' }), fc.stringMatching(/^\+?[0-9 ().-]{4,16}$/));
    await fc.assert(
      fc.asyncProperty(code, number, async (countryCode, typed) => {
        const e164 = await e164Of(countryCode, typed);
        if (e164 === undefined) return;
        // Austria has numbers of four digits.
        expect(e164).toMatch(/^\+[1-9]\d{4,14}$/);
        expect(await e164Of(countryCode, e164)).toBe(e164);
      }),
      { numRuns: 100 },
    );
  });
});

describe('a number with several readings', () => {
  it.each([
    ['54', '11 2345 6789', 'sms', '+5491123456789'],
    ['54', '+54 11 2345 6789', 'whatsapp', '+5491123456789'],
    ['54', '11 2345 6789', 'call', '+541123456789'],
    ['54', '11 2345 6789', undefined, '+541123456789'],
    ['54', '600 123 4567', 'sms', '+546001234567'],
    ['49', '4915123456789', 'sms', '+4915123456789'],
    ['52', '1 900 123 4567', 'sms', '+529001234567'],
    ['1', '555 123 4567', 'sms', '+15551234567'],
  ] as const)('of dial code %s, %s by %s is %s', async (code, number, channel, e164) => {
    expect((await readPhone(code, number, channel))?.e164).toBe(e164);
  });

  it('of a costly kind is not read as another number that gets messages', async () => {
    const costly = ['PREMIUM_RATE', 'SHARED_COST', 'TOLL_FREE', 'PERSONAL_NUMBER', 'PAGER', 'VOIP', 'UAN'];
    const digits = fc.stringMatching(/^[1-9][0-9]{5,11}$/);
    await fc.assert(
      fc.asyncProperty(fc.constantFrom('44', '49', '52', '54', '33', '39'), digits, async (code, number) => {
        const typed = await readPhone(code, number);
        if (typed === undefined || !costly.includes(String(typed.type))) return;
        for (const channel of PHONE_CHANNELS) {
          expect((await readPhone(code, number, channel))?.e164).toBe(typed.e164);
        }
      }),
      { numRuns: 100 },
    );
  });
});

describe('a number', () => {
  it.each([
    ['44', '7400123456', 'GB'],
    ['44', '7797 712345', 'JE'],
    ['1', '242 359 1234', 'BS'],
    ['1', '212 555 1234', 'US'],
    ['7', '701 234 5678', 'KZ'],
    ['870', '773 123 456', undefined],
    ['881', '6 1234 5678', undefined],
    ['882', '161 234 567', undefined],
  ])('of dial code %s, %s, is of the country %s, even with a shared dial code', async (code, number, country) => {
    const parsed = await parsePhone(code, number);
    expect(parsed).toBeDefined();
    expect(parsed?.country).toBe(country);
  });

  it.each([
    ['a mobile one', '44', '7400123456', true, true],
    ['a number of a plan that does not distinguish mobile and fixed line', '1', '212 555 1234', true, true],
    ['a fixed-line one', '44', '20 7123 4567', false, true],
    ['a premium-rate one of the United Kingdom', '44', '909 879 0000', false, false],
    ['a premium-rate one of the United States', '1', '900 234 5678', false, false],
    ['an international premium-rate one', '979', '123456789', false, false],
    ['a free one', '44', '800 012 3456', false, false],
    ['a shared-cost one', '44', '845 123 4567', false, false],
    ['an internet one', '44', '56 1234 5678', false, false],
    ['one of Inmarsat', '870', '773123456', false, false],
    ['one of a satellite network', '881', '612345678', false, false],
    ['one of an international network', '882', '161234567', false, false],
  ])('gets messages if it is mobile, and calls also on a fixed line: %s', async (_, code, number, message, call) => {
    const parsed = await parsePhone(code, number);
    if (parsed === undefined) throw new Error('not a valid number');
    for (const channel of PHONE_CHANNELS)
      expect(canReceiveMessages(parsed, channel)).toBe(channel === 'call' ? call : message);
  });
});
