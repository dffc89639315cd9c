import { describe, expect, it } from 'vitest';
import { findCode } from '../../../infra/local/outbox.ts';
import { spokenText } from '../../../infra/local/stand-ins/voice.ts';
import { spokenMessage } from '../../../lib/messages/call.ts';
import { otpMail } from '../../../lib/messages/email.ts';
import type { Message } from '../../../lib/messages/message.ts';
import { accountMail, accountPopUp } from '../../../lib/messages/notices.ts';
import { smsText } from '../../../lib/messages/sms.ts';
import { findTranslation, LANGUAGES } from '../../../lib/messages/translations/languages.ts';
import type { Translation } from '../../../lib/messages/translations/translation.ts';

const WORDS = await Promise.all(LANGUAGES.map((language) => findTranslation(language)));
const ENGLISH = await findTranslation('en');

const BRAND = { name: 'Example Broker', supportEmail: 'help@example.com', color: '#0b5cad' };
const CODE: Message = { kind: 'code', code: '048271' };
const NOTICE: Message = { kind: 'owner_notice' };

function mail(message: Message, words: Translation, brand = BRAND) {
  return { kind: 'email' as const, text: otpMail(message, words, brand).text };
}

function sms(message: Message, words: Translation) {
  return { kind: 'sms' as const, text: smsText(message, words, BRAND, 'broker.example.com') };
}

function call(message: Message, words: Translation, brand = BRAND) {
  return { kind: 'call' as const, text: spokenText(spokenMessage(message, words, brand)) ?? '' };
}

describe('the one-time password of a message', () => {
  it.each(WORDS)('is found in mail, text and call, in $language', (words) => {
    expect(findCode(mail(CODE, words))).toBe('048271');
    expect(findCode(sms(CODE, words))).toBe('048271');
    expect(findCode(call(CODE, words))).toBe('048271');
  });

  it.each(WORDS)('is not found in a notice or a login, in $language', (words) => {
    for (const message of [mail(NOTICE, words), sms(NOTICE, words), call(NOTICE, words)]) {
      expect(findCode(message)).toBeUndefined();
    }
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
