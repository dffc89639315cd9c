import { SESClient, type SESClientConfig, SendEmailCommand } from '@aws-sdk/client-ses';
import type { SendMail } from '../messages/message.ts';
import {
  AT_MOST_ONCE,
  deliverCommand,
  type FailureKindsByError,
  OWN_CONNECTION,
  type ServiceErrorResponse,
} from './delivery.ts';
import { EarlyConnectionAgent } from './early-connection.ts';

/** Sends mails through SES, each at most once. */
export function sesMailer(config: SESClientConfig = {}): SendMail {
  const httpsAgent = new EarlyConnectionAgent(OWN_CONNECTION);
  const client = new SESClient({
    ...AT_MOST_ONCE,
    requestHandler: { ...AT_MOST_ONCE.requestHandler, httpsAgent },
    ...config,
  });
  const send: SendMail = (mail, signal) =>
    deliverCommand(
      new SendEmailCommand({
        Source: mailboxHeader(mail.from.name, mail.from.address),
        ReplyToAddresses: [mail.replyTo],
        Destination: { ToAddresses: [mail.to] },
        Message: { Subject: utf8(mail.subject), Body: { Text: utf8(mail.text), Html: utf8(mail.html) } },
        ConfigurationSetName: mail.configurationSet,
        Tags: [{ Name: 'kind', Value: mail.kind }],
      }),
      async (command, options) => (await client.send(command, options)).MessageId,
      FAILURES,
      signal,
    );
  // Replaces a connection that an earlier request opened and did not use: it may be closed by now.
  const prepare = () => httpsAgent.prepare(new SendEmailCommand(NO_MAIL), (command) => client.send(command));
  return Object.assign(send, { prepare });
}

const NO_MAIL = { Source: undefined, Destination: undefined, Message: undefined };

/**
 * `"Name" <address>` for a mail header: a quoted string, or encoded words (RFC 2047) if the name is not ASCII.
 * An encoded word holds at most 75 characters, so the name is split between characters into pieces of 45 bytes.
 */
export function mailboxHeader(name: string, address: string): string {
  const plain = name.replaceAll(/[\x00-\x1f\x7f]+/g, ' ').trim();
  if (plain === '') return address;
  if (/^[\x20-\x7e]*$/.test(plain)) return `"${plain.replaceAll(/["\\]/g, '\\$&')}" <${address}>`;
  const pieces: string[] = [];
  for (const character of plain) {
    const piece = `${pieces.at(-1) ?? ''}${character}`;
    if (pieces.length > 0 && Buffer.byteLength(piece) <= 45) pieces[pieces.length - 1] = piece;
    else pieces.push(character);
  }
  return `${pieces.map((piece) => `=?UTF-8?B?${Buffer.from(piece).toString('base64')}?=`).join(' ')} <${address}>`;
}

function utf8(Data: string) {
  return { Data, Charset: 'UTF-8' };
}

/** The rate limit ends in a second, the daily quota after hours. */
const throttlingKind = ({ message }: ServiceErrorResponse) => (/daily/i.test(message) ? 'over_budget' : 'throttled');

const FAILURES: FailureKindsByError = {
  Throttling: throttlingKind,
  ThrottlingException: throttlingKind,
  // Most texts of this error are about this account: it is paused, in the sandbox, or lacks an identity (`Email address
  // is not verified`). `Address blacklisted` and the suppression list are about the recipient, a virus is content.
  MessageRejected: ({ message }) =>
    (/not verified|paused|suspended/i.test(message) && 'misconfigured') ||
    (/blacklist|suppress|\brecipient\b/i.test(message) && 'refused_recipient') ||
    (/content|virus/i.test(message) && 'refused_message') ||
    'misconfigured',
  // `Illegal address`, `Missing final '@domain'`, `User name is missing` and similar texts.
  InvalidParameterValue: ({ message }) =>
    /address|domain|user name/i.test(message) ? 'refused_recipient' : 'misconfigured',
};
