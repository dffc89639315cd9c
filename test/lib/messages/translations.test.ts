import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { findTranslation, LANGUAGES, pickLanguage } from '../../../lib/messages/translations/languages.ts';
import { fill, type Translation } from '../../../lib/messages/translations/translation.ts';

const ENGLISH = await findTranslation('en');

/** Every phrase of a translation, by its path. */
function phrasesOf(words: object, path = ''): [path: string, phrase: string][] {
  return Object.entries(words).flatMap(([key, value]: [string, unknown]) => {
    const at = `${path}/${key}`;
    if (typeof value === 'string') return [[at, value] as [string, string]];
    return value !== null && typeof value === 'object' ? phrasesOf(value, at) : [];
  });
}

const placeholders = (phrase: string) => [...phrase.matchAll(/\{(\w+)\}/g)].map((match) => match[1] ?? '').sort();

/** Those that every language has; the number of plural forms and wordings of a text may differ. */
function comparable(words: object): [path: string, phrase: string][] {
  return phrasesOf(words).filter(([path]) => /^\/(codeMail|account|footer|call)\//.test(path));
}

describe.each(LANGUAGES)('The phrases in %s', async (language) => {
  const words = await findTranslation(language);

  it('say which language they are in, and by what code of it Meta approves templates', () => {
    expect(words.language).toBe(language);
    expect(words.whatsapp ?? language).toMatch(new RegExp(`^${language.slice(0, 2)}(_[A-Z]{2})?$`));
  });

  it('have every phrase, with the values that the English one has', () => {
    const mine = new Map(comparable(words));
    const english = comparable(words.call === undefined ? { ...ENGLISH, call: {} } : ENGLISH);
    expect([...mine.keys()].sort()).toEqual(english.map(([path]) => path).sort());
    for (const [path, phrase] of english)
      expect([path, placeholders(mine.get(path) ?? '')]).toEqual([path, placeholders(phrase)]);
  });

  it('are clean: nothing is empty, doubled or left over, and no value is unknown', () => {
    for (const [path, phrase] of phrasesOf(words)) {
      expect([path, phrase.trim()]).toEqual([path, phrase]);
      expect(phrase).not.toMatch(/^$| {2}|[<>&"]|\{(?!(brand|email|code|minutes|login|n)\})/);
    }
  });

  it('name each wording of a text message with its brand and its code, the fullest first', () => {
    const { code } = words.sms;
    for (const wording of code) expect(placeholders(wording)).toEqual(expect.arrayContaining(['brand', 'code']));
    expect(code.length).toBeGreaterThan(1);
    expect(code.map((it) => it.length)).toEqual(code.map((it) => it.length).sort((a, b) => b - a));
  });
});

describe('The phrases of other languages', () => {
  it.each(LANGUAGES.filter((language) => language !== 'en'))(
    'are not forgotten English ones, in %s',
    async (language) => {
      const mailsOf = ({ codeMail }: Translation) => comparable({ codeMail });
      const english = new Map(mailsOf(ENGLISH));
      for (const [path, phrase] of mailsOf(await findTranslation(language))) expect(phrase).not.toBe(english.get(path));
    },
  );
});

describe('The language of a message', () => {
  it.each([
    ['pt-BR', 'pt'],
    ['zh-Hant-TW', 'zh-Hant'],
    ['zh-Hant', 'zh-Hant'],
    ['zh-TW', 'zh-Hant'],
    ['zh_HK', 'zh-Hant'],
    ['zh-MO', 'zh-Hant'],
    ['zh-Hant-CN', 'zh-Hant'],
    ['cmn-TW', 'zh-Hant'],
    ['zh-Hans-TW', 'zh'],
    ['zh-SG', 'zh'],
    ['zh', 'zh'],
    ['zh-cmn-Hant', 'zh-Hant'],
    ['sr-Latn', 'en'],
    ['de-1996', 'de'],
    ['DE-at', 'de'],
    ['ar-u-nu-arab', 'ar'],
    ['en_GB', 'en'],
    ['in', 'id'],
    ['cmn-Hans', 'zh'],
    ['zsm', 'ms'],
    ['yue-HK', 'zh-Hant'],
    ['yue-Hans-CN', 'zh'],
    ['i-default', 'en'],
    ['nb-NO', 'en'],
  ])('is looked up by the language and the script of the tag: %s is %s', (tag, language) => {
    expect(pickLanguage(tag)).toBe(language);
  });

  it.each([['cy'], ['und'], ['x-private'], [''], ['valueof'], ['not a tag'], [undefined]])(
    'is English for %s, in which no message is written',
    (tag) => {
      expect(pickLanguage(tag)).toBe('en');
    },
  );

  it('is found for every string, without an error', () => {
    fc.assert(fc.property(fc.string(), (tag) => LANGUAGES.includes(pickLanguage(tag))));
  });
});

describe('Filling a phrase', () => {
  it('never fills a value again that looks like a placeholder', () => {
    expect(fill('{brand}: {code}', { brand: '{code}', code: '123456' })).toBe('{code}: 123456');
  });

  it('takes every value unchanged', () => {
    fc.assert(fc.property(fc.string(), (brand) => fill('<{brand}>', { brand }) === `<${brand}>`));
  });
});
