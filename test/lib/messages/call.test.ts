import { describe, expect, it } from 'vitest';
import { startVoice } from '../../../infra/local/stand-ins/voice.ts';
import { voiceCaller } from '../../../lib/aws/voice.ts';
import { callChannel } from '../../../lib/messages/call.ts';
import { LANGUAGES } from '../../../lib/messages/language.ts';
import { itSendsAtMostOnce } from '../../support/at-most-once.ts';
import { BRAND, clientOf, failureOf, patient, started } from '../../support/senders.ts';

const CODE = { kind: 'code', code: '012345', validMinutes: 10 } as const;
const TO = '+447400123456';
const SETTINGS = {
  originationIdentity: '+441234567890',
  configurationSet: 'calls',
  maxPricePerMinute: '1',
  protectConfiguration: 'protect-1',
};

async function call() {
  const { standIn, faults, outbox } = await started(startVoice, {
    originationIdentities: ['+441234567890'],
    configurationSets: ['calls'],
    protectConfigurations: ['protect-1'],
    optedOut: ['+447400000000'],
    blockedCountries: ['+99'],
  });
  return { standIn, faults, outbox, channel: callChannel(SETTINGS, BRAND, voiceCaller(clientOf(standIn))) };
}

describe('The channel call', () => {
  it.each(LANGUAGES)('speaks the code twice, and tells an owner, asked for the language %s', async (language) => {
    const { channel, outbox } = await call();
    await channel.send(TO, CODE, language, patient());
    await channel.send(TO, { kind: 'owner_notice' }, language, patient());
    expect(outbox).toMatchObject([
      { kind: 'call', to: TO },
      { kind: 'call', to: TO },
    ]);
    expect(outbox[0]?.text.match(/\b\d{6}\b/g)).toEqual(['012345', '012345']);
    expect(outbox[1]?.text).not.toMatch(/\d{6}/);
  });

  it.each([
    ['es-MX', 'es-ES'],
    ['pt', 'pt-BR'],
    ['th', 'en-US'],
    [undefined, 'en-US'],
  ])('asked for %s uses a voice of %s', async (language, spoken) => {
    const { channel, outbox } = await call();
    await channel.send(TO, CODE, language, patient());
    expect(outbox[0]?.language).toBe(spoken);
  });

  it('is not tried any more when the code has expired', async () => {
    const placed: { timeToLiveSeconds: number }[] = [];
    const channel = callChannel(SETTINGS, BRAND, async (placing) => {
      placed.push(placing);
      return { messageId: 'm-1' };
    });
    await channel.send(TO, { ...CODE, validMinutes: 7 }, 'en', patient());
    expect(placed).toMatchObject([{ timeToLiveSeconds: 420 }]);
  });

  it.each([
    ['+447400000000', 'opted_out', 'ConflictException.DESTINATION_PHONE_NUMBER_OPTED_OUT'],
    ['+998901234567', 'blocked_country', 'ConflictException.DESTINATION_COUNTRY_BLOCKED_BY_PROTECT_CONFIGURATION'],
    ['ann', 'refused_recipient', 'ValidationException.FIELD_VALIDATION_FAILED'],
  ])('does not call %s: %s', async (to, kind, reason) => {
    const { channel, outbox } = await call();
    expect(await failureOf(channel.send(to, CODE, 'en', patient()))).toMatchObject({ kind, reason });
    expect(outbox).toEqual([]);
  });

  itSendsAtMostOnce(call, TO);
});
