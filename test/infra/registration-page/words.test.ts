import { describe, expect, it } from 'vitest';
import {
  countryNames,
  duration,
  fill,
  languageFiles,
  loadWords,
  localizedText,
  phoneFormat,
} from '../../../infra/registration-page/page/words.js';
import { findTranslation, LANGUAGES, pickLanguage } from '../../../lib/messages/translations/languages.ts';

/** Every phrase with its path. */
function phrases(value: object, path = ''): [string, string][] {
  return Object.entries(value).flatMap(([name, inner]): [string, string][] =>
    typeof inner === 'string' ? [[`${path}${name}`, inner]] : phrases(inner as object, `${path}${name}.`),
  );
}
const { words: english } = await loadWords(['en']);

describe.each(LANGUAGES)('the words of the registration page in %s', (tag) => {
  it('have every phrase, with its places, in the direction of the messages', async () => {
    const { language, words } = await loadWords([tag]);
    expect(language).toBe(tag.toLowerCase());
    expect(words.direction).toBe((await findTranslation(tag)).direction);
    const places = (phrase: string) => [...phrase.matchAll(/\{\w+\}/g)].map(([place]) => place).sort();
    const english_ = new Map(phrases(english));
    for (const [path, phrase] of phrases(words)) {
      if (path === 'direction') continue;
      expect([path, places(phrase)]).toEqual([path, places(english_.get(path) ?? '')]);
      expect(phrase.trim()).not.toBe('');
    }
    if (tag !== 'en') {
      // No sentence is left in English.
      const same = phrases(words).filter(
        ([path, phrase]) => /^(sentences|fields)/.test(path) && english_.get(path) === phrase,
      );
      expect(same).toEqual([]);
    }
  });
});

describe('the language of the page', () => {
  it.each(['zh-TW', 'zh-HK', 'zh-Hans-SG', 'pt-BR', 'de_AT', 'en-US', 'ar-EG', 'in', 'yue-HK'])(
    'for %s is that of a message',
    async (tag) => {
      expect((await loadWords([tag])).language).toBe(pickLanguage(tag).toLowerCase());
    },
  );

  it('is the first that has words, else English', async () => {
    expect((await loadWords(['tlh', 'not a tag', 'it-CH', 'de'])).language).toBe('it');
    expect((await loadWords([])).language).toBe('en');
    expect(languageFiles('../../etc')).toEqual([]);
  });

  it('decides the label of a field', () => {
    const titles = { en: 'Experience', de: 'Erfahrung', zh: '经验', 'zh-Hant': '經驗' };
    const shown = ['de', 'zh', 'zh-hant', 'fr'].map((language) => localizedText(titles, language));
    expect(shown).toEqual(['Erfahrung', '经验', '經驗', 'Experience']);
    expect(localizedText({ es: 'Experiencia' }, 'fr')).toBe('Experiencia');
  });

  it('decides the names of countries, of which those of the deployment come first', () => {
    expect(countryNames(['AT', 'DE', 'EG'], ['EG'], 'de')).toEqual([
      ['EG', 'Ägypten'],
      ['DE', 'Deutschland'],
      ['AT', 'Österreich'],
    ]);
  });

  it('decides how a time is written', () => {
    expect([duration(1, 'en'), duration(45, 'de'), duration(600, 'ru')]).toEqual([
      '1 second',
      '45 Sekunden',
      '10 минут',
    ]);
    expect(fill('{a} {b}', { a: '{b}', b: 'x' })).toBe('{b} x');
  });
});

describe('a phone number', () => {
  it.each([
    ['+44 7400 123456', '7400123456', '7400 123456'],
    ['+44 7400 123456', '07400123456', '07400 123456'],
    ['+44 7400 123456', '740', '740'],
    ['+1 201 555 0123', '2015550123456', '201 555 0123456'],
    ['+225 01 23 45 6789', '0123456789', '01 23 45 6789'],
    ['+44 7400 123456', '+44 7400-123', '+44 7400-123'],
  ])('is grouped as the example %s while %s is typed', (example, typed, shown) => {
    expect(phoneFormat(example).format?.(typed)).toBe(shown);
  });
});
