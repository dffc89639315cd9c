import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { PHONE_CHANNEL_ROWS } from '../../../infra/channels.ts';
import { readSettings } from '../../../infra/settings.ts';
import { PHONE_CHANNELS } from '../../../lib/validators/otp-types.ts';
import { PRICES } from '../../support/price-list.ts';

const ADDRESSES = 1_000;
const HOURS = 24;

it('The page has the cost of an attacker with 1,000 addresses in a day, by settings and prices', () => {
  const { limits, sms } = readSettings({
    senderAddress: 'no-reply@acme.example',
    channels: 'email,sms',
    'phone.countries': 'all',
  });
  const most = (limit: number | 'none') => (limit === 'none' ? Number.POSITIVE_INFINITY : limit);
  const perAddress = Math.min(most(limits.sourcePer10Minutes) * 6 * HOURS, most(limits.sourcePerHour) * HOURS);
  const mails = ADDRESSES * perAddress;
  const messages = Math.min(mails, most(limits.channelPerDay));
  const dollars = (amount: number) => amount.toLocaleString('en-US', { maximumFractionDigits: 0 });
  const others = PHONE_CHANNELS.filter((name) => name !== 'sms').map((name) => PHONE_CHANNEL_ROWS[name].messages);
  const rows = [
    `| mails | ${dollars(mails)}: each address sends ${perAddress} | ${dollars(mails * PRICES.mail)} |`,
    `| texts | ${dollars(messages)}, in an hour ${limits.countryPerHour} to one country | ${dollars(messages * Number(sms.maxPrice))} |`,
    `| ${others.join(', ')} | ${dollars(messages)} each | ${dollars(messages)} times the price of one |`,
  ];
  const page = readFileSync(new URL('../../../lib/README.md', import.meta.url), 'utf8');
  for (const row of rows) expect(page).toContain(row);
});
