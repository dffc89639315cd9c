/** The channels that a one-time password can be asked for on (specification, 2.1). */
export const OTP_TYPES = ['email', 'sms', 'call', 'whatsapp'] as const;
export type Channel = (typeof OTP_TYPES)[number];
