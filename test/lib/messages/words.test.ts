import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { LANGUAGES } from '../../../lib/messages/language.ts';
import { SPOKEN_WORDS } from '../../../lib/messages/words/spoken.ts';
import { ACCOUNT_WORDS, FRAME_WORDS, fill, minutesIn, OTP_WORDS } from '../../../lib/messages/words.ts';

/** Every phrase of a set of words, by its path; the wordings of a text message and plural forms as one each. */
function phrasesOf(words: object, path = ''): [path: string, phrase: string][] {
  return Object.entries(words).flatMap(([key, value]: [string, unknown]) => {
    const at = `${path}/${key}`;
    if (typeof value === 'string') return [[at, value] as [string, string]];
    return value !== null && typeof value === 'object' ? phrasesOf(value, at) : [];
  });
}

const placeholders = (phrase: string) => [...phrase.matchAll(/\{(\w+)\}/g)].map((match) => match[1] ?? '').sort();
const isSeries = (path: string) => path.startsWith('/sms/') || path.startsWith('/minutes/');

describe.each(LANGUAGES)('the words in %s', (language) => {
  const sets = [
    [FRAME_WORDS[language], FRAME_WORDS.en],
    [OTP_WORDS[language], OTP_WORDS.en],
    [ACCOUNT_WORDS[language], ACCOUNT_WORDS.en],
  ] as const;

  it('have every phrase, with the values that the English one has', () => {
    for (const [words, english] of sets) {
      const mine = new Map(phrasesOf(words).filter(([path]) => !isSeries(path)));
      const theirs = new Map(phrasesOf(english).filter(([path]) => !isSeries(path)));
      expect([...mine.keys()].sort()).toEqual([...theirs.keys()].sort());
      for (const [path, phrase] of mine)
        expect([path, placeholders(phrase)]).toEqual([path, placeholders(theirs.get(path) ?? '')]);
    }
  });

  it('are clean: nothing is empty, doubled or left over, and no value is unknown', () => {
    for (const [words] of sets)
      for (const [path, phrase] of phrasesOf(words)) {
        expect([path, phrase.trim()]).toEqual([path, phrase]);
        expect(phrase).not.toMatch(/^$| {2}|[<>&"]|\{(?!(brand|email|code|minutes|login|n)\})/);
      }
  });

  it('are not English ones that were forgotten', () => {
    if (language === 'en') return;
    const english = new Map([...phrasesOf(OTP_WORDS.en.mail), ...phrasesOf(OTP_WORDS.en.ownerMail)]);
    for (const [path, phrase] of [...phrasesOf(OTP_WORDS[language].mail), ...phrasesOf(OTP_WORDS[language].ownerMail)])
      expect(phrase).not.toBe(english.get(path));
  });

  it('name each wording of a text message with its brand and its code, the fullest first', () => {
    const { code, ownerNotice } = OTP_WORDS[language].sms;
    for (const wording of code) expect(placeholders(wording)).toEqual(expect.arrayContaining(['brand', 'code']));
    for (const wordings of [code, ownerNotice]) {
      expect(wordings.length).toBeGreaterThan(1);
      expect(wordings.map((it) => it.length)).toEqual(wordings.map((it) => it.length).sort((a, b) => b - a));
    }
  });
});

describe('spoken words', () => {
  it('have in every language the values that the English ones have', () => {
    const english = new Map(phrasesOf(SPOKEN_WORDS.en));
    for (const words of Object.values(SPOKEN_WORDS))
      for (const [path, phrase] of phrasesOf(words))
        expect([path, placeholders(phrase)]).toEqual([path, placeholders(english.get(path) ?? '')]);
  });
});

describe('a span of minutes', () => {
  it.each([
    ['en', 1, '1 minute'],
    ['en', 10, '10 minutes'],
    ['pl', 1, '1 minutę'],
    ['pl', 3, '3 minuty'],
    ['pl', 10, '10 minut'],
    ['ru', 1, '1 минуту'],
    ['ru', 2, '2 минуты'],
    ['ru', 10, '10 минут'],
    ['ru', 21, '21 минуту'],
    ['ar', 1, 'دقيقة واحدة'],
    ['ar', 2, 'دقيقتين'],
    ['ar', 10, '10 دقائق'],
    ['ar', 15, '15 دقيقة'],
    ['ja', 10, '10分'],
  ] as const)('follows the plural rules of %s: %d is %s', (language, minutes, words) => {
    expect(minutesIn(language, minutes)).toBe(words);
  });
});

describe('filling a phrase', () => {
  it('never fills a value again that looks like a placeholder', () => {
    expect(fill('{brand}: {code}', { brand: '{code}', code: '123456' })).toBe('{code}: 123456');
  });

  it('takes every value as it is', () => {
    fc.assert(fc.property(fc.string(), (brand) => fill('<{brand}>', { brand }) === `<${brand}>`));
  });
});
