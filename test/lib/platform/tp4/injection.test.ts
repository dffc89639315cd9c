import fc from 'fast-check';
import iconv from 'iconv-lite';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { SimulatedServer } from '../../../../infra/local/platforms/simulated-server.ts';
import { startTextServer } from '../../../../infra/local/platforms/text-server.ts';
import { type AccountOrder, PlatformFailure } from '../../../../lib/platform/platform.ts';
import { ANY_TIME, NEVER_ABORTED } from '../../../support/outcomes.ts';
import {
  anOrder,
  aServer,
  DIALECTS,
  GROUPS,
  MASTER_PASSWORD,
  openTextAccount,
  textPlatform,
} from '../../../support/text-protocol.ts';

const KEYS = [
  'LEVERAGE',
  'GROUP',
  'PASSWORD',
  'INVESTOR',
  'READONLY',
  'LOGIN',
  'NAME',
  'MASTER_PASSWORD',
  'IP',
  'ID',
  'DEPOSIT',
];

/** Pieces with a meaning in the protocol, in plain and in encoded form. */
const hostile = fc.oneof(
  fc.constantFrom('|', '=', '\r', '\n', '\r\n', '\0', '\t', '\x1b', '\x7f', '\u0085', '\u2028', '\u00a0', '\\', '"'),
  fc.constantFrom('＝', '｜', '≠', '¦', '│', '∣', '﹦', 'Ľ', 'ļ', '꞊', '\u0338', '\ufeff', '\ud800', '🙂', 'ﷺ'),
  fc.constantFrom(...KEYS).map((key) => `${key}=1`),
  fc.constantFrom(...KEYS).map((key) => `|${key}=999|`),
  fc.constantFrom(...KEYS).map((key) => `\nW${key}=2\nQUIT\n`),
);
/** The second byte of ポ is `|` in Shift-JIS, that of 廩 and 芸 in other code pages. */
const script = fc.constantFrom(
  ...['ポ', 'ソ', '表', '弝', '悀', '崀', '縷', '許', '芸', '李小龙', '王小明', 'Пётр Ильич', 'Ελένη', 'محمد علي'],
  ...['עדנה', 'สมชาย', 'नमस्ते', '김철수', 'José', 'Zoë', 'Łukasz', 'İpek', 'Đặng', 'e\u0301\u0327'],
);
const text = fc
  .array(fc.oneof(hostile, script, fc.string({ unit: 'binary', maxLength: 6 }), fc.string({ maxLength: 12 })), {
    minLength: 1,
    maxLength: 30,
  })
  .map((parts) => parts.join(''));

const good = fc
  .tuple(fc.stringMatching(/^[ -<>-{}~]{3,13}$/), fc.constantFrom('a1', 'B2', 'xY'))
  .map(([start, end]) => start.padEnd(3, 'x') + end);
const password = fc.oneof({ arbitrary: good, weight: 9 }, { arbitrary: text, weight: 1 });
const group = fc.oneof({ arbitrary: fc.constantFrom(...GROUPS), weight: 9 }, { arbitrary: text, weight: 1 });

const orders = fc.record({
  name: text,
  email: fc.oneof(fc.constant('ann@example.com'), text),
  phone: fc.option(fc.oneof(fc.constant('+447400123456'), text), { nil: undefined }),
  country: fc.option(fc.oneof(fc.constant('GB'), text), { nil: undefined }),
  leverage: fc.integer({ min: 1, max: 5_000 }),
  group,
  masterPassword: password,
  investorPassword: password,
  readonly: fc.boolean(),
  deposit: fc.option(fc.integer({ min: 1, max: 1_000_000 }), { nil: undefined }),
});

const PAGES = ['windows-1252', 'windows-1251', 'shift_jis', 'gbk', 'big5', 'utf-8'];
const RUNS = 20;

/** Asserts that the newest account has exactly the requested data. */
function checkAccount(server: SimulatedServer, login: number, order: AccountOrder, codePage: string): void {
  const { name, email, ...account } = server.accounts().at(-1) ?? { name: '', email: '' };
  expect(account).toEqual({
    login,
    group: order.group,
    leverage: order.leverage,
    readonly: order.readonly,
    balance: order.deposit ?? 0,
    comment: order.operationId,
  });
  expect(server.access(login, order.masterPassword)).toBe('master');
  if (order.investorPassword !== '' && order.investorPassword !== order.masterPassword) {
    expect(server.access(login, order.investorPassword)).toBe('investor');
  }
  // The text is in the code page, and cut by us, not by the server.
  expect(name).toMatch(/^[^|=\p{Cc}]+$/u);
  expect(iconv.encode(name, codePage).length).toBeLessThanOrEqual(127);
  if (!order.name.includes('\ufffd')) expect(name).not.toContain('\ufffd');
  expect(['', order.email]).toContain(email);
}

describe.each(DIALECTS)('%s', (dialect) => {
  describe.each(PAGES)('in %s', (codePage) => {
    let server: SimulatedServer;
    beforeAll(async () => {
      server = await startTextServer({
        dialect,
        codePage,
        master: MASTER_PASSWORD,
        groups: GROUPS.map((name) => ({ name })),
      });
    });
    afterAll(() => server.close());

    it('the account has exactly the requested data, or nothing was sent', async () => {
      const platform = textPlatform(dialect, server.port, { code_page: codePage });
      await fc.assert(
        fc.asyncProperty(orders, async (random) => {
          const order = wanted(random, dialect);
          const before = { accounts: server.accounts().length, commands: server.commands };
          const opening = platform.open(order, ANY_TIME, NEVER_ABORTED);
          if (!isCarriable(order)) {
            await expect(opening).rejects.toBeInstanceOf(PlatformFailure);
            expect(server.commands).toBe(before.commands);
            return;
          }
          const outcome = await opening.catch((error: PlatformFailure) => error);
          if (outcome instanceof PlatformFailure) {
            const known = GROUPS.includes(order.group);
            expect(outcome.kind).toBe(known ? 'password_rejected' : 'group_not_found');
            if (known) expect(isWeak(order.masterPassword)).toBe(true);
            expect(server.accounts()).toHaveLength(before.accounts);
            return;
          }
          expect(server.commands).toBe(before.commands + 1);
          expect(server.accounts()).toHaveLength(before.accounts + 1);
          checkAccount(server, outcome.login, order, codePage);
        }),
        { numRuns: RUNS },
      );
    });

    it.each([
      ['Ann Lee', 'Ann Lee'],
      ['  Ann\t\r\nLee  ', 'Ann Lee'],
      ['x|LEVERAGE=500', 'x/LEVERAGE-500'],
      ['|', '/'],
      ['\0\n', 'Client'],
      ['a'.repeat(300), 'a'.repeat(127)],
    ])('the name %j is sent as %j', async (name, expected) => {
      await openTextAccount(dialect, server, { name }, { code_page: codePage });
      expect(server.accounts().at(-1)?.name).toBe(expected);
    });
  });

  it.each([
    ['windows-1252', '李小龙 Đặng José', 'LiXiaoLong Dang José'],
    ['windows-1252', 'Пётр', 'Petr'],
    ['windows-1251', 'Пётр José', 'Пётр Jose'],
    ['shift_jis', 'ポール 表', 'poール 表'],
    ['gbk', '李小龙', '李小龙'],
    ['utf-8', '李小龙 ＝', '李小龙 ＝'],
    ['windows-1252', 'a＝b', 'a-b'],
    ['utf-8', `${'é'.repeat(100)}`, 'é'.repeat(63)],
    ['utf-8', 'e\u0301', 'é'],
  ])('in %s the name %s becomes %s', async (codePage, name, expected) => {
    const server = await aServer({ dialect, codePage });
    await openTextAccount(dialect, server, { name }, { code_page: codePage });
    expect(server.accounts().at(-1)?.name).toBe(expected);
  });

  it.each([
    ['ann@example.com', 'ann@example.com'],
    ['ann=bob@example.com', ''],
    ['ann@exämple.com|LEVERAGE=5', ''],
    [`${'a'.repeat(36)}@example.com`.slice(-47), `${'a'.repeat(36)}@example.com`.slice(-47)],
    [`${'a'.repeat(37)}@example.com`, ''],
  ])('the email address %s is sent as %j, never cut', async (email, expected) => {
    const server = await aServer({ dialect });
    await openTextAccount(dialect, server, { email });
    expect(server.accounts().at(-1)?.email).toBe(expected);
  });
});

/** The random order, without unsupported fields. */
function wanted(random: Partial<Record<keyof AccountOrder, unknown>>, dialect: string): AccountOrder {
  const order = anOrder(Object.fromEntries(Object.entries(random).filter(([, value]) => value !== undefined)));
  if (dialect === 'interface-gateway') return order;
  if (order.group.startsWith('demo')) return { ...order, readonly: false };
  const { deposit: _deposit, ...rest } = order;
  return { ...rest, readonly: false };
}

function isCarriable({ masterPassword, investorPassword }: AccountOrder): boolean {
  return [masterPassword, investorPassword].every((one) => /^[ -<>-{}~]{0,15}$/.test(one));
}

/** By the platform's rule; the API requires more. */
function isWeak(one: string): boolean {
  const classes = [/[a-z]/, /[A-Z]/, /\d/].filter((pattern) => pattern.test(one)).length;
  return one.length < 5 || classes < 2;
}
