import type { ChannelSettings } from '../lib/config/channel-settings.ts';
import type { Channel, PhoneChannel } from '../lib/validators/otp-types.ts';
import type { Settings } from './settings.ts';

interface ChannelDeclaration {
  /** The channel's name for people. */
  title: string;
  /** The service of AWS that sends the channel's messages, by its name in Service Quotas. */
  service: string;
}

/** The right to send by a channel. */
export interface SendingRight {
  sid: string;
  /** The action of the right, such as `sns:Publish`. */
  action: string;
  /**
   * Each resource as its ARN, or as the end of one in the stack's account and region, such as `phone-number/phone-0a1b`.
   * Absent: everything that is no resource of the service.
   */
  resources?: readonly string[];
}

interface PhoneChannelDeclaration extends ChannelDeclaration {
  /** The messages of the channel, in the plural. */
  messages: string;
  /** The settings of `npm start`, if the channel needs any. */
  local?: object;
  /**
   * The right to send by AWS, or nothing if the channel is not set up.
   * @param protectConfigurationId the id of the country rules, if the stack has them
   */
  right(settings: Partial<ChannelSettings>, protectConfigurationId: string | undefined): SendingRight | undefined;
  /** The cost from which on an alarm is raised. */
  spend: {
    /** Of the group `spend`: US dollars a month if AWS has a metric of the cost, else messages a day. */
    setting: keyof Settings['spend'];
    metric?: readonly [namespace: string, name: string];
  };
}

/** The facts about each channel that settings, the stack, the local service, pages and operators' commands share. */
export const PHONE_CHANNEL_ROWS: Readonly<Record<PhoneChannel, PhoneChannelDeclaration>> = {
  sms: {
    title: 'SMS',
    messages: 'texts',
    service: 'Amazon SNS',
    // A text goes to a number, which is not a resource: no topic.
    right: () => ({ sid: 'SendTexts', action: 'sns:Publish' }),
    spend: {
      setting: 'smsUsdPerMonth',
      metric: ['AWS/SNS', 'SMSMonthToDateSpentUSD'],
    },
  },
  call: {
    title: 'Call',
    messages: 'calls',
    service: 'AWS End User Messaging',
    local: { originationIdentity: 'phone-00000000000000000000000000000001' },
    right({ call }, protectConfigurationId) {
      if (call === undefined) return undefined;
      const { originationIdentity: identity } = call;
      const from = identity.startsWith('pool-') ? 'pool' : 'phone-number';
      const rules = protectConfigurationId === undefined ? [] : [`protect-configuration/${protectConfigurationId}`];
      const resources = [identity.startsWith('arn:') ? identity : `${from}/${identity}`, ...rules];
      return { sid: 'SendCalls', action: 'sms-voice:SendVoiceMessage', resources };
    },
    spend: {
      setting: 'callUsdPerMonth',
      metric: ['AWS/SMSVoice', 'VoiceMessageMonthlySpend'],
    },
  },
  whatsapp: {
    title: 'WhatsApp',
    messages: 'WhatsApp messages',
    service: 'AWS End User Messaging Social',
    local: {
      phoneNumberId: 'phone-number-id-00000000000000000000000000000001',
      codeTemplate: 'one_time_password',
    },
    right({ whatsapp }) {
      if (whatsapp === undefined) return undefined;
      const number = whatsapp.phoneNumberId.replace(/^phone-number-id-/, '');
      return {
        sid: 'SendWhatsApp',
        action: 'social-messaging:SendWhatsAppMessage',
        resources: [`phone-number-id/${number}`],
      };
    },
    // AWS has no figure for the cost.
    spend: { setting: 'whatsappMessagesPerDay' },
  },
};

/** Every channel, with the members that all channels have. */
export const CHANNELS: Readonly<Record<Channel, ChannelDeclaration>> = {
  email: { title: 'Email', service: 'Amazon SES' },
  ...PHONE_CHANNEL_ROWS,
};
