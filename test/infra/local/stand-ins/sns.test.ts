import { type MessageAttributeValue, PublishCommand, type PublishCommandInput, SNSClient } from '@aws-sdk/client-sns';
import { describe, expect, it } from 'vitest';
import { startSns } from '../../../../infra/local/stand-ins/sns.ts';
import { clientOf, started } from '../../../support/senders.ts';

const TOPIC = 'arn:aws:sns:eu-west-1:000000000000:client-notifications';
const TEXT = { PhoneNumber: '+447400123456', Message: 'Grüße & 123456 <x>' };

async function sns() {
  const { standIn, faults, outbox } = await started(startSns, { topics: [TOPIC], optedOut: ['+447400000000'] });
  const client = new SNSClient({ ...clientOf(standIn), maxAttempts: 1 });
  return { faults, outbox, send: (input: PublishCommandInput) => client.send(new PublishCommand(input)) };
}

function text(StringValue: string): MessageAttributeValue {
  return { DataType: 'String', StringValue };
}

describe('The stand-in of SNS', () => {
  it('takes a text on and shows it as it was sent', async () => {
    const { outbox, send } = await sns();
    const { MessageId } = await send({
      ...TEXT,
      MessageAttributes: {
        'AWS.SNS.SMS.SMSType': text('Transactional'),
        'AWS.SNS.SMS.SenderID': text('EXMARKETS'),
        'AWS.SNS.SMS.MaxPrice': { DataType: 'Number', StringValue: '0.50' },
        'AWS.MM.SMS.OriginationNumber': text('+441234567890'),
        'AWS.MM.SMS.EntityId': text('1101234567890'),
        'AWS.MM.SMS.TemplateId': text('1107012345678'),
      },
    });
    expect(MessageId).toMatch(/^[0-9a-f-]{36}$/);
    expect(outbox).toEqual([{ kind: 'sms', to: TEXT.PhoneNumber, text: TEXT.Message }]);
  });

  it("shows a message to the topic as its user's popup", async () => {
    const { outbox, send } = await sns();
    const message = { user_id: 'CLIENT01', kind: 'account_opened', language: 'fr', title: 'Compte', text: 'Ouvert' };
    await send({
      TopicArn: TOPIC,
      Message: JSON.stringify(message),
      MessageAttributes: { kind: text('account_opened') },
    });
    expect(outbox).toEqual([{ kind: 'popup', to: 'CLIENT01', subject: 'Compte', text: 'Ouvert', language: 'fr' }]);
  });

  it.each<[string, PublishCommandInput, string]>([
    ['a number without a plus', { ...TEXT, PhoneNumber: '447400123456' }, 'InvalidParameterException'],
    ['a number that is too short', { ...TEXT, PhoneNumber: '+44' }, 'InvalidParameterException'],
    ['a number that is too long', { ...TEXT, PhoneNumber: '+4474001234567890' }, 'InvalidParameterException'],
    ['a number whose owner opted out', { ...TEXT, PhoneNumber: '+447400000000' }, 'OptedOutException'],
    ['an empty text', { ...TEXT, Message: '' }, 'InvalidParameterException'],
    ['a text of more than 1600 characters', { ...TEXT, Message: 'x'.repeat(1_601) }, 'InvalidParameterException'],
    ['neither number nor topic', { Message: 'x' }, 'InvalidParameterException'],
    ['both number and topic', { ...TEXT, TopicArn: TOPIC }, 'InvalidParameterException'],
    ['an unknown topic', { TopicArn: `${TOPIC}-2`, Message: 'x' }, 'NotFoundException'],
    ['a topic that is no ARN', { TopicArn: 'topic', Message: 'x' }, 'InvalidParameterException'],
    ['a message of more than 256 KB', { TopicArn: TOPIC, Message: 'x'.repeat(262_145) }, 'InvalidParameterException'],
  ])('refuses %s', async (_, input, name) => {
    const { outbox, send } = await sns();
    await expect(send(input)).rejects.toMatchObject({ name });
    expect(outbox).toEqual([]);
  });

  it.each<[string, string, MessageAttributeValue]>([
    ['another type of text', 'AWS.SNS.SMS.SMSType', text('Urgent')],
    ['a sender id of 12 characters', 'AWS.SNS.SMS.SenderID', text('ABCDEFGHIJKL')],
    ['a sender id without a letter', 'AWS.SNS.SMS.SenderID', text('12345')],
    ['a sender id with a space', 'AWS.SNS.SMS.SenderID', text('EX MARKETS')],
    ['a price that is no number', 'AWS.SNS.SMS.MaxPrice', { DataType: 'Number', StringValue: 'cheap' }],
    ['a price as text', 'AWS.SNS.SMS.MaxPrice', text('0.50')],
    ['an origination number with letters', 'AWS.MM.SMS.OriginationNumber', text('EXAMPLE')],
    ['an empty attribute', 'AWS.MM.SMS.EntityId', text('')],
    ['an attribute of no type', 'kind', { DataType: 'Word', StringValue: 'x' }],
  ])('refuses %s', async (_, name, value) => {
    const { outbox, send } = await sns();
    await expect(send({ ...TEXT, MessageAttributes: { [name]: value } })).rejects.toMatchObject({
      name: expect.stringMatching(/^InvalidParameter(Value)?Exception$/),
    });
    expect(outbox).toEqual([]);
  });

  it('throttles and refuses as SNS does', async () => {
    const { faults, send } = await sns();
    faults.set({ kind: 'throttled', times: 1 });
    await expect(send(TEXT)).rejects.toMatchObject({ name: 'ThrottledException' });
    faults.set({ kind: 'refused', times: 1 });
    await expect(send(TEXT)).rejects.toMatchObject({ name: 'AuthorizationErrorException' });
  });
});
