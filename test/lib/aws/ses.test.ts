import { createServer } from 'node:http';
import { text } from 'node:stream/consumers';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { mailboxHeader, sesMailer } from '../../../lib/aws/ses.ts';
import { failureOf, NEVER_ABORTED } from '../../support/outcomes.ts';
import { MAIL } from '../../support/senders.ts';
import { clientSettings, listenForTest } from '../../support/servers.ts';

it('A mail is sent with each of its parts, its configuration set, and its kind as a tag', async () => {
  const sent: URLSearchParams[] = [];
  const server = createServer(async (request, response) => {
    sent.push(new URLSearchParams(await text(request)));
    response.writeHead(500).end();
  });
  const url = `http://127.0.0.1:${await listenForTest(server)}`;
  await failureOf(sesMailer(clientSettings(url))({ ...MAIL, configurationSet: 'mails' }, NEVER_ABORTED));
  expect(Object.fromEntries(sent[0] ?? [])).toEqual({
    Action: 'SendEmail',
    Version: '2010-12-01',
    Source: '"Example Markets" <no-reply@example.com>',
    'ReplyToAddresses.member.1': 'help@example.com',
    'Destination.ToAddresses.member.1': 'ann@example.com',
    'Message.Subject.Data': 'Your code',
    'Message.Subject.Charset': 'UTF-8',
    'Message.Body.Text.Data': '123456',
    'Message.Body.Text.Charset': 'UTF-8',
    'Message.Body.Html.Data': '<b>123456</b>',
    'Message.Body.Html.Charset': 'UTF-8',
    ConfigurationSetName: 'mails',
    'Tags.member.1.Name': 'kind',
    'Tags.member.1.Value': 'code',
  });
});

describe("A sender's name in a mail header", () => {
  it.each([
    ['Example Markets', '"Example Markets" <a@b.example>'],
    ['Smith, "Jones" & Co. \\', '"Smith, \\"Jones\\" & Co. \\\\" <a@b.example>'],
    ['Two\r\nBcc: lines', '"Two Bcc: lines" <a@b.example>'],
    ['  ', 'a@b.example'],
    ['Börse', '=?UTF-8?B?QsO2cnNl?= <a@b.example>'],
  ])('%j becomes %s', (name, expected) => {
    expect(mailboxHeader(name, 'a@b.example')).toBe(expected);
  });

  it('is ASCII, in encoded words of at most 75 characters that decode to any name', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme', minLength: 1, maxLength: 120 }), (name) => {
        const shown = mailboxHeader(name, 'a@b.example');
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
