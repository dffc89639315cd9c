import { arn } from '../rights/arn.ts';
import type { Need } from '../rights/policy.ts';
import { spokenText } from './ssml.ts';
import { type Answer, type Call, requestId, type StandIn, type StandInOptions, serve } from './stand-in.ts';

export interface VoiceOptions extends StandInOptions {
  /** Numbers or pools that can call. */
  originationIdentities: string[];
  /** Configuration sets and protect configurations that there are. */
  configurationSets?: string[];
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

/** End User Messaging SMS and Voice v2, `SendVoiceMessage` (AWS JSON 1.0). */
export function startVoice(options: VoiceOptions): Promise<StandIn> {
  function answer({ headers, body }: Call): Answer {
    if (headers['x-amz-target'] !== 'PinpointSMSVoiceV2.SendVoiceMessage')
      return error('UnknownOperationException', {});
    const input = parse(body);
    if (input === undefined) return error('SerializationException', {});
    const fault = fieldError(input) ?? stateError(input, options);
    if (fault !== undefined) return fault;

    const ssml = input.MessageBodyTextType === 'SSML';
    const text = ssml ? spokenText(String(input.MessageBody)) : String(input.MessageBody);
    if (text === undefined) return invalid('CANNOT_PARSE', 'MessageBody');
    const language = voiceLanguage(input.VoiceId ?? 'MATTHEW');
    options.record({
      kind: 'call',
      to: String(input.DestinationPhoneNumber),
      text,
      ...(language === undefined ? {} : { language }),
    });
    return json(200, { MessageId: requestId() });
  }

  return serve(
    {
      signingName: 'sms-voice',
      answer,
      needs,
      denied: (Message) => error('AccessDeniedException', { Message }),
      unsigned: () => error('MissingAuthenticationTokenException', { Message: 'Missing Authentication Token' }, 403),
      throttled: () => error('ThrottlingException', { Message: 'Rate exceeded' }),
      refused: () => error('AccessDeniedException', { Message: 'Access denied', Reason: 'ACCOUNT_DISABLED' }),
    },
    options,
  );
}

/** The right on everything that the call names. */
function needs({ headers, body }: Call): Need[] {
  const {
    OriginationIdentity: identity,
    ConfigurationSetName: set,
    ProtectConfigurationId: protect,
  } = parse(body) ?? {};
  const kind = String(identity).startsWith('pool-') ? 'pool' : 'phone-number';
  const resources = [
    String(identity).startsWith('arn:') ? String(identity) : arn('sms-voice', `${kind}/${identity}`),
    ...(set === undefined ? [] : [arn('sms-voice', `configuration-set/${set}`)]),
    ...(protect === undefined ? [] : [arn('sms-voice', `protect-configuration/${protect}`)]),
  ];
  const action = String(headers['x-amz-target']).replace(/^PinpointSMSVoiceV2\./, 'sms-voice:');
  return resources.map((resource) => ({ action, resource }));
}

/** The values that the fields may have; `true`: required. */
const FIELDS: Record<string, [rule: (value: unknown) => boolean, required?: true]> = {
  DestinationPhoneNumber: [text(/^\+?[1-9][0-9]{6,18}$/), true],
  OriginationIdentity: [text(/^[A-Za-z0-9_:/+-]{1,256}$/), true],
  MessageBody: [text(/^(?!\s*$)[\s\S]+$/), true],
  MessageBodyTextType: [text(/^(TEXT|SSML)$/)],
  VoiceId: [(value) => voiceLanguage(value) !== undefined],
  ConfigurationSetName: [text(/^[A-Za-z0-9_:/-]{1,256}$/)],
  ProtectConfigurationId: [text(/^[A-Za-z0-9_:/-]{1,256}$/)],
  MaxPricePerMinute: [text(/^(?=.{2,8}$)[0-9]{0,2}\.[0-9]{1,5}$/)],
  TimeToLive: [(value) => Number.isInteger(value) && Number(value) >= 5 && Number(value) <= 259_200],
};

function fieldError(input: Record<string, unknown>): Answer | undefined {
  for (const [name, [rule, required]] of Object.entries(FIELDS)) {
    if (input[name] === undefined) {
      if (required === true) return invalid('MISSING_PARAMETER', name);
    } else if (!rule(input[name])) return invalid('FIELD_VALIDATION_FAILED', name);
  }
  const longest = input.MessageBodyTextType === 'SSML' ? 6_000 : 3_000;
  return String(input.MessageBody).length > longest ? invalid('MAXIMUM_SIZE_EXCEEDED', 'MessageBody') : undefined;
}

function stateError(input: Record<string, unknown>, options: VoiceOptions): Answer | undefined {
  const among = (value: unknown, known: string[] = []) => value === undefined || known.includes(String(value));
  if (!among(input.OriginationIdentity, options.originationIdentities)) return missing('phone-number');
  if (!among(input.ConfigurationSetName, options.configurationSets)) return missing('configuration-set');
  if (!among(input.ProtectConfigurationId, options.protectConfigurations)) return missing('protect-configuration');
  const to = String(input.DestinationPhoneNumber);
  if (options.optedOut?.includes(to)) return conflict('DESTINATION_PHONE_NUMBER_OPTED_OUT');
  if (options.blockedCountries?.some((code) => to.startsWith(code))) {
    return conflict('DESTINATION_COUNTRY_BLOCKED_BY_PROTECT_CONFIGURATION');
  }
  return undefined;
}

function text(rule: RegExp): (value: unknown) => boolean {
  return (value) => typeof value === 'string' && rule.test(value);
}

function voiceLanguage(voice: unknown): string | undefined {
  return Object.entries(VOICES).find(([, voices]) => voices.split(' ').includes(String(voice)))?.[0];
}

function parse(body: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(body);
    return typeof value === 'object' && value !== null ? { ...value } : undefined;
  } catch {
    return undefined;
  }
}

function invalid(Reason: string, field: string): Answer {
  return error('ValidationException', {
    Message: 'Validation failed',
    Reason,
    Fields: [{ Name: field, Message: 'is not valid' }],
  });
}

function conflict(Reason: string): Answer {
  return error('ConflictException', { Message: 'The request conflicts with the state of a resource.', Reason });
}

function missing(ResourceType: string): Answer {
  return error('ResourceNotFoundException', { Message: 'The resource does not exist.', ResourceType });
}

function error(name: string, members: Record<string, unknown>, status = 400): Answer {
  return json(status, { __type: `com.amazonaws.pinpointsmsvoicev2#${name}`, ...members });
}

function json(status: number, body: Record<string, unknown>): Answer {
  return { status, headers: { 'content-type': 'application/x-amz-json-1.0' }, body: JSON.stringify(body) };
}
