import type { Translation } from './translation.ts';

/** The languages that every message is written in, as BCP 47 language subtags; each is loaded when it is first used. */
const FILES = {
  en: () => import('./en.ts'),
  es: () => import('./es.ts'),
  pt: () => import('./pt.ts'),
  fr: () => import('./fr.ts'),
  de: () => import('./de.ts'),
  it: () => import('./it.ts'),
  pl: () => import('./pl.ts'),
  ru: () => import('./ru.ts'),
  tr: () => import('./tr.ts'),
  ar: () => import('./ar.ts'),
  hi: () => import('./hi.ts'),
  zh: () => import('./zh.ts'),
  ja: () => import('./ja.ts'),
  ko: () => import('./ko.ts'),
  vi: () => import('./vi.ts'),
  th: () => import('./th.ts'),
  id: () => import('./id.ts'),
  ms: () => import('./ms.ts'),
} satisfies Record<string, () => Promise<{ translation: Translation }>>;

export type Language = keyof typeof FILES;
export const LANGUAGES = Object.keys(FILES) as Language[];

/**
 * The language to write in, by the lookup of RFC 4647: the tag loses its region, script and extensions; a language that
 * we do not write in, or no well-formed tag, means English. `Intl` knows the old names (`in` is `id`, `cmn` is `zh`).
 * An underscore passes for a hyphen, because CRM records have it.
 */
export function pickLanguage(tag: string | undefined): Language {
  if (tag === undefined) return 'en';
  // Most are: `Intl` takes its time.
  if (isLanguage(tag)) return tag;
  try {
    const { language } = new Intl.Locale(tag.replaceAll('_', '-'));
    return LANGUAGES.find((known) => known === language) ?? 'en';
  } catch {
    return 'en';
  }
}

function isLanguage(tag: string): tag is Language {
  return Object.hasOwn(FILES, tag);
}

const loaded = new Map<Language, Promise<{ translation: Translation }>>();

/** @param tag BCP 47, as asked for */
export async function translationFor(tag: string | undefined): Promise<Translation> {
  const language = pickLanguage(tag);
  const file = loaded.get(language) ?? FILES[language]();
  loaded.set(language, file);
  return (await file).translation;
}
