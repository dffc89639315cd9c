// SPDX-License-Identifier: 0BSD

/** @import { Channel, ChannelName } from './types.ts' */

/** How each channel of one-time passwords is called in each language of `words/`. @type {Record<Channel, ChannelName>} */
const NAMES = {
  email: {
    usual: 'Email',
    es: 'Correo electrónico',
    pt: 'E-mail',
    fr: 'E-mail',
    de: 'E-Mail',
    it: 'E-mail',
    pl: 'E-mail',
    ru: 'Электронная почта',
    tr: 'E-posta',
    ar: 'البريد الإلكتروني',
    hi: 'ईमेल',
    zh: '电子邮件',
    'zh-hant': '電子郵件',
    ja: 'メール',
    ko: '이메일',
    th: 'อีเมล',
    ms: 'E-mel',
  },
  sms: { usual: 'SMS', ar: 'رسالة نصية', zh: '短信', 'zh-hant': '簡訊', ko: '문자 메시지' },
  call: {
    en: 'Phone call',
    es: 'Llamada',
    pt: 'Ligação',
    fr: 'Appel',
    de: 'Anruf',
    it: 'Chiamata',
    pl: 'Połączenie telefoniczne',
    ru: 'Звонок',
    tr: 'Telefon araması',
    ar: 'مكالمة هاتفية',
    hi: 'फ़ोन कॉल',
    zh: '电话',
    'zh-hant': '電話',
    ja: '電話',
    ko: '전화',
    vi: 'Cuộc gọi',
    th: 'โทรเข้า',
    id: 'Panggilan telepon',
    ms: 'Panggilan telefon',
  },
  whatsapp: { usual: 'WhatsApp', ar: 'واتساب' },
};

/** The channels' names in a language; English where it has none. @param {string} language the name of its file */
export function channelNames(language) {
  const named = Object.entries(NAMES).map(([channel, name]) => {
    /** @type {Record<string, string | undefined>} */
    const { usual, en, [language]: localName = usual ?? en } = name;
    return [channel, localName];
  });
  return /** @type {Record<Channel, string>} */ (Object.fromEntries(named));
}
