import * as v from 'valibot';
import { localArn } from '../rights/arn.ts';
import { jsonService } from './protocols.ts';
import { requestId, ServiceError, type StandIn, type StandInOptions, serveStandIn } from './stand-in.ts';

export interface VoiceOptions extends StandInOptions {
  /** Numbers or pools that can call. */
  originationIdentities: string[];
  /** The existing protect configurations. */
  protectConfigurations?: string[];
  /** Numbers whose owners want no calls, in E.164. */
  optedOut?: string[];
  /** Dial codes of blocked countries, with the plus. */
  blockedCountries?: string[];
}

/** The voices of Amazon Polly that `SendVoiceMessage` knows, by language. */
export const VOICES: Record<string, string> = {
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

const MAX_SSML = 6_000;
const text = (rule: RegExp) => v.pipe(v.string(), v.regex(rule));
const CallSchema = v.object({
  DestinationPhoneNumber: text(/^\+?[1-9][0-9]{6,18}$/),
  OriginationIdentity: text(/^[A-Za-z0-9_:/+-]{1,256}$/),
  MessageBody: text(/\S/),
  MessageBodyTextType: v.literal('SSML'),
  VoiceId: v.pipe(
    v.string(),
    v.check((voice) => voiceLanguage(voice) !== undefined),
  ),
  ProtectConfigurationId: v.optional(v.string()),
  TimeToLive: v.pipe(v.number(), v.integer(), v.minValue(5), v.maxValue(259_200)),
});

/** End User Messaging SMS and Voice v2: `SendVoiceMessage` as the service calls it, in SSML by a voice. */
export function startVoice({ record, ...options }: VoiceOptions): Promise<StandIn> {
  function sendVoiceMessage(input: unknown): object {
    const { success, output, issues } = v.safeParse(CallSchema, input);
    if (!success) {
      const [issue] = issues;
      const reason = issue.received === 'undefined' ? 'MISSING_PARAMETER' : 'FIELD_VALIDATION_FAILED';
      throw invalid(reason, v.getDotPath(issue) ?? '');
    }
    if (output.MessageBody.length > MAX_SSML) throw invalid('MAXIMUM_SIZE_EXCEEDED', 'MessageBody');
    checkState(output, options);
    const spoken = spokenText(output.MessageBody);
    if (spoken === undefined) throw invalid('CANNOT_PARSE', 'MessageBody');
    const language = voiceLanguage(output.VoiceId) ?? '';
    record({ kind: 'call', to: output.DestinationPhoneNumber, text: spoken, language });
    return { MessageId: requestId() };
  }

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
    options,
  );
}

/** @throws ServiceError if the account has no such resource, or the number must not be called */
function checkState(call: v.InferOutput<typeof CallSchema>, account: Omit<VoiceOptions, 'record'>): void {
  const { ProtectConfigurationId: protect, DestinationPhoneNumber: to } = call;
  if (!account.originationIdentities.includes(call.OriginationIdentity)) throw missing('phone-number');
  if (protect !== undefined && !account.protectConfigurations?.includes(protect))
    throw missing('protect-configuration');
  if (account.optedOut?.includes(to)) throw conflict('DESTINATION_PHONE_NUMBER_OPTED_OUT');
  if (account.blockedCountries?.some((code) => to.startsWith(code))) {
    throw conflict('DESTINATION_COUNTRY_BLOCKED_BY_PROTECT_CONFIGURATION');
  }
}

function voiceLanguage(voice: string): string | undefined {
  return Object.entries(VOICES).find(([, voices]) => voices.split(' ').includes(voice))?.[0];
}

function invalid(Reason: string, Name: string): ServiceError {
  const Fields = [{ Name, Message: 'is not valid' }];
  return new ServiceError('ValidationException', 'Validation failed', 400, { Reason, Fields });
}

function conflict(Reason: string): ServiceError {
  const message = 'The request conflicts with the state of a resource.';
  return new ServiceError('ConflictException', message, 400, { Reason });
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
