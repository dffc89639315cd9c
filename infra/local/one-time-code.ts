import type { OutboxEntry } from './outbox-entry.ts';

/**
 * The one-time password that a message brings. Its six digits stand alone on a line of a mail and are said twice in a call,
 * which keeps them apart from logins and from digits in a brand's name; notices to owners and of accounts have none.
 */
export function findCode({ kind, text }: Pick<OutboxEntry, 'kind' | 'text'>): string | undefined {
  switch (kind) {
    case 'email':
      return /^\s*(\d{6})\s*$/m.exec(text)?.[1];
    case 'call':
      return /(?<!\d)(\d{6})(?!\d)(?=.*(?<!\d)\1(?!\d))/s.exec(text)?.[1];
    case 'sms':
    case 'whatsapp':
      return /(?<!\d)\d{6}(?!\d)/.exec(text)?.[0];
    case 'popup':
      return undefined;
  }
}
