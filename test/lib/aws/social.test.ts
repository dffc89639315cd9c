import { describe, expect, it } from 'vitest';
import { startSocial } from '../../../infra/local/stand-ins/social.ts';
import { whatsAppChannel } from '../../../lib/aws/social.ts';
import type { WhatsAppSettings } from '../../../lib/config/channel-settings.ts';
import { LANGUAGES } from '../../../lib/messages/translations/languages.ts';
import { failureOf, NEVER_ABORTED } from '../../support/outcomes.ts';
import { startedStandIn } from '../../support/senders.ts';
import { clientSettings } from '../../support/servers.ts';

const CODE = '012345';
const TO = '+447400123456';
const SETTINGS = {
  phoneNumberId: 'phone-number-id-0a1b2c3d4e5f60718293a4b5c6d7e8f9',
  codeTemplate: 'one_time_password',
};

async function whatsapp(settings: WhatsAppSettings = SETTINGS) {
  const service = await startedStandIn(startSocial, {
    phoneNumberIds: [SETTINGS.phoneNumberId],
    codeTemplates: [SETTINGS.codeTemplate],
  });
  return { ...service, channel: whatsAppChannel(settings, clientSettings(service.standIn.url)) };
}

describe('The channel whatsapp', () => {
  it.each(LANGUAGES)('sends the code by its template in the language %s', async (language) => {
    const { channel, outbox } = await whatsapp();
    await channel.send(TO, CODE, language, NEVER_ABORTED);
    expect(outbox).toMatchObject([{ kind: 'whatsapp', to: TO, text: expect.stringContaining('012345') }]);
    const written = (locale = '') => {
      const { language: spoken, script } = new Intl.Locale(locale).maximize();
      return { spoken, script };
    };
    expect(written(outbox[0]?.language)).toEqual(written(language));
  });

  it.each([
    ['de', 'de'],
    ['de-AT', 'de'],
    ['th', 'en_US'],
    ['zh-TW', 'zh_CN'],
    ['zh-Hant', 'zh_CN'],
    [undefined, 'en_US'],
  ])('sends a message in %s in a language that has the template: %s', async (language, code) => {
    const { channel, outbox } = await whatsapp({ ...SETTINGS, languages: ['en', 'de', 'zh'] });
    await channel.send(TO, CODE, language, NEVER_ABORTED);
    expect(outbox[0]?.language).toBe(code.replace('_', '-'));
  });

  it('reports a refused message when the template is not approved', async () => {
    const { channel, outbox } = await whatsapp({ ...SETTINGS, codeTemplate: 'forgotten' });
    const failure = await failureOf(channel.send(TO, CODE, 'en', NEVER_ABORTED));
    expect(failure).toMatchObject({ kind: 'refused_message', reason: 'InvalidParametersException' });
    expect(outbox).toEqual([]);
  });
});
