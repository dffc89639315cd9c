import type { Need } from '../rights/policy.ts';
import type { Answer, Call } from './stand-in.ts';

/** The mail data of an SES account: the suppression list, and the events of each mail. SES v2, as JSON. */
export interface SesAccount {
  /**
   * Notes a mail that SES accepted. SES accepts mails to addresses on the suppression list too, and delivers none.
   * @returns whether it is delivered
   */
  accept(mail: { id: string; from: string; subject: string; to: string }): boolean;
  answer(call: Call): Answer;
  needs(call: Call): Need[];
}

interface Suppressed {
  EmailAddress: string;
  Reason: string;
  /** Epoch seconds. */
  LastUpdateTime: number;
}

/** The mails that it knows; SES keeps 30 days. */
const MAX_MAILS = 1_000;

export function sesAccount(): SesAccount {
  /** By the address with its domain in lower case: to manage the list, SES compares the local part exactly. */
  const suppressed = new Map<string, Suppressed>();
  const mails = new Map<string, object>();

  function suppress(body: string): Answer {
    const { EmailAddress = '', Reason = '' } = JSON.parse(body) as Partial<Suppressed>;
    if (!EmailAddress.includes('@') || !['BOUNCE', 'COMPLAINT'].includes(Reason))
      return failure(400, 'BadRequestException', 'Invalid email address or reason.');
    suppressed.set(listed(EmailAddress), { EmailAddress: listed(EmailAddress), Reason, LastUpdateTime: now() });
    return json(200, {});
  }

  function suppressedAnswer(method: string, address: string): Answer {
    const found = suppressed.get(listed(address));
    if (found === undefined)
      return failure(404, 'NotFoundException', `Email address ${address} does not exist on your suppression list.`);
    if (method === 'GET') return json(200, { SuppressedDestination: found });
    suppressed.delete(listed(address));
    return json(200, {});
  }

  return {
    accept({ id, from, subject, to }) {
      // To send, SES compares in any case.
      const isSuppressed = [...suppressed.keys()].some((one) => one.toLowerCase() === to.toLowerCase());
      const sent = { Timestamp: now(), Type: 'SEND' };
      const end = isSuppressed
        ? {
            Timestamp: now(),
            Type: 'BOUNCE',
            Details: { Bounce: { BounceType: 'PERMANENT', BounceSubType: 'OnAccountSuppressionList' } },
          }
        : { Timestamp: now(), Type: 'DELIVERY' };
      const Insights = [{ Destination: to, Events: [sent, end] }];
      mails.set(id, { MessageId: id, FromEmailAddress: from, Subject: subject, EmailTags: [], Insights });
      for (const oldest of [...mails.keys()].slice(0, -MAX_MAILS)) mails.delete(oldest);
      return !isSuppressed;
    },

    answer({ method, path, body }) {
      const { kind, name } = resourceArn(path);
      if (kind === 'suppression/addresses') return name === '' ? suppress(body) : suppressedAnswer(method, name);
      const mail = kind === 'insights' ? mails.get(name) : undefined;
      return mail === undefined ? failure(404, 'NotFoundException', 'Resource not found.') : json(200, mail);
    },

    needs({ method, path }) {
      const { kind } = resourceArn(path);
      return [{ action: `ses:${ACTIONS[`${method} ${kind}`] ?? 'Unknown'}`, resource: '*' }];
    },
  };
}

const ACTIONS: Readonly<Record<string, string>> = {
  'GET suppression/addresses': 'GetSuppressedDestination',
  'PUT suppression/addresses': 'PutSuppressedDestination',
  'DELETE suppression/addresses': 'DeleteSuppressedDestination',
  'GET insights': 'GetMessageInsights',
};

function resourceArn(path: string): { kind: string; name: string } {
  const [, kind = '', name = ''] = /^\/v2\/email\/(suppression\/addresses|insights)(?:\/([^/?]+))?/.exec(path) ?? [];
  return { kind, name: decodeURIComponent(name) };
}

function listed(address: string): string {
  const at = address.lastIndexOf('@');
  return address.slice(0, at) + address.slice(at).toLowerCase();
}

/** Epoch seconds, as JSON of AWS has times. */
function now(): number {
  return Date.now() / 1_000;
}

function json(status: number, body: object, headers: Record<string, string> = {}): Answer {
  const type = { 'content-type': 'application/json' };
  return { status, headers: { ...type, ...headers }, body: JSON.stringify(body) };
}

function failure(status: number, name: string, message: string): Answer {
  return json(status, { message }, { 'x-amzn-errortype': name });
}
