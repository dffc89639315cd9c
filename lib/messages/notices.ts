import type { Client } from '../records/crm-records.ts';
import { asciiEmail } from '../validators/email.ts';
import type { AccountFacts } from './account.ts';
import type { Brand } from './brand.ts';
import type { Publish, SendMail } from './providers.ts';
import { type EmailSettings, sentBy } from './sender.ts';

/** What a notice tells of an account; there is no place for a password. */
export type OpenedAccount = AccountFacts;

/** Tells a client that an account was opened. Every notice is sent at most once and fails with `DeliveryFailure`. */
export interface AccountNotices {
  /** @param language BCP 47, as asked for or as the client's record has it */
  email(
    client: Pick<Client, 'email'>,
    account: OpenedAccount,
    language: string | undefined,
    signal: AbortSignal,
  ): Promise<void>;
  /** One message on the topic of client notifications; whoever shows popups subscribes to it. */
  popUp(userId: string, account: OpenedAccount, language: string | undefined, signal: AbortSignal): Promise<void>;
}

export interface NoticeSettings {
  brand: Brand;
  email: EmailSettings;
  notificationsTopicArn: string;
}

/** How the two services are reached; opened with the first notice. */
export interface NoticeServices {
  mailer(): Promise<SendMail>;
  publisher(): Promise<Publish>;
}

/** Most accounts are opened without a notice: the words are loaded on first use and stay out of the cold start. */
const messages = () => import('./account.ts');

/** The notices by SES mail and SNS topic. */
export function accountNotices(settings: NoticeSettings, services: NoticeServices): AccountNotices {
  const { brand, email, notificationsTopicArn } = settings;
  const sender = sentBy(email, brand);
  let mailer: Promise<SendMail> | undefined;
  let publisher: Promise<Publish> | undefined;
  return {
    async email(client, account, language, signal) {
      mailer ??= services.mailer();
      const [sendMail, { accountMail }] = await Promise.all([mailer, messages()]);
      const { subject, text, html } = accountMail(account, language, brand);
      await sendMail({ ...sender, to: asciiEmail(client.email), subject, text, html, kind: 'account_opened' }, signal);
    },

    async popUp(userId, account, language, signal) {
      publisher ??= services.publisher();
      const [publish, { accountPopUp }] = await Promise.all([publisher, messages()]);
      const popUp = accountPopUp(account, language);
      const message = JSON.stringify({
        user_id: userId,
        kind: 'account_opened',
        language: popUp.language,
        title: popUp.title,
        text: popUp.text,
        login: account.login,
        version: account.version,
      });
      await publish(
        {
          topicArn: notificationsTopicArn,
          message,
          // Subscribers filter by it.
          attributes: { kind: { type: 'String', value: 'account_opened' } },
        },
        signal,
      );
    },
  };
}
