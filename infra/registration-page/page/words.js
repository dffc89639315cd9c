// SPDX-License-Identifier: 0BSD
import { channelNames } from './channels.js';
import { words as english } from './words/en.js';

/** @import { LanguageWords, PageText, Words } from './types.ts' */

/**
 * The words of the first language that has a file in `words/`; English if none has.
 *
 * @param {readonly string[]} tags BCP 47
 * @returns {Promise<{ tag: string; language: string; words: Words }>} `tag`: the one that has words
 */
export async function loadWords(tags) {
  for (const tag of tags) {
    for (const language of languageFiles(tag)) {
      const words = await load(language);
      if (words !== undefined) return { tag, language, words };
    }
  }
  return { tag: 'en', language: 'en', words: completed('en', english) };
}

/** @param {string} language @returns {Promise<Words | undefined>} */
async function load(language) {
  try {
    const { words } = await import(`./words/${language}.js`);
    return completed(language, words);
  } catch {
    return undefined;
  }
}

/**
 * The words of a language, completed in English: a broker's own file may lack a phrase, such as one of a later version.
 * That file may name the channels.
 *
 * @param {string} language @param {LanguageWords & { channels?: Partial<Words['channels']> }} words @returns {Words}
 */
function completed(language, words) {
  /** @type {Omit<Words, 'direction'>} */
  const usual = { ...english, channels: channelNames(language) };
  const { direction: _, ...phrasesOfFile } = words;
  /** @type {Record<string, object | undefined>} */
  const sectionsOfFile = phrasesOfFile;
  const sections = Object.entries(usual).map(([name, phrases]) => [name, { ...phrases, ...sectionsOfFile[name] }]);
  return { ...words, ...Object.fromEntries(sections) };
}

/** The names of the files that a language may have: `zh-TW` is `zh-hant`, then `zh`. @param {string} tag */
export function languageFiles(tag) {
  try {
    const { language: spoken, script } = new Intl.Locale(tag.replaceAll('_', '-')).maximize();
    const language = spoken === 'yue' ? 'zh' : spoken;
    const isUsual = new Intl.Locale(language).maximize().script === script;
    return isUsual ? [language] : [`${language}-${script}`.toLowerCase(), language];
  } catch {
    return [];
  }
}

/** Replaces `{places}` by values in one pass. @param {string} phrase @param {Record<string, string>} values */
export function fill(phrase, values) {
  return phrase.replace(/\{(\w+)\}/g, (place, name) => values[name] ?? place);
}

/** A number of seconds in words: `45 seconds`, `15 minutes`. @param {number} seconds @param {string} language */
export function duration(seconds, language) {
  const [value, unit] = seconds <= 90 ? [seconds, 'second'] : [Math.ceil(seconds / 60), 'minute'];
  return new Intl.NumberFormat(language, { style: 'unit', unit, unitDisplay: 'long' }).format(value);
}

/** Seconds as a clock shows them: `1:05`. @param {number} seconds */
export function minutesAndSeconds(seconds) {
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')}`;
}

/**
 * A text in the person's language, else in English, else in its first. @param {PageText} text @param {string} language
 */
export function localizedText(text, language) {
  if (typeof text === 'string') return text;
  for (const file of [...languageFiles(language), 'en']) {
    const found = Object.entries(text).find(([tag]) => languageFiles(tag)[0] === file);
    if (found !== undefined) return found[1];
  }
  return Object.values(text)[0] ?? '';
}

/**
 * Countries with their names in the person's language: the first ones, then the others in the order of their names.
 *
 * @param {readonly string[]} codes @param {readonly string[]} first @param {string} language
 * @returns {[code: string, name: string][]}
 */
export function countryNames(codes, first, language) {
  const names = new Intl.DisplayNames(language, { type: 'region' });
  const named = codes.map((code) => /** @type {[string, string]} */ ([code, names.of(code) ?? code]));
  const rank = (/** @type {string} */ code) => (first.includes(code) ? first.indexOf(code) : first.length);
  return named.sort(([one, a], [other, b]) => rank(one) - rank(other) || a.localeCompare(b, language));
}

/** The countries of the browser's languages, the likeliest first. @param {readonly string[]} tags */
export function browserCountries(tags) {
  return tags.flatMap((tag) => new Intl.Locale(tag).region ?? []);
}

/**
 * How numbers of a country are written: those who type see an example and groups.
 *
 * @param {string | undefined} example such as `+44 7400 123456`
 * @returns {{ placeholder?: string; format?: (text: string) => string }}
 */
export function phoneFormat(example) {
  if (example === undefined) return {};
  const [, ...groups] = example.split(' ');
  const isTrunk = (/** @type {string} */ digits) => digits.startsWith('0') && !groups[0]?.startsWith('0');
  const format = (/** @type {string} */ text) => {
    if (!/^[\d ]+$/.test(text)) return text;
    let rest = text.replaceAll(' ', '');
    const parts = groups.map((group, index) => {
      const length = index === groups.length - 1 ? rest.length : group.length + (index === 0 && isTrunk(rest) ? 1 : 0);
      const part = rest.slice(0, length);
      rest = rest.slice(length);
      return part;
    });
    return parts.filter(Boolean).join(' ');
  };
  return { placeholder: groups.join(' '), format };
}
