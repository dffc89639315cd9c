import type { Translation } from './translation.ts';

/** The languages of messages, as BCP 47 tags. Each is loaded on first use. */
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
  'zh-Hant': () => import('./zh-hant.ts'),
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
 * The language of a message, one of `offered`: the tag's language in the tag's script, else the tag's language, else
 * English. `Intl` knows the old names (`in` is `id`, `cmn` is `zh`) and the scripts of regions (`zh-TW` is `zh-Hant`).
 * It knows no extended languages, as in `zh-yue`. CRM records may have underscores instead of hyphens.
 */
export function pickLanguage(tag: string | undefined, offered: readonly string[] = LANGUAGES): Language {
  const isOffered = (name: string): name is Language => isLanguage(name) && offered.includes(name);
  if (tag === undefined || isOffered(tag)) return tag ?? 'en';
  try {
    const extended = /^([a-z]{2,3})(?:-[a-z]{3})+(?=-|$)/i;
    const { language: spoken, script } = new Intl.Locale(tag.replaceAll('_', '-').replace(extended, '$1')).maximize();
    // Speakers of Cantonese read Chinese; phones in Hong Kong name it.
    const language = spoken === 'yue' ? 'zh' : spoken;
    return [`${language}-${script}`, language].find(isOffered) ?? 'en';
  } catch {
    return 'en';
  }
}

function isLanguage(tag: string): tag is Language {
  return Object.hasOwn(FILES, tag);
}

const loaded = new Map<Language, Promise<{ translation: Translation }>>();

/**
 * The translation that fits a language tag best.
 * @param tag BCP 47, as requested
 * @param offered the languages to choose from; absent: all. English is always one.
 */
export async function findTranslation(tag: string | undefined, offered?: readonly string[]): Promise<Translation> {
  const language = pickLanguage(tag, offered);
  const file = loaded.get(language) ?? FILES[language]();
  loaded.set(language, file);
  return (await file).translation;
}
