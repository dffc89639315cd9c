import { describe, expect, it } from 'vitest';
import { oneTimeCode } from '../../../infra/local/one-time-code.ts';
import { spokenText } from '../../../infra/local/stand-ins/ssml.ts';
import { accountMail, accountPopUp } from '../../../lib/messages/account.ts';
import { LANGUAGES } from '../../../lib/messages/language.ts';
import type { Message } from '../../../lib/messages/message.ts';
import { otpMail } from '../../../lib/messages/otp-mail.ts';
import { smsText } from '../../../lib/messages/sms-text.ts';
import { voiceSsml } from '../../../lib/messages/speech.ts';

const BRAND = { name: 'Example Broker', supportEmail: 'help@example.com', color: '#0b5cad' };
const CODE: Message = { kind: 'code', code: '048271', validMinutes: 10 };
const NOTICE: Message = { kind: 'owner_notice' };

function mail(message: Message, language: string, brand = BRAND) {
  return { kind: 'email' as const, text: otpMail(message, language, brand).text };
}

function sms(message: Message, language: string) {
  return { kind: 'sms' as const, text: smsText(message, language, BRAND, 'broker.example.com') };
}

function call(message: Message, language: string, brand = BRAND) {
  return { kind: 'call' as const, text: spokenText(voiceSsml(message, language, brand).ssml) ?? '' };
}

describe('the one-time password of a message', () => {
  it.each(LANGUAGES)('is found in mail, text and call, in %s', (language) => {
    expect(oneTimeCode(mail(CODE, language))).toBe('048271');
    expect(oneTimeCode(sms(CODE, language))).toBe('048271');
    expect(oneTimeCode(call(CODE, language))).toBe('048271');
  });

  it.each(LANGUAGES)('is not taken for one in notices and logins, in %s', (language) => {
    for (const message of [mail(NOTICE, language), sms(NOTICE, language), call(NOTICE, language)]) {
      expect(oneTimeCode(message)).toBeUndefined();
    }
    const account = { login: 100001, version: 'tp4', group: 'standard', leverage: 100 } as const;
    expect(oneTimeCode({ kind: 'email', text: accountMail(account, language, BRAND).text })).toBeUndefined();
    expect(oneTimeCode({ kind: 'popup', text: accountPopUp(account, language).text })).toBeUndefined();
  });

  it('is told from six digits in the name of a brand, in a mail and in a call', () => {
    const brand = { ...BRAND, name: 'Broker 123456' };
    expect(oneTimeCode(mail(CODE, 'en', brand))).toBe('048271');
    expect(oneTimeCode(call(CODE, 'en', brand))).toBe('048271');
  });

  it('is found in a WhatsApp message', () => {
    expect(oneTimeCode({ kind: 'whatsapp', text: '048271 is your verification code.' })).toBe('048271');
  });
});
