/** The channels of a one-time password (specification, 2.1). */
export const OTP_TYPES = ['email', 'sms', 'call', 'whatsapp'] as const;
export type Channel = (typeof OTP_TYPES)[number];
/** The channels whose messages go to a phone number, and cost money. */
export type PhoneChannel = Exclude<Channel, 'email'>;

export function isPhoneChannel(channel: unknown): channel is PhoneChannel {
  return OTP_TYPES.some((name) => name === channel) && channel !== 'email';
}

/** How long a one-time password can be used (NIST SP 800-63B, OWASP ASVS 6.5.5). */
export const CODE_VALID_MINUTES = 10;
