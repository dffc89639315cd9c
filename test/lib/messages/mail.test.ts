import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Brand } from '../../../lib/config/deployment.ts';
import { codeMail } from '../../../lib/messages/email.ts';
import { contrastingInk, rgbChannels } from '../../../lib/messages/mail.ts';
import { accountMail, accountPopUp, type OpenedAccount } from '../../../lib/messages/notices.ts';
import { findTranslation, LANGUAGES } from '../../../lib/messages/translations/languages.ts';

const TRANSLATIONS = await Promise.all(LANGUAGES.map((language) => findTranslation(language)));
const ENGLISH = await findTranslation('en');
const BRAND: Brand = { name: 'Northwind Markets', supportEmail: 'support@northwind.example', color: '#112233' };
const CODE = '048213';
const ACCOUNT: OpenedAccount = {
  login: 50012345,
  version: 'tp5',
  group: 'real\\standard',
  leverage: 100,
  serverName: 'Northwind Live',
};

/** The visible text of a mail, without tags. */
const seen = (html: string) =>
  html
    .replace(/^[\s\S]*<\/head>/, '')
    .replace(/<div style="display:none[^>]*>.*?<\/div>/, '')
    .replace(/<!--.*?-->/g, '')
    .replace(/<[^>]+>/g, '');
const withoutIsolates = (text: string) => text.replace(/[\u2068\u2069]/g, '');

describe.each(TRANSLATIONS)('The mail with a code in $language', (translation) => {
  const mail = codeMail(CODE, translation, BRAND);

  it('has the code once as six digits, in the text on a separate line', () => {
    expect(mail.text.match(/\d{6}/g)).toEqual(['048213']);
    expect(mail.text.split('\n')).toContain('048213');
    expect(mail.html.match(/\d{6}/g)).toEqual(['048213']);
  });

  it('shows no code in its subject, title and preview', () => {
    expect(mail.subject).toContain(BRAND.name);
    expect(mail.subject).not.toMatch(/\d/);
    expect(mail.html.slice(0, mail.html.indexOf('<table'))).not.toContain('048213');
  });

  it('names in both parts the brand, how long the code is valid, and where to ask', () => {
    for (const part of [mail.text, seen(mail.html)]) {
      expect(part).toContain(BRAND.name);
      expect(part).toMatch(/10(?!\d)/);
      expect(part).toContain(BRAND.supportEmail);
    }
  });

  it('has the same content in both parts', () => {
    const said = (part: string) =>
      withoutIsolates(part).replaceAll('&#39;', "'").replace(/^--$/m, '').replace(/\s+/g, '');
    expect(said(seen(mail.html))).toBe(said(mail.text));
  });

  it('names its language and direction', () => {
    const { direction } = new Intl.Locale(translation.language).getTextInfo();
    expect(mail.html).toContain(`<html lang="${translation.language}" dir="${direction}">`);
  });
});

describe.each(TRANSLATIONS)('The mail about an account in $language', (translation) => {
  it('list everything that is known of an account, in both parts', () => {
    const mail = accountMail(ACCOUNT, translation, BRAND);
    expect(mail.subject).toContain('50012345');
    for (const part of [mail.text, seen(mail.html)])
      for (const fact of ['50012345', 'real\\standard', '1:100', 'Northwind Live', BRAND.name])
        expect(part).toContain(fact);
  });

  it('are different for a demo account, and for one without trading', () => {
    const texts = [
      accountMail(ACCOUNT, translation, BRAND),
      accountMail({ ...ACCOUNT, demo: true }, translation, BRAND),
      accountMail({ ...ACCOUNT, readonly: true }, translation, BRAND),
    ].map((mail) => mail.text);
    expect(new Set(texts).size).toBe(3);
  });

  it('have a popup with the same heading and the login', () => {
    const popUp = accountPopUp({ ...ACCOUNT, readonly: true }, translation);
    expect(popUp.text).toContain('50012345');
    expect(accountMail(ACCOUNT, translation, BRAND).text).toContain(popUp.title);
    expect(accountPopUp({ ...ACCOUNT, demo: true }, translation).title).not.toBe(popUp.title);
    expect(accountPopUp(ACCOUNT, translation).text.length).toBeLessThan(popUp.text.length);
  });
});

describe('Every mail', () => {
  const hostile: Brand = {
    name: `<script>alert("x")</script> & 'Co' {code}`,
    supportEmail: '"><img src=x>@example.com',
    color: '#ffffff',
  };
  const mails = (brand: Brand) =>
    TRANSLATIONS.flatMap((translation) => [
      codeMail(CODE, translation, brand),
      accountMail({ ...ACCOUNT, group: '<b>', serverName: '"><script>' }, translation, brand),
    ]);

  it('escapes every value', () => {
    for (const { html } of mails(hostile)) {
      expect(html).not.toMatch(/<script|<img|<b>/);
      expect(html).toContain('&lt;script&gt;alert(&quot;x&quot;)&lt;/script&gt; &amp; &#39;Co&#39; {code}');
    }
  });

  it('loads nothing from elsewhere without a logo, and runs nothing', () => {
    for (const { html } of mails(BRAND)) {
      expect(html).not.toMatch(/https?:|src=|url\(|@import|<script|<link|<img/i);
      expect([...html.matchAll(/href="([^"]*)"/g)].map((match) => match[1])).toEqual([`mailto:${BRAND.supportEmail}`]);
    }
  });

  it('fits dark mode and narrow screens', () => {
    for (const { html } of mails(BRAND)) {
      expect(html).toContain('prefers-color-scheme:dark');
      expect(html).toContain('<meta name="color-scheme" content="light dark">');
      expect(html).toContain('max-width:560px');
    }
  });

  it('is smaller than what mail programs cut off', () => {
    for (const { html } of mails(BRAND)) expect(Buffer.byteLength(html)).toBeLessThan(20_000);
  });

  it('leaves out the facts of an account that are not known', () => {
    const { text, html } = accountMail({ login: 7, version: 'tp4' }, ENGLISH, BRAND);
    expect(text).toContain('Login: 7\nPlatform version: 4\n\n');
    expect(text + html).not.toMatch(/undefined|Server|Group|Leverage/);
  });

  it('isolates the name from the right-to-left text around it, and nothing that is copied', async () => {
    const { text, html } = codeMail(CODE, await findTranslation('ar'), BRAND);
    expect(text).toContain('\u2068Northwind Markets\u2069');
    expect(text).toContain(` ${BRAND.supportEmail}\n`);
    expect(html).toContain('<bdi>Northwind Markets</bdi>');
    expect(html).toMatch(/<div class="box ink" dir="ltr"[^>]*>048213<\/div>/);
    expect(codeMail(CODE, ENGLISH, BRAND).text).not.toMatch(/[\u2066-\u2069]/);
  });
});

describe('The legal text of the brand', () => {
  const legal = { en: 'Acme Ltd, No. 4711\n1 <High> Street', de: 'Acme GmbH' };

  it('ends every mail, one for all languages', async () => {
    for (const translation of TRANSLATIONS) {
      const brand = { ...BRAND, legal: 'Acme Ltd\nRisk' };
      for (const mail of [codeMail(CODE, translation, brand), accountMail(ACCOUNT, translation, brand)]) {
        expect(mail.text.endsWith('\n\nAcme Ltd\nRisk\n')).toBe(true);
        expect(mail.html).toContain('Acme Ltd<br>Risk</div>');
      }
    }
  });

  it.each([
    ['de', 'Acme GmbH'],
    ['en', 'No. 4711'],
    ['fr', 'No. 4711'],
  ])('is in the language of the mail, or else in English: %s', async (language, expected) => {
    const mail = codeMail(CODE, await findTranslation(language), { ...BRAND, legal });
    for (const part of [mail.text, mail.html]) expect(part).toContain(expected);
  });

  it('is escaped, with its lines and its own direction', async () => {
    const { html } = codeMail(CODE, await findTranslation('ar'), { ...BRAND, legal });
    expect(html).toMatch(/dir="auto"[^>]*>Acme Ltd, No\. 4711<br>1 &lt;High&gt; Street</);
  });

  it('is absent if there is none', () => {
    expect(codeMail(CODE, ENGLISH, BRAND).html).not.toContain('dir="auto"');
  });
});

describe('The logo of the brand', () => {
  const logo = { url: 'https://cdn.acme.example/logo.png?a=1&b="2"', alt: 'Acme & Co' };

  it('is in the header in place of the name, with its text for programs that load no images', () => {
    const { html, text } = codeMail(CODE, ENGLISH, { ...BRAND, logo });
    expect(html).toContain('<img src="https://cdn.acme.example/logo.png?a=1&amp;b=&quot;2&quot;" alt="Acme &amp; Co"');
    expect(html.match(/<img/g)).toHaveLength(1);
    expect(text.startsWith(`${BRAND.name}\n`)).toBe(true);
  });
});

describe('The header of a mail', () => {
  it('is readable on every color: contrast 4.5 to 1 or more', () => {
    const luminance = (channels: number[]) => {
      const [red, green, blue] = channels.map((channel) => {
        const share = channel / 255;
        return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
      }) as [number, number, number];
      return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
    };
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 0xffffff }), (value) => {
        const color = `#${value.toString(16).padStart(6, '0')}`;
        const channels = [value >> 16, (value >> 8) & 255, value & 255];
        expect(rgbChannels(color)).toEqual(channels);
        const text = contrastingInk(color) === 'white' ? 1 : 0;
        const [dark, light] = [luminance(channels), text].sort((a, b) => a - b) as [number, number];
        expect((light + 0.05) / (dark + 0.05)).toBeGreaterThanOrEqual(4.5);
      }),
    );
  });

  it.each([
    ['#0b5fff', 'white'],
    ['#ffd400', 'black'],
    ['#ffffff', 'black'],
    ['#000000', 'white'],
  ])('on %s is written in %s', (color, ink) => {
    expect(contrastingInk(color)).toBe(ink);
  });
});
