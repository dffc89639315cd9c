import * as v from 'valibot';
import { localArn } from '../rights/arn.ts';
import { jsonOperation, jsonService } from './protocols.ts';
import { requestId, ServiceError, type StandIn, type StandInOptions, serveStandIn } from './stand-in.ts';

export interface VoiceOptions extends StandInOptions {
  /** Numbers or pools that can call. */
  originationIdentities: string[];
  /** The existing protect configurations. */
  protectConfigurationIds?: string[];
}

/** The voices of Amazon Polly that `SendVoiceMessage` knows, by language. */
const POLLY_VOICES: Record<string, string> = {
  ar: 'ZEINA',
  'cy-GB': 'GWYNETH',
  'da-DK': 'MADS NAJA',
  'de-DE': 'HANS MARLENE VICKI',
  'en-AU': 'NICOLE RUSSELL',
  'en-GB': 'AMY BRIAN EMMA GERAINT',
  'en-IN': 'RAVEENA',
  'en-US': 'IVY JOANNA JOEY JUSTIN KENDRA KIMBERLY MATTHEW SALLI',
  'es-ES': 'CONCHITA ENRIQUE LUCIA',
  'es-MX': 'MIA',
  'es-US': 'LUPE MIGUEL PENELOPE',
  'fr-CA': 'CHANTAL',
  'fr-FR': 'CELINE LEA MATHIEU',
  'is-IS': 'DORA KARL',
  'it-IT': 'BIANCA CARLA GIORGIO',
  'ja-JP': 'MIZUKI TAKUMI',
  'ko-KR': 'SEOYEON',
  'nb-NO': 'LIV',
  'nl-NL': 'LOTTE RUBEN',
  'pl-PL': 'EWA JACEK JAN MAJA',
  'pt-BR': 'CAMILA RICARDO VITORIA',
  'pt-PT': 'CRISTIANO INES',
  'ro-RO': 'CARMEN',
  'ru-RU': 'MAXIM TATYANA',
  'sv-SE': 'ASTRID',
  'tr-TR': 'FILIZ',
  'zh-CN': 'ZHIYU',
};

const CallSchema = v.object({
  DestinationPhoneNumber: v.string(),
  OriginationIdentity: v.string(),
  MessageBody: v.string(),
  VoiceId: v.string(),
  ProtectConfigurationId: v.optional(v.string()),
});

/** End User Messaging SMS and Voice v2: `SendVoiceMessage` as the service calls it, in SSML by a voice. */
export function startVoice({ record, ...account }: VoiceOptions): Promise<StandIn> {
  const sendVoiceMessage = jsonOperation(CallSchema, (call) => {
    const { ProtectConfigurationId: protect, DestinationPhoneNumber: to } = call;
    if (!account.originationIdentities.includes(call.OriginationIdentity)) throw missing('phone-number');
    if (protect !== undefined && !account.protectConfigurationIds?.includes(protect))
      throw missing('protect-configuration');
    const [spoken, language] = [spokenText(call.MessageBody), voiceLanguage(call.VoiceId)];
    if (spoken === undefined) throw invalid('CANNOT_PARSE', 'MessageBody');
    if (language === undefined) throw invalid('FIELD_VALIDATION_FAILED', 'VoiceId');
    record({ kind: 'call', to, text: spoken, language });
    return { MessageId: requestId() };
  });

  return serveStandIn(
    jsonService({
      name: 'sms-voice',
      target: 'PinpointSMSVoiceV2',
      operations: { SendVoiceMessage: sendVoiceMessage },
      resources({ OriginationIdentity, ProtectConfigurationId: protect }) {
        const from = String(OriginationIdentity);
        const kind = from.startsWith('pool-') ? 'pool' : 'phone-number';
        return [
          from.startsWith('arn:') ? from : localArn('sms-voice', `${kind}/${from}`),
          ...(protect === undefined ? [] : [localArn('sms-voice', `protect-configuration/${protect}`)]),
        ];
      },
      throttled: new ServiceError('ThrottlingException', 'Rate exceeded'),
      refused: new ServiceError('AccessDeniedException', 'Access denied'),
      refused_recipient: invalid('INVALID_PARAMETER', 'DestinationPhoneNumber'),
    }),
    account,
  );
}

function voiceLanguage(voice: string): string | undefined {
  return Object.entries(POLLY_VOICES).find(([, voices]) => voices.split(' ').includes(voice))?.[0];
}

function invalid(Reason: string, Name: string): ServiceError {
  const Fields = [{ Name, Message: 'is not valid' }];
  return new ServiceError('ValidationException', 'Validation failed', 400, { Reason, Fields });
}

function missing(ResourceType: string): ServiceError {
  return new ServiceError('ResourceNotFoundException', 'The resource does not exist.', 400, { ResourceType });
}

const ENTITIES: Record<string, string> = { amp: '&', lt: '<', gt: '>', quot: '"', '#39': "'" };
const DIGIT = '<say-as interpret-as="digits">\\d</say-as>';
const PAUSE = '<break time="(?:\\d{1,4}ms|\\ds)"/>';
const DIGITS = new RegExp(`${DIGIT}(?:${PAUSE}${DIGIT})*`, 'g');

/**
 * The spoken text of the SSML that the service makes: pauses as spaces, spelled digits as one number. Amazon Polly
 * supports more. @returns undefined for other tags, and for markup that is not escaped
 */
export function spokenText(ssml: string): string | undefined {
  const [, content] = /^<speak>(.*)<\/speak>$/s.exec(ssml) ?? [];
  const text = content
    ?.replaceAll(DIGITS, (spelled) => ` ${spelled.replaceAll(/<[^>]*>/g, '')} `)
    .replaceAll(new RegExp(PAUSE, 'g'), ' ');
  if (text === undefined || /<|&(?!(amp|lt|gt|quot|#39);)/.test(text)) return undefined;
  return text
    .replaceAll(/&([^;]+);/g, (_, name: string) => ENTITIES[name] ?? '')
    .replaceAll(/\s+/g, ' ')
    .trim();
}
