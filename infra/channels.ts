import type { Channel, PhoneChannel } from '../lib/validators/otp-types.ts';
import type { Settings } from './settings.ts';

interface ChannelDeclaration {
  /** The channel's name for people. */
  title: string;
  /** The service of AWS that sends its messages, by its name in Service Quotas. */
  service: string;
  /** The default of AWS, which no call reads. Absent: the account's own number is read. */
  messagesPerSecond?: number;
}

/** The right to send by a channel. */
export interface SendingRight {
  sid: string;
  /** Such as `sns:Publish`. */
  action: string;
  /** The kind and the name of each resource, or its ARN. Absent: all that is no resource of the service. */
  resources?: readonly (readonly [resource: string, name: string] | string)[];
}

interface PhoneChannelDeclaration extends ChannelDeclaration {
  /** The settings of `npm start`, if the channel needs any. */
  local?: object;
  /**
   * The right to send by AWS, or nothing if the channel is not set up.
   * @param protectConfiguration the id of the country rules, if the stack has them
   */
  right(settings: Settings, protectConfiguration: string | undefined): SendingRight | undefined;
  /** From when on the cost raises an alarm: a metric of AWS, or the messages of a day. */
  spend(settings: Settings['spend']): {
    loss: string;
    atLeast: number;
    metric?: readonly [namespace: string, name: string];
  };
  /** The monthly limit of AWS for the cost, and its name in the command that changes it. */
  spendLimit?: { name: string; kind: string };
}

/** The facts about each channel that the stack, the local service, pages and operators' commands share. */
export const PHONE_CHANNEL_ROWS: Readonly<Record<PhoneChannel, PhoneChannelDeclaration>> = {
  sms: {
    title: 'SMS',
    service: 'Amazon SNS',
    messagesPerSecond: 20,
    // A text goes to a number, which is not a resource: no topic.
    right: () => ({ sid: 'SendTexts', action: 'sns:Publish' }),
    spend: ({ smsUsdPerMonth: atLeast }) => ({
      loss: `Your bill: texts have cost $${atLeast} this month. At the account's own limit no text is sent.`,
      atLeast,
      metric: ['AWS/SNS', 'SMSMonthToDateSpentUSD'],
    }),
    spendLimit: { name: 'TEXT_MESSAGE_MONTHLY_SPEND_LIMIT', kind: 'text' },
  },
  call: {
    title: 'Call',
    service: 'AWS End User Messaging',
    messagesPerSecond: 20,
    local: { originationIdentity: 'phone-00000000000000000000000000000001' },
    right({ call }, protectConfiguration) {
      if (call === undefined) return undefined;
      const { originationIdentity: identity } = call;
      const from = identity.startsWith('pool-') ? 'pool' : 'phone-number';
      const rules =
        protectConfiguration === undefined ? [] : [['protect-configuration', protectConfiguration] as const];
      const resources = [identity.startsWith('arn:') ? identity : ([from, identity] as const), ...rules];
      return { sid: 'SendCalls', action: 'sms-voice:SendVoiceMessage', resources };
    },
    spend: ({ callUsdPerMonth: atLeast }) => ({
      loss: `Your bill: calls have cost $${atLeast} this month. At the account's own limit no call is made.`,
      atLeast,
      metric: ['AWS/SMSVoice', 'VoiceMessageMonthlySpend'],
    }),
    spendLimit: { name: 'VOICE_MESSAGE_MONTHLY_SPEND_LIMIT', kind: 'voice' },
  },
  whatsapp: {
    title: 'WhatsApp',
    service: 'AWS End User Messaging Social',
    messagesPerSecond: 80,
    local: {
      phoneNumberId: 'phone-number-id-00000000000000000000000000000001',
      codeTemplate: 'one_time_password',
      noticeTemplate: 'registration_attempt',
    },
    right({ whatsapp }) {
      if (whatsapp === undefined) return undefined;
      const number = whatsapp.phoneNumberId.replace(/^phone-number-id-/, '');
      return {
        sid: 'SendWhatsApp',
        action: 'social-messaging:SendWhatsAppMessage',
        resources: [['phone-number-id', number]],
      };
    },
    spend: ({ whatsappMessagesPerDay: atLeast }) => ({
      loss: `Your bill: ${atLeast} WhatsApp messages were sent within a day.`,
      atLeast,
    }),
  },
};

/** Every channel, with what all of them have. */
export const CHANNELS: Readonly<Record<Channel, ChannelDeclaration>> = {
  email: { title: 'Email', service: 'Amazon SES' },
  ...PHONE_CHANNEL_ROWS,
};
