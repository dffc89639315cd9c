import { describe, expect, it } from 'vitest';
import { startVoice } from '../../../infra/local/stand-ins/voice.ts';
import { callChannel } from '../../../lib/aws/voice.ts';
import { spokenMessage } from '../../../lib/messages/call.ts';
import { findTranslation, LANGUAGES } from '../../../lib/messages/translations/languages.ts';
import { NEVER_ABORTED } from '../../support/outcomes.ts';
import { BRAND, startedStandIn } from '../../support/senders.ts';
import { clientSettings } from '../../support/servers.ts';

const WORDS = await Promise.all(LANGUAGES.map((language) => findTranslation(language)));
const ENGLISH = await findTranslation('en');
const CODE = '012345';
const TO = '+447400123456';
const SETTINGS = {
  originationIdentity: '+441234567890',
  protectConfigurationId: 'protect-1',
};

async function call() {
  const service = await startedStandIn(startVoice, {
    originationIdentities: ['+441234567890'],
    protectConfigurationIds: ['protect-1'],
  });
  return { ...service, channel: callChannel(SETTINGS, BRAND, clientSettings(service.standIn.url)) };
}

describe('The channel call', () => {
  it.each(WORDS)('speaks the code twice, in $language or else in English', async (words) => {
    const { channel, outbox } = await call();
    await channel.send(TO, CODE, words.language, NEVER_ABORTED);
    expect(outbox).toMatchObject([{ kind: 'call', to: TO }]);
    expect(outbox[0]?.text.match(/\b\d{6}\b/g)).toEqual(['012345', '012345']);
    const spoken = words.call === undefined ? 'en' : new Intl.Locale(words.language).language;
    expect(new Intl.Locale(outbox[0]?.language ?? '').language).toBe(spoken);
  });

  it.each([
    ['es-MX', 'es-ES'],
    ['pt', 'pt-BR'],
    ['hi', 'en-IN'],
    ['th', 'en-US'],
    ['cy', 'en-US'],
    [undefined, 'en-US'],
  ])('requested in %s uses a voice of %s', async (language, spoken) => {
    const { channel, outbox } = await call();
    await channel.send(TO, CODE, language, NEVER_ABORTED);
    expect(outbox[0]?.language).toBe(spoken);
  });
});

describe.each(WORDS)('The speech in $language', (words) => {
  it('says the code digit by digit, with pauses, twice', () => {
    const ssml = spokenMessage(CODE, words, BRAND);
    const digits = [...ssml.matchAll(/<say-as interpret-as="digits">(\d)<\/say-as>/g)].map((match) => match[1]);
    expect(digits.join('')).toBe('012345012345');
    expect(ssml.match(/<\/say-as><break time="400ms"\/><say-as/g)).toHaveLength(10);
    expect(ssml.replace(/<[^>]+>/g, '').match(/\d{6}/g)).toEqual(['012345', '012345']);
  });

  it('names the caller and how long the code is valid', () => {
    const spoken = spokenMessage(CODE, words, BRAND).replace(/<[^>]+>/g, ' ');
    expect(spoken).toContain('Example Markets');
    expect(spoken).toMatch(/10(?!\d)/);
  });

  it('is marked up, within the maximum length', () => {
    const ssml = spokenMessage(CODE, words, BRAND);
    expect(ssml.length).toBeLessThan(6000);
    expect(ssml).toMatch(/^<speak>.*<\/speak>$/);
  });
});

describe('The speech', () => {
  it.each(WORDS.filter(({ call }) => call === undefined))('is English if there is no voice for $language', (words) => {
    expect(spokenMessage(CODE, words, BRAND)).toBe(spokenMessage(CODE, ENGLISH, BRAND));
  });

  it('has the name escaped', () => {
    const name = `<break time="9s"/> & 'Co'`;
    const spoken = spokenMessage(CODE, ENGLISH, { ...BRAND, name });
    expect(spoken).toContain('&lt;break time=&quot;9s&quot;/&gt; &amp; &#39;Co&#39;');
  });
});
