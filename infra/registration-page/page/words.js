// SPDX-License-Identifier: 0BSD
import { channelNames } from './channels.js';
import { words as english } from './words/en.js';

/** @import { LanguageWords, Words } from './types.ts' */

/**
 * The words of the first language that has a file in `words/`; English if none has.
 *
 * @param {readonly string[]} tags BCP 47
 * @returns {Promise<{ language: string; words: Words }>}
 */
export async function loadWords(tags) {
  for (const language of [...new Set(tags.flatMap(filesOf))]) {
    const words = await load(language);
    if (words !== undefined) return { language, words };
  }
  return { language: 'en', words: completed('en', english) };
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
export function filesOf(tag) {
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
 * The label in the person's language, else in English, else the first.
 *
 * @param {Record<string, string>} titles by BCP 47 tags @param {string} language
 */
export function titleIn(titles, language) {
  for (const file of [...filesOf(language), 'en']) {
    const found = Object.entries(titles).find(([tag]) => filesOf(tag)[0] === file);
    if (found !== undefined) return found[1];
  }
  return Object.values(titles)[0] ?? '';
}
