import {
  PinpointSMSVoiceV2Client,
  type PinpointSMSVoiceV2ClientConfig,
  SendVoiceMessageCommand,
} from '@aws-sdk/client-pinpoint-sms-voice-v2';
import type { DeliveryFailureKind } from '../messages/message.ts';
import type { PlaceCall } from '../messages/providers.ts';
import { AT_MOST_ONCE, deliver, type ServiceAnswer } from './delivery.ts';

/** Calls through AWS End User Messaging SMS and Voice v2, each at most once. */
export function voiceCaller(config: PinpointSMSVoiceV2ClientConfig = {}): PlaceCall {
  const client = new PinpointSMSVoiceV2Client({ ...AT_MOST_ONCE, ...config });
  return (call, signal) =>
    deliver(
      new SendVoiceMessageCommand({
        DestinationPhoneNumber: call.to,
        OriginationIdentity: call.from,
        MessageBody: call.ssml,
        MessageBodyTextType: 'SSML',
        VoiceId: call.voiceId,
        TimeToLive: call.timeToLiveSeconds,
        ProtectConfigurationId: call.protectConfiguration,
      }),
      async (command, options) => (await client.send(command, options)).MessageId,
      classify,
      signal,
    );
}

function classify({ name, Reason, Fields }: ServiceAnswer): DeliveryFailureKind | undefined {
  switch (name) {
    case 'ServiceQuotaExceededException':
      return 'over_budget';
    case 'ConflictException':
      return conflictKind(Reason);
    case 'ValidationException':
      if (Fields?.some((field) => field.Name === 'DestinationPhoneNumber')) return 'refused_recipient';
      return validationKind(Reason);
    default:
      return undefined;
  }
}

function conflictKind(reason: string | undefined): DeliveryFailureKind {
  switch (reason) {
    case 'DESTINATION_PHONE_NUMBER_OPTED_OUT':
      return 'opted_out';
    case 'DESTINATION_PHONE_NUMBER_BLOCKED_BY_PROTECT_NUMBER_OVERRIDE':
      return 'refused_recipient';
    case 'DESTINATION_COUNTRY_BLOCKED_BY_PROTECT_CONFIGURATION':
      return 'blocked_country';
    default:
      // Among them DESTINATION_PHONE_NUMBER_NOT_VERIFIED: the account is still in the sandbox.
      return 'misconfigured';
  }
}

function validationKind(reason: string | undefined): DeliveryFailureKind {
  switch (reason) {
    case 'PRICE_OVER_THRESHOLD':
      return 'over_budget';
    case 'COUNTRY_NOT_ENABLED':
    case 'DESTINATION_COUNTRY_BLOCKED':
    case 'INTERNATIONAL_SENDING_NOT_SUPPORTED':
    case 'INVALID_IDENTITY_FOR_DESTINATION_COUNTRY':
      return 'blocked_country';
    default:
      return 'misconfigured';
  }
}
