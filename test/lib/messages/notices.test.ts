import { describe, expect, it } from 'vitest';
import { startSes } from '../../../infra/local/stand-ins/ses.ts';
import { startSns } from '../../../infra/local/stand-ins/sns.ts';
import { sesMailer } from '../../../lib/aws/ses.ts';
import { snsPublisher } from '../../../lib/aws/sns.ts';
import { mailNotice, popUpNotice } from '../../../lib/messages/notices.ts';
import { LANGUAGES } from '../../../lib/messages/translations/languages.ts';
import { NEVER_ABORTED } from '../../support/outcomes.ts';
import { BRAND, startedStandIn } from '../../support/senders.ts';
import { clientSettings } from '../../support/servers.ts';

const TOPIC = 'arn:aws:sns:eu-west-1:000000000000:client-notifications';
const SETTINGS = {
  brand: BRAND,
  email: { senderAddress: 'no-reply@example.com', configurationSet: 'mails' },
  notificationsTopicArn: TOPIC,
};
const ACCOUNT = { login: 900_123, version: 'tp5', group: 'real\\standard', leverage: 100 } as const;
const CLIENT = { email: 'Ann@bücher.example' };

async function mail() {
  const { standIn, faults, outbox } = await startedStandIn(startSes, {
    verified: ['no-reply@example.com'],
    configurationSets: ['mails'],
  });
  return { faults, outbox, send: mailNotice(SETTINGS, sesMailer(clientSettings(standIn.url))) };
}

async function popUp() {
  const { standIn, faults, outbox } = await startedStandIn(startSns, { topics: [TOPIC] });
  return { faults, outbox, send: popUpNotice(SETTINGS, snsPublisher(clientSettings(standIn.url))) };
}

/** A service that records its calls. */
function keeper() {
  const sent: unknown[] = [];
  const send = async (message: unknown) => {
    sent.push(message);
    return { messageId: 'm-1' };
  };
  return { sent, send };
}

describe('The mail about an opened account', () => {
  it.each(LANGUAGES)('goes to the client with the login, in the language %s', async (language) => {
    const { outbox, send } = await mail();
    await send(CLIENT, ACCOUNT, language, NEVER_ABORTED);
    expect(outbox).toMatchObject([{ kind: 'email', to: 'Ann@xn--bcher-kva.example', language }]);
    expect(outbox[0]?.text).toContain('900123');
    expect(outbox[0]?.html).toContain('900123');
  });

  it('comes from the brand, and the statistics count it as a mail about an account', async () => {
    const { sent, send } = keeper();
    await mailNotice(SETTINGS, send)(CLIENT, ACCOUNT, 'en', NEVER_ABORTED);
    expect(sent).toMatchObject([
      {
        from: { name: 'Example Markets', address: 'no-reply@example.com' },
        replyTo: 'help@example.com',
        configurationSet: 'mails',
        kind: 'account_opened',
      },
    ]);
  });
});

describe('The popup about an opened account', () => {
  it.each(LANGUAGES)('is one message on the topic of client notifications, in the language %s', async (language) => {
    const { outbox, send } = await popUp();
    await send('CLIENT01', ACCOUNT, language, NEVER_ABORTED);
    expect(outbox).toMatchObject([{ kind: 'popup', to: 'CLIENT01', language }]);
    expect(outbox[0]?.subject).toMatch(/.+/);
    expect(outbox[0]?.text).toContain('900123');
  });

  it('has the data for a subscriber, and its kind as an attribute to filter by', async () => {
    const { sent, send } = keeper();
    await popUpNotice(SETTINGS, send)('CLIENT01', ACCOUNT, 'de-AT', NEVER_ABORTED);
    expect(sent).toMatchObject([
      { topicArn: TOPIC, attributes: { kind: { type: 'String', value: 'account_opened' } } },
    ]);
    const [{ message }] = sent as [{ message: string }];
    expect(JSON.parse(message)).toEqual({
      user_id: 'CLIENT01',
      kind: 'account_opened',
      language: 'de',
      title: expect.stringMatching(/.+/),
      text: expect.stringContaining('900123'),
      login: 900_123,
      version: 'tp5',
    });
  });
});
