import {
  PinpointSMSVoiceV2Client,
  SendVoiceMessageCommand,
  type SendVoiceMessageCommandInput,
  VoiceId,
} from '@aws-sdk/client-pinpoint-sms-voice-v2';
import { describe, expect, it } from 'vitest';
import { spokenText } from '../../../../infra/local/stand-ins/ssml.ts';
import { startVoice, VOICES } from '../../../../infra/local/stand-ins/voice.ts';
import { clientOf, started } from '../../../support/senders.ts';

const CALL = {
  DestinationPhoneNumber: '+447400123456',
  OriginationIdentity: '+441234567890',
  MessageBody:
    '<speak>Your code: <say-as interpret-as="digits">1</say-as><break time="400ms"/><say-as interpret-as="digits">2</say-as></speak>',
  MessageBodyTextType: 'SSML',
  VoiceId: 'AMY',
  TimeToLive: 600,
} satisfies SendVoiceMessageCommandInput;

async function voice() {
  const { standIn, faults, outbox } = await started(startVoice, {
    originationIdentities: ['+441234567890'],
    configurationSets: ['calls'],
    protectConfigurations: ['protect-1'],
    optedOut: ['+447400000000'],
    blockedCountries: ['+99'],
  });
  const client = new PinpointSMSVoiceV2Client({ ...clientOf(standIn), maxAttempts: 1 });
  const call = (changes: Partial<Record<keyof SendVoiceMessageCommandInput, unknown>> = {}) =>
    client.send(new SendVoiceMessageCommand({ ...CALL, ...changes } as SendVoiceMessageCommandInput));
  return { faults, outbox, call };
}

describe('The stand-in of the voice service', () => {
  it('takes a call on and shows what is spoken', async () => {
    const { outbox, call } = await voice();
    const { MessageId } = await call({
      ConfigurationSetName: 'calls',
      ProtectConfigurationId: 'protect-1',
      MaxPricePerMinute: '0.3000',
    });
    expect(MessageId).toMatch(/^[0-9a-f-]{36}$/);
    expect(outbox).toEqual([{ kind: 'call', to: '+447400123456', text: 'Your code: 12', language: 'en-GB' }]);
  });

  it('reads plain text in the voice of Matthew when nothing else is asked for', async () => {
    const { outbox, call } = await voice();
    await call({ MessageBody: 'Your code: 1 < 2', MessageBodyTextType: undefined, VoiceId: undefined });
    expect(outbox).toMatchObject([{ text: 'Your code: 1 < 2', language: 'en-US' }]);
  });

  it.each<[string, Partial<Record<keyof SendVoiceMessageCommandInput, unknown>>, object]>([
    ['no number', { DestinationPhoneNumber: '' }, { name: 'ValidationException', Reason: 'FIELD_VALIDATION_FAILED' }],
    ['an unknown origination identity', { OriginationIdentity: '+4499' }, { name: 'ResourceNotFoundException' }],
    ['an unknown configuration set', { ConfigurationSetName: 'x' }, { name: 'ResourceNotFoundException' }],
    ['an unknown protect configuration', { ProtectConfigurationId: 'x' }, { name: 'ResourceNotFoundException' }],
    ['no message', { MessageBody: undefined }, { name: 'ValidationException', Reason: 'MISSING_PARAMETER' }],
    ['an unknown voice', { VoiceId: 'HAL' }, { name: 'ValidationException', Reason: 'FIELD_VALIDATION_FAILED' }],
    ['a life of 4 seconds', { TimeToLive: 4 }, { name: 'ValidationException' }],
    ['a life of more than 72 hours', { TimeToLive: 259_201 }, { name: 'ValidationException' }],
    ['a price without a point', { MaxPricePerMinute: '1' }, { name: 'ValidationException' }],
    ['broken SSML', { MessageBody: '<speak>1<speak>' }, { name: 'ValidationException', Reason: 'CANNOT_PARSE' }],
    [
      'SSML of more than 6000 characters',
      { MessageBody: `<speak>${'x'.repeat(6_000)}</speak>` },
      { name: 'ValidationException', Reason: 'MAXIMUM_SIZE_EXCEEDED' },
    ],
    [
      'text of more than 3000 characters',
      { MessageBody: 'x'.repeat(3_001), MessageBodyTextType: 'TEXT' },
      { name: 'ValidationException', Reason: 'MAXIMUM_SIZE_EXCEEDED' },
    ],
    [
      'a number whose owner opted out',
      { DestinationPhoneNumber: '+447400000000' },
      { name: 'ConflictException', Reason: 'DESTINATION_PHONE_NUMBER_OPTED_OUT' },
    ],
    [
      'a blocked country',
      { DestinationPhoneNumber: '+998901234567' },
      { name: 'ConflictException', Reason: 'DESTINATION_COUNTRY_BLOCKED_BY_PROTECT_CONFIGURATION' },
    ],
  ])('refuses %s', async (_, changes, error) => {
    const { outbox, call } = await voice();
    await expect(call(changes)).rejects.toMatchObject(error);
    expect(outbox).toEqual([]);
  });

  it('throttles and refuses as the service does', async () => {
    const { faults, call } = await voice();
    faults.set({ kind: 'throttled', times: 1 });
    await expect(call()).rejects.toMatchObject({ name: 'ThrottlingException' });
    faults.set({ kind: 'refused', times: 1 });
    await expect(call()).rejects.toMatchObject({ name: 'AccessDeniedException' });
  });

  it('knows the voices that the service knows', () => {
    const known = Object.values(VOICES).flatMap((voices) => voices.split(' '));
    expect(known.toSorted()).toEqual(Object.values(VoiceId).toSorted());
  });
});

describe('SSML', () => {
  it.each([
    ['<speak>Hello</speak>', 'Hello'],
    ['<speak>A &amp; B &lt;&#33;&#x21;</speak>', 'A & B <!!'],
    ['<speak><p><s>One.</s><s>Two.</s></p></speak>', 'One. Two.'],
    ['<speak>a<break/>b<break strength="weak"/>c</speak>', 'a b c'],
    ['<speak><say-as interpret-as="digits">123456</say-as>, again 10 times</speak>', '123456 , again 10 times'],
    ["<speak><prosody rate='slow'>slow</prosody></speak>", 'slow'],
  ])('%s is spoken as "%s"', (ssml, text) => {
    expect(spokenText(ssml)).toBe(text);
  });

  it.each([
    '',
    'Hello',
    '<speak>Hello',
    'Hello</speak>',
    '<speak>a</speak><speak>b</speak>',
    '<speak>a</speak> b',
    '<p>a</p>',
    '<speak>a & b</speak>',
    '<speak>a &nbsp; b</speak>',
    '<speak>a < b</speak>',
    '<speak><p>a</s></speak>',
    '<speak><b>a</b></speak>',
    '<speak><break time=1s/></speak>',
    '<speak><break time="11s"/></speak>',
    '<speak><break time="long"/></speak>',
    '<speak><say-as>1</say-as></speak>',
    '<speak><say-as interpret-as="code">1</say-as></speak>',
    '<speak>&#0;</speak>',
  ])('%s is not taken', (ssml) => {
    expect(spokenText(ssml)).toBeUndefined();
  });
});
