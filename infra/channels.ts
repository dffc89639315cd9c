import type { Channel } from '../lib/validators/otp-types.ts';

interface ChannelDeclaration {
  /** The channel's name for people. */
  title: string;
  /** The service of AWS that sends its messages, by its name in Service Quotas. */
  service: string;
  /** The default of AWS, which no call reads. Absent: the account's own number is read. */
  messagesPerSecond?: number;
}

/** The facts about each channel that pages and operators' commands show. */
export const CHANNELS: Readonly<Record<Channel, ChannelDeclaration>> = {
  email: { title: 'Email', service: 'Amazon SES' },
  sms: { title: 'SMS', service: 'Amazon SNS', messagesPerSecond: 20 },
  call: { title: 'Call', service: 'AWS End User Messaging', messagesPerSecond: 20 },
  whatsapp: { title: 'WhatsApp', service: 'AWS End User Messaging Social', messagesPerSecond: 80 },
};
