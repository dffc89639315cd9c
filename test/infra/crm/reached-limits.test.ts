import { describe, expect, it } from 'vitest';
import { reachedLimits } from '../../../infra/crm/registration.ts';
import { SettingsSchema } from '../../../infra/settings.ts';
import type { Counter } from '../../../lib/limits/counter.ts';
import { limitCounters } from '../../../lib/limits/limits.ts';
import { parsePepper } from '../../../lib/secrets/pepper.ts';
import { DEFAULT_LIMITS } from '../../../lib/validators/deployment.ts';
import { leafNames } from '../../../lib/validators/texts.ts';

const NOW = 1_800_000_000_000;
const MINUTE = 60_000;
const pepper = parsePepper(JSON.stringify({ current: '1', 1: 'p'.repeat(32) }));
const counters = limitCounters(DEFAULT_LIMITS);
const { recipient } = await counters.message(pepper, {
  channel: 'email',
  key: 'ann@example.com',
  to: 'ann@example.com',
});
const [own] = recipient as [Counter];
const item = (values: object) => [{ pk: own.pk, ...values }];

describe('The limits that hold the next request', () => {
  it.each<[says: string, items: Record<string, unknown>[], expected: [setting: string, minutes: number][]]>([
    ['none where nothing was counted', [], []],
    ['none below the limit', item({ n_hour: 4, from_hour: NOW - MINUTE }), []],
    ['the pause until its end', item({ paused_until: NOW + 2 * MINUTE }), [['limits.resendSeconds', 2]]],
    [
      'a full window until its end',
      item({ n_hour: 5, from_hour: NOW - 20 * MINUTE }),
      [['limits.recipientPerHour', 40]],
    ],
    ['no full window that is over', item({ n_hour: 5, from_hour: NOW - 61 * MINUTE }), []],
    [
      'all of them, the longest first',
      item({ paused_until: NOW + MINUTE, n_hour: 5, from_hour: NOW, n_day: 10, from_day: NOW }),
      [
        ['limits.recipientPerDay', 24 * 60],
        ['limits.recipientPerHour', 60],
        ['limits.resendSeconds', 1],
      ],
    ],
  ])('are %s', (_, items, expected) => {
    expect(reachedLimits(recipient, items, NOW)).toEqual(
      expected.map(([setting, minutes]) => ({ setting, until: NOW + minutes * MINUTE })),
    );
  });

  it('are each named by an existing setting', async () => {
    const phone = { channel: 'sms', key: '+447400123456', to: '+447400123456', country: 'GB' } as const;
    const company = { channel: 'email', key: 'ann@acme.example', to: 'ann@acme.example' } as const;
    const messages = [await counters.message(pepper, phone), await counters.message(pepper, company)];
    const all = [
      ...messages.flatMap(({ recipient, shared }) => [...recipient, ...shared]),
      ...Object.values(counters.source(pepper, '2001:db8::1')).flat(),
    ];
    const full = all.map(({ pk, windows }) => ({
      pk,
      ...Object.fromEntries(
        windows.flatMap(([name, max]) => [
          [`n_${name}`, max],
          [`from_${name}`, NOW],
        ]),
      ),
    }));
    const names = reachedLimits(all, full, NOW).map(({ setting }) => setting);
    expect(new Set(names).size).toBe(10);
    expect(names.filter((name) => !leafNames(SettingsSchema).includes(name))).toEqual([]);
  });
});
