import { describe, expect, it } from 'vitest';
import { AwsFailure } from '../../../lib/aws/failure.ts';
import { PlatformFailure } from '../../../lib/platform/platform.ts';
import type { Connection } from '../../../lib/records/crm-records.ts';
import { GATEWAY, LIVE, PLUG_IN } from '../../support/crm-example.ts';
import { ANSWERS, OpeningScene } from '../../support/opening-scene.ts';
import { derivationKeys } from '../../support/openings.ts';
import { failingSteps, numberedSteps } from '../../support/step-faults.ts';

const UNKNOWN = '504 account_outcome_unknown';
const UNKNOWN_RETRY = `${UNKNOWN} retry`;
const UNAVAILABLE = '503 platform_unavailable retry';
const LIVE_GATEWAY: Connection = { ...GATEWAY, demo: false };
const STRICT: Connection = { ...LIVE, strict: true };

/** What a server shows, on a connection that has one like it. */
const SERVERS = {
  'a server that shows comments': [LIVE, 'comments'],
  'a server that hides comments': [LIVE, 'existence'],
  'a strict server that hides comments': [STRICT, 'existence'],
  'a gateway': [LIVE_GATEWAY, 'existence'],
  'a gateway without a look-up': [LIVE_GATEWAY, 'nothing'],
  'the plug-in': [PLUG_IN, 'nothing'],
} as const satisfies Record<string, readonly [Connection, OpeningScene['server']['shows']]>;
type ServerName = keyof typeof SERVERS;

async function sceneOn(name: ServerName): Promise<OpeningScene> {
  const [connection, shows] = SERVERS[name];
  const scene = await OpeningScene.create(connection);
  scene.server.shows = shows;
  return scene;
}

/** `ok`: a login. */
type Heard = 'ok' | string;
type AnswerName = keyof typeof ANSWERS;

/** The answers to the commands of the first request; what it hears, the accounts then, and what a retry hears. */
const ROWS: [ServerName, AnswerName[], first: Heard, accounts: number, retry: Heard][] = [
  ['a server that shows comments', [], 'ok', 1, 'ok'],
  ['a server that shows comments', ['lost'], 'ok', 1, 'ok'],
  ['a server that shows comments', ['lost before it arrived'], 'ok', 1, 'ok'],
  ['a server that shows comments', ['executed, and refused for its state'], 'ok', 1, 'ok'],
  ['a server that shows comments', ['refused for its state'], UNAVAILABLE, 0, 'ok'],
  ['a server that shows comments', ['refused for its content'], '400 password_rejected', 0, 'ok'],
  ['a server that shows comments', ['refused for our rights'], '502 platform_refused', 0, 'ok'],
  ['a server that shows comments', ['unsent'], UNAVAILABLE, 0, 'ok'],
  ['a server that shows comments', ['repeated by a gateway'], 'ok', 1, 'ok'],
  ['a server that shows comments', ['another login'], UNKNOWN, 1, UNKNOWN],
  [
    'a server that shows comments',
    ['lost before it arrived', 'refused for its content'],
    '400 password_rejected',
    0,
    'ok',
  ],
  ['a server that shows comments', ['lost before it arrived', 'refused for our rights'], 'ok', 1, 'ok'],
  ['a server that hides comments', ['lost'], 'ok', 1, 'ok'],
  ['a server that hides comments', ['repeated by a gateway'], UNKNOWN, 1, UNKNOWN],
  ['a strict server that hides comments', ['lost'], UNKNOWN, 1, UNKNOWN],
  ['a strict server that hides comments', ['lost before it arrived'], 'ok', 1, 'ok'],
  ['a gateway', ['lost'], 'ok', 1, 'ok'],
  ['a gateway', ['lost before it arrived'], 'ok', 1, 'ok'],
  ['a gateway', ['repeated by a gateway'], UNKNOWN, 1, UNKNOWN],
  ['a gateway without a look-up', ['lost before it arrived'], 'ok', 1, 'ok'],
  ['a gateway without a look-up', ['refused for its content'], '400 password_rejected', 0, 'ok'],
  ['a gateway without a look-up', ['refused for its state'], UNAVAILABLE, 0, 'ok'],
  // The repeated command is refused, and nothing shows why.
  ['a gateway without a look-up', ['lost', 'refused for its content'], UNKNOWN_RETRY, 1, UNKNOWN_RETRY],
  ['the plug-in', ['lost'], UNKNOWN, 1, UNKNOWN],
  ['the plug-in', ['lost before it arrived'], UNKNOWN, 0, UNKNOWN],
  ['the plug-in', ['refused for its state'], UNKNOWN, 0, UNKNOWN],
  ['the plug-in', ['refused for its content'], '400 password_rejected', 0, 'ok'],
  ['the plug-in', ['unsent'], UNAVAILABLE, 0, 'ok'],
];

const heard = (answer: number | string): Heard => (typeof answer === 'number' ? 'ok' : answer);

describe.each(ROWS)('On %s, a command that is answered %j', (name, answers, first, accounts, retry) => {
  it(`is answered ${first}; a retry ${retry}, with at most one account`, async () => {
    const scene = await sceneOn(name);
    scene.server.answers.push(...answers.map((one) => ANSWERS[one]));
    const answered = await scene.open('key');
    expect([heard(answered), scene.server.accounts.size]).toEqual([first, accounts]);
    const again = await scene.open('key');
    expect(heard(again)).toBe(retry);
    if (first === 'ok') expect(again).toBe(answered);
    expect(scene.server.accounts.size).toBeLessThanOrEqual(1);
    if (retry !== 'ok') return;
    await scene.settle();
    const [record] = await scene.records();
    expect(record).toMatchObject({ login: again, operation_id: (await scene.operations())[0]?.operationId });
    expect(scene.published).toEqual([expect.objectContaining({ login: again })]);
    expect(Object.values(await scene.reservations())).toHaveLength(1);
  });
});

describe('An account whose login the server has chosen', () => {
  it.each<[string, string[]]>([
    ['once', ['operations.transact 2']],
    ['twice', ['operations.transact 2', 'operations.transact 3']],
  ])('is recorded and published only after its state is written, if that fails %s', async (_, failures) => {
    const scene = await sceneOn('the plug-in');
    const failing = failures.map((name) => [name, new AwsFailure('ServiceUnavailable')]);
    scene.step = numberedSteps(failingSteps(Object.fromEntries(failing)));
    const login = await scene.open('key');
    expect([login, scene.published, await scene.records()]).toEqual([100_001, [], []]);
    await scene.settle();
    const life = await scene.life();
    expect(scene.published).toMatchObject(life?.at === 'open' ? [{ login }] : []);
    expect(await scene.records()).toMatchObject(life?.at === 'open' ? [{ login }] : []);
    expect(life?.at).toBe(failures.length === 1 ? 'open' : 'undecided');
  });
});

describe('Without a key', () => {
  it.each<[AnswerName[], string]>([
    [['refused for its state'], UNAVAILABLE],
    [['unsent'], UNAVAILABLE],
    [['refused for its content'], '400 password_rejected'],
  ])(
    'a command that is answered %j is answered as with one, because no account is there',
    async (answers, expected) => {
      const scene = await sceneOn('a server that shows comments');
      scene.server.answers.push(...answers.map((one) => ANSWERS[one]));
      expect(await scene.open(undefined)).toBe(expected);
    },
  );

  it('503 becomes 504 without Retry-After if an account may be there', async () => {
    const scene = await sceneOn('a gateway without a look-up');
    scene.server.answers.push(ANSWERS['refused for its state']);
    expect(await scene.open(undefined)).toBe(UNKNOWN);
  });
});

describe('The login', () => {
  it('of the caller that is in use is refused, and nothing is reserved', async () => {
    const scene = await sceneOn('a server that shows comments');
    scene.server.accounts.set(7, { comment: '', balance: 0 });
    expect(await scene.open('key', { login: 7 })).toBe('409 login_taken');
    expect([await scene.reservations(), await scene.operations()]).toEqual([{}, []]);
  });

  it('of the caller is refused with 503 if the server does not say whether it is in use', async () => {
    const scene = await sceneOn('a server that shows comments');
    scene.server.isDown = true;
    expect(await scene.open('key', { login: 7 })).toBe(UNAVAILABLE);
    expect([scene.server.commands, await scene.operations()]).toEqual([0, []]);
  });

  it('of the caller is refused with 502 if the server refuses our rights', async () => {
    const scene = await sceneOn('a server that shows comments');
    const refused = new PlatformFailure('platform_refused', { reason: 'rights', proof: 'not_served' });
    scene.step = failingSteps({ 'server.look': refused });
    expect(await scene.open('key', { login: 7 })).toBe('502 platform_refused');
    expect([scene.server.commands, await scene.operations()]).toEqual([0, []]);
  });

  it('of the caller that another operation has reserved is refused', async () => {
    const scene = await sceneOn('a gateway without a look-up');
    expect(await scene.open('one', { login: 700_007 })).toBe(700_007);
    expect(await scene.open('other', { login: 700_007 })).toBe('409 login_taken');
  });

  it.each(['a server that hides comments', 'a gateway'] as const)(
    'of the caller is an operator’s on %s after a lost answer',
    async (name) => {
      const scene = await sceneOn(name);
      scene.server.answers.push(ANSWERS.lost);
      expect(await scene.open('key', { login: 700_007 })).toBe(UNKNOWN);
    },
  );

  it('is never one that another operation has reserved: 40 requests have 40 logins, the next one none', async () => {
    const scene = await sceneOn('a server that shows comments');
    scene.connection = {
      ...LIVE,
      logins: [
        { from: 1, to: 20 },
        { from: 21, to: 40 },
      ],
    };
    const requests = Array.from({ length: 40 }, (_, number) => `key ${number}`);
    const opened = await Promise.all(requests.map((key) => scene.open(key)));
    expect(new Set(opened).size).toBe(40);
    expect(await scene.open('one more')).toBe('503 login_range_exhausted');
  });

  it.each<[string, AnswerName[]]>([
    ['answered that it exists', []],
    ['refused for its content', ['refused for its content']],
  ])('at which a stranger has an account is an operator’s after a command that is %s', async (_, answers) => {
    const scene = await sceneOn('a server that shows comments');
    scene.connection = { ...LIVE, logins: { from: 1, to: 1 } };
    scene.server.accounts.set(1, { comment: 'Kim', balance: 0 });
    scene.server.answers.push(...answers.map((one) => ANSWERS[one]));
    expect(await scene.open('key')).toBe(UNKNOWN);
    expect(scene.count('LoginNotOurs')).toBe(1);
  });

  it('of another operation’s account, by its comment, is an operator’s', async () => {
    const scene = await sceneOn('a server that shows comments');
    scene.server.answers.push(ANSWERS['lost before it arrived']);
    scene.server.isDown = true;
    await scene.open('key');
    scene.server.isDown = false;
    const [operation] = await scene.operations();
    const login = operation?.life.at === 'sent' ? (operation.life.login ?? 0) : 0;
    scene.server.accounts.set(login, { comment: '6f1d8a52-5c1c-8f0e-9d3e-000000000009 by hand', balance: 0 });
    expect(await scene.open('key')).toBe(UNKNOWN);
    expect(await scene.life()).toMatchObject({ at: 'undecided' });
  });
});

describe('A key', () => {
  it('of an account is never forgotten', async () => {
    const scene = await sceneOn('a server that shows comments');
    const login = await scene.open('key');
    await scene.hours(24 * 400);
    expect(await scene.open('key')).toBe(login);
    expect(await scene.open('key', { leverage: 5 })).toBe('422 idempotency_key_reused');
    expect(scene.server.commands).toBe(1);
  });

  it('keeps its account after the secret was rotated, and is never a new one without the key that made it', async () => {
    const scene = await sceneOn('a server that shows comments');
    scene.server.answers.push(ANSWERS['refused for its state']);
    await scene.open('key');
    const [first] = await scene.operations();
    scene.keys = derivationKeys('2', '1');
    expect(await scene.open('key')).toBe(first?.life.at === 'sent' ? first.life.login : undefined);
    scene.keys = derivationKeys('3');
    await scene.hours(1);
    expect(await scene.open('key')).toBe('500 internal_error');
    expect(scene.count('OperationUnderivable')).toBe(1);
  });

  it('whose operation was lost finds its own reservation, and its account by the comment; an operator pays', async () => {
    const scene = await sceneOn('a server that shows comments');
    scene.connection = { ...LIVE, demo: true };
    scene.accountType = { id: 'ATDEMO01', platform: 'tp5', deposit: 100 };
    const login = await scene.open('key');
    for (const { pk } of await scene.operations())
      await scene.database.tables.operations.delete({ pk }, AbortSignal.timeout(60_000));
    expect(await scene.open('key')).toBe(login);
    expect(await scene.life()).toMatchObject({ at: 'open', deposit: 'unpaid' });
    expect(scene.server.accounts.size).toBe(1);
  });
});

describe('A server that does not answer after a lost answer', () => {
  it('is asked for a day, then the operation is an operator’s; an alarm rings once', async () => {
    const scene = await sceneOn('a server that shows comments');
    scene.server.answers.push(ANSWERS.lost);
    scene.server.isDown = true;
    expect(await scene.open('key')).toBe(UNKNOWN_RETRY);
    for (let hour = 0; hour < 30; hour += 1) await scene.settle(3_600_001);
    expect(scene.count('AccountOutcomeUnknown')).toBe(1);
    scene.server.isDown = false;
    expect(typeof (await scene.open('key'))).toBe('number');
  });

  it('gives the account to the settler when it answers again', async () => {
    const scene = await sceneOn('a server that shows comments');
    scene.server.answers.push(ANSWERS.lost);
    scene.server.isDown = true;
    await scene.open('key');
    scene.server.isDown = false;
    await scene.settle();
    expect(await scene.life()).toMatchObject({ at: 'open', recorded: true, published: true });
  });
});

describe('A connection that leads to another server since the first command', () => {
  it('sends nothing there, and proves only an account with our id', async () => {
    const scene = await sceneOn('a server that shows comments');
    scene.server.answers.push(ANSWERS['lost before it arrived']);
    scene.server.isDown = true;
    await scene.open('key');
    scene.server.isDown = false;
    const { commands } = scene.server;
    scene.connection = { ...LIVE, host: 'other.example.com' };
    expect(await scene.open('key')).toBe(UNKNOWN_RETRY);
    expect(scene.server.commands).toBe(commands);
    scene.connection = LIVE;
    expect(typeof (await scene.open('key'))).toBe('number');
  });
});

describe('A mail', () => {
  const MAIL = { send_email: true, send_pop_up: true };

  it('is sent once, by the request', async () => {
    const scene = await sceneOn('a server that shows comments');
    const login = await scene.open('key', MAIL);
    await scene.open('key', MAIL);
    await scene.settle();
    expect([scene.mails, scene.popUps]).toEqual([[login], [login]]);
  });

  it('that is refused is tried again for a day, then an alarm rings once', async () => {
    const scene = await sceneOn('a server that shows comments');
    scene.mailFailures.push(...Array<'throttled'>(100).fill('throttled'));
    await scene.open('key', MAIL);
    for (let hour = 0; hour < 30; hour += 1) await scene.settle(3_600_001);
    expect([scene.mails, scene.count('NoticeFailed')]).toEqual([[], 1]);
    expect(await scene.life()).toMatchObject({ mail: 'failed' });
  });

  it('that is refused once is sent by the settler', async () => {
    const scene = await sceneOn('a server that shows comments');
    scene.mailFailures.push('throttled');
    const login = await scene.open('key', MAIL);
    await scene.settle();
    expect(scene.mails).toEqual([login]);
  });

  it('whose answer was lost is not sent again', async () => {
    const scene = await sceneOn('a server that shows comments');
    scene.mailFailures.push('unknown_outcome');
    await scene.open('key', MAIL);
    await scene.settle();
    expect(scene.mails).toEqual([]);
  });
});

describe('A demo deposit', () => {
  async function demo(): Promise<OpeningScene> {
    const scene = await sceneOn('a server that shows comments');
    scene.connection = { ...LIVE, demo: true };
    scene.accountType = { id: 'ATDEMO01', platform: 'tp5', deposit: 100 };
    return scene;
  }
  const balances = ({ server }: OpeningScene) => [...server.accounts.values()].map(({ balance }) => balance);

  it.each<[string, OpeningScene['server']['payments']]>([
    ['is paid once', []],
    ['that is refused is paid by the settler', ['refused']],
    ['whose answer is lost is seen at the balance', ['lost']],
  ])('%s', async (_, payments) => {
    const scene = await demo();
    scene.server.payments.push(...payments);
    await scene.open('key');
    await scene.settle();
    expect(balances(scene)).toEqual([100]);
    expect(await scene.life()).toMatchObject({ deposit: 'made' });
  });

  it('that is lost before it arrived is looked for until a day after it, then an operator pays', async () => {
    const scene = await demo();
    scene.server.payments.push('lost before it arrived');
    await scene.open('key');
    await scene.settle(23 * 3_600_000);
    expect(await scene.life()).toMatchObject({ deposit: 'sent' });
    await scene.settle(2 * 3_600_000);
    expect(await scene.life()).toMatchObject({ deposit: 'unpaid' });
    expect([balances(scene), scene.count('DepositFailed')]).toEqual([[0], 1]);
  });

  it('that is refused for a day is an operator’s', async () => {
    const scene = await demo();
    scene.server.payments.push(...Array<'refused'>(100).fill('refused'));
    await scene.open('key');
    for (let hour = 0; hour < 30; hour += 1) await scene.settle(3_600_001);
    expect(await scene.life()).toMatchObject({ deposit: 'unpaid' });
    expect(balances(scene)).toEqual([0]);
  });

  it('of an account that is found holds what the account holds', async () => {
    const scene = await demo();
    scene.server.answers.push(ANSWERS.lost);
    await scene.open('key');
    expect(balances(scene)).toEqual([100]);
  });

  it('is paid on a demo connection alone, and never more than the type says now', async () => {
    const scene = await demo();
    scene.server.payments.push('refused');
    await scene.open('key');
    scene.connection = { ...LIVE, demo: false };
    await scene.settle();
    expect(balances(scene)).toEqual([0]);
    scene.connection = { ...LIVE, demo: true };
    scene.accountType = { id: 'ATDEMO01', platform: 'tp5', deposit: 7 };
    await scene.settle(3_600_001);
    expect(balances(scene)).toEqual([7]);
  });
});
