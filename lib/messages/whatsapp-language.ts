import { type Language, pickLanguage } from './language.ts';

/** Where Meta's code is not the language alone. */
const REGIONAL: Partial<Record<Language, string>> = { en: 'en_US', pt: 'pt_BR', zh: 'zh_CN' };

/** Meta's code of the language that the deployment's message templates must be approved in. */
export function whatsappLanguage(language: string | undefined): string {
  const picked = pickLanguage(language);
  return REGIONAL[picked] ?? picked;
}
