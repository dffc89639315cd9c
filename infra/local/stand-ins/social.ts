import * as v from 'valibot';
import { localArn } from '../rights/arn.ts';
import { parseObject, restError } from './protocols.ts';
import {
  type Call,
  jsonAnswer,
  requestId,
  ServiceError,
  type StandIn,
  type StandInAnswer,
  type StandInOptions,
  serveStandIn,
} from './stand-in.ts';

export interface SocialOptions extends StandInOptions {
  /** Numbers that can send, as `phone-number-id-…`. */
  phoneNumberIds: string[];
  /** The names of approved authentication templates; in every language. */
  codeTemplates: string[];
}

/** The language codes of WhatsApp's message templates. */
const LANGUAGES = (
  'af ar az bg bn ca cs da de el en en_GB en_US es es_AR es_ES es_MX et fa fi fil fr ga gu ha he hi hr hu id it ja ka kk kn ko ' +
  'ky_KG lo lt lv mk ml mr ms nb nl pa pl pt_BR pt_PT ro ru rw_RW sk sl sq sr sv sw ta te th tr uk ur uz vi zh_CN zh_HK zh_TW zu'
).split(' ');

const InputSchema = v.object({ originationPhoneNumberId: v.string(), message: v.string() });
const ParametersSchema = v.array(v.object({ parameters: v.array(v.object({ text: v.string() })) }));
const MessageSchema = v.object({
  to: v.string(),
  template: v.object({
    name: v.string(),
    language: v.object({ code: v.picklist(LANGUAGES) }),
    components: ParametersSchema,
  }),
});
type Template = v.InferOutput<typeof MessageSchema>['template'];

/** End User Messaging Social, `SendWhatsAppMessage` (REST, JSON), as the service calls it. */
export function startSocial({ record, ...options }: SocialOptions): Promise<StandIn> {
  function answer({ body }: Call): StandInAnswer {
    const input = v.safeParse(InputSchema, parseObject(body));
    if (!input.success) throw new ServiceError('ValidationException');
    const { originationPhoneNumberId: from, message: encoded } = input.output;
    if (!options.phoneNumberIds.includes(from)) throw new ServiceError('ResourceNotFoundException', undefined, 404);
    const message = v.safeParse(MessageSchema, parseObject(Buffer.from(encoded, 'base64').toString('utf8')));
    const text = message.success ? rendered(message.output.template, options) : undefined;
    if (!message.success || text === undefined) throw new ServiceError('InvalidParametersException');
    const { to, template } = message.output;
    record({ kind: 'whatsapp', to, text, language: template.language.code.replace('_', '-') });
    return jsonAnswer({ messageId: requestId() });
  }

  return serveStandIn(
    {
      answer,
      error: restError,
      signed: {
        name: 'social-messaging',
        denied: 'AccessDeniedException',
        needs({ body }) {
          const from = String(parseObject(body)?.originationPhoneNumberId);
          const number = from.replace(/^phone-number-id-/, 'phone-number-id/');
          const resource = from.startsWith('arn:') ? from : localArn('social-messaging', number);
          return [{ action: 'social-messaging:SendWhatsAppMessage', resource }];
        },
      },
      throttled: new ServiceError('ThrottledRequestException', undefined, 429),
      refused: new ServiceError('AccessDeniedException', undefined, 403),
      refused_recipient: new ServiceError(
        'InvalidParametersException',
        '(#131026) Receiver is incapable of receiving this message',
      ),
    },
    options,
  );
}

/** The message as the template makes it, in English. Undefined: the template does not exist, or needs other parameters. */
function rendered({ name, components }: Template, options: Omit<SocialOptions, 'record'>) {
  const [code, copied] = components.map(({ parameters: [value] }) => value?.text);
  if (!options.codeTemplates.includes(name) || code === undefined || code !== copied) return undefined;
  return `${code} is your verification code. For your security, do not share this code.`;
}
