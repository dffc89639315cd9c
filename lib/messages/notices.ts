import type { Brand } from '../validators/deployment.ts';
import { asciiEmail } from '../validators/email.ts';
import type { PlatformVersion } from '../validators/trading-account.ts';
import { type EmailSettings, framedMail, isolated, rich, sentBy } from './mail.ts';
import type { Mail, Publish, SendMail } from './providers.ts';
import { wordsFor } from './translations/languages.ts';
import { fill, type Translation } from './translations/translation.ts';

/** What a client is told of a new account; there is no place for a password. */
export interface OpenedAccount {
  login: number;
  version: PlatformVersion;
  group?: string | undefined;
  /** As in 1:leverage. */
  leverage?: number | undefined;
  /** True: trading is disabled. */
  readonly?: boolean | undefined;
  demo?: boolean | undefined;
  /** The connection, as people call it. */
  serverName?: string | undefined;
}

/** Tells a client that an account was opened. Every notice is sent at most once and fails with `DeliveryFailure`. */
export interface AccountNotices {
  /** @param language BCP 47, as asked for or as the client's record has it */
  email(
    client: { email: string },
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

/** The notice by mail, through SES. */
export function mailNotice({ brand, email }: NoticeSettings, sendMail: SendMail): AccountNotices['email'] {
  const sender = sentBy(email, brand);
  return async (client, account, language, signal) => {
    const mail = accountMail(account, await wordsFor(language), brand);
    await sendMail({ ...sender, ...mail, to: asciiEmail(client.email), kind: 'account_opened' }, signal);
  };
}

/** The notice by popup, through a topic of SNS. */
export function popUpNotice({ notificationsTopicArn }: NoticeSettings, publish: Publish): AccountNotices['popUp'] {
  return async (userId, account, language, signal) => {
    const words = await wordsFor(language);
    const message = JSON.stringify({
      user_id: userId,
      kind: 'account_opened',
      language: words.language,
      ...accountPopUp(account, words),
      login: account.login,
      version: account.version,
    });
    // Subscribers filter by the attribute.
    const attributes = { kind: { type: 'String', value: 'account_opened' } } as const;
    await publish({ topicArn: notificationsTopicArn, message, attributes }, signal);
  };
}

/** The mail to a client whose trading account was opened. */
export function accountMail(
  account: OpenedAccount,
  words: Translation,
  brand: Brand,
): Pick<Mail, 'subject' | 'text' | 'html'> {
  const says = words.account;
  const login = String(account.login);
  const intro = rich(account.demo ? says.demoIntro : says.intro, { brand: isolated(brand.name, words) });
  const rows = [
    { label: says.login, value: login },
    { label: says.version, value: account.version.slice(-1) },
    { label: says.server, value: account.serverName },
    { label: says.group, value: account.group },
    { label: says.leverage, value: account.leverage === undefined ? undefined : `1:${account.leverage}` },
  ];
  return framedMail({
    words,
    brand,
    subject: fill(says.subject, { brand: brand.name, login }),
    preheader: fill(says.popUp, { login }),
    blocks: [
      { kind: 'heading', words: account.demo ? says.demoHeading : says.heading },
      { kind: 'paragraph', words: intro },
      { kind: 'rows', rows: rows.flatMap(({ label, value }) => (value === undefined ? [] : [{ label, value }])) },
      ...(account.readonly ? [{ kind: 'paragraph' as const, words: rich(says.readonly) }] : []),
      { kind: 'paragraph', words: rich(says.passwords) },
      { kind: 'note', words: rich(says.notYou) },
    ],
  });
}

/** The popup inside the client's own area, which says whose it is: hence no brand. */
export function accountPopUp(account: OpenedAccount, { account: says }: Translation): { title: string; text: string } {
  const opened = fill(says.popUp, { login: String(account.login) });
  return {
    title: account.demo ? says.demoHeading : says.heading,
    text: account.readonly ? `${opened} ${says.readonly}` : opened,
  };
}
