import type { Brand, CallSettings, SmsSettings, WhatsAppSettings } from '../validators/deployment.ts';
import type { Channel } from '../validators/otp-types.ts';
import type { EmailSettings } from './mail.ts';
import { DeliveryFailure, type OtpChannel } from './message.ts';

export interface ChannelSettings {
  /** The channels of this deployment, in the order of the specification; always with `email`. */
  channels: readonly Channel[];
  brand: Brand;
  email: EmailSettings;
  sms: SmsSettings;
  call?: CallSettings | undefined;
  /** The country rules that calls obey. */
  protectConfiguration?: string | undefined;
  whatsapp?: WhatsAppSettings | undefined;
}

/** How each channel is opened. */
export type Openers = Record<Channel, (settings: ChannelSettings) => Promise<OtpChannel>>;

/**
 * The channels of this deployment, each opened once.
 * @returns opens a channel; it is rejected with a DeliveryFailure for one that is not installed
 */
export function installedChannels(settings: ChannelSettings, openers: Openers): (name: Channel) => Promise<OtpChannel> {
  const open = new Map<Channel, Promise<OtpChannel>>();
  return async (name) => {
    if (!settings.channels.includes(name)) throw new DeliveryFailure('misconfigured', 'ChannelNotInstalled');
    const opened = open.get(name) ?? openers[name](settings);
    open.set(name, opened);
    return opened;
  };
}

/** The settings that a channel needs. */
export function installed<T>(settings: T | undefined): T {
  if (settings === undefined) throw new DeliveryFailure('misconfigured', 'ChannelNotInstalled');
  return settings;
}
