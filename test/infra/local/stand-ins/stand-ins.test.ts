import { EventBridgeClient, PutEventsCommand, type PutEventsRequestEntry } from '@aws-sdk/client-eventbridge';
import {
  PinpointSMSVoiceV2Client,
  SendVoiceMessageCommand,
  type SendVoiceMessageCommandInput,
} from '@aws-sdk/client-pinpoint-sms-voice-v2';
import { SESClient, SendEmailCommand, type SendEmailCommandInput } from '@aws-sdk/client-ses';
import { PublishCommand, type PublishCommandInput, SNSClient } from '@aws-sdk/client-sns';
import { SendWhatsAppMessageCommand, SocialMessagingClient } from '@aws-sdk/client-socialmessaging';
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { Faults } from '../../../../infra/local/faults.ts';
import { startCaptcha } from '../../../../infra/local/stand-ins/captcha.ts';
import { startEvents } from '../../../../infra/local/stand-ins/events.ts';
import { startSes } from '../../../../infra/local/stand-ins/ses.ts';
import { startSns } from '../../../../infra/local/stand-ins/sns.ts';
import { startSocial } from '../../../../infra/local/stand-ins/social.ts';
import type { StandIn, StandInOptions } from '../../../../infra/local/stand-ins/stand-in.ts';
import { startVoice } from '../../../../infra/local/stand-ins/voice.ts';
import { snsPublisher } from '../../../../lib/aws/sns.ts';
import { failureOf, NEVER_ABORTED } from '../../../support/outcomes.ts';
import { startedStandIn } from '../../../support/senders.ts';
import { clientSettings } from '../../../support/servers.ts';

/** The settings of a client that calls once. */
const once = ({ url }: StandIn) => ({ ...clientSettings(url), maxAttempts: 1 });

/**
 * The promise of a stand-in: it accepts our calls, and refuses what names a thing that the account does not have, or cannot
 * be rendered. The tests of `lib/messages` and `lib/aws` show that it fails on demand, and what our adapters send; those of
 * `infra/ops` show the calls of operators.
 */
interface Contract {
  service: string;
  start(options: StandInOptions): Promise<StandIn>;
  /** Sends a request that the service accepts, with these members changed. */
  send(to: ReturnType<typeof once>, change: Record<string, unknown>): Promise<unknown>;
  /** The difference, and its record. */
  accepts: readonly (readonly [says: string, change: Record<string, unknown>, recorded: object])[];
  /** The mistake, and its error. */
  refuses: readonly (readonly [says: string, change: Record<string, unknown>, error: string | object])[];
  /** The right that the request needs, and the error of a caller without it. */
  needs: readonly [action: string, resource: string, error: string];
}

const ARN = (service: string, rest: string) => `arn:aws:${service}:eu-west-1:000000000000:${rest}`;
const MAIL = {
  Source: '"Example Markets" <no-reply@example.com>',
  Destination: { ToAddresses: ['ann@example.org'] },
  Message: {
    Subject: { Data: 'Grüße' },
    Body: { Text: { Data: '123456 & <no other>' }, Html: { Data: '<html lang="de"><b>123456</b></html>' } },
  },
};
const RECORDED_MAIL = {
  kind: 'email',
  to: 'ann@example.org',
  subject: 'Grüße',
  text: '123456 & <no other>',
  html: '<html lang="de"><b>123456</b></html>',
  language: 'de',
};

const SES: Contract = {
  service: 'SES',
  start: (options) =>
    startSes({ ...options, verified: ['no-reply@example.com', 'brand.example'], configurationSets: ['mails'] }),
  send: (client, change) =>
    new SESClient(client).send(new SendEmailCommand({ ...MAIL, ...change } as SendEmailCommandInput)),
  accepts: [
    ['a mail', {}, RECORDED_MAIL],
    ['any address of a verified domain', { Source: 'anyone@Brand.example' }, RECORDED_MAIL],
    [
      'a known configuration set, and tags',
      { ConfigurationSetName: 'mails', Tags: [{ Name: 'a', Value: 'b' }] },
      RECORDED_MAIL,
    ],
  ],
  refuses: [
    ['a sender that is not verified', { Source: 'other@example.com' }, 'MessageRejected'],
    ['an unknown configuration set', { ConfigurationSetName: 'others' }, 'ConfigurationSetDoesNotExistException'],
  ],
  needs: ['ses:SendEmail', ARN('ses', 'identity/no-reply@example.com'), 'AccessDenied'],
};

const TOPIC = ARN('sns', 'client-notifications');
const TEXT = { PhoneNumber: '+447400123456', Message: 'Grüße & 123456 <x>' };
const RECORDED_TEXT = { kind: 'sms', to: TEXT.PhoneNumber, text: TEXT.Message };
const POPUP = { user_id: 'CLIENT01', kind: 'account_opened', language: 'fr', title: 'Compte', text: 'Ouvert' };
const toTopic = (TopicArn: string, Message: string) => ({ PhoneNumber: undefined, TopicArn, Message });
const SNS: Contract = {
  service: 'SNS',
  start: (options) => startSns({ ...options, topics: [TOPIC] }),
  send: (client, change) =>
    new SNSClient(client).send(new PublishCommand({ ...TEXT, ...change } as PublishCommandInput)),
  accepts: [
    ['a text', {}, RECORDED_TEXT],
    [
      'a message to the topic',
      toTopic(TOPIC, JSON.stringify(POPUP)),
      { kind: 'popup', to: 'CLIENT01', subject: 'Compte', text: 'Ouvert', language: 'fr' },
    ],
  ],
  refuses: [['an unknown topic', toTopic(`${TOPIC}-2`, 'x'), 'NotFoundException']],
  needs: ['sns:Publish', TEXT.PhoneNumber, 'AuthorizationErrorException'],
};

const CALL = {
  DestinationPhoneNumber: '+447400123456',
  OriginationIdentity: '+441234567890',
  MessageBody:
    '<speak>Your code: <say-as interpret-as="digits">1</say-as><break time="400ms"/><say-as interpret-as="digits">2</say-as></speak>',
  MessageBodyTextType: 'SSML',
  VoiceId: 'AMY',
  TimeToLive: 600,
};
const validation = (Reason: string) => ({ name: 'ValidationException', Reason });

const VOICE: Contract = {
  service: 'the voice service',
  start: (options) =>
    startVoice({
      ...options,
      originationIdentities: ['+441234567890'],
      protectConfigurationIds: ['protect-1'],
    }),
  send: (client, change) =>
    new PinpointSMSVoiceV2Client(client).send(
      new SendVoiceMessageCommand({ ...CALL, ...change } as SendVoiceMessageCommandInput),
    ),
  accepts: [
    [
      'a call',
      { ProtectConfigurationId: 'protect-1' },
      { kind: 'call', to: '+447400123456', text: 'Your code: 12', language: 'en-GB' },
    ],
  ],
  refuses: [
    ['an unknown origination identity', { OriginationIdentity: '+4499' }, 'ResourceNotFoundException'],
    ['an unknown protect configuration', { ProtectConfigurationId: 'x' }, 'ResourceNotFoundException'],
    ['an unknown voice', { VoiceId: 'HAL' }, validation('FIELD_VALIDATION_FAILED')],
    ['broken SSML', { MessageBody: '<speak>1<speak>' }, validation('CANNOT_PARSE')],
  ],
  needs: ['sms-voice:SendVoiceMessage', ARN('sms-voice', 'phone-number/+441234567890'), 'AccessDeniedException'],
};

const PHONE_NUMBER_ID = 'phone-number-id-0a1b2c3d4e5f60718293a4b5c6d7e8f9';
const parameters = (text: string) => [{ type: 'text', text }];
const bodyPart = (code: string) => ({ type: 'body', parameters: parameters(code) });
const buttonPart = (code: string, sub_type = 'url') => ({
  type: 'button',
  sub_type,
  index: '0',
  parameters: parameters(code),
});
const template = (name: string, components: object[], code = 'pt_BR') => ({
  message: {
    messaging_product: 'whatsapp',
    recipient_type: 'individual',
    to: '+447400123456',
    type: 'template',
    template: { name, language: { code }, components },
  },
});
const codeOf = (code: string, ...components: object[]) =>
  template('one_time_password', components.length === 0 ? [bodyPart(code), buttonPart(code)] : components);
const WHATSAPP_MESSAGE = codeOf('123456').message;

const SOCIAL: Contract = {
  service: 'the WhatsApp service',
  start: (options) =>
    startSocial({
      ...options,
      phoneNumberIds: [PHONE_NUMBER_ID],
      codeTemplates: ['one_time_password'],
    }),
  send: (client, { message = WHATSAPP_MESSAGE, from = PHONE_NUMBER_ID }) =>
    new SocialMessagingClient(client).send(
      new SendWhatsAppMessageCommand({
        originationPhoneNumberId: String(from),
        metaApiVersion: 'v20.0',
        message: Buffer.from(JSON.stringify(message)),
      }),
    ),
  accepts: [
    [
      'a code',
      {},
      {
        kind: 'whatsapp',
        to: '+447400123456',
        text: '123456 is your verification code. For your security, do not share this code.',
        language: 'pt-BR',
      },
    ],
  ],
  refuses: [
    [
      'an unknown language',
      template('one_time_password', [bodyPart('123456'), buttonPart('123456')], 'pt-BR'),
      'InvalidParametersException',
    ],
    ['a code without its button', codeOf('123456', bodyPart('123456')), 'InvalidParametersException'],
    ['another code on the button', codeOf('1', bodyPart('1'), buttonPart('2')), 'InvalidParametersException'],
    ['another template', template('forgotten', [bodyPart('1'), buttonPart('1')]), 'InvalidParametersException'],
    ['an unknown number', { from: 'phone-number-id-1' }, 'ResourceNotFoundException'],
  ],
  needs: [
    'social-messaging:SendWhatsAppMessage',
    ARN('social-messaging', PHONE_NUMBER_ID.replace('id-', 'id/')),
    'AccessDeniedException',
  ],
};

const EVENT = { Source: 'broker', DetailType: 'AccountOpened', Detail: '{"id":"o-1"}', EventBusName: 'events' };
const RECORDED_EVENT = {
  version: '0',
  id: expect.stringMatching(/^[0-9a-f-]{36}$/),
  'detail-type': 'AccountOpened',
  source: 'broker',
  account: '000000000000',
  time: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/),
  region: 'eu-west-1',
  resources: [],
  detail: { id: 'o-1' },
};

/**
 * An entry that is not taken gets its error in an answer of status 200; here it is thrown, to be judged like the
 * others.
 */
async function put(client: ReturnType<typeof once>, { entries, ...change }: Record<string, unknown>) {
  const Entries = (entries ?? [{ ...EVENT, ...change }]) as PutEventsRequestEntry[];
  const answer = await new EventBridgeClient(client).send(new PutEventsCommand({ Entries }));
  const failed = answer.Entries?.find(({ ErrorCode }) => ErrorCode !== undefined);
  if (failed !== undefined) throw Object.assign(new Error('An entry was not taken.'), { name: failed.ErrorCode });
}

const EVENTS: Contract = {
  service: 'EventBridge',
  start: ({ record, ...options }) =>
    startEvents({
      ...options,
      buses: ['events'],
      deliver: (event) => record(event as unknown as Parameters<typeof record>[0]),
    }),
  send: put,
  accepts: [['an event', {}, RECORDED_EVENT]],
  refuses: [
    ['no source', { Source: undefined }, 'InvalidArgument'],
    ['a detail that is not JSON', { Detail: '{' }, 'MalformedDetail'],
    ['a detail that is a list', { Detail: '[]' }, 'MalformedDetail'],
    ['11 entries', { entries: Array.from({ length: 11 }, () => EVENT) }, 'ValidationException'],
  ],
  needs: ['events:PutEvents', ARN('events', 'event-bus/events'), 'AccessDeniedException'],
};

const CONTRACTS = [SES, SNS, VOICE, SOCIAL, EVENTS];

describe.each(CONTRACTS)('The stand-in of $service', ({ start, send, accepts, refuses, needs }) => {
  const recorded: unknown[] = [];
  let standIn: StandIn;
  beforeAll(async () => {
    standIn = await start({ faults: new Faults(), record: (entry) => recorded.push(entry) });
  });
  beforeEach(() => {
    recorded.length = 0;
  });
  afterAll(() => standIn.close());

  it.each(accepts)('accepts %s', async (_, change, expected) => {
    await send(once(standIn), change);
    expect(recorded).toEqual([expected]);
  });

  it.each(refuses)('refuses %s', async (_, change, error) => {
    const thrown = typeof error === 'string' ? { name: error } : error;
    await expect(send(once(standIn), change)).rejects.toMatchObject(thrown);
    expect(recorded).toEqual([]);
  });

  // That every call of a function needs exactly the rights of the stack is shown by test/support/rights.
  it('refuses a caller without the right, in its own words', async () => {
    const callers = new Map([['local', { name: 'tester', rights: [] }]]);
    const guarded = await start({ faults: new Faults(), record: (entry) => recorded.push(entry), callers });
    onTestFinished(() => guarded.close());
    const [action, resource, name] = needs;
    const message =
      `User: arn:aws:sts::000000000000:assumed-role/tester/tester is not authorized to perform: ${action} ` +
      `on resource: ${resource} because no identity-based policy allows the ${action} action`;
    await expect(send(once(guarded), {})).rejects.toMatchObject({ name, message });
    expect(recorded).toEqual([]);
  });

  it('refuses a request that is signed for another service', async () => {
    const before = standIn.requests;
    const answer = await fetch(standIn.url, { method: 'POST', body: 'Action=Publish' });
    expect([answer.ok, standIn.requests]).toEqual([false, before]);
  });
});

async function captcha() {
  const settings = { provider: 'turnstile', secret: 'local/captcha' } as const;
  const standIn = await startCaptcha({ faults: new Faults(), secret: 'the-secret-key', settings });
  onTestFinished(() => standIn.close());
  const ask = async (form: Record<string, string>) => {
    const answer = await fetch(standIn.siteverify, { method: 'POST', body: new URLSearchParams(form) });
    return (await answer.json()) as Record<string, unknown>;
  };
  return { standIn, ask };
}

describe('The stand-in of a captcha’s provider', () => {
  it('accepts a token once', async () => {
    const { standIn, ask } = await captcha();
    const form = { secret: 'the-secret-key', response: standIn.solve() };
    expect(await ask(form)).toMatchObject({ success: true, challenge_ts: expect.stringMatching(/Z$/) });
    expect(await ask(form)).toEqual({ success: false, 'error-codes': ['timeout-or-duplicate'] });
  });

  it.each([
    [{ response: 'x' }, 'missing-input-secret'],
    [{ secret: 'another', response: 'x' }, 'invalid-input-secret'],
    [{ secret: 'the-secret-key' }, 'missing-input-response'],
    [{ secret: 'the-secret-key', response: 'x' }, 'invalid-input-response'],
  ])('answers %j with %s', async (form, code) => {
    const { ask } = await captcha();
    expect(await ask(form)).toEqual({ success: false, 'error-codes': [code] });
  });
});

const PUBLISHED = { phoneNumber: '+447400123456', message: '123456', attributes: {} };

async function sns() {
  const { standIn, faults, outbox } = await startedStandIn(startSns, {});
  const publish = snsPublisher(clientSettings(standIn.url));
  return { standIn, faults, outbox, send: () => publish(PUBLISHED, NEVER_ABORTED) };
}

describe('A stand-in that is down', () => {
  it('refuses connections as often as requested or until it is cleared, and then works at the same port', async () => {
    const { standIn, faults, outbox, send } = await sns();
    faults.set({ kind: 'down', times: 2, after: 1 });
    await send();
    for (let refused = 1; refused <= 2; refused += 1) {
      expect(await failureOf(send())).toMatchObject({ kind: 'retryable', reason: 'ECONNREFUSED' });
    }
    await send();
    expect([outbox.length, standIn.requests]).toEqual([2, 2]);
    expect(faults.list()).toEqual([]);
    faults.set({ kind: 'down', times: 100 });
    await failureOf(send());
    faults.clear();
    await send();
  });
});
