import type { Brand } from './brand.ts';
import type { OtpChannel } from './message.ts';
import type { PlaceCall } from './providers.ts';
import { voiceSsml } from './speech.ts';

export interface CallSettings {
  /** The number or pool that calls. */
  originationIdentity: string;
  configurationSet?: string | undefined;
  /** US dollars, such as `0.30`. */
  maxPricePerMinute?: string | undefined;
  protectConfiguration?: string | undefined;
}

/** A notice that comes later than this, in seconds, only confuses. */
const NOTICE_LIFE_SECONDS = 600;

/** The channel `call`: a voice reads the code out, through AWS End User Messaging. */
export function callChannel(settings: CallSettings, brand: Brand, placeCall: PlaceCall): OtpChannel {
  return {
    send(to, message, language, signal) {
      const { ssml, voiceId } = voiceSsml(message, language, brand);
      return placeCall(
        {
          to,
          from: settings.originationIdentity,
          ssml,
          voiceId,
          // No call about a code that has expired: the service would go on trying for 72 hours.
          timeToLiveSeconds: message.kind === 'code' ? message.validMinutes * 60 : NOTICE_LIFE_SECONDS,
          configurationSet: settings.configurationSet,
          maxPricePerMinute: settings.maxPricePerMinute,
          protectConfiguration: settings.protectConfiguration,
        },
        signal,
      );
    },
  };
}
