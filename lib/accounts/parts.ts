import { databaseClient, table } from '../aws/dynamodb.ts';
import { parsedSecret, secretReader } from '../aws/secrets.ts';
import type { AccountConfig } from '../config.ts';
import { fingerprintKey } from '../http/idempotency.ts';
import type { AccountNotices, NoticeSettings } from '../messages/notices.ts';
import { platformConnections } from '../platform/connections.ts';
import { derivePasswords, parsePasswordKey } from '../platform/passwords.ts';
import { accountDirectoryIn } from '../records/account-directory.ts';
import { accountOperationsIn } from '../records/account-operations.ts';
import { accountsIn } from '../records/accounts.ts';
import { eventsOn } from '../records/events.ts';
import { loginsIn } from '../records/logins.ts';
import type { AccountKeys, AccountServices } from './work.ts';

/** How each notice is sent. */
export type NoticeOpeners = {
  [notice in keyof AccountNotices]: (settings: NoticeSettings) => Promise<AccountNotices[notice]>;
};

const NOTICE_OPENERS: NoticeOpeners = {
  async email(settings) {
    const [{ mailNotice }, { sesMailer }] = await Promise.all([
      import('../messages/notices.ts'),
      import('../aws/ses.ts'),
    ]);
    return mailNotice(settings, sesMailer());
  },
  async popUp(settings) {
    const [{ popUpNotice }, { snsPublisher }] = await Promise.all([
      import('../messages/notices.ts'),
      import('../aws/sns.ts'),
    ]);
    return popUpNotice(settings, snsPublisher());
  },
};

/** The notices. Most accounts are opened without one: each is loaded on first use and stays out of the cold start. */
export function accountNotices(settings: NoticeSettings, openers: NoticeOpeners = NOTICE_OPENERS): AccountNotices {
  let email: Promise<AccountNotices['email']> | undefined;
  let popUp: Promise<AccountNotices['popUp']> | undefined;
  return {
    async email(...notice) {
      email ??= openers.email(settings);
      return (await email)(...notice);
    },
    async popUp(...notice) {
      popUp ??= openers.popUp(settings);
      return (await popUp)(...notice);
    },
  };
}

/** @throws Error, which says nothing of the secret, when it has another shape */
export function accountKeys(secret: string): AccountKeys {
  const key = parsePasswordKey(secret);
  return { passwords: key, fingerprints: fingerprintKey(key) };
}

/** What the opening of an account is given in production, on either version; made once, at cold start. */
export function accountParts(config: AccountConfig): AccountServices {
  const database = databaseClient();
  const readSecret = secretReader({ ahead: 1 });
  const operations = table(database, config.operationsTable);
  return {
    settings: config,
    directory: accountDirectoryIn(table(database, config.crmTable)),
    operations: accountOperationsIn(operations),
    logins: loginsIn(operations),
    accounts: accountsIn(table(database, config.accountsTable)),
    notices: accountNotices(config),
    events: eventsOn(async () => (await import('../records/event-bus.ts')).openBus(config.eventBus)),
    platform: platformConnections({ readSecret }),
    passwords: {
      keys: parsedSecret(readSecret, config.passwordSecret, accountKeys),
      derive: derivePasswords,
    },
    clock: { now: Date.now },
  };
}
