import type { Brand } from '../config/deployment.ts';
import { asciiEmail } from '../validators/email.ts';
import type { PlatformVersion } from '../validators/trading-account.ts';
import {
  type EmailSettings,
  type FramedMail,
  framedMail,
  isolatedValue,
  mailBlock,
  mailSenderFields,
  richPhrase,
} from './mail.ts';
import type { Publish, SendMail } from './message.ts';
import { findTranslation } from './translations/languages.ts';
import { fill, type Translation } from './translations/translation.ts';

/** The content of a notice about a new account. It never has a password. */
export interface OpenedAccount {
  login: number;
  version: PlatformVersion;
  group?: string | undefined;
  /** The number in 1:leverage. */
  leverage?: number | undefined;
  /** True: trading is disabled. */
  readonly?: boolean | undefined;
  demo?: boolean | undefined;
  /** The connection's name for people. */
  serverName?: string | undefined;
}

/** Notices to a client whose account was opened. Each is sent at most once and fails with `DeliveryFailure`. */
export interface AccountNotices {
  /** @param language BCP 47, as requested, or as the client's record has it */
  email(
    client: { email: string },
    account: OpenedAccount,
    language: string | undefined,
    signal: AbortSignal,
  ): Promise<void>;
  /** One message on the topic of client notifications. Programs that show popups subscribe to it. */
  popUp(userId: string, account: OpenedAccount, language: string | undefined, signal: AbortSignal): Promise<void>;
}

export interface NoticeSettings {
  brand: Brand;
  email: EmailSettings;
  notificationsTopicArn: string;
}

/** The notice by mail, through SES. */
export function mailNotice({ brand, email }: NoticeSettings, sendMail: SendMail): AccountNotices['email'] {
  const sender = mailSenderFields(email, brand);
  return async (client, account, language, signal) => {
    const mail = accountMail(account, await findTranslation(language), brand);
    await sendMail({ ...sender, ...mail, to: asciiEmail(client.email), kind: 'account_opened' }, signal);
  };
}

/** The notice by popup, through a topic of SNS. */
export function popUpNotice({ notificationsTopicArn }: NoticeSettings, publish: Publish): AccountNotices['popUp'] {
  return async (userId, account, language, signal) => {
    const translation = await findTranslation(language);
    const message = JSON.stringify({
      user_id: userId,
      kind: 'account_opened',
      language: translation.language,
      ...accountPopUp(account, translation),
      login: account.login,
      version: account.version,
    });
    // Subscribers filter by the attribute.
    const attributes = { kind: { type: 'String', value: 'account_opened' } } as const;
    await publish({ topicArn: notificationsTopicArn, message, attributes }, signal);
  };
}

/** The mail to a client whose trading account was opened. */
export function accountMail(account: OpenedAccount, translation: Translation, brand: Brand): FramedMail {
  const phrases = translation.account;
  const login = String(account.login);
  const intro = richPhrase(account.demo ? phrases.demoIntro : phrases.intro, {
    brand: isolatedValue(brand.name, translation),
  });
  const facts = [
    { label: phrases.login, value: login },
    { label: phrases.version, value: account.version.slice(-1) },
    { label: phrases.server, value: account.serverName },
    { label: phrases.group, value: account.group },
    { label: phrases.leverage, value: account.leverage === undefined ? undefined : `1:${account.leverage}` },
  ];
  return framedMail({
    translation,
    brand,
    subject: fill(phrases.subject, { brand: brand.name, login }),
    preheader: fill(phrases.popUp, { login }),
    blocks: [
      mailBlock.heading(account.demo ? phrases.demoHeading : phrases.heading),
      mailBlock.paragraph(intro),
      mailBlock.rows(facts.flatMap(({ label, value }) => (value === undefined ? [] : [{ label, value }]))),
      ...(account.readonly ? [mailBlock.paragraph(richPhrase(phrases.readonly))] : []),
      mailBlock.paragraph(richPhrase(phrases.passwords)),
      mailBlock.note(richPhrase(phrases.notYou)),
    ],
  });
}

/** The popup in the client's own area. That area shows the brand, so the popup does not. */
export function accountPopUp(
  account: OpenedAccount,
  { account: phrases }: Translation,
): { title: string; text: string } {
  const opened = fill(phrases.popUp, { login: String(account.login) });
  return {
    title: account.demo ? phrases.demoHeading : phrases.heading,
    text: account.readonly ? `${opened} ${phrases.readonly}` : opened,
  };
}
