import type { OutboxEntry } from './outbox.ts';

/**
 * The one-time password in a message. A mail has the six digits on their own line, a call says them twice. So they
 * differ from logins and digits in a brand's name. Notices have none.
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
