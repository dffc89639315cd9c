import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Brand } from '../../../lib/messages/brand.ts';
import { gsm7Length, smsParts } from '../../../lib/messages/gsm7.ts';
import { LANGUAGES } from '../../../lib/messages/language.ts';
import type { Message } from '../../../lib/messages/message.ts';
import { SMS_BRAND_LENGTH, smsText } from '../../../lib/messages/sms-text.ts';

const CODE: Message = { kind: 'code', code: '048213', validMinutes: 10 };
const NOTICE: Message = { kind: 'owner_notice' };
const brandOf = (name: string): Brand => ({ name, supportEmail: 'help@example.com', color: '#0b5fff' });

const anyLanguage = fc.constantFrom(...LANGUAGES);
const anyMessage = fc.oneof(
  fc.record({
    kind: fc.constant('code' as const),
    code: fc.stringMatching(/^\d{6}$/),
    validMinutes: fc.integer({ min: 1, max: 60 }),
  }),
  fc.constant(NOTICE),
);
const latinName = fc.stringMatching(/^[A-Za-z0-9&.€ ]{1,60}$/).filter((name) => name.trim() !== '');
const anyName = fc.oneof(
  latinName,
  fc.stringMatching(/^[А-Яа-я ]{1,60}$/u),
  fc.string({ unit: 'grapheme', minLength: 1, maxLength: 60 }),
  fc.constant('👨‍👩‍👧‍👦'.repeat(12)),
);
const anyDomain = fc.option(fc.oneof(fc.domain(), fc.stringMatching(/^[a-z]{1,200}\.example$/)), { nil: undefined });

describe('a text message', () => {
  it('has one part in every language, for every message, name and domain, and always the code', () => {
    fc.assert(
      fc.property(anyMessage, anyLanguage, anyName, anyDomain, (message, language, name, domain) => {
        const text = smsText(message, language, brandOf(name), domain);
        expect(smsParts(text)).toBe(1);
        if (message.kind === 'code') expect(text.split('\n')[0]).toContain(message.code);
      }),
      { numRuns: 2000 },
    );
  });

  it('says the whole name when it is not longer than the longest allowed one, and no domain asks for room', () => {
    fc.assert(
      fc.property(
        anyMessage,
        anyLanguage,
        fc.oneof(latinName, fc.constant('Ж'.repeat(SMS_BRAND_LENGTH)), fc.constant('€'.repeat(SMS_BRAND_LENGTH))),
        (message, language, name) => {
          const short = name.slice(0, SMS_BRAND_LENGTH).replace(/\s+/g, ' ').trim();
          fc.pre(short !== '');
          expect(smsText(message, language, brandOf(short))).toContain(short);
        },
      ),
      { numRuns: 1000 },
    );
  });

  it.each(LANGUAGES)('says in %s how long the code is valid, also with the longest allowed name', (language) => {
    expect(smsText(CODE, language, brandOf('M'.repeat(SMS_BRAND_LENGTH)))).toMatch(/\b10(?!\d)/);
  });

  it.each(LANGUAGES)('has the code in %s once as six digits, and nothing else that looks like it', (language) => {
    expect(smsText(CODE, language, brandOf('Example Broker')).match(/\d{6}/g)).toEqual(['048213']);
  });

  it('cuts a longer name between words, or else between characters', () => {
    const long = smsText(CODE, 'en', brandOf('International Brokerage House of Somewhere'));
    expect(long).toContain('your International Brokerage verification');
    expect(smsText(CODE, 'en', brandOf('x'.repeat(40)))).toContain(` ${'x'.repeat(SMS_BRAND_LENGTH)} `);
    expect(smsText(CODE, 'ja', brandOf('👨‍👩‍👧‍👦'.repeat(9)))).toContain(`【${'👨‍👩‍👧‍👦'.repeat(2)}】`);
  });

  it('keeps a name on one line, so that it cannot end in a line for browsers', () => {
    const text = smsText(CODE, 'en', brandOf('Acme\n@evil.example #000000'));
    expect(text).not.toContain('\n');
  });
});

describe('the line for browsers (WebOTP)', () => {
  it.each(LANGUAGES)('is the last one in %s, bound to the domain', (language) => {
    const text = smsText(CODE, language, brandOf('Example Broker'), 'register.example.com');
    expect(text.endsWith('\n@register.example.com #048213')).toBe(true);
    expect(text.split('\n')).toHaveLength(2);
    expect(text.split('\n')[0]).toContain('Example Broker');
  });

  it('makes the words shorter before it is left out', () => {
    const domain = `${'long-'.repeat(6)}name.example.com`;
    const text = smsText(CODE, 'ru', brandOf('Example Broker'), domain);
    expect(text).toBe(`Код: 048213\n@${domain} #048213`);
  });

  it('is left out when it does not fit beside the shortest words', () => {
    const text = smsText(CODE, 'ru', brandOf('Example Broker'), `${'a'.repeat(60)}.example.com`);
    expect(text).toBe('Код Example Broker: 048213 (10 минут). Никому не сообщайте.');
  });

  it('does not stand in a notice to an owner', () => {
    for (const language of LANGUAGES)
      expect(smsText(NOTICE, language, brandOf('Acme'), 'a.example')).not.toContain('@');
  });
});

describe('the length of a text message', () => {
  it('counts GSM 03.38: one for a basic character, two for one of the extension', () => {
    expect(gsm7Length('Hello à é ñ ü Δ @ £ ¥')).toBe(21);
    expect(gsm7Length('€[]{}|~^\\\f')).toBe(20);
    expect(gsm7Length('')).toBe(0);
  });

  it.each([['ç'], ['á'], ['ê'], ['ı'], ['`'], ['’'], ['\t'], ['\u00a0'], ['ł'], ['Ж']])(
    'finds that %j is not in GSM 03.38',
    (character) => {
      expect(gsm7Length(character)).toBeUndefined();
    },
  );

  it('has the 127 characters of the basic table beside the escape, and the 10 of the extension', () => {
    const lengths = Array.from({ length: 0x10000 }, (_, unit) => gsm7Length(String.fromCharCode(unit)));
    expect(lengths.filter((length) => length === 1)).toHaveLength(127);
    expect(lengths.filter((length) => length === 2)).toHaveLength(10);
  });

  it.each([
    ['a'.repeat(160), 1],
    ['a'.repeat(161), 2],
    ['€'.repeat(80), 1],
    ['€'.repeat(81), 2],
    ['Ж'.repeat(70), 1],
    ['Ж'.repeat(71), 2],
    ['😀'.repeat(35), 1],
    ['😀'.repeat(36), 2],
    ['a'.repeat(307), 3],
  ])('tells in how many parts it is sent (case %#)', (text, parts) => {
    expect(smsParts(text)).toBe(parts);
  });
});
