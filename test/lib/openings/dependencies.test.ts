import { describe, expect, it } from 'vitest';
import { accountNotices, type NoticeOpeners } from '../../../lib/openings/dependencies.ts';
import { BRAND, patient } from '../../support/senders.ts';

const SETTINGS = {
  brand: BRAND,
  email: { senderAddress: 'no-reply@example.com' },
  notificationsTopicArn: 'arn:aws:sns:eu-west-1:000000000000:client-notifications',
};
const ACCOUNT = { login: 900_123, version: 'tp5' } as const;

describe('The notices of an opened account', () => {
  it('are loaded with the first one of their kind, once', async () => {
    const log: string[] = [];
    const opener = (notice: string) => async () => {
      log.push(`opens ${notice}`);
      return async () => void log.push(`sends ${notice}`);
    };
    const openers: NoticeOpeners = { email: opener('email'), popUp: opener('popUp') };
    const notices = accountNotices(SETTINGS, openers);
    expect(log).toEqual([]);
    await Promise.all([1, 2].map(() => notices.email({ email: 'ann@example.org' }, ACCOUNT, 'en', patient())));
    expect(log).toEqual(['opens email', 'sends email', 'sends email']);
    await notices.popUp('CLIENT01', ACCOUNT, 'en', patient());
    expect(log.slice(3)).toEqual(['opens popUp', 'sends popUp']);
  });
});
