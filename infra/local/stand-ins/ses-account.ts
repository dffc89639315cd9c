import type { Need } from '../rights/policy.ts';
import { type Answer, type Call, json, ServiceError } from './stand-in.ts';

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
};
/** The mails that it knows; SES keeps 30 days. */
const MAX_MAILS = 1_000;

/** The mail data of an SES account: the suppression list, and the events of each mail. SES v2, as JSON. */
export function sesAccount() {
  /** By the address with its domain in lower case: to manage the list, SES compares the local part exactly. */
  const suppressed = new Map<string, Suppressed>();
  const mails = new Map<string, object>();

  function suppressionAnswer(method: string, name: string, body: string): Answer {
    if (method === 'PUT') {
      const { EmailAddress, Reason } = JSON.parse(body) as Suppressed;
      const address = listed(EmailAddress);
      suppressed.set(address, { EmailAddress: address, Reason, LastUpdateTime: now() });
      return json({});
    }
    const found = suppressed.get(listed(name));
    if (found === undefined) throw new ServiceError('NotFoundException', 'It is not on your suppression list.', 404);
    if (method === 'GET') return json({ SuppressedDestination: found });
    suppressed.delete(found.EmailAddress);
    return json({});
  }

  return {
    /**
     * Notes a mail. SES accepts mails to addresses on the suppression list too, and delivers none.
     * @returns whether it is delivered
     */
    accept({ id, from, subject, to }: AcceptedMail): boolean {
      // To send, SES compares in any case.
      const isSuppressed = [...suppressed.keys()].some((one) => one.toLowerCase() === to.toLowerCase());
      const Details = { Bounce: { BounceType: 'PERMANENT', BounceSubType: 'OnAccountSuppressionList' } };
      const end = isSuppressed ? { Type: 'BOUNCE', Details } : { Type: 'DELIVERY' };
      const Events = [{ Type: 'SEND' }, end].map((event) => ({ Timestamp: now(), ...event }));
      const Insights = [{ Destination: to, Events }];
      mails.set(id, { MessageId: id, FromEmailAddress: from, Subject: subject, EmailTags: [], Insights });
      for (const oldest of [...mails.keys()].slice(0, -MAX_MAILS)) mails.delete(oldest);
      return !isSuppressed;
    },

    /** @throws ServiceError */
    answer({ method, path, body }: Call): Answer {
      const { kind, name } = parsePath(path);
      if (kind === 'suppression/addresses') return suppressionAnswer(method, name, body);
      const mail = kind === 'insights' ? mails.get(name) : undefined;
      if (mail === undefined) throw new ServiceError('NotFoundException', 'Resource not found.', 404);
      return json(mail);
    },

    needs({ method, path }: Call): Need[] {
      return [{ action: `ses:${ACTIONS[`${method} ${parsePath(path).kind}`] ?? 'Unknown'}`, resource: '*' }];
    },
  };
}

function parsePath(path: string): { kind: string; name: string } {
  const [, kind = '', name = ''] = /^\/v2\/email\/(suppression\/addresses|insights)(?:\/([^/?]+))?/.exec(path) ?? [];
  return { kind, name: decodeURIComponent(name) };
}

function listed(address: string): string {
  const at = address.lastIndexOf('@');
  return address.slice(0, at) + address.slice(at).toLowerCase();
}

function now(): number {
  return Date.now() / 1_000;
}
