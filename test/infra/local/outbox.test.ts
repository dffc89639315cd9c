import { describe, expect, it } from 'vitest';
import { findCode } from '../../../infra/local/outbox.ts';
import { spokenText } from '../../../infra/local/stand-ins/voice.ts';
import { spokenMessage } from '../../../lib/messages/call.ts';
import { codeMail } from '../../../lib/messages/email.ts';
import { accountMail, accountPopUp } from '../../../lib/messages/notices.ts';
import { smsText } from '../../../lib/messages/sms.ts';
import { findTranslation, LANGUAGES } from '../../../lib/messages/translations/languages.ts';
import type { Translation } from '../../../lib/messages/translations/translation.ts';

const WORDS = await Promise.all(LANGUAGES.map((language) => findTranslation(language)));
const ENGLISH = await findTranslation('en');

const BRAND = { name: 'Example Broker', supportEmail: 'help@example.com', color: '#0b5cad' };
const CODE = '048271';

function mail(code: string, words: Translation, brand = BRAND) {
  return { kind: 'email' as const, text: codeMail(code, words, brand).text };
}

function sms(code: string, words: Translation) {
  return { kind: 'sms' as const, text: smsText(code, words, BRAND, 'broker.example.com') };
}

function call(code: string, words: Translation, brand = BRAND) {
  return { kind: 'call' as const, text: spokenText(spokenMessage(code, words, brand)) ?? '' };
}

describe('the one-time password of a message', () => {
  it.each(WORDS)('is found in mail, text and call, in $language', (words) => {
    expect(findCode(mail(CODE, words))).toBe('048271');
    expect(findCode(sms(CODE, words))).toBe('048271');
    expect(findCode(call(CODE, words))).toBe('048271');
  });

  it.each(WORDS)('is not found in a login, in $language', (words) => {
    const account = { login: 100001, version: 'tp4', group: 'standard', leverage: 100 } as const;
    expect(findCode({ kind: 'email', text: accountMail(account, words, BRAND).text })).toBeUndefined();
    expect(findCode({ kind: 'popup', text: accountPopUp(account, words).text })).toBeUndefined();
  });

  it('is told apart from six digits in a brand’s name, in a mail and in a call', () => {
    const brand = { ...BRAND, name: 'Broker 123456' };
    expect(findCode(mail(CODE, ENGLISH, brand))).toBe('048271');
    expect(findCode(call(CODE, ENGLISH, brand))).toBe('048271');
  });

  it('is found in a WhatsApp message', () => {
    expect(findCode({ kind: 'whatsapp', text: '048271 is your verification code.' })).toBe('048271');
  });
});
