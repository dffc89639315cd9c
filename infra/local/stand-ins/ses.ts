import { localArn } from '../rights/arn.ts';
import type { NeededRight } from '../rights/policy.ts';
import { formValues, queryService, restError } from './protocols.ts';
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

export interface SesOptions extends StandInOptions {
  /** The identities (addresses or domains) that may send mails. */
  verified: string[];
  /** The existing configuration sets. */
  configurationSets?: string[];
}

/** SES v1 `SendEmail`, and what SES v2 knows of the mails. */
export function startSes({ verified, configurationSets = [], record, ...options }: SesOptions): Promise<StandIn> {
  const account = sesAccount(verified);

  const v1 = queryService({
    name: 'ses',
    namespace: 'http://ses.amazonaws.com/doc/2010-12-01/',
    action: 'SendEmail',
    denied: 'AccessDenied',
    work(form) {
      const mail = readMail(form);
      if (!verified.some((one) => [mail.sender.toLowerCase(), emailDomain(mail.sender)].includes(one.toLowerCase()))) {
        throw notVerified(mail.sender);
      }
      if (mail.set !== null && !configurationSets.includes(mail.set)) {
        throw new ServiceError('ConfigurationSetDoesNotExist', `Configuration set <${mail.set}> does not exist.`);
      }
      const MessageId = requestId();
      const { subject, text, html } = mail;
      const language = /<html[^>]*\slang="([^"]+)"/i.exec(html ?? '')?.[1];
      for (const to of mail.to) {
        if (!account.accept({ id: MessageId, from: mail.sender, subject, to })) continue;
        record({ kind: 'email', to, subject, text, ...(html === null ? {} : { html }), ...(language && { language }) });
      }
      return { MessageId };
    },
    /** The rights on the verified identity (the address if it is verified) and on the configuration set. */
    needs(form, action) {
      const { sender, set } = readMail(form);
      const identity = verified.includes(sender) ? sender : emailDomain(sender);
      const context = { 'ses:FromAddress': sender };
      return [`identity/${identity}`, ...(set === null ? [] : [`configuration-set/${set}`])].map((resource) => ({
        action,
        resource: localArn('ses', resource),
        context,
      }));
    },
    throttled: new ServiceError('Throttling', 'Maximum sending rate exceeded.'),
    refused: notVerified(verified[0] ?? ''),
    refused_recipient: new ServiceError('MessageRejected', 'Address blacklisted.'),
  });

  const isV2 = ({ path }: Call) => path.startsWith('/v2/');
  return serveStandIn(
    {
      ...v1,
      signed: {
        name: 'ses',
        denied: 'AccessDenied',
        needs: (call) => (isV2(call) ? account.needs(call) : (v1.signed?.needs(call) ?? [])),
      },
      answer: (call) => (isV2(call) ? account.answer(call) : v1.answer(call)),
      error: (error, call) => (isV2(call) ? restError(error) : v1.error(error, call)),
    },
    options,
  );
}

function readMail(form: URLSearchParams) {
  return {
    sender: parseAddress(form.get('Source') ?? ''),
    to: formValues(form, 'Destination.ToAddresses.member'),
    subject: form.get('Message.Subject.Data') ?? '',
    text: form.get('Message.Body.Text.Data') ?? '',
    html: form.get('Message.Body.Html.Data'),
    set: form.get('ConfigurationSetName'),
  };
}

/** The address of `Name <address>`, or the whole. */
function parseAddress(mailbox: string): string {
  return /<([^<>]*)>\s*$/.exec(mailbox)?.[1] ?? mailbox.trim();
}

function emailDomain(address: string): string {
  return address.slice(address.lastIndexOf('@') + 1).toLowerCase();
}

function notVerified(identity: string): ServiceError {
  const who = `The following identities failed the check in region LOCAL: ${identity}`;
  return new ServiceError('MessageRejected', `Email address is not verified. ${who}`);
}

interface AcceptedMail {
  id: string;
  from: string;
  subject: string;
  to: string;
}

interface Suppressed {
  EmailAddress: string;
  Reason: string;
  /** Epoch seconds. */
  LastUpdateTime: number;
}

const ACTIONS: Readonly<Record<string, string>> = {
  'GET suppression/addresses': 'GetSuppressedDestination',
  'PUT suppression/addresses': 'PutSuppressedDestination',
  'DELETE suppression/addresses': 'DeleteSuppressedDestination',
  'GET insights': 'GetMessageInsights',
  'GET account': 'GetAccount',
  'GET identities': 'GetEmailIdentity',
};
/** An account that may send to everybody. */
const ACCOUNT = {
  ProductionAccessEnabled: true,
  SendingEnabled: true,
  SendQuota: { MaxSendRate: 14, Max24HourSend: 50_000, SentLast24Hours: 0 },
};

/** An SES account: its identities, the suppression list, and the events of each mail. SES v2, as JSON. */
function sesAccount(verified: readonly string[]) {
  /** The suppression list, by the address with its domain in lower case: SES compares the local part exactly. */
  const suppressed = new Map<string, Suppressed>();
  const mails = new Map<string, object>();

  function suppressionAnswer(method: string, name: string, body: string): StandInAnswer {
    if (method === 'PUT') {
      const { EmailAddress, Reason } = JSON.parse(body) as Suppressed;
      const address = listed(EmailAddress);
      suppressed.set(address, { EmailAddress: address, Reason, LastUpdateTime: now() });
      return jsonAnswer({});
    }
    const found = suppressed.get(listed(name));
    if (found === undefined) throw new ServiceError('NotFoundException', 'It is not on your suppression list.', 404);
    if (method === 'GET') return jsonAnswer({ SuppressedDestination: found });
    suppressed.delete(found.EmailAddress);
    return jsonAnswer({});
  }

  return {
    /**
     * Notes a mail. SES accepts mails to addresses on the suppression list too, and delivers none.
     * @returns whether it is delivered
     */
    accept({ id, from, subject, to }: AcceptedMail): boolean {
      // When it sends, SES compares addresses in any case.
      const isSuppressed = [...suppressed.keys()].some((one) => one.toLowerCase() === to.toLowerCase());
      const Details = { Bounce: { BounceType: 'PERMANENT', BounceSubType: 'OnAccountSuppressionList' } };
      const end = isSuppressed ? { Type: 'BOUNCE', Details } : { Type: 'DELIVERY' };
      const Events = [{ Type: 'SEND' }, end].map((event) => ({ Timestamp: now(), ...event }));
      const Insights = [{ Destination: to, Events }];
      mails.set(id, { MessageId: id, FromEmailAddress: from, Subject: subject, EmailTags: [], Insights });
      return !isSuppressed;
    },

    /** @throws ServiceError */
    answer({ method, path, body }: Call): StandInAnswer {
      const { kind, name } = parsePath(path);
      if (kind === 'suppression/addresses') return suppressionAnswer(method, name, body);
      if (kind === 'account') return jsonAnswer(ACCOUNT);
      if (kind === 'identities' && verified.includes(name))
        return jsonAnswer({ VerifiedForSendingStatus: true, DkimAttributes: { Status: 'SUCCESS' } });
      const mail = kind === 'insights' ? mails.get(name) : undefined;
      if (mail === undefined) throw new ServiceError('NotFoundException', 'Resource not found.', 404);
      return jsonAnswer(mail);
    },

    needs({ method, path }: Call): NeededRight[] {
      const { kind, name } = parsePath(path);
      const resource = kind === 'identities' ? localArn('ses', `identity/${name}`) : '*';
      return [{ action: `ses:${ACTIONS[`${method} ${kind}`] ?? 'Unknown'}`, resource }];
    },
  };
}

function parsePath(path: string): { kind: string; name: string } {
  const pattern = /^\/v2\/email\/(suppression\/addresses|insights|account|identities)(?:\/([^/?]+))?/;
  const [, kind = '', name = ''] = pattern.exec(path) ?? [];
  return { kind, name: decodeURIComponent(name) };
}

function listed(address: string): string {
  const at = address.lastIndexOf('@');
  return address.slice(0, at) + address.slice(at).toLowerCase();
}

function now(): number {
  return Date.now() / 1_000;
}
