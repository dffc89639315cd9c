import * as v from 'valibot';
import { arn } from '../rights/arn.ts';
import type { Need } from '../rights/policy.ts';
import { type Answer, type Call, requestId, type StandIn, type StandInOptions, serve } from './stand-in.ts';

export interface SocialOptions extends StandInOptions {
  /** Numbers that can send, as `phone-number-id-…`. */
  phoneNumberIds: string[];
  /** The names of approved authentication templates; in every language. */
  codeTemplates: string[];
  /** The names of approved utility templates without parameters; in every language. */
  noticeTemplates: string[];
}

/** The language codes of WhatsApp's message templates. */
const LANGUAGES = (
  'af ar az bg bn ca cs da de el en en_GB en_US es es_AR es_ES es_MX et fa fi fil fr ga gu ha he hi hr hu id it ja ka kk kn ko ' +
  'ky_KG lo lt lv mk ml mr ms nb nl pa pl pt_BR pt_PT ro ru rw_RW sk sl sq sr sv sw ta te th tr uk ur uz vi zh_CN zh_HK zh_TW zu'
).split(' ');

const InputSchema = v.strictObject({
  originationPhoneNumberId: v.pipe(
    v.string(),
    v.regex(/^(phone-number-id-[\da-zA-Z]+|arn:.+:phone-number-id\/[\da-zA-Z]+)$/),
  ),
  message: v.pipe(v.string(), v.base64(), v.maxLength(2_048_000)),
  metaApiVersion: v.pipe(v.string(), v.regex(/^v\d{1,3}\.\d{1,2}$/)),
});

const TextParametersSchema = v.array(
  v.strictObject({ type: v.literal('text'), text: v.pipe(v.string(), v.minLength(1)) }),
);
const MessageSchema = v.strictObject({
  messaging_product: v.literal('whatsapp'),
  recipient_type: v.optional(v.literal('individual')),
  to: v.pipe(v.string(), v.regex(/^\+?[1-9]\d{6,14}$/)),
  type: v.literal('template'),
  template: v.strictObject({
    name: v.string(),
    language: v.strictObject({ code: v.picklist(LANGUAGES) }),
    components: v.array(
      v.variant('type', [
        v.strictObject({ type: v.literal('body'), parameters: TextParametersSchema }),
        v.strictObject({
          type: v.literal('button'),
          sub_type: v.literal('url'),
          index: v.literal('0'),
          parameters: TextParametersSchema,
        }),
      ]),
    ),
  }),
});
type Template = v.InferOutput<typeof MessageSchema>['template'];

/** End User Messaging Social, `SendWhatsAppMessage` (REST, JSON), with the checks of Meta's Cloud API. */
export function startSocial(options: SocialOptions): Promise<StandIn> {
  function answer({ path, body }: Call): Answer {
    if (path !== '/v1/whatsapp/send') return error(404, 'UnknownOperationException');
    const input = v.safeParse(InputSchema, parse(body));
    if (!input.success) return error(400, 'ValidationException');
    const { originationPhoneNumberId, message: encoded } = input.output;
    if (!options.phoneNumberIds.includes(originationPhoneNumberId)) return error(404, 'ResourceNotFoundException');
    const message = v.safeParse(MessageSchema, parse(Buffer.from(encoded, 'base64').toString('utf8')));
    if (!message.success) return error(400, 'InvalidParametersException');
    const { to, template } = message.output;
    const text = rendered(template, options);
    if (text === undefined) return error(400, 'InvalidParametersException');

    options.record({ kind: 'whatsapp', to, text, language: template.language.code.replace('_', '-') });
    return json(200, { messageId: requestId() });
  }

  return serve(
    {
      signingName: 'social-messaging',
      answer,
      needs,
      denied: (message) => error(403, 'AccessDeniedException', message),
      unsigned: () => error(403, 'MissingAuthenticationTokenException'),
      throttled: () => error(429, 'ThrottledRequestException'),
      refused: () => error(403, 'AccessDeniedException'),
    },
    options,
  );
}

function needs({ body }: Call): Need[] {
  const input = v.safeParse(InputSchema, parse(body));
  const number = input.success ? input.output.originationPhoneNumberId : '';
  const resource = number.startsWith('arn:')
    ? number
    : arn('social-messaging', `phone-number-id/${number.replace(/^phone-number-id-/, '')}`);
  return [{ action: 'social-messaging:SendWhatsAppMessage', resource }];
}

/**
 * The message as the template makes it, in English; undefined when the template does not exist or asks for other
 * parameters.
 */
function rendered({ name, components }: Template, options: SocialOptions): string | undefined {
  if (options.noticeTemplates.includes(name)) {
    if (components.length > 0) return undefined;
    return 'Someone tried to register with this phone number, which belongs to a client already. If it was not you, no action is needed.';
  }
  if (!options.codeTemplates.includes(name)) return undefined;
  const [body, button] = components;
  if (components.length !== 2 || body?.type !== 'body' || button?.type !== 'button') return undefined;
  const [code, copied] = [body.parameters[0]?.text, button.parameters[0]?.text];
  if (body.parameters.length !== 1 || button.parameters.length !== 1 || code !== copied) return undefined;
  if (code === undefined || code.length > 15) return undefined;
  return `${code} is your verification code. For your security, do not share this code.`;
}

function parse(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    return undefined;
  }
}

function error(status: number, name: string, message = name): Answer {
  const answer = json(status, { message });
  return { ...answer, headers: { ...answer.headers, 'x-amzn-errortype': name } };
}

function json(status: number, body: Record<string, unknown>): Answer {
  return { status, headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) };
}
