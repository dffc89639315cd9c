import * as v from 'valibot';
import type { PhoneChannel } from '../validators/otp-types.ts';
import { closedObject } from '../validators/primitives.ts';
import { dollarAmount, E164_NUMBER, HOST_NAME, HOST_NAME_MUST, listOf, patternText } from './setting-types.ts';

const template = () =>
  patternText(/^[a-z0-9_]{1,512}$/, 'must be the name of a template: small letters, digits, underscores');
const LANGUAGES_MUST = 'must list languages such as de and zh-Hant, en among them';

function channelSettings() {
  return {
    /**
     * Texts by SNS. India's DLT registers the text of every language as a template, and its operators drop any other
     * text. The template's id would have to follow our texts at each change, so a broker that serves India uses its own
     * provider.
     */
    sms: v.optional(
      closedObject({
        /** The sender's name, in countries that allow names. */
        senderId: v.optional(
          patternText(/^(?=.*[A-Za-z])[A-Za-z0-9]{1,11}$/, 'must be 1 to 11 letters and digits, one a letter'),
        ),
        /** The sender's phone number. It belongs to the AWS account. */
        originationNumber: v.optional(patternText(E164_NUMBER, 'must be a phone number such as +15550100123')),
        /** The maximum price of one text in US dollars. A more expensive one is not sent. */
        maxPrice: v.optional(dollarAmount, '0.50'),
        /** The registration page's domain, on which browsers fill in the code (WebOTP). */
        webOtpDomain: v.optional(patternText(HOST_NAME, HOST_NAME_MUST)),
      }),
      {},
    ),
    /** Calls by AWS End User Messaging. */
    call: v.optional(
      closedObject({
        /** The calling number or pool of numbers. By id or ARN, so that the right to call can be limited to it. */
        originationIdentity: patternText(
          /^(arn:aws[\w-]*:sms-voice:[\w-]+:\d{12}:(phone-number|pool)\/(phone|pool)-\w+|(phone|pool)-\w+)$/,
          'must be the id or ARN of a number (phone-…) or of a pool (pool-…)',
        ),
      }),
    ),
    /** WhatsApp by AWS End User Messaging Social. */
    whatsapp: v.optional(
      closedObject({
        phoneNumberId: patternText(/^phone-number-id-\w+$/, 'must be the id of a linked number (phone-number-id-…)'),
        /** An approved authentication template. */
        codeTemplate: template(),
        /**
         * The languages, as tags such as `de` and `zh-Hant`, in which the template is approved. Messages in all
         * others are sent in English. Absent: all.
         */
        languages: v.optional(
          v.pipe(listOf(patternText(/^[a-z]{2}(-[A-Z][a-z]{3})?$/, LANGUAGES_MUST)), v.includes('en', LANGUAGES_MUST)),
        ),
      }),
    ),
  } as const satisfies Record<PhoneChannel, v.GenericSchema>;
}

/**
 * The settings of each channel to phones. A channel that needs its own to send by AWS has no default. The call is pure, so
 * the bundles of functions that send no code lack them.
 */
export const CHANNEL_SETTINGS = /* @__PURE__ */ channelSettings();
export type ChannelSettings = { [C in PhoneChannel]: v.InferOutput<(typeof CHANNEL_SETTINGS)[C]> };
export type SmsSettings = ChannelSettings['sms'];
export type CallSettings = NonNullable<ChannelSettings['call']>;
export type WhatsAppSettings = NonNullable<ChannelSettings['whatsapp']>;
