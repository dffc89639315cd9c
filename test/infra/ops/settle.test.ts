import { randomUUID } from 'node:crypto';
import { afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { CommandError } from '../../../infra/ops/command.ts';
import { settleOperation, showOperation } from '../../../infra/ops/settle.ts';
import type { Terminal } from '../../../infra/ops/terminal.ts';
import type { Item } from '../../../lib/aws/dynamodb.ts';
import type { Life } from '../../../lib/openings/life.ts';
import { OPERATOR_ONLY, RETRY_ONLY } from '../../../lib/records/due.ts';
import { openAccount } from '../../support/local-service.ts';
import { Operators } from '../../support/operators.ts';
import { removeItems, writeItems } from '../../support/restored-tables.ts';

const operators = new Operators();
const DAY_MS = 24 * 60 * 60_000;
/** Of the server's accounts, by what they show. A login of each test is one of them. */
const LOGINS = { ours: 510_001, foreign: 510_002, unmarked: 510_003, absent: 510_004 } as const;
type Sight = keyof typeof LOGINS;
const ID = randomUUID();
const PK = `operation#${ID}`;
/** Another operation. */
const RIVAL = randomUUID();
let opened: Item;

const find = async (login: unknown) =>
  (await operators.items('operations')).find(({ life }) => (life as { login?: unknown } | undefined)?.login === login);

beforeAll(async () => {
  const server = operators.service.platforms.get('tp5-live-1');
  for (const [sight, login] of Object.entries(LOGINS)) {
    if (sight === 'absent') continue;
    const order = { connection_id: 'tp5-live-1', group: 'real\\standard', login };
    expect(await openAccount(operators.service, 'tp5', order)).toMatchObject({ status: 200 });
    opened = (await find(login)) ?? {};
    server?.edit(login, { comment: sight === 'ours' ? ID : sight === 'foreign' ? RIVAL : '' });
  }
  for (const table of ['operations', 'logins', 'accounts']) {
    const items = await operators.items(table);
    await removeItems(
      operators,
      table,
      table === 'operations' ? items.filter(({ life }) => life !== undefined) : items,
    );
  }
});
afterEach(() => void vi.useRealTimers());

interface Case {
  life: Life;
  /** Members of its plan; `none`: a restore has lost it. */
  plan?: Item | 'none';
  sentAt?: number;
  dueAt?: number;
  /** The login that is reserved for it; absent: that of its life. */
  reserved?: number;
  /** Who holds the reservation instead of it. */
  holder?: string;
  /** The login of the account's record. */
  recorded?: number;
}

/** Writes the operation, its reservation and its record, and nothing else. */
async function put({
  life,
  plan = {},
  sentAt = Date.now(),
  dueAt,
  reserved,
  holder = ID,
  recorded,
}: Case): Promise<void> {
  for (const table of ['logins', 'accounts']) {
    const mine = (await operators.items(table)).filter(({ operation_id }) =>
      [ID, RIVAL, 'nobody'].includes(String(operation_id)),
    );
    await removeItems(operators, table, mine);
  }
  const { plan: whole, expires_at: _, ...item } = opened;
  const kept = {
    ...(whole as Item),
    operation_id: ID,
    exclusive: false,
    login_given: false,
    ...(plan === 'none' ? {} : plan),
  };
  const due = dueAt === undefined ? {} : { due_shard: 'due#0', due_at: dueAt };
  await writeItems(operators, 'operations', [
    {
      ...item,
      pk: PK,
      operation_id: ID,
      life,
      sent_at: sentAt,
      lease_until: 0,
      ...due,
      ...(plan === 'none' ? {} : { plan: kept }),
    },
  ]);
  const login = reserved ?? ('login' in life ? life.login : undefined);
  const connection_id = 'tp5-live-1';
  if (login !== undefined)
    await writeItems(operators, 'logins', [
      {
        pk: `tp5#${login}`,
        operation_id: holder,
        incarnation: holder === ID ? item.incarnation : RIVAL,
        connection_id,
      },
    ]);
  if (recorded === undefined) return;
  const record: Item = { ...(whole as Item), operation_id: ID, login: recorded, opened_at: new Date().toISOString() };
  await writeItems(operators, 'accounts', [
    {
      ...Object.fromEntries(RECORDED.map((name) => [name, record[name]])),
      pk: record.user_id,
      sk: `tp5#${connection_id}#${recorded}`,
    },
  ]);
}
const RECORDED = [
  ...['user_id', 'version', 'connection_id', 'login', 'group', 'leverage', 'enable_readonly', 'enable_rebate'],
  ...['operation_id', 'opened_at', 'caller'],
];

const reservationOf = async (login: string) =>
  (await operators.items('logins')).find(({ pk }) => pk === `tp5#${login}`);
/** The logins of the operation's records. */
const recordedLogins = async () =>
  (await operators.items('accounts')).filter(({ operation_id }) => operation_id === ID).map(({ login }) => login);
const crm = (...args: string[]) => operators.local(...args);
const logins = (sight: Sight) => [...new Set([LOGINS[sight], LOGINS.ours, LOGINS.absent])];
const allWays = (sight: Sight) => [
  ...['--none', '--deposit'],
  ...['--login', '--foreign'].flatMap((way) => logins(sight).map((login) => `${way} ${login}`)),
];

const SILENT = { print: () => {} } as unknown as Terminal;

/** What `operation ID` prints. `operations.test.ts` runs the command itself. */
async function shown(): Promise<string> {
  const printed: string[] = [];
  await showOperation(operators.target, ID, { ...SILENT, print: (lines) => void printed.push(...[lines].flat()) });
  return printed.map((line) => `${line}\n`).join('');
}

/** Calls `settle ID` with an option. @returns why it is refused; undefined: it is done */
async function settle(way: string): Promise<string | undefined> {
  const [option = '', login = true] = way.replace('--', '').split(' ');
  try {
    await settleOperation(operators.target, ID, { [option]: login }, SILENT);
    return undefined;
  } catch (error) {
    if (error instanceof CommandError) return error.message;
    throw error;
  }
}

/** The commands that `operation` prints, and what they mean: one for any login is one for each that may be named. */
async function printed(sight: Sight): Promise<{ ways: string[]; meant: string[] }> {
  const out = await shown();
  const ways = [...out.matchAll(new RegExp(`settle ${ID} (--.+)$`, 'gm'))].map(([, way = '']) => way);
  const named = out.includes('in its comment') ? [LOGINS.ours] : logins(sight);
  const meant = ways.flatMap((way) => (way === '--login N' ? named.map((login) => `--login ${login}`) : [way]));
  return { ways, meant };
}

const open = (login: number): Life => ({
  ...{ at: 'open', login, opened_at: '2026-11-22T00:00:00.000Z' },
  ...{ recorded: true, deposit: 'none', published: true },
});
const done = (login: number, unpaid: boolean): Life => ({
  at: 'done',
  login,
  opened_at: '2026-11-22T00:00:00.000Z',
  unpaid,
});
const AGO = { day: () => Date.now() - DAY_MS - 1_000, lessThanADay: () => Date.now() - DAY_MS + 60_000 };

/** Every state, each with what the server shows at its login. */
const CASES: readonly [name: string, (login: number) => Case, sights?: readonly Sight[]][] = [
  ['nothing was sent', () => ({ life: { at: 'claimed' } }), ['absent']],
  ['the account is open', (login) => ({ life: open(login), dueAt: 1 }), ['ours']],
  ['it has ended', (login) => ({ life: done(login, false) }), ['ours']],
  ['the deposit is missing', (login) => ({ life: done(login, true), dueAt: OPERATOR_ONLY }), ['ours']],
  ['a command was sent', (login) => ({ life: { at: 'sent', login, commands: 'many' }, dueAt: 1 })],
  [
    'a command was sent a day ago',
    (login) => ({ life: { at: 'sent', login, commands: 'many' }, sentAt: AGO.day(), dueAt: RETRY_ONLY }),
  ],
  [
    'the caller’s login was sent less than a day ago',
    (login) => ({
      life: { at: 'sent', login, commands: 'many' },
      plan: { login_given: true },
      sentAt: AGO.lessThanADay(),
      dueAt: 1,
    }),
  ],
  [
    'the caller’s login was sent a day ago',
    (login) => ({
      life: { at: 'sent', login, commands: 'many' },
      plan: { login_given: true },
      sentAt: AGO.day(),
      dueAt: RETRY_ONLY,
    }),
  ],
  [
    'the caller’s login was sent a day ago, as version 1.0.0 left it',
    (login) => ({ life: { at: 'sent', login, commands: 'many' }, plan: { login_given: true }, sentAt: AGO.day() }),
  ],
  ['undecided', (login) => ({ life: { at: 'undecided', login }, dueAt: OPERATOR_ONLY })],
  [
    'undecided, with its record',
    (login) => ({ life: { at: 'undecided', login }, recorded: login, dueAt: OPERATOR_ONLY }),
  ],
  ...(['nobody', RIVAL] as const).flatMap((holder): (typeof CASES)[number][] => {
    const whose = holder === RIVAL ? 'another operation' : holder;
    return [
      [
        `undecided, with a login that is reserved for ${whose}`,
        (login) => ({ life: { at: 'undecided', login }, holder, dueAt: OPERATOR_ONLY }),
      ],
      [
        `undecided, with its record of a login that is reserved for ${whose}`,
        (login) => ({ life: { at: 'undecided', login }, holder, recorded: login, dueAt: OPERATOR_ONLY }),
      ],
      [
        `restored without its login, with a record of a login that is reserved for ${whose}`,
        (login) => ({ life: { at: 'undecided' }, reserved: login, holder, recorded: login, dueAt: OPERATOR_ONLY }),
      ],
      [
        `restored without its plan, with a login that is reserved for ${whose}`,
        (login) => ({ life: { at: 'undecided' }, plan: 'none', reserved: login, holder, dueAt: OPERATOR_ONLY }),
        ['ours'],
      ],
    ];
  }),
  [
    'undecided, and the server answered with another login',
    (other) => ({ life: { at: 'undecided', login: LOGINS.absent, other }, dueAt: OPERATOR_ONLY }),
  ],
  [
    'restored without its login, with a reservation',
    (reserved) => ({ life: { at: 'undecided' }, reserved, dueAt: OPERATOR_ONLY }),
  ],
  [
    'restored without its login, with a record',
    (recorded) => ({ life: { at: 'undecided' }, recorded, dueAt: OPERATOR_ONLY }),
  ],
  ['restored without its login, with neither', () => ({ life: { at: 'undecided' }, dueAt: OPERATOR_ONLY }), ['absent']],
  [
    'restored without its plan, with a reservation',
    (reserved) => ({ life: { at: 'undecided' }, plan: 'none', reserved, dueAt: OPERATOR_ONLY }),
  ],
  [
    'restored without its plan, with a record',
    (recorded) => ({ life: { at: 'undecided' }, plan: 'none', recorded, dueAt: OPERATOR_ONLY }),
  ],
  [
    'restored without its plan, with neither',
    () => ({ life: { at: 'undecided' }, plan: 'none', dueAt: OPERATOR_ONLY }),
    ['absent'],
  ],
  [
    'of a server that chooses the logins',
    () => ({ life: { at: 'undecided' }, plan: { keyed: false }, dueAt: OPERATOR_ONLY }),
    ['absent'],
  ],
];
const ROWS = CASES.flatMap(([name, make, sights = Object.keys(LOGINS) as Sight[]]) =>
  sights.map((sight) => [name, sight, make] as const),
).map((row, index) => [...row, index] as const);

describe('`settle ID` accepts exactly the commands that `operation ID` prints', () => {
  it.each(ROWS)('for an operation %s, whose account the server shows as %s', async (name, sight, make, row) => {
    const example = () => make(LOGINS[sight]);
    await put(example());
    const { ways, meant } = await printed(sight);
    // One condition refuses all others: of each row a third is tried.
    const others = allWays(sight).filter((way) => !meant.includes(way));
    for (const way of others.filter((_, index) => index % 3 === row % 3)) {
      const refused = await settle(way);
      // It names what is accepted, and changes nothing: that is still accepted.
      expect(refused, way).toMatch(/^Nothing was settled\. /);
      for (const one of ways) expect(refused).toContain(`settle ${ID} ${one}`);
    }
    for (const [index, way] of meant.entries()) {
      if (index > 0) await put(example());
      expect(await settle(way), way).toBeUndefined();
      const [, login] = way.split('--login ');
      if (login === undefined) continue;
      const { holder, recorded, plan } = example();
      // Without its plan the operation waits for its retry, which writes the record.
      if (plan !== 'none') expect(await recordedLogins()).toContain(Number(login));
      if (holder === undefined) continue;
      // Another operation keeps its login, unless the account is proved to be this operation's.
      const isProven = sight === 'ours' || recorded !== undefined;
      const isKept = holder === RIVAL && !isProven;
      // The other operation releases only a reservation with its own incarnation.
      const { operation_id, incarnation } = (await reservationOf(login)) ?? {};
      const found = { operation_id, isReleasedByOther: incarnation === RIVAL };
      expect(found).toEqual({ operation_id: isKept ? RIVAL : ID, isReleasedByOther: isKept });
    }
    if (name.startsWith('undecided') || name.startsWith('restored')) expect(meant).not.toEqual([]);
    // The account at the login of the record may be the other operation's: then `--login` would answer a stranger's.
    const { holder, recorded } = example();
    if (holder === RIVAL && recorded !== undefined && sight !== 'ours') expect(meant).toContain('--none');
  });
});

describe('An account whose comment names the operation that holds its login', () => {
  const login = LOGINS.foreign;
  it.each<[string, Case, string[]]>([
    ['is not the operation’s own', { life: { at: 'undecided', login }, holder: RIVAL }, [`--foreign ${login}`]],
    [
      'shows that the recorded account was deleted',
      { life: { at: 'undecided', login }, holder: RIVAL, recorded: login },
      ['--none'],
    ],
    [
      'shows that the recorded account was deleted, also after a restore',
      { life: { at: 'undecided' }, reserved: login, holder: RIVAL, recorded: login },
      ['--none'],
    ],
    [
      'leaves nothing at a login that was not asked for',
      { life: { at: 'undecided', login: LOGINS.absent, other: login }, reserved: login, holder: RIVAL },
      ['--none'],
    ],
  ])('%s', async (_, example, ways) => {
    await put({ ...example, dueAt: OPERATOR_ONLY });
    expect((await printed('foreign')).ways).toEqual(ways);
    expect(await shown()).toContain(`the account ${login} shows another operation's id.`);
  });
});

it.each(['ours', 'unmarked', 'foreign', 'absent'] as const)(
  'A server that the connection leads to since shows nothing but the operation’s own id: %s',
  async (sight) => {
    const login = LOGINS[sight];
    const plan = { server: 'mt5-1.example.com:443', login_given: true };
    await put({ life: { at: 'undecided', login }, plan, dueAt: OPERATOR_ONLY });
    const out = await shown();
    expect(out).toContain('The command went to mt5-1.example.com:443');
    expect(out).toContain(sight === 'ours' ? "with this operation's id" : 'it cannot say');
    await put({ life: { at: 'sent', login, commands: 'many' }, plan, sentAt: AGO.day() });
    expect((await printed(sight)).ways).toEqual([]);
  },
);

describe('A settlement that moves a reservation', () => {
  const login = LOGINS.ours;
  const undecided = { life: { at: 'undecided' }, dueAt: OPERATOR_ONLY } as const;
  const MOVES: [string, () => Case, way: string, number, holder: string][] = [
    [
      'of another operation',
      () => ({ ...undecided, life: { at: 'undecided', login }, holder: RIVAL, recorded: login }),
      '--login',
      login,
      ID,
    ],
    ['of nobody', () => ({ ...undecided, life: { at: 'undecided', login }, holder: 'nobody' }), '--login', login, ID],
    [
      'of another operation, whose login was lost',
      () => ({ ...undecided, reserved: login, holder: RIVAL }),
      '--login',
      login,
      ID,
    ],
    [
      'of another operation, whose plan was lost',
      () => ({ ...undecided, plan: 'none', reserved: login, holder: RIVAL }),
      '--login',
      login,
      ID,
    ],
    ['to nobody', () => ({ ...undecided, reserved: LOGINS.unmarked }), '--foreign', LOGINS.unmarked, 'nobody'],
  ];
  const faults = () => operators.service.faults('dynamodb');
  const isWrite = (name: string) => name === 'UpdateItem' || name === 'TransactWriteItems';
  const stored = async () => ({
    operation: (await operators.items('operations')).find(({ pk }) => pk === PK),
    reservations: await operators.items('logins'),
    records: await operators.items('accounts'),
  });

  it.each(MOVES)('%s changes nothing if another worker acquires the operation', async (_, example, way, named) => {
    await put(example());
    const before = await stored();
    let writes = 0;
    faults().onCall = async ({ name }) => {
      writes += Number(isWrite(name));
      // The first write takes the lease.
      if (writes !== 2) return;
      faults().onCall = () => undefined;
      await writeItems(operators, 'operations', [{ ...(await stored()).operation, lease: 'another worker' }]);
    };
    expect((await crm('settle', ID, way, String(named))).code).toBe(1);
    const after = await stored();
    expect(after.operation).toMatchObject({ lease: 'another worker', life: before.operation?.life });
    expect(after).toMatchObject({ reservations: before.reservations, records: before.records });
  });

  it.each(MOVES)(
    '%s is made once, although the answer to its write was lost',
    async (_, example, way, named, holder) => {
      const calls: string[] = [];
      faults().onCall = async ({ name }) => void calls.push(name);
      await put(example());
      calls.length = 0;
      expect((await crm('settle', ID, way, String(named))).code).toBe(0);
      faults().onCall = () => undefined;
      const after = calls.findIndex((name, index) => isWrite(name) && calls.slice(0, index).some(isWrite));
      await put(example());
      faults().set({ kind: 'reply_lost', times: 1, after });
      expect((await crm('settle', ID, way, String(named))).code).toBe(0);
      expect(await reservationOf(String(named))).toMatchObject({ operation_id: holder });
    },
  );
});

describe('An operation that a restore left without its login', () => {
  const order = { connection_id: 'tp5-live-1', group: 'real\\standard' };

  /** An operation of a key, which was answered, and its restored claim. */
  async function restoredClaim(lose: (id: string) => Promise<void>) {
    const key = randomUUID();
    const { body: first } = await openAccount(operators.service, 'tp5', order, key);
    const { plan: _, expires_at: __, ...item } = (await find(first.login)) ?? {};
    const id = String(item.operation_id);
    await writeItems(operators, 'operations', [
      { ...item, life: { at: 'undecided' }, due_shard: 'due#0', due_at: OPERATOR_ONLY, lease_until: 0 },
    ]);
    await lose(id);
    const retry = () => openAccount(operators.service, 'tp5', order, key);
    expect(await retry()).toMatchObject({ status: 504 });
    return { id, first, retry };
  }
  const loseOf =
    (...tables: string[]) =>
    async (id: string) => {
      for (const table of tables)
        await removeItems(
          operators,
          table,
          (await operators.items(table)).filter(({ operation_id }) => operation_id === id),
        );
    };

  it.each([
    ['its record', loseOf('logins')],
    ['its reservation', loseOf('accounts')],
    ['the server’s account that names it', loseOf('logins', 'accounts')],
  ])('is settled by %s, and a retry is answered with the same account', async (_, lose) => {
    const { id, first, retry } = await restoredClaim(lose);
    expect(await crm('settle', id, '--login', String(first.login))).toMatchObject({ code: 0, reported: '' });
    expect(await retry()).toMatchObject({ status: 200, body: { login: first.login } });
  });

  it('whose login a stranger has is settled as foreign, and a retry gets another login', async () => {
    const { id, first, retry } = await restoredClaim(loseOf('accounts'));
    operators.service.platforms.get('tp5-live-1')?.edit(Number(first.login), { comment: 'a stranger' });
    expect(await crm('settle', id, '--foreign', String(first.login))).toMatchObject({ code: 0, reported: '' });
    const retried = await retry();
    expect(retried.status).toBe(200);
    expect(retried.body.login).not.toBe(first.login);
  });
});

describe('A caller’s own login that is absent', () => {
  const DAYS = [1, 24];
  it.each([...DAYS.flatMap((days) => [false, true].map((settles) => [days, settles] as const)), [400, false] as const])(
    'is listed, watched, and can be freed %s days later; the settler looks in between: %s',
    async (days, settles) => {
      const login = 1_300_000 + days * 2 + Number(settles);
      const order = { connection_id: 'tp5-live-1', group: 'real\\standard', login };
      const key = randomUUID();
      // The login is looked up first.
      operators.service.faults('tp5-live-1').set({ kind: 'retcode', code: 10, times: 1, after: 1 });
      expect((await openAccount(operators.service, 'tp5', order, key)).status).toBe(503);
      const id = String((await find(login))?.operation_id);
      const settle = () => crm('settle', id, '--none');
      const list = async () => (await crm('operations', '--open')).out;
      vi.useFakeTimers({ toFake: ['Date'] });
      vi.setSystemTime(Date.now() + DAY_MS - 60_000);
      if (settles) await operators.service.tick();
      expect(await settle()).toMatchObject({ code: 1, reported: expect.stringContaining('The settler looks for it') });
      vi.setSystemTime(Date.now() + 120_000 + (days - 1) * DAY_MS);
      for (let run = 0; settles && run < 3; run += 1) {
        await operators.service.tick();
        vi.setSystemTime(Date.now() + 2 * 60 * 60_000);
      }
      expect(await list()).toContain(id);
      expect((await crm('operation', id)).out).toContain(`settle ${id} --none`);
      expect(await settle()).toMatchObject({ code: 0, reported: '' });
      expect(await list()).not.toContain(id);
      expect(await openAccount(operators.service, 'tp5', order, key)).toMatchObject({ status: 200, body: { login } });
    },
  );
});
