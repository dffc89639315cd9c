import { emailDomain } from '../../../lib/config/deployment.ts';
import type { Channel } from '../../../lib/validators/otp-types.ts';
import type { DeploymentSettings } from '../local-settings.ts';
import { startSes } from './ses.ts';
import { startSns } from './sns.ts';
import { startSocial } from './social.ts';
import type { StandIn, StandInOptions } from './stand-in.ts';
import { startVoice } from './voice.ts';

interface Sender {
  /** The service's name among the targets of faults. */
  name: string;
  /** The service's purpose, for the page of the outbox. */
  about: string;
  /** The clients that call the service: the ends of their variables `AWS_ENDPOINT_URL_…`. */
  clients: readonly string[];
  /** @param resources the variables of all functions, which name their resources */
  start(
    options: StandInOptions,
    settings: DeploymentSettings,
    resources: Readonly<Record<string, string>>,
  ): Promise<StandIn>;
}

/** The service of AWS that sends the messages of each channel. */
export const SENDERS = {
  email: {
    name: 'ses',
    about: 'sends emails',
    clients: ['SES', 'SESV2'],
    start: (options, { senderAddress }, { SES_CONFIGURATION_SET = '' }) =>
      startSes({
        ...options,
        verified: [senderAddress, emailDomain(senderAddress)],
        configurationSets: [SES_CONFIGURATION_SET],
      }),
  },
  sms: {
    name: 'sns',
    about: 'sends SMS and pop-ups',
    clients: ['SNS'],
    start: (options, _, { NOTIFICATIONS_TOPIC_ARN = '' }) =>
      startSns({ ...options, topics: [NOTIFICATIONS_TOPIC_ARN] }),
  },
  call: {
    name: 'voice',
    about: 'makes calls',
    clients: ['PINPOINT_SMS_VOICE_V2'],
    start: (options, { call }, { PROTECT_CONFIGURATION_ID = '' }) =>
      startVoice({
        ...options,
        originationIdentities: call === undefined ? [] : [call.originationIdentity],
        protectConfigurationIds: [PROTECT_CONFIGURATION_ID],
      }),
  },
  whatsapp: {
    name: 'whatsapp',
    about: 'sends WhatsApp messages',
    clients: ['SOCIALMESSAGING'],
    start: (options, { whatsapp: linked }) =>
      startSocial({
        ...options,
        phoneNumberIds: linked === undefined ? [] : [linked.phoneNumberId],
        codeTemplates: linked === undefined ? [] : [linked.codeTemplate],
      }),
  },
} as const satisfies Record<Channel, Sender>;
export type SenderName = (typeof SENDERS)[Channel]['name'];

/** The names of these services by channel. */
export const SENDING_SERVICES = Object.fromEntries(
  Object.entries(SENDERS).map(([channel, { name }]) => [channel, name]),
) as { readonly [C in Channel]: (typeof SENDERS)[C]['name'] };
