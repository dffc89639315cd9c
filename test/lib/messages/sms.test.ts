import { describe, expect, it } from 'vitest';
import { startSns } from '../../../infra/local/stand-ins/sns.ts';
import { snsPublisher } from '../../../lib/aws/sns.ts';
import { smsParts } from '../../../lib/messages/gsm7.ts';
import { LANGUAGES } from '../../../lib/messages/language.ts';
import { type SmsSettings, smsChannel } from '../../../lib/messages/sms.ts';
import { itSendsAtMostOnce } from '../../support/at-most-once.ts';
import { BRAND, clientOf, failureOf, patient, started } from '../../support/senders.ts';

const CODE = { kind: 'code', code: '012345', validMinutes: 10 } as const;
const TO = '+447400123456';

async function sms(settings: SmsSettings = {}) {
  const { standIn, faults, outbox } = await started(startSns, { optedOut: ['+447400000000'] });
  return { standIn, faults, outbox, channel: smsChannel(settings, BRAND, snsPublisher(clientOf(standIn))) };
}

describe('The channel sms', () => {
  it.each(LANGUAGES)('sends every message in one part in the language %s', async (language) => {
    const { channel, outbox } = await sms({ webOtpDomain: 'example.com' });
    await channel.send(TO, CODE, language, patient());
    await channel.send(TO, { kind: 'owner_notice' }, language, patient());
    expect(outbox).toMatchObject([
      { kind: 'sms', to: TO, text: expect.stringContaining('012345') },
      { kind: 'sms', to: TO, text: expect.not.stringContaining('012345') },
    ]);
    for (const { text } of outbox) expect(smsParts(text)).toBe(1);
  });

  it('lets browsers fill the code in where the deployment names its site', async () => {
    const { channel, outbox } = await sms({ webOtpDomain: 'example.com' });
    await channel.send(TO, CODE, 'en', patient());
    expect(outbox[0]?.text).toMatch(/\n@example\.com #012345$/);
  });

  it('is transactional, with the sender id, price cap and registrations of the settings', async () => {
    const published: unknown[] = [];
    const settings = {
      senderId: 'EXMARKETS',
      maxPrice: '0.25',
      originationNumber: '+441234567890',
      entityId: '1101234567890',
      templateId: '1107012345678',
    };
    const channel = smsChannel(settings, BRAND, async (publication) => {
      published.push(publication);
      return { messageId: 'm-1' };
    });
    await channel.send(TO, CODE, 'en', patient());
    expect(published).toMatchObject([
      {
        phoneNumber: TO,
        attributes: {
          'AWS.SNS.SMS.SMSType': { type: 'String', value: 'Transactional' },
          'AWS.SNS.SMS.SenderID': { type: 'String', value: 'EXMARKETS' },
          'AWS.SNS.SMS.MaxPrice': { type: 'Number', value: '0.25' },
          'AWS.MM.SMS.OriginationNumber': { type: 'String', value: '+441234567890' },
          'AWS.MM.SMS.EntityId': { type: 'String', value: '1101234567890' },
          'AWS.MM.SMS.TemplateId': { type: 'String', value: '1107012345678' },
        },
      },
    ]);
    const { channel: real, outbox } = await sms(settings);
    await real.send(TO, CODE, 'en', patient());
    expect(outbox).toHaveLength(1);
  });

  it.each([
    ['+447400000000', 'opted_out'],
    ['+1', 'refused_recipient'],
  ])('is not sent to %s: %s', async (to, kind) => {
    const { channel, outbox } = await sms();
    expect(await failureOf(channel.send(to, CODE, 'en', patient()))).toMatchObject({ kind });
    expect(outbox).toEqual([]);
  });

  itSendsAtMostOnce(sms, TO);
});
