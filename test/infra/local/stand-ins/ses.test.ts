import {
  SESClient,
  SendEmailCommand,
  type SendEmailCommandInput,
  VerifyEmailIdentityCommand,
} from '@aws-sdk/client-ses';
import { describe, expect, it } from 'vitest';
import { startSes } from '../../../../infra/local/stand-ins/ses.ts';
import { clientOf, started } from '../../../support/senders.ts';

const MAIL = {
  Source: '"Example Markets" <no-reply@example.com>',
  Destination: { ToAddresses: ['ann@example.org'] },
  Message: {
    Subject: { Data: 'Grüße' },
    Body: {
      Text: { Data: 'Your code is 123456 & <no other>' },
      Html: { Data: '<html lang="de"><b>123456</b></html>' },
    },
  },
} satisfies SendEmailCommandInput;

async function ses() {
  const { standIn, faults, outbox } = await started(startSes, {
    verified: ['no-reply@example.com', 'brand.example'],
    configurationSets: ['mails'],
  });
  const client = new SESClient({ ...clientOf(standIn), maxAttempts: 1 });
  const send = (changes: Partial<SendEmailCommandInput> = {}) =>
    client.send(new SendEmailCommand({ ...MAIL, ...changes }));
  return { standIn, faults, outbox, client, send };
}

describe('The stand-in of SES', () => {
  it('takes a mail on and shows it as it was sent', async () => {
    const { outbox, send } = await ses();
    const { MessageId } = await send();
    expect(MessageId).toMatch(/.+/);
    expect(outbox).toEqual([
      {
        kind: 'email',
        to: 'ann@example.org',
        subject: 'Grüße',
        text: 'Your code is 123456 & <no other>',
        html: '<html lang="de"><b>123456</b></html>',
        language: 'de',
      },
    ]);
  });

  it('takes mails from every address of a verified domain', async () => {
    const { outbox, send } = await ses();
    await send({
      Source: 'anyone@Brand.example',
      ConfigurationSetName: 'mails',
      Tags: [{ Name: 'kind', Value: 'code' }],
    });
    expect(outbox).toHaveLength(1);
  });

  it.each<[string, Partial<SendEmailCommandInput>, string]>([
    ['a sender that is not verified', { Source: 'other@example.com' }, 'MessageRejected'],
    ['a recipient beyond ASCII', { Destination: { ToAddresses: ['änn@example.org'] } }, 'InvalidParameterValue'],
    ['a domain beyond ASCII', { Destination: { ToAddresses: ['ann@bücher.example'] } }, 'InvalidParameterValue'],
    ['a recipient without a domain', { Destination: { ToAddresses: ['ann'] } }, 'InvalidParameterValue'],
    ['a recipient without a user name', { Destination: { ToAddresses: ['@example.org'] } }, 'InvalidParameterValue'],
    ['a recipient with a space', { Destination: { ToAddresses: ['a nn@example.org'] } }, 'InvalidParameterValue'],
    ['two dots in a domain', { Destination: { ToAddresses: ['ann@example..org'] } }, 'InvalidParameterValue'],
    ['no recipient', { Destination: {} }, 'InvalidParameterValue'],
    ['a bad reply address', { ReplyToAddresses: ['nobody'] }, 'InvalidParameterValue'],
    ['no subject', { Message: { Subject: { Data: undefined }, Body: MAIL.Message.Body } }, 'ValidationError'],
    [
      'a subject of two lines',
      { Message: { Subject: { Data: 'a\r\nBcc: b' }, Body: MAIL.Message.Body } },
      'InvalidParameterValue',
    ],
    ['no body', { Message: { Subject: { Data: 'Hello' }, Body: {} } }, 'InvalidParameterValue'],
    ['a tag with a space', { Tags: [{ Name: 'kind', Value: 'a code' }] }, 'InvalidParameterValue'],
    ['an unknown configuration set', { ConfigurationSetName: 'others' }, 'ConfigurationSetDoesNotExistException'],
    [
      'a mail of more than 10 MB',
      { Message: { Subject: { Data: 'Hello' }, Body: { Text: { Data: 'x'.repeat(10_485_760) } } } },
      'InvalidParameterValue',
    ],
  ])('refuses %s', async (_, changes, name) => {
    const { outbox, send } = await ses();
    await expect(send(changes)).rejects.toMatchObject({ name, $fault: 'client' });
    expect(outbox).toEqual([]);
  });

  it('knows no other action', async () => {
    const { client } = await ses();
    const sending = client.send(new VerifyEmailIdentityCommand({ EmailAddress: 'a@example.com' }));
    await expect(sending).rejects.toMatchObject({ name: 'InvalidAction' });
  });

  it('throttles and refuses as SES does', async () => {
    const { faults, send, outbox } = await ses();
    faults.set({ kind: 'throttled', times: 1 });
    await expect(send()).rejects.toMatchObject({ name: 'Throttling', message: 'Maximum sending rate exceeded.' });
    faults.set({ kind: 'refused', times: 1 });
    await expect(send()).rejects.toMatchObject({ name: 'MessageRejected' });
    await send();
    expect(outbox).toHaveLength(1);
  });
});
