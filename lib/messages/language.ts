/** The languages that every message is written in, as BCP 47 language subtags. */
export const LANGUAGES = [
  'en',
  'es',
  'pt',
  'fr',
  'de',
  'it',
  'pl',
  'ru',
  'tr',
  'ar',
  'hi',
  'zh',
  'ja',
  'ko',
  'vi',
  'th',
  'id',
  'ms',
] as const;
export type Language = (typeof LANGUAGES)[number];

/**
 * The language to write in, by the lookup of RFC 4647: the tag loses its region, script and extensions; a language that
 * we do not write in, or no well-formed tag, means English. `Intl` knows the old names (`in` is `id`, `cmn` is `zh`).
 * An underscore passes for a hyphen, because CRM records have it.
 */
export function pickLanguage(tag: string | undefined): Language {
  if (tag === undefined) return 'en';
  const plain = LANGUAGES.find((known) => known === tag);
  if (plain !== undefined) return plain;
  try {
    const { language } = new Intl.Locale(tag.replaceAll('_', '-'));
    return LANGUAGES.find((known) => known === language) ?? 'en';
  } catch {
    return 'en';
  }
}

/** The direction in which a language is written, as the `dir` attribute of HTML has it. */
export function directionOf(language: Language): 'ltr' | 'rtl' {
  return language === 'ar' ? 'rtl' : 'ltr';
}
