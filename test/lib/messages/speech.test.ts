import { VoiceId } from '@aws-sdk/client-pinpoint-sms-voice-v2';
import { describe, expect, it } from 'vitest';
import { LANGUAGES } from '../../../lib/messages/language.ts';
import type { Message } from '../../../lib/messages/message.ts';
import { voiceSsml } from '../../../lib/messages/speech.ts';

const BRAND = { name: 'Northwind Markets', supportEmail: 'support@northwind.example', color: '#0b5fff' };
const CODE: Message = { kind: 'code', code: '048213', validMinutes: 10 };
const NOTICE: Message = { kind: 'owner_notice' };

describe.each(LANGUAGES)('a call in %s', (language) => {
  it('says the code digit by digit, with pauses, twice', () => {
    const { ssml } = voiceSsml(CODE, language, BRAND);
    const digits = [...ssml.matchAll(/<say-as interpret-as="digits">(\d)<\/say-as>/g)].map((match) => match[1]);
    expect(digits.join('')).toBe('048213048213');
    expect(ssml.match(/<\/say-as><break time="400ms"\/><say-as/g)).toHaveLength(10);
    expect(ssml.replace(/<[^>]+>/g, '').match(/\d{6}/g)).toEqual(['048213', '048213']);
  });

  it('names the caller and how long the code is valid', () => {
    const spoken = voiceSsml(CODE, language, BRAND).ssml.replace(/<[^>]+>/g, ' ');
    expect(spoken).toContain('Northwind Markets');
    expect(spoken).toMatch(/10(?!\d)/);
  });

  it('tells an owner of the attempt, without digits', () => {
    const { ssml } = voiceSsml(NOTICE, language, BRAND);
    expect(ssml).toContain('Northwind Markets');
    expect(ssml.replace(/<[^>]+>/g, '')).not.toMatch(/\d/);
  });

  it('has a voice that the service knows, and fits what it takes', () => {
    for (const message of [CODE, NOTICE]) {
      const { ssml, voiceId } = voiceSsml(message, language, BRAND);
      expect(Object.values(VoiceId)).toContain(voiceId);
      expect(ssml.length).toBeLessThan(6000);
      expect(ssml).toMatch(/^<speak>.*<\/speak>$/);
    }
  });
});

describe('a call', () => {
  it.each([['hi'], ['vi'], ['th'], ['id'], ['ms'], ['nl'], [undefined]])(
    'is in English where there is no voice for %s, and says so',
    (language) => {
      const { ssml, languageTag } = voiceSsml(CODE, language, BRAND);
      expect(languageTag).toMatch(/^en-/);
      expect(ssml).toBe(voiceSsml(CODE, 'en', BRAND).ssml);
    },
  );

  it('speaks every other language itself', () => {
    const spoken = LANGUAGES.filter((language) => voiceSsml(CODE, language, BRAND).languageTag.startsWith(language));
    expect(spoken).toEqual(['en', 'es', 'pt', 'fr', 'de', 'it', 'pl', 'ru', 'tr', 'ar', 'zh', 'ja', 'ko']);
  });

  it('escapes the name', () => {
    const name = `<break time="9s"/> & 'Co'`;
    for (const message of [CODE, NOTICE])
      expect(voiceSsml(message, 'en', { ...BRAND, name }).ssml).toContain(
        '&lt;break time=&quot;9s&quot;/&gt; &amp; &#39;Co&#39;',
      );
  });
});
