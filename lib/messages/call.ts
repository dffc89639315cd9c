import type { Brand } from '../config/deployment.ts';
import { escapeMarkup } from './escape.ts';
import { translation as english } from './translations/en.ts';
import { type CallTranslation, fill, type Translation, validity } from './translations/translation.ts';

/**
 * The speech of a call, as SSML: the code twice, digit by digit, with time to write it down. At most 6,000 characters,
 * which is the maximum of `SendVoiceMessage`.
 */
export function spokenMessage(code: string, translation: Translation, brand: Brand): string {
  const { sentences } = spokenSentences(code, translation, brand, { phrase: escapeMarkup, code: spokenDigits });
  // The person needs a moment to lift the telephone to the ear.
  return `<speak><break time="1s"/>${sentences.join('<break time="700ms"/>')}</speak>`;
}

/** The speech of a call as plain text, with its language, for a provider that has its own voice. */
export function spokenText(code: string, translation: Translation, brand: Brand): { text: string; language: string } {
  const form = { phrase: (phrase: string) => phrase, code: (spoken: string) => `${[...spoken].join(', ')}.` };
  const { sentences, language } = spokenSentences(code, translation, brand, form);
  return { text: sentences.join(' '), language };
}

/** The sentences that a call speaks. @param form how a phrase and the code are written */
function spokenSentences(
  code: string,
  translation: Translation,
  brand: Brand,
  form: { phrase(text: string): string; code(code: string): string },
): { sentences: string[]; language: string } {
  const spoken = hasCall(translation) ? translation : english;
  const { call, language } = spoken;
  const say = (phrase: string, values: Record<string, string> = {}) => form.phrase(fill(phrase, values));
  const name = { brand: brand.name };
  const digits = form.code(code);
  const end = say(call.end, { minutes: validity(spoken) });
  return { sentences: [say(call.greeting, name), say(call.code), digits, say(call.again), digits, end], language };
}

function hasCall(translation: Translation): translation is Translation & { call: CallTranslation } {
  return translation.call !== undefined;
}

function spokenDigits(code: string): string {
  return Array.from(code, (digit) => `<say-as interpret-as="digits">${digit}</say-as>`).join('<break time="400ms"/>');
}
