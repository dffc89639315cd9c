import { afterEach, describe, expect, it, vi } from 'vitest';
import type { Connection } from '../../../lib/records/crm-records.ts';
import { GATEWAY, LIVE, PLUG_IN } from '../../support/crm-example.ts';
import { ANSWERS, OpeningScene } from '../../support/opening-scene.ts';

const UNKNOWN = '504 account_outcome_unknown';
const OTHER_ID = '6f1d8a52-5c1c-8f0e-9d3e-000000000009';
const MAIL = { send_email: true };

/** The plug-in, after a lost answer to the request `key`: the account is at 100001. */
async function plugIn(): Promise<OpeningScene> {
  const scene = await OpeningScene.create(PLUG_IN);
  scene.server.answers.push(ANSWERS.lost);
  expect(await scene.open('key', MAIL)).toBe(UNKNOWN);
  return scene;
}

/** A server that names logins, where the account of the request `key` is an operator's. */
async function undecided(connection: Connection = { ...LIVE, strict: true }): Promise<[OpeningScene, number]> {
  const scene = await OpeningScene.create(connection);
  scene.server.shows = 'existence';
  scene.server.answers.push(ANSWERS.lost);
  expect(await scene.open('key')).toBe(UNKNOWN);
  const life = await scene.life();
  return [scene, life?.at === 'undecided' ? (life.login ?? 0) : 0];
}

const operationId = async (scene: OpeningScene) => (await scene.operations())[0]?.operationId ?? '';

describe('A mistyped digit on the plug-in', () => {
  it('is asked for twice, shown as a word, and changed by the next word: record, event and mail follow', async () => {
    const scene = await plugIn();
    const mistyped = { say: 'login', login: 100_010 } as const;
    expect(await scene.say(mistyped, { confirmed: false })).toMatchObject({ is: 'unconfirmed' });
    expect(await scene.life()).toMatchObject({ at: 'undecided' });
    expect(await scene.say(mistyped)).toMatchObject({ is: 'settled', isWord: true, life: { at: 'open', word: true } });
    expect(await scene.records()).toMatchObject([{ login: 100_010, word: true }]);
    await scene.settle(0);
    expect(await scene.open('key', MAIL)).toBe(100_010);
    expect(await scene.say({ say: 'login', login: 100_001 })).toMatchObject({ is: 'settled' });
    expect(await scene.records()).toMatchObject([{ login: 100_001 }]);
    await scene.settle(0);
    expect(await scene.open('key', MAIL)).toBe(100_001);
    const id = await operationId(scene);
    expect(scene.published).toMatchObject([
      { id, login: 100_010 },
      { id: `${id}-2`, corrects: id, login: 100_001 },
    ]);
    expect(scene.published[0]).not.toHaveProperty('corrects');
    expect(scene.mails).toEqual([100_010, 100_001]);
    expect(await scene.reservations()).toEqual({ 'mt4.example.com:443#100001': id });
  });

  it('loses against the server’s answer, which gives that login to another request: undecided again, with an alarm', async () => {
    const scene = await plugIn();
    await scene.say({ say: 'login', login: 100_002 });
    await scene.settle(0);
    const alarms = scene.count('AccountOutcomeUnknown');
    expect(await scene.open('other')).toBe(100_002);
    expect(scene.count('AccountOutcomeUnknown')).toBe(alarms + 1);
    expect(await scene.open('key', MAIL)).toBe(UNKNOWN);
    const operations = await scene.operations();
    expect(operations.map(({ life }) => life.at).toSorted()).toEqual(['open', 'undecided']);
    expect(operations.map(({ life }) => life)).toContainEqual({ at: 'undecided' });
    const other = operations.find(({ life }) => life.at === 'open');
    expect(await scene.records()).toMatchObject([{ login: 100_002, operation_id: other?.operationId }]);
    expect(await scene.reservations()).toEqual({ 'mt4.example.com:443#100002': other?.operationId });
    // The first request gets its own account by the next word, and the CRM hears what it corrects.
    const pk = operations.find(({ life }) => life.at === 'undecided')?.pk ?? '';
    expect(await scene.say({ say: 'login', login: 100_002 }, { pk })).toMatchObject({ why: 'held_by_another' });
    expect(await scene.say({ say: 'login', login: 100_001 }, { pk })).toMatchObject({ is: 'settled' });
    await scene.settle(0);
    expect(scene.published.at(-1)).toMatchObject({ login: 100_001, corrects: expect.any(String) });
  });
});

it.each([0, 1.5, 2 ** 31, 2 ** 53])('The plug-in cannot have opened %d', async (login) => {
  const scene = await plugIn();
  expect(await scene.say({ say: 'login', login })).toMatchObject({ is: 'refused', why: 'not_its_login' });
});

describe('Two operations on the plug-in', () => {
  it('whose logins an operator has swapped are put right', async () => {
    const scene = await plugIn();
    const [first] = await scene.operations();
    scene.server.answers.push(ANSWERS.lost);
    expect(await scene.open('other')).toBe(UNKNOWN);
    const second = (await scene.operations()).find(({ pk }) => pk !== first?.pk);
    const [a, b] = [{ pk: first?.pk ?? '' }, { pk: second?.pk ?? '' }];
    await scene.say({ say: 'login', login: 100_002 }, a);
    await scene.say({ say: 'login', login: 100_001 }, b);
    expect(await scene.say({ say: 'login', login: 100_001 }, a)).toMatchObject({ why: 'held_by_another' });
    await scene.say({ say: 'undecided' }, a);
    expect(await scene.open('key', MAIL)).toBe(UNKNOWN);
    await scene.say({ say: 'login', login: 100_002 }, b);
    await scene.say({ say: 'login', login: 100_001 }, a);
    await scene.settle(0);
    expect([await scene.open('key', MAIL), await scene.open('other')]).toEqual([100_001, 100_002]);
    expect((await scene.records()).map(({ login }) => login).toSorted()).toEqual([100_001, 100_002]);
  });
});

describe('“None” on the plug-in', () => {
  it('frees the key, and can be taken back or corrected until the key is used', async () => {
    const scene = await plugIn();
    expect(await scene.say({ say: 'none' }, { confirmed: false })).toMatchObject({ is: 'unconfirmed' });
    expect(await scene.say({ say: 'none' })).toMatchObject({ is: 'settled', life: { at: 'claimed' } });
    await scene.hours(24 * 30);
    expect(await scene.say({ say: 'undecided' })).toMatchObject({ is: 'settled', life: { at: 'undecided' } });
    await scene.say({ say: 'none' });
    expect(await scene.say({ say: 'login', login: 100_001 })).toMatchObject({ is: 'settled' });
    expect(await scene.open('key', MAIL)).toBe(100_001);
    expect(scene.server.commands).toBe(1);
    await scene.say({ say: 'none' });
    expect(await scene.records()).toEqual([]);
    expect(await scene.open('key', MAIL)).toBe(100_002);
  });
});

describe('A server that names logins', () => {
  it('shows an account of ours: no confirmation is needed, and nothing can be changed after it', async () => {
    const [scene, login] = await undecided();
    scene.server.shows = 'comments';
    expect(await scene.say({ say: 'none' })).toMatchObject({ is: 'refused', why: 'ours_there' });
    const settled = await scene.say({ say: 'login', login }, { confirmed: false });
    expect(settled).toMatchObject({ is: 'settled', isWord: false });
    expect(await scene.say({ say: 'none' })).toMatchObject({ why: 'ended' });
    expect(await scene.say({ say: 'undecided' })).toMatchObject({ why: 'ended' });
    expect(await scene.open('key')).toBe(login);
  });

  it('refuses a login that was neither sent nor answered, that is absent, and another operation’s account', async () => {
    const [scene, login] = await undecided();
    expect(await scene.say({ say: 'login', login: login + 1 })).toMatchObject({ why: 'not_its_login' });
    scene.server.shows = 'comments';
    scene.server.accounts.set(login, { comment: OTHER_ID, balance: 0 });
    expect(await scene.say({ say: 'login', login })).toMatchObject({ why: 'of_another_operation' });
    scene.server.accounts.delete(login);
    expect(await scene.say({ say: 'login', login })).toMatchObject({ why: 'absent' });
  });

  it('takes the login that the server answered instead', async () => {
    const scene = await OpeningScene.create(LIVE);
    scene.server.shows = 'existence';
    scene.server.answers.push(ANSWERS['another login']);
    expect(await scene.open('key')).toBe(UNKNOWN);
    const life = await scene.life();
    const other = life?.at === 'undecided' ? (life.other ?? 0) : 0;
    scene.server.accounts.set(other, { comment: '', balance: 0 });
    expect(await scene.say({ say: 'login', login: other })).toMatchObject({ is: 'settled' });
    expect(await scene.open('key')).toBe(other);
    // A late command may still open the login that was sent.
    expect(Object.keys(await scene.reservations())).toHaveLength(2);
  });

  it('after “none” is looked at first: an account of ours there is the request’s', async () => {
    const [scene, login] = await undecided();
    await scene.say({ say: 'none' });
    scene.server.shows = 'comments';
    expect(await scene.open('key')).toBe(login);
    expect(scene.server.commands).toBe(1);
  });

  it('after “none” opens the next login, and never uses the closed one again; the key waits for an answer', async () => {
    const [scene, login] = await undecided();
    await scene.say({ say: 'none' });
    scene.server.isDown = true;
    expect(await scene.open('key')).toBe('503 platform_unavailable retry');
    scene.server.isDown = false;
    const next = await scene.open('key');
    expect([typeof next, next === login]).toEqual(['number', false]);
    expect(await scene.records()).toMatchObject([{ login: next, origin: { closed: [login] } }]);
    expect(Object.values(await scene.reservations())).toEqual(Array(2).fill(await operationId(scene)));
  });

  it('keeps a caller’s own login the request’s after “none”', async () => {
    const scene = await OpeningScene.create({ ...GATEWAY, demo: false });
    scene.server.shows = 'existence';
    scene.server.answers.push(ANSWERS['lost before it arrived'], ANSWERS['lost before it arrived']);
    scene.server.answers.push(ANSWERS.lost);
    expect(await scene.open('key', { login: 7 })).toBe(UNKNOWN);
    scene.server.accounts.delete(7);
    await scene.say({ say: 'none' });
    expect(await scene.open('other', { login: 7 })).toBe('409 login_taken');
    expect(await scene.open('key', { login: 7 })).toBe(7);
  });
});

describe('A dead end', () => {
  it.each<[string, (scene: OpeningScene) => void]>([
    ['a server that is silent for good', ({ server }) => Object.assign(server, { isDown: true })],
    ['a gateway without a look-up', ({ server }) => Object.assign(server, { shows: 'nothing' })],
    [
      'a server whose connection leads elsewhere',
      (scene) => Object.assign(scene.connection, { host: 'new.example.com' }),
    ],
  ])('with %s is an operator’s a day after the first command, however often the caller retries', async (_, end) => {
    const scene = await OpeningScene.create({ ...GATEWAY, demo: false });
    scene.server.answers.push(...Array(50).fill(ANSWERS['lost before it arrived']));
    scene.server.isDown = true;
    await scene.open('key');
    end(scene);
    if (scene.connection.host === 'new.example.com') scene.server.isDown = false;
    const life = await scene.life();
    const login = life?.at === 'sent' ? (life.login ?? 0) : 0;
    for (let hour = 0; hour < 23; hour += 1) {
      await scene.hours(1);
      expect(await scene.open('key')).toBe(`${UNKNOWN} retry`);
      await scene.settle(0);
    }
    expect(await scene.say({ say: 'none' })).toMatchObject({ is: 'refused', why: 'too_early' });
    await scene.hours(2);
    expect(await scene.say({ say: 'login', login: login + 1 })).toMatchObject({ why: 'not_its_login' });
    expect(await scene.say({ say: 'login', login })).toMatchObject({ is: 'settled', isWord: true });
    expect(await scene.open('key')).toBe(login);
    expect(await scene.say({ say: 'none' })).toMatchObject({ is: 'settled' });
  });
});

describe('A server that never answers', () => {
  afterEach(() => void vi.useRealTimers());

  /** Each question to the server waits for its signal, by the clock of `vi`. @returns the names of the questions */
  function hang(scene: OpeningScene): string[] {
    const asked: string[] = [];
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    scene.step = async (name, call, signal) => {
      if (!name.startsWith('server.')) return call();
      asked.push(name);
      vi.advanceTimersByTime(10_000);
      return signal.aborted ? Promise.reject(signal.reason) : new Promise(() => {});
    };
    return asked;
  }

  it('is asked once, and an operation with two logins is settled', async () => {
    const scene = await OpeningScene.create(LIVE);
    scene.server.shows = 'existence';
    scene.server.answers.push(ANSWERS['another login']);
    expect(await scene.open('key')).toBe(UNKNOWN);
    const asked = hang(scene);
    expect(await scene.say({ say: 'none' })).toMatchObject({ is: 'settled', isWord: true });
    expect(asked).toEqual(['server.look']);
  });

  it('is asked once, and a missing deposit is settled', async () => {
    const scene = await OpeningScene.create({ ...LIVE, demo: true });
    scene.accountType = { id: 'ATDEMO01', platform: 'tp5', deposit: 100 };
    scene.server.payments.push('lost before it arrived');
    await scene.open('key');
    await scene.settle(25 * 3_600_000);
    const asked = hang(scene);
    expect(await scene.say({ say: 'deposit' })).toMatchObject({ is: 'settled', isWord: true });
    expect(asked).toEqual(['server.look']);
  });
});

describe('A missing deposit', () => {
  it('is an operator’s word that it is paid, or will not be', async () => {
    const scene = await OpeningScene.create({ ...LIVE, demo: true });
    scene.accountType = { id: 'ATDEMO01', platform: 'tp5', deposit: 100 };
    scene.server.payments.push('lost before it arrived');
    const login = await scene.open('key');
    expect(await scene.say({ say: 'deposit' })).toMatchObject({ why: 'no_deposit' });
    await scene.settle(25 * 3_600_000);
    expect(await scene.say({ say: 'deposit' }, { confirmed: false })).toMatchObject({ is: 'unconfirmed' });
    scene.server.accounts.set(Number(login), { comment: '', balance: 100 });
    expect(await scene.say({ say: 'deposit' }, { confirmed: false })).toMatchObject({ is: 'settled', isWord: false });
    expect(await scene.life()).toMatchObject({ deposit: 'made' });
  });
});

describe('What may be said now', () => {
  const accepted = async (scene: OpeningScene) => {
    const settled = await scene.say({ say: 'deposit' });
    return 'known' in settled ? settled.known.accepted : [];
  };

  it('is nothing of an account that the server has proved, and of an operation that has sent nothing', async () => {
    const scene = await OpeningScene.create(LIVE);
    await scene.open('key');
    expect(await accepted(scene)).toEqual([]);
  });

  it('is any login on the plug-in, and after a word also its taking back', async () => {
    const scene = await plugIn();
    const any = { say: 'login', proven: false };
    expect(await accepted(scene)).toEqual([any, { say: 'none', proven: false }]);
    await scene.say({ say: 'login', login: 100_001 });
    expect(await accepted(scene)).toEqual([any, { say: 'none', proven: false }, { say: 'undecided', proven: false }]);
  });

  it('is a login once, although it was closed before it was sent again', async () => {
    const scene = await OpeningScene.create({ ...GATEWAY, demo: false });
    scene.server.shows = 'existence';
    for (const again of [true, false]) {
      scene.server.answers.push(ANSWERS.lost);
      expect(await scene.open('key', { login: 7 })).toBe(UNKNOWN);
      scene.server.accounts.delete(7);
      if (again) await scene.say({ say: 'none' });
    }
    scene.server.isDown = true;
    expect(await accepted(scene)).toMatchObject([{ say: 'login', login: 7 }, { say: 'none' }]);
  });

  it('is the login that was sent, and whether the server shows that it is ours', async () => {
    const [scene, login] = await undecided();
    expect(await accepted(scene)).toEqual([
      { say: 'login', login, proven: false },
      { say: 'none', proven: false },
    ]);
    scene.server.shows = 'comments';
    expect(await accepted(scene)).toEqual([{ say: 'login', login, proven: true }]);
  });
});

it('A word waits while another worker holds the operation', async () => {
  const scene = await plugIn();
  const [held] = await scene.operations();
  await scene.dependencies.ledger.acquire(held?.pk ?? '', 'operator', 30_000, AbortSignal.timeout(60_000));
  expect(await scene.say({ say: 'none' })).toEqual({ is: 'busy' });
});
