import { describe, expect, it } from 'vitest';
import { startSes } from '../../../infra/local/stand-ins/ses.ts';
import { startSns } from '../../../infra/local/stand-ins/sns.ts';
import { sesMailer } from '../../../lib/aws/ses.ts';
import { snsPublisher } from '../../../lib/aws/sns.ts';
import { LANGUAGES } from '../../../lib/messages/language.ts';
import { accountNotices, type NoticeServices } from '../../../lib/messages/notices.ts';
import { BRAND, clientOf, failureOf, patient, started } from '../../support/senders.ts';

const TOPIC = 'arn:aws:sns:eu-west-1:000000000000:client-notifications';
const SETTINGS = {
  brand: BRAND,
  email: { senderAddress: 'no-reply@example.com', configurationSet: 'mails' },
  notificationsTopicArn: TOPIC,
};
const ACCOUNT = { login: 900_123, version: 'tp5', group: 'real\\standard', leverage: 100 } as const;
const CLIENT = { email: 'Ann@bücher.example' };

async function notices() {
  const ses = await started(startSes, { verified: ['no-reply@example.com'], configurationSets: ['mails'] });
  const sns = await started(startSns, { topics: [TOPIC] });
  const notices = accountNotices(SETTINGS, {
    mailer: async () => sesMailer(clientOf(ses.standIn)),
    publisher: async () => snsPublisher(clientOf(sns.standIn)),
  });
  return { ses, sns, notices };
}

/** Services that keep what they are given. */
function fakes() {
  const opened: string[] = [];
  const sent: unknown[] = [];
  const send = async (message: unknown) => {
    sent.push(message);
    return { messageId: 'm-1' };
  };
  const open = (name: string) => async () => {
    opened.push(name);
    return send;
  };
  return { opened, sent, services: { mailer: open('mailer'), publisher: open('publisher') } satisfies NoticeServices };
}

describe('The mail about an opened account', () => {
  it.each(LANGUAGES)('goes to the client with the login, in the language %s', async (language) => {
    const { ses, notices: tell } = await notices();
    await tell.email(CLIENT, ACCOUNT, language, patient());
    expect(ses.outbox).toMatchObject([{ kind: 'email', to: 'Ann@xn--bcher-kva.example', language }]);
    expect(ses.outbox[0]?.text).toContain('900123');
    expect(ses.outbox[0]?.html).toContain('900123');
  });

  it('comes from the brand and counts as such in the statistics', async () => {
    const { sent, services } = fakes();
    await accountNotices(SETTINGS, services).email(CLIENT, ACCOUNT, 'en', patient());
    expect(sent).toMatchObject([
      {
        from: { name: 'Example Markets', address: 'no-reply@example.com' },
        replyTo: 'help@example.com',
        configurationSet: 'mails',
        kind: 'account_opened',
      },
    ]);
  });

  it.each([
    ['throttled', 'retryable'],
    ['refused', 'misconfigured'],
    ['down', 'retryable'],
  ] as const)('fails by name when SES is %s', async (fault, kind) => {
    const { ses, notices: tell } = await notices();
    ses.faults.set({ kind: fault, times: 1 });
    expect(await failureOf(tell.email(CLIENT, ACCOUNT, 'en', patient()))).toMatchObject({ kind });
    await tell.email(CLIENT, ACCOUNT, 'en', patient());
    expect(ses.outbox).toHaveLength(1);
  });
});

describe('The popup about an opened account', () => {
  it.each(LANGUAGES)('is one message on the topic of client notifications, in the language %s', async (language) => {
    const { sns, notices: tell } = await notices();
    await tell.popUp('CLIENT01', ACCOUNT, language, patient());
    expect(sns.outbox).toMatchObject([{ kind: 'popup', to: 'CLIENT01', language }]);
    expect(sns.outbox[0]?.subject).toMatch(/.+/);
    expect(sns.outbox[0]?.text).toContain('900123');
  });

  it('holds what a subscriber needs, and its kind as an attribute to filter by', async () => {
    const { sent, services } = fakes();
    await accountNotices(SETTINGS, services).popUp('CLIENT01', ACCOUNT, 'de-AT', patient());
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

  it.each([
    ['throttled', 'retryable'],
    ['refused', 'misconfigured'],
    ['down', 'retryable'],
  ] as const)('fails by name when SNS is %s', async (fault, kind) => {
    const { sns, notices: tell } = await notices();
    sns.faults.set({ kind: fault, times: 1 });
    expect(await failureOf(tell.popUp('CLIENT01', ACCOUNT, 'en', patient()))).toMatchObject({ kind });
    expect(sns.outbox).toEqual([]);
  });
});

describe('The services of the notices', () => {
  it('are opened with the first notice, once', async () => {
    const { opened, services } = fakes();
    const tell = accountNotices(SETTINGS, services);
    expect(opened).toEqual([]);
    await Promise.all([1, 2].map(() => tell.email(CLIENT, ACCOUNT, 'en', patient())));
    expect(opened).toEqual(['mailer']);
    await tell.popUp('CLIENT01', ACCOUNT, 'en', patient());
    expect(opened).toEqual(['mailer', 'publisher']);
  });
});
