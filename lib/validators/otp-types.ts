/** The channels whose messages go to a phone number, and cost money. */
export const PHONE_CHANNELS = ['sms', 'call', 'whatsapp'] as const;
export type PhoneChannel = (typeof PHONE_CHANNELS)[number];
/** The channels of a one-time password (specification, 2.1). */
export const OTP_TYPES = ['email', ...PHONE_CHANNELS] as const;
export type Channel = (typeof OTP_TYPES)[number];

export function isPhoneChannel(channel: unknown): channel is PhoneChannel {
  return PHONE_CHANNELS.some((name) => name === channel);
}

/** Joins names for a sentence: `sms, call or whatsapp`. */
export function joinWithOr(names: readonly string[]): string {
  return `${names.slice(0, -1).join(', ')} or ${names.at(-1)}`;
}

/** How long a one-time password can be used (NIST SP 800-63B, OWASP ASVS 6.5.5). */
export const CODE_VALID_MINUTES = 10;
