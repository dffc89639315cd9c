import type { Brand } from './brand.ts';
import { escapeMarkup } from './escape.ts';
import { type Language, pickLanguage } from './language.ts';
import type { Message } from './message.ts';
import type { VoiceId } from './providers.ts';
import { SPOKEN_WORDS } from './words/spoken.ts';
import { fill, minutesIn } from './words.ts';

interface Voice {
  voiceId: VoiceId;
  /** What is really spoken. */
  languageTag: string;
  language: keyof typeof SPOKEN_WORDS;
}

const ENGLISH: Voice = { voiceId: 'JOANNA', languageTag: 'en-US', language: 'en' };

/**
 * `SendVoiceMessage` has no voice for Hindi, Vietnamese, Thai, Indonesian and Malay: those calls are in English, the one
 * for Hindi by the Indian voice.
 */
const VOICES: Record<Language, Voice> = {
  en: ENGLISH,
  es: { voiceId: 'LUCIA', languageTag: 'es-ES', language: 'es' },
  pt: { voiceId: 'CAMILA', languageTag: 'pt-BR', language: 'pt' },
  fr: { voiceId: 'LEA', languageTag: 'fr-FR', language: 'fr' },
  de: { voiceId: 'VICKI', languageTag: 'de-DE', language: 'de' },
  it: { voiceId: 'BIANCA', languageTag: 'it-IT', language: 'it' },
  pl: { voiceId: 'EWA', languageTag: 'pl-PL', language: 'pl' },
  ru: { voiceId: 'TATYANA', languageTag: 'ru-RU', language: 'ru' },
  tr: { voiceId: 'FILIZ', languageTag: 'tr-TR', language: 'tr' },
  ar: { voiceId: 'ZEINA', languageTag: 'ar', language: 'ar' },
  hi: { ...ENGLISH, voiceId: 'RAVEENA', languageTag: 'en-IN' },
  zh: { voiceId: 'ZHIYU', languageTag: 'zh-CN', language: 'zh' },
  ja: { voiceId: 'TAKUMI', languageTag: 'ja-JP', language: 'ja' },
  ko: { voiceId: 'SEOYEON', languageTag: 'ko-KR', language: 'ko' },
  vi: ENGLISH,
  th: ENGLISH,
  id: ENGLISH,
  ms: ENGLISH,
};

interface SpokenMessage {
  /** At most 6,000 characters, as `SendVoiceMessage` takes. */
  ssml: string;
  voiceId: VoiceId;
  /** BCP 47; of the voice, which may be another than the one asked for. */
  languageTag: string;
}

/** What is spoken in a call: the code digit by digit, with time to write it down, and once more. */
export function voiceSsml(message: Message, language: string | undefined, brand: Brand): SpokenMessage {
  const { voiceId, languageTag, language: spoken } = VOICES[pickLanguage(language)];
  const words = SPOKEN_WORDS[spoken];
  const say = (phrase: string, values: Record<string, string> = {}) => escapeMarkup(fill(phrase, values));
  const name = { brand: brand.name };
  const speech =
    message.kind === 'owner_notice'
      ? say(words.ownerNotice, name)
      : [
          say(words.greeting, name),
          say(words.code),
          digits(message.code),
          say(words.again),
          digits(message.code),
          say(words.end, { minutes: minutesIn(spoken, message.validMinutes) }),
        ].join('<break time="700ms"/>');
  // The person needs a moment to lift the telephone to the ear.
  return { ssml: `<speak><break time="1s"/>${speech}</speak>`, voiceId, languageTag };
}

function digits(code: string): string {
  return Array.from(code, (digit) => `<say-as interpret-as="digits">${digit}</say-as>`).join('<break time="400ms"/>');
}
