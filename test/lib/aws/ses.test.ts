import { createServer } from 'node:http';
import { text } from 'node:stream/consumers';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { mailbox, sesMailer } from '../../../lib/aws/ses.ts';
import { answering, clientOf, failureOf, patient } from '../../support/senders.ts';
import { listening } from '../../support/servers.ts';

const MAIL = {
  from: { name: 'Example Markets', address: 'no-reply@example.com' },
  replyTo: 'help@example.com',
  to: 'ann@example.com',
  subject: 'Your code',
  text: '123456',
  html: '<b>123456</b>',
  kind: 'code',
};

describe('A failure of SES', () => {
  it.each([
    ['Throttling', 'Maximum sending rate exceeded.', 'retryable', 'Throttling'],
    ['Throttling', 'Daily message quota exceeded.', 'over_budget', 'Throttling'],
    ['ThrottlingException', 'Maximum sending rate exceeded.', 'retryable', 'ThrottlingException'],
    ['MessageRejected', 'Email address is not verified. The following …', 'misconfigured', 'MessageRejected'],
    ['MessageRejected', 'Address blacklisted.', 'refused_recipient', 'MessageRejected'],
    [
      'InvalidParameterValue',
      'Local address contains control or whitespace',
      'refused_recipient',
      'InvalidParameterValue',
    ],
    ['InvalidParameterValue', "Missing final '@domain'", 'refused_recipient', 'InvalidParameterValue'],
    ['InvalidParameterValue', 'Invalid tag name', 'misconfigured', 'InvalidParameterValue'],
    ['MailFromDomainNotVerifiedException', '', 'misconfigured', 'MailFromDomainNotVerifiedException'],
    ['ConfigurationSetDoesNotExist', '', 'misconfigured', 'ConfigurationSetDoesNotExistException'],
    ['ConfigurationSetSendingPausedException', '', 'misconfigured', 'ConfigurationSetSendingPausedException'],
    ['AccountSendingPausedException', '', 'misconfigured', 'AccountSendingPausedException'],
    ['AccessDenied', '', 'misconfigured', 'AccessDenied'],
    ['ValidationError', '', 'misconfigured', 'ValidationError'],
  ])('%s "%s" is %s', async (code, message, kind, reason) => {
    const server = await answering((_, response) =>
      response
        .writeHead(400, { 'content-type': 'text/xml' })
        .end(
          `<ErrorResponse xmlns="http://ses.amazonaws.com/doc/2010-12-01/"><Error><Type>Sender</Type><Code>${code}</Code><Message>${message}</Message></Error><RequestId>1</RequestId></ErrorResponse>`,
        ),
    );
    expect(await failureOf(sesMailer(clientOf(server))(MAIL, patient()))).toMatchObject({ kind, reason });
    expect(server.seen.requests).toBe(1);
  });
});

it('A mail names its configuration set, and has its kind as a tag', async () => {
  const sent: URLSearchParams[] = [];
  const server = createServer(async (request, response) => {
    sent.push(new URLSearchParams(await text(request)));
    response.writeHead(500).end();
  });
  const url = `http://127.0.0.1:${await listening(server)}`;
  await failureOf(sesMailer(clientOf({ url }))({ ...MAIL, configurationSet: 'mails' }, patient()));
  const tag = ['Name', 'Value'].map((part) => sent[0]?.get(`Tags.member.1.${part}`));
  expect([sent[0]?.get('ConfigurationSetName'), ...tag]).toEqual(['mails', 'kind', 'code']);
});

describe("A sender's name in a mail header", () => {
  it.each([
    ['Example Markets', '"Example Markets" <a@b.example>'],
    ['Smith, "Jones" & Co. \\', '"Smith, \\"Jones\\" & Co. \\\\" <a@b.example>'],
    ['Two\r\nBcc: lines', '"Two Bcc: lines" <a@b.example>'],
    ['  ', 'a@b.example'],
    ['Börse', '=?UTF-8?B?QsO2cnNl?= <a@b.example>'],
  ])('%j becomes %s', (name, expected) => {
    expect(mailbox(name, 'a@b.example')).toBe(expected);
  });

  it('is ASCII, in encoded words of at most 75 characters that decode to any name', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme', minLength: 1, maxLength: 120 }), (name) => {
        const shown = mailbox(name, 'a@b.example');
        expect(shown).toMatch(/^[\x20-\x7e]+$/);
        if (!shown.startsWith('=?')) return;
        const words = shown.replace(/ <a@b\.example>$/, '').split(' ');
        for (const word of words) expect(word.length).toBeLessThanOrEqual(75);
        const back = words
          .map((word) => Buffer.from(word.slice('=?UTF-8?B?'.length, -2), 'base64').toString())
          .join('');
        expect(back).toBe(name.replaceAll(/[\x00-\x1f\x7f]+/g, ' ').trim());
      }),
    );
  });
});
