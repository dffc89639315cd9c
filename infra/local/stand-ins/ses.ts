import { arn } from '../rights/arn.ts';
import type { Need } from '../rights/policy.ts';
import { list, queryError, queryResult } from './query-protocol.ts';
import { sesAccount } from './ses-account.ts';
import { type Answer, type Call, requestId, type StandIn, type StandInOptions, serve } from './stand-in.ts';

export interface SesOptions extends StandInOptions {
  /** Identities (addresses or domains) that mails may be sent from. */
  verified: string[];
  /** Configuration sets that there are. */
  configurationSets?: string[];
}

const SES = { namespace: 'http://ses.amazonaws.com/doc/2010-12-01/' };
const REGION = 'local';
/** Of SendEmail v1, in bytes. */
const MAX_MESSAGE_BYTES = 10_485_760;

/** SES v1 `SendEmail`, and what SES v2 knows of the mails. */
export function startSes({ verified, configurationSets = [], record, ...options }: SesOptions): Promise<StandIn> {
  const account = sesAccount();

  function answer(call: Call): Answer {
    if (isV2(call)) return account.answer(call);
    const form = new URLSearchParams(call.body);
    const fault = refusal(form, verified, configurationSets);
    if (fault !== undefined) return fault;
    const id = requestId();
    const [from, subject] = [form.get('Source') ?? '', form.get('Message.Subject.Data') ?? ''];
    for (const to of recipients(form)) if (account.accept({ id, from, subject, to })) record(entry(form, to));
    return queryResult(SES, 'SendEmail', { MessageId: id });
  }

  /** The rights on the verified identity (the address if it is verified) and on the configuration set. */
  function needs(call: Call): Need[] {
    if (isV2(call)) return account.needs(call);
    const form = new URLSearchParams(call.body);
    const sender = parseAddress(form.get('Source') ?? '');
    const identity = verified.includes(sender) ? sender : emailDomain(sender);
    const set = form.get('ConfigurationSetName');
    const context = { 'ses:FromAddress': sender };
    return [`identity/${identity}`, ...(set === null ? [] : [`configuration-set/${set}`])].map((resource) => ({
      action: `ses:${form.get('Action')}`,
      resource: arn('ses', resource),
      context,
    }));
  }

  return serve(
    {
      signingName: 'ses',
      answer,
      needs,
      denied: (message) => queryError(SES, 403, 'AccessDenied', message),
      unsigned: () => queryError(SES, 403, 'MissingAuthenticationToken', 'Request is missing Authentication Token'),
      throttled: () => queryError(SES, 400, 'Throttling', 'Maximum sending rate exceeded.'),
      refused: () => identityError(verified.slice(0, 1)),
    },
    options,
  );
}

function isV2({ path }: Call): boolean {
  return path.startsWith('/v2/');
}

/** What SES says to a request that it does not take. */
function refusal(form: URLSearchParams, verified: string[], configurationSets: string[]): Answer | undefined {
  return (
    contentRefusal(form) ??
    recipientsRefusal(form) ??
    senderRefusal(form, verified) ??
    tagsRefusal(form) ??
    configurationSetRefusal(form, configurationSets) ??
    sizeRefusal(form)
  );
}

function contentRefusal(form: URLSearchParams): Answer | undefined {
  if (form.get('Action') !== 'SendEmail') {
    return queryError(
      SES,
      400,
      'InvalidAction',
      `Could not find operation ${form.get('Action')} for version 2010-12-01`,
    );
  }
  const subject = form.get('Message.Subject.Data');
  if (form.get('Source') === null || subject === null) {
    return queryError(SES, 400, 'ValidationError', '1 validation error detected: Member must not be null');
  }
  if (readBody(form) === '') return invalid('Message body is empty');
  if (/[\r\n]/.test(subject)) return invalid('Subject contains control characters');
  return undefined;
}

function recipientsRefusal(form: URLSearchParams): Answer | undefined {
  const to = recipients(form);
  if (to.length === 0) return invalid("Missing required header 'To'.");
  if (to.length > 50) return invalid('Recipient count exceeds 50.');
  for (const address of [...to.map(parseAddress), ...list(form, 'ReplyToAddresses.member').map(parseAddress)]) {
    const fault = addressError(address);
    if (fault !== undefined) return invalid(fault);
  }
  return undefined;
}

function senderRefusal(form: URLSearchParams, verified: string[]): Answer | undefined {
  const sender = parseAddress(form.get('Source') ?? '');
  const fault = addressError(sender);
  if (fault !== undefined) return invalid(fault);
  if (!verified.some((identity) => [sender.toLowerCase(), emailDomain(sender)].includes(identity.toLowerCase()))) {
    return identityError([sender]);
  }
  return undefined;
}

function tagsRefusal(form: URLSearchParams): Answer | undefined {
  const names = list(form, 'Tags.member', '.Name');
  const values = list(form, 'Tags.member', '.Value');
  if (names.length !== values.length || [...names, ...values].some((word) => !/^[\w-]{1,256}$/.test(word))) {
    return invalid('Invalid message tag: only ASCII letters, numbers, underscores and dashes are allowed.');
  }
  return undefined;
}

function configurationSetRefusal(form: URLSearchParams, configurationSets: string[]): Answer | undefined {
  const set = form.get('ConfigurationSetName');
  if (set !== null && !configurationSets.includes(set)) {
    return queryError(SES, 400, 'ConfigurationSetDoesNotExist', `Configuration set <${set}> does not exist.`);
  }
  return undefined;
}

function sizeRefusal(form: URLSearchParams): Answer | undefined {
  const length = Buffer.byteLength((form.get('Message.Subject.Data') ?? '') + readBody(form));
  if (length <= MAX_MESSAGE_BYTES) return undefined;
  return invalid(`Message length is more than ${MAX_MESSAGE_BYTES} bytes long: '${length}'.`);
}

function readBody(form: URLSearchParams): string {
  return `${form.get('Message.Body.Text.Data') ?? ''}${form.get('Message.Body.Html.Data') ?? ''}`;
}

function recipients(form: URLSearchParams): string[] {
  return ['To', 'Cc', 'Bcc'].flatMap((kind) => list(form, `Destination.${kind}Addresses.member`));
}

/** The address of `Name <address>`, or the whole. */
function parseAddress(mailbox: string): string {
  return /<([^<>]*)>\s*$/.exec(mailbox)?.[1] ?? mailbox.trim();
}

function emailDomain(address: string): string {
  return address.slice(address.lastIndexOf('@') + 1).toLowerCase();
}

function addressError(address: string): string | undefined {
  const at = address.lastIndexOf('@');
  if (at < 0) return "Missing final '@domain'";
  const [local, domain] = [address.slice(0, at), address.slice(at + 1)];
  if (local === '') return `User name is missing: '${address}'.`;
  if (local.length > 64) return 'Local address is longer than 64 characters';
  if (/[^\x21-\x7e]/.test(local)) return 'Local address contains control or whitespace, or is not 7-bit ASCII';
  if (!/^(\.?[\w!#$%&'*+/=?^`{|}~-]+)+$/.test(local) && !/^"[^"\\]+"$/.test(local)) return 'Illegal address';
  if (domain.startsWith('.')) return 'Domain starts with dot';
  if (domain.endsWith('.')) return 'Domain ends with dot';
  if (domain.includes('..')) return 'Domain contains dot-dot';
  if (!/^[a-zA-Z0-9.-]+$/.test(domain)) return 'Domain contains illegal character';
  return domain.includes('.') ? undefined : "Missing final '@domain'";
}

function invalid(message: string): Answer {
  return queryError(SES, 400, 'InvalidParameterValue', message);
}

function identityError(identities: string[]): Answer {
  const who = `The following identities failed the check in region ${REGION.toUpperCase()}: ${identities.join(', ')}`;
  return queryError(SES, 400, 'MessageRejected', `Email address is not verified. ${who}`);
}

function entry(form: URLSearchParams, to: string) {
  const html = form.get('Message.Body.Html.Data') ?? undefined;
  const language = /<html[^>]*\slang="([^"]+)"/i.exec(html ?? '')?.[1];
  return {
    kind: 'email' as const,
    to,
    subject: form.get('Message.Subject.Data') ?? '',
    text: form.get('Message.Body.Text.Data') ?? '',
    ...(html === undefined ? {} : { html }),
    ...(language === undefined ? {} : { language }),
  };
}
