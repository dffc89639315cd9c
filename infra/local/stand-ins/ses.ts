import { Agent, request } from 'node:http';
import { createRequire } from 'node:module';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { closed } from '../listen.ts';
import { list, queryError } from './query-protocol.ts';
import { type Answer, type Call, type StandIn, type StandInOptions, serve } from './stand-in.ts';

export interface SesOptions extends StandInOptions {
  /** Identities (addresses or domains) that mails may be sent from. */
  verified: string[];
  /** Configuration sets that there are. */
  configurationSets?: string[];
}

/** The package is CommonJS, and its default export is told in different ways by different loaders. */
type EmbeddedSes = typeof import('aws-ses-v2-local', { with: { 'resolution-mode': 'require' }});

const SES = { namespace: 'http://ses.amazonaws.com/doc/2010-12-01/' };
const REGION = 'local';
/** Of SendEmail v1, in bytes. */
const MAX_MESSAGE_BYTES = 10_485_760;
/** The embedded service keeps every mail for ever; here the outbox does, within its bounds. */
const KEPT_MAILS = 200;

/**
 * SES v1 `SendEmail`: this front refuses what SES refuses, and hands the rest on to the embedded `aws-ses-v2-local`,
 * which parses and keeps it.
 */
export async function startSes({ verified, configurationSets = [], record, ...options }: SesOptions): Promise<StandIn> {
  const embeddedSes: EmbeddedSes = createRequire(import.meta.url)('aws-ses-v2-local');
  const embedded = await embeddedSes.default({ host: '127.0.0.1', port: 0 });
  const embeddedUrl = `http://127.0.0.1:${(embedded.address() as AddressInfo).port}`;
  const agent = new Agent({ keepAlive: true });
  let kept = 0;

  async function answer({ body, headers }: Call): Promise<Answer> {
    const form = new URLSearchParams(body);
    const fault = refusal(form, verified, configurationSets);
    if (fault !== undefined) return fault;

    const stored = await post(`${embeddedUrl}/`, body, headers.authorization, agent);
    if (stored.status !== 200) return queryError(SES, 500, 'InternalFailure', 'The embedded service failed.');
    for (const to of recipients(form)) record(entry(form, to));
    kept += 1;
    if (kept % KEPT_MAILS === 0) await post(`${embeddedUrl}/clear-store`, '', undefined, agent);
    return { status: 200, headers: { 'content-type': 'text/xml' }, body: stored.body };
  }

  const front = await serve(
    {
      signingName: 'ses',
      answer,
      unsigned: () => queryError(SES, 403, 'MissingAuthenticationToken', 'Request is missing Authentication Token'),
      throttled: () => queryError(SES, 400, 'Throttling', 'Maximum sending rate exceeded.'),
      refused: () => notVerified(verified.slice(0, 1)),
    },
    options,
  );
  return {
    url: front.url,
    get requests() {
      return front.requests;
    },
    close: async () => {
      await front.close();
      agent.destroy();
      await closed(embedded);
    },
  };
}

function post(url: string, body: string, authorization: string | undefined, agent: Agent) {
  return new Promise<{ status: number | undefined; body: string }>((resolve, reject) => {
    const headers = {
      'content-type': 'application/x-www-form-urlencoded',
      ...(authorization === undefined ? {} : { authorization }),
    };
    request(url, { method: 'POST', headers, agent }, (response) => {
      text(response).then((answer) => resolve({ status: response.statusCode, body: answer }), reject);
    })
      .on('error', reject)
      .end(body);
  });
}

/** What SES says to a request that it does not take. */
function refusal(form: URLSearchParams, verified: string[], configurationSets: string[]): Answer | undefined {
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
  const plain = form.get('Message.Body.Text.Data') ?? '';
  const html = form.get('Message.Body.Html.Data') ?? '';
  if (plain === '' && html === '') return invalid('Message body is empty');
  if (/[\r\n]/.test(subject)) return invalid('Subject contains control characters');

  const to = recipients(form);
  if (to.length === 0) return invalid("Missing required header 'To'.");
  if (to.length > 50) return invalid('Recipient count exceeds 50.');
  const sender = addressOf(form.get('Source') ?? '');
  for (const address of [...to.map(addressOf), ...list(form, 'ReplyToAddresses.member').map(addressOf), sender]) {
    const fault = addressFault(address);
    if (fault !== undefined) return invalid(fault);
  }
  const domain = sender.slice(sender.lastIndexOf('@') + 1).toLowerCase();
  if (!verified.some((identity) => [sender.toLowerCase(), domain].includes(identity.toLowerCase()))) {
    return notVerified([sender]);
  }

  const names = list(form, 'Tags.member', '.Name');
  const values = list(form, 'Tags.member', '.Value');
  if (names.length !== values.length || [...names, ...values].some((word) => !/^[\w-]{1,256}$/.test(word))) {
    return invalid('Invalid message tag: only ASCII letters, numbers, underscores and dashes are allowed.');
  }
  const set = form.get('ConfigurationSetName');
  if (set !== null && !configurationSets.includes(set)) {
    return queryError(SES, 400, 'ConfigurationSetDoesNotExist', `Configuration set <${set}> does not exist.`);
  }
  const length = Buffer.byteLength(subject + plain + html);
  if (length > MAX_MESSAGE_BYTES)
    return invalid(`Message length is more than ${MAX_MESSAGE_BYTES} bytes long: '${length}'.`);
  return undefined;
}

function recipients(form: URLSearchParams): string[] {
  return ['To', 'Cc', 'Bcc'].flatMap((kind) => list(form, `Destination.${kind}Addresses.member`));
}

/** The address of `Name <address>`, or the whole. */
function addressOf(mailbox: string): string {
  return /<([^<>]*)>\s*$/.exec(mailbox)?.[1] ?? mailbox.trim();
}

function addressFault(address: string): string | undefined {
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

function notVerified(identities: string[]): Answer {
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
