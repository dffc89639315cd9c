import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { startSns } from '../../../infra/local/stand-ins/sns.ts';
import { snsPublisher } from '../../../lib/aws/sns.ts';
import type { SmsSettings } from '../../../lib/config/channel-settings.ts';
import type { Brand } from '../../../lib/config/deployment.ts';
import { fitsOnePart, gsm7Length, SMS_BRAND_LENGTH, smsChannel, smsText } from '../../../lib/messages/sms.ts';
import { findTranslation, LANGUAGES } from '../../../lib/messages/translations/languages.ts';
import { DEPLOYED } from '../../support/function-environment.ts';
import { NEVER_ABORTED } from '../../support/outcomes.ts';
import { BRAND, startedStandIn } from '../../support/senders.ts';
import { clientSettings } from '../../support/servers.ts';

const WORDS = await Promise.all(LANGUAGES.map((language) => findTranslation(language)));
const ENGLISH = await findTranslation('en');
const CODE = '012345';
const TO = '+447400123456';

async function sms(given: Partial<SmsSettings> = {}) {
  const settings = { ...DEPLOYED.sms, ...given };
  const service = await startedStandIn(startSns, {});
  return { ...service, channel: smsChannel(settings, BRAND, snsPublisher(clientSettings(service.standIn.url))) };
}

describe('The channel sms', () => {
  it('lets browsers fill in the code if the deployment has a site', async () => {
    const { channel, outbox } = await sms({ webOtpDomain: 'example.com' });
    await channel.send(TO, CODE, 'en', NEVER_ABORTED);
    expect(outbox[0]?.text).toMatch(/\n@example\.com #012345$/);
  });
});

const brandOf = (name: string): Brand => ({ name, supportEmail: 'help@example.com', color: '#0b5fff' });

const anyWords = fc.constantFrom(...WORDS);
const anyCode = fc.stringMatching(/^\d{6}$/);
const latinName = fc.stringMatching(/^[A-Za-z0-9&.€ ]{1,60}$/).filter((name) => name.trim() !== '');
const anyName = fc.oneof(
  latinName,
  fc.stringMatching(/^[А-Яа-я ]{1,60}$/u),
  fc.string({ unit: 'grapheme', minLength: 1, maxLength: 60 }),
  fc.constant('👨‍👩‍👧‍👦'.repeat(12)),
);
const anyDomain = fc.option(fc.oneof(fc.domain(), fc.stringMatching(/^[a-z]{1,200}\.example$/)), { nil: undefined });

describe('A text message', () => {
  it('has one part in every language, for every code, name and domain, and always the code', () => {
    fc.assert(
      fc.property(anyCode, anyWords, anyName, anyDomain, (code, words, name, domain) => {
        const text = smsText(code, words, brandOf(name), domain);
        expect(fitsOnePart(text)).toBe(true);
        expect(text.split('\n')[0]).toContain(code);
      }),
      { numRuns: 100 },
    );
  });

  it('says the whole name when it is not longer than the longest allowed one, and no domain needs the space', () => {
    fc.assert(
      fc.property(
        anyCode,
        anyWords,
        fc.oneof(latinName, fc.constant('Ж'.repeat(SMS_BRAND_LENGTH)), fc.constant('€'.repeat(SMS_BRAND_LENGTH))),
        (code, words, name) => {
          const short = name.slice(0, SMS_BRAND_LENGTH).replace(/\s+/g, ' ').trim();
          fc.pre(short !== '');
          expect(smsText(code, words, brandOf(short))).toContain(short);
        },
      ),
      { numRuns: 100 },
    );
  });

  it.each(WORDS)('says in $language how long the code is valid, also with the longest allowed name', (words) => {
    expect(smsText(CODE, words, brandOf('M'.repeat(SMS_BRAND_LENGTH)))).toMatch(/\b10(?!\d)/);
  });

  it.each(WORDS)('has the code in $language once as six digits, and nothing else that looks like it', (words) => {
    expect(smsText(CODE, words, brandOf('Example Broker')).match(/\d{6}/g)).toEqual(['012345']);
  });

  it('cuts a longer name between words, or else between characters', async () => {
    const long = smsText(CODE, ENGLISH, brandOf('International Brokerage House of Somewhere'));
    expect(long).toContain('your International Brokerage verification');
    expect(smsText(CODE, ENGLISH, brandOf('x'.repeat(40)))).toContain(` ${'x'.repeat(SMS_BRAND_LENGTH)} `);
    expect(smsText(CODE, await findTranslation('ja'), brandOf('👨‍👩‍👧‍👦'.repeat(9)))).toContain(
      `【${'👨‍👩‍👧‍👦'.repeat(2)}】`,
    );
  });

  it('keeps a name on one line, so that it cannot end in a line for browsers', () => {
    const text = smsText(CODE, ENGLISH, brandOf('Acme\n@evil.example #000000'));
    expect(text).not.toContain('\n');
  });
});

describe('The line for browsers (WebOTP)', () => {
  it.each(WORDS)('is the last one in $language, bound to the domain', (words) => {
    const text = smsText(CODE, words, brandOf('Example Broker'), 'register.example.com');
    expect(text.endsWith('\n@register.example.com #012345')).toBe(true);
    expect(text.split('\n')).toHaveLength(2);
    expect(text.split('\n')[0]).toContain('Example Broker');
  });

  it('shortens the text before it is left out', async () => {
    const domain = `${'long-'.repeat(6)}name.example.com`;
    const text = smsText(CODE, await findTranslation('ru'), brandOf('Example Broker'), domain);
    expect(text).toBe(`Код: 012345\n@${domain} #012345`);
  });

  it('is left out if it does not fit the shortest text', async () => {
    const text = smsText(CODE, await findTranslation('ru'), brandOf('Example Broker'), `${'a'.repeat(60)}.example.com`);
    expect(text).toBe('Код Example Broker: 012345 (10 минут). Никому не сообщайте.');
  });
});

describe('The length of a text message', () => {
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

  it('has the 127 characters of the basic table without the escape, and the 10 of the extension', () => {
    const lengths = Array.from({ length: 0x10000 }, (_, unit) => gsm7Length(String.fromCharCode(unit)));
    expect(lengths.filter((length) => length === 1)).toHaveLength(127);
    expect(lengths.filter((length) => length === 2)).toHaveLength(10);
  });

  it.each([
    ['a'.repeat(160), true],
    ['a'.repeat(161), false],
    ['€'.repeat(80), true],
    ['€'.repeat(81), false],
    ['Ж'.repeat(70), true],
    ['Ж'.repeat(71), false],
    ['😀'.repeat(35), true],
    ['😀'.repeat(36), false],
  ])('is one part, or not (case %#)', (text, fits) => {
    expect(fitsOnePart(text)).toBe(fits);
  });
});
