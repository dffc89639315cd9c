import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { AwsFailure } from '../../../lib/aws/failure.ts';
import { type Ledger, Overtaken, ReservationConflict } from '../../../lib/openings/ledger.ts';
import type { DecisionContext, Fact, Life } from '../../../lib/openings/life.ts';
import { PlatformFailure } from '../../../lib/platform/platform.ts';
import { RETRY_ONLY } from '../../../lib/records/due.ts';
import { testDatabase } from '../../support/database.ts';
import { DriveScene } from '../../support/drive-scene.ts';
import { LedgerWorld } from '../../support/openings.ts';

let world: LedgerWorld;
beforeAll(async () => {
  world = new LedgerWorld(await testDatabase(afterAll));
});

const DAY_MS = 24 * 3_600_000;
const HOUR_MS = 60 * 60_000;

/** Another operation holds the login. */
async function reserve(login: number): Promise<void> {
  const other = await world.claimed();
  await world.ledger.write(other, { at: 'sent', login, commands: 'one' }, world.signal());
}

const lost: Fact = {
  on: 'lost',
  failure: new PlatformFailure('account_outcome_unknown', { reason: 'answer_timeout' }),
};
const refusal = (on: 'not_executed' | 'rejected'): Fact => ({
  on,
  failure: new PlatformFailure('platform_refused', { reason: 'retcode_8' }),
});

describe('A first request', () => {
  it('reserves, sends, records and publishes, and ends', async () => {
    const scene = new DriveScene(world);
    const held = await world.claimed();
    expect(await scene.run(held)).toEqual({ kind: 'opened', login: scene.login, replayed: false });
    expect(scene.calls).toEqual([`send ${scene.login}`, 'record', 'notify', 'complete']);
    expect(await world.item(held)).toMatchObject({
      life: { at: 'done', login: scene.login, unpaid: false },
      lease_until: 0,
    });
    expect(scene.events.map(({ name }) => name)).toEqual(['AccountOpened']);
  });

  it.each<[string, Fact, Fact, number]>([
    ['loses every answer at once', lost, { on: 'absent' }, 21],
    ['takes no repeat', refusal('not_executed'), { on: 'absent' }, 11],
    ['says that the login exists, and shows no account', { on: 'exists' }, { on: 'absent' }, 21],
  ])('repeats its command about once a second to a server that %s', async (_, answer, sighting, commands) => {
    const scene = new DriveScene(world);
    Object.assign(scene, { sends: [lost, answer], looks: [sighting] });
    expect((await scene.run(await world.claimed())).kind).toBe('unknown');
    expect(scene.calls.filter((call) => call.startsWith('send'))).toHaveLength(commands);
  });

  it('has no login left if another operation holds the only login', async () => {
    const scene = Object.assign(new DriveScene(world), { hasNext: false });
    await reserve(scene.login);
    const failure = { kind: 'login_range_exhausted' };
    expect(await scene.run(await world.claimed())).toMatchObject({ kind: 'failed', failure });
  });

  it('chooses the next login if another operation holds the first', async () => {
    const scene = new DriveScene(world);
    await reserve(scene.login);
    scene.sends = [{ on: 'opened', login: scene.login + 1 }];
    expect(await scene.run(await world.claimed())).toMatchObject({ kind: 'opened', login: scene.login + 1 });
    expect(scene.calls[0]).toBe(`send ${scene.login + 1}`);
    expect(scene.events.map(({ name }) => name)).toEqual(['AccountOpened']);
  });

  it('keeps an existing login if no time is left to look it up, and the next worker does not count the account as its own', async () => {
    const scene = Object.assign(new DriveScene(world), {
      sends: [{ on: 'exists' }],
      looks: [{ on: 'unproven' }],
      takesMs: 19_500,
    });
    const held = await world.claimed();
    expect(await scene.run(held)).toEqual({ kind: 'unknown' });
    scene.takesMs = 0;
    expect(await scene.run(held)).toMatchObject({ kind: 'undecided' });
    expect(scene.calls).toEqual([`send ${scene.login}`, `prove ${scene.login}`]);
  });

  it.each([
    ['that is proven to be another’s', { on: 'foreign' }],
    ['without proof', { on: 'unproven' }],
  ] as const)('reports an account in its range %s', async (_, sighting) => {
    const scene = new DriveScene(world);
    scene.sends = [{ on: 'exists' }, { on: 'opened', login: scene.login + 1 }];
    scene.looks = [sighting];
    await scene.run(await world.claimed());
    expect(scene.events).toContainEqual({ name: 'LoginNotOurs', fields: { login: scene.login } });
  });

  it('reports nothing if the login that exists was named by the caller', async () => {
    const plan = { login_given: true };
    const taken = { sends: [{ on: 'exists' }], looks: [{ on: 'foreign' }], hasNext: false, noLogin: 'login_taken' };
    const scene = Object.assign(new DriveScene(world), { ...taken, prepared: { plan } });
    expect(await scene.run(await world.claimed())).toMatchObject({ kind: 'failed', failure: { kind: 'login_taken' } });
    expect(scene.events).toEqual([]);
  });
});

describe('An opening', () => {
  const platformRefusal = new PlatformFailure('platform_refused', { reason: 'retcode_8' });
  /** The result of a command or a look-up. */
  const learned = (on: string, login: number): Fact => {
    if (on === 'lost') return lost;
    if (on === 'elsewhere') return { on: 'lost', other: login };
    if (on === 'opened') return { on, login };
    if (on === 'doubtful')
      return { on, failure: new PlatformFailure('platform_unavailable', { reason: 'retcode_10' }) };
    return (on === 'not_executed' || on === 'rejected' ? { on, failure: platformRefusal } : { on }) as Fact;
  };
  /** An account is recorded, its client notified, and the rest completed. */
  const COMPLETED = ['record', 'notify', 'complete'];
  interface Circumstances extends Partial<Pick<DriveScene, 'hasNext' | 'prepared'>> {
    /** It acquires an operation that an earlier worker has sent. */
    later?: DecisionContext['worker'];
  }
  const ofPlugIn = { prepared: { plan: { keyed: false, exclusive: false } } };
  const shared = { prepared: { plan: { exclusive: false } } };
  const FOUND = { prepared: { found: true } };
  const UNDECIDED = ['undecided', 'undecided'] as const;
  const REFUSED = 'failed platform_refused';
  const UNAVAILABLE = 'failed platform_unavailable';

  /** Commands and look-ups with their results, by the distance from the first login; the end; the state, if any. */
  it.each<[string, string, end: string, at: Life['at'], Circumstances?]>([
    ['is refused before anything is sent', '', 'failed', 'gone', { prepared: { fails: new Error('no') } }],
    ['is not executed', 'send 0 not_executed', 'failed platform_refused', 'gone'],
    ['is refused for its content', 'send 0 rejected, confirm 0 refused', 'failed platform_refused', 'gone'],
    ['is refused for its content, and was executed', 'send 0 rejected, confirm 0 ours', 'opened', 'done'],
    ['is refused for its content, without a look-up', 'send 0 rejected, confirm 0 unconfirmed', REFUSED, 'sent'],
    ['is refused for the state of the server', 'send 0 doubtful, confirm 0 refused', `${UNAVAILABLE} in doubt`, 'sent'],
    ['is refused for the state of the server, and was executed', 'send 0 doubtful, confirm 0 ours', 'opened', 'done'],
    ['is refused for the state of the server, without proof', 'send 0 doubtful, confirm 0 unproven', 'opened', 'done'],
    [
      "finds another's account, and chooses the next",
      'send 0 exists, prove 0 foreign, send 1 opened',
      'opened',
      'done',
    ],
    [
      ...(["finds another's account, and has no other", 'send 0 exists, prove 0 foreign'] as const),
      ...(['failed login_range_exhausted', 'gone', { hasNext: false }] as const),
    ],
    ['gets the answer that its login exists, and finds its mark', 'send 0 exists, prove 0 ours', 'opened', 'done'],
    ['gets the answer that its login exists, without proof', 'send 0 exists, prove 0 unproven', ...UNDECIDED],
    ['gets the answer that its login exists, and finds nothing', 'send 0 exists, prove 0 absent', ...UNDECIDED],
    ['loses the answer, and finds the account without proof', 'send 0 lost, look 0 unproven', 'opened', 'done'],
    ['loses the answer, in a strict range', 'send 0 lost, look 0 unproven', ...UNDECIDED, shared],
    ['loses the answer, and finds nothing', 'send 0 lost, look 0 absent, send 0 opened', 'opened', 'done'],
    ["loses the answer, and finds another's", 'send 0 lost, look 0 foreign, send 1 opened', 'opened', 'done'],
    ['loses the answer, and finds a record without an account', 'send 0 lost, look 0 deleted', ...UNDECIDED],
    ['gets another login as answer, and repeats nothing', 'send 0 elsewhere', ...UNDECIDED],
    ['loses the answer of a plug-in', 'send - lost', ...UNDECIDED, ofPlugIn],
    ['is refused by the state of a plug-in', 'send - doubtful', ...UNDECIDED, ofPlugIn],
    ['is refused for its content by a plug-in', 'send - rejected', 'failed platform_refused', 'gone', ofPlugIn],
    [
      'keeps its login if a repeated command is refused',
      ...(['send 0 lost, look 0 absent, send 0 rejected, confirm 0 refused', `${REFUSED} in doubt`, 'sent'] as const),
    ],
    [
      'keeps its login if a repeated command is refused, and nothing shows whether the first one was executed',
      ...([
        'send 0 lost, look 0 silent, send 0 rejected, confirm 0 unconfirmed',
        `${REFUSED} in doubt`,
        'sent',
      ] as const),
    ],
    ['whose reservation was found looks first', 'look 0 ours', 'opened replayed', 'done', FOUND],
    ['whose reservation was found is sent if it is absent', 'look 0 absent, send 0 opened', 'opened', 'done', FOUND],
    ['of a retry finds nothing', 'look 0 absent, send 0 opened', 'opened', 'done', { later: 'request' }],
    ['of a retry finds the account', 'look 0 ours', 'opened replayed', 'done', { later: 'request' }],
    ['of a retry leads to another server', 'look 0 moved', ...UNDECIDED, { later: 'request' }],
    ['of the settler finds nothing, and sends nothing', 'look 0 absent', 'unknown', 'sent', { later: 'settler' }],
    ['of the settler finds the account', 'look 0 unproven', 'opened replayed', 'done', { later: 'settler' }],
    [
      ...(["of the settler finds another's account", 'look 0 foreign', 'failed'] as const),
      ...(['gone', { later: 'settler', hasNext: false }] as const),
    ],
    ['of the settler, whose server is away', 'look 0 unclear', 'unknown', 'sent', { later: 'settler' }],
  ])('%s', async (_, transcript, end, at, { later, ...circumstances } = {}) => {
    const scene = Object.assign(new DriveScene(world), circumstances);
    const steps =
      transcript === '' ? [] : transcript.split(', ').map((step) => step.split(' ') as [string, string, string]);
    const ofKind = (kind: string) =>
      steps.filter(([call]) => call === kind).map(([, from, on]) => learned(on, scene.login + Number(from)));
    const looks = ['look', 'prove', 'confirm'].flatMap(ofKind);
    Object.assign(scene, { sends: ofKind('send'), looks });
    const held =
      later === undefined
        ? await world.claimed()
        : await scene.left({ at: 'sent', login: scene.login, commands: 'one' });
    const ended = await scene.run(held, later);
    const more = ended.kind === 'failed' && ended.failure instanceof PlatformFailure ? ` ${ended.failure.kind}` : '';
    // An account that its own command has opened is not a replay.
    const replayed = ended.kind === 'opened' && ended.replayed ? ' replayed' : '';
    const doubtful = ended.kind === 'failed' && ended.doubtful === true ? ' in doubt' : '';
    expect(`${ended.kind}${more}${replayed}${doubtful}`).toBe(end);
    const calls = scene.calls.map((call) => call.replace(/\d+/, (login) => String(Number(login) - scene.login)));
    const expected = steps.map(([call, from]) => `${call} ${from === '-' ? '' : from}`);
    // Its client knows an account that an earlier life of the operation has opened.
    const isKnown = scene.prepared.found === true && ended.kind === 'opened' && ended.replayed;
    const completed = COMPLETED.filter((call) => call !== 'notify' || !isKnown);
    expect(calls).toEqual([...expected, ...(ended.kind === 'opened' ? completed : [])]);
    expect((await world.state(held)) ?? 'gone').toBe(at);
    // A login that was given up is free for others.
    if (at === 'gone') expect(await world.holder(`tp5#${scene.login}`)).toBeUndefined();
  });
});

describe('A worker that was overtaken', () => {
  it.each(['not_executed', 'lost', 'exists'] as const)('ends without a write after %s', async (on) => {
    const scene = new DriveScene(world);
    const held = await world.claimed();
    scene.ledger = { ...world.ledger, write: overtakeAfter(1) };
    scene.sends = [{ on }];
    expect(await scene.run(held)).toEqual({ kind: 'overtaken' });
    expect(await world.item(held)).toMatchObject({ life: { at: 'sent', login: scene.login, commands: 'one' } });
  });

  it('still answers with the account that its command has opened', async () => {
    const scene = new DriveScene(world);
    scene.ledger = { ...world.ledger, write: overtakeAfter(1) };
    expect(await scene.run(await world.claimed())).toMatchObject({ kind: 'opened', login: scene.login });
    expect(scene.calls).toEqual([`send ${scene.login}`, 'record']);
  });

  /** Another worker acquires the operation after this many writes. */
  function overtakeAfter(writes: number): Ledger['write'] {
    let left = writes;
    return async (held, to, signal) => {
      if (left === 0) {
        world.now = Math.max(world.now, held.leaseUntil);
        await world.ledger.acquire(held.pk, 'settler', 1_000, signal);
      }
      left -= 1;
      return world.ledger.write(held, to, signal);
    };
  }
});

describe('A database that fails', () => {
  const failing = (at: number): Ledger['write'] => {
    let left = at;
    return async (held, to, signal) => {
      left -= 1;
      if (left === 0) throw new AwsFailure('ServiceUnavailable');
      return world.ledger.write(held, to, signal);
    };
  };

  it.each<[string, number, Fact[], string, string[], Life['at'] | undefined]>([
    ['before the command: nothing is sent, and the key is free', 1, [], 'failed', [], undefined],
    ['after the account is open: 200, and the settler completes it', 2, [], 'opened', ['send', 'record'], 'sent'],
    ['after a refusal: the caller gets it', 2, [refusal('not_executed')], 'failed', ['send'], 'sent'],
    ['after a lost answer: unknown', 2, [lost], 'unknown', ['send'], 'sent'],
    ['at the end: 200', 3, [], 'opened', ['send', 'record', 'notify', 'complete'], 'open'],
  ])('%s', async (_, at, sends, end, calls, state) => {
    const scene = new DriveScene(world);
    scene.ledger = { ...world.ledger, write: failing(at) };
    if (sends.length > 0) scene.sends = sends;
    const held = await world.claimed();
    expect((await scene.run(held)).kind).toBe(end);
    expect(scene.calls.map((call) => call.split(' ')[0])).toEqual(calls);
    expect(await world.state(held)).toBe(state);
  });
});

it('A last write that fails keeps a retry waiting until the end of the command, not of the request', async () => {
  const scene = Object.assign(new DriveScene(world), { sends: [lost], looks: [{ on: 'ours' }] });
  let writes = 0;
  const write: Ledger['write'] = async (held, to, signal) => {
    writes += 1;
    if (writes > 2) throw new AwsFailure('ServiceUnavailable');
    return world.ledger.write(held, to, signal);
  };
  scene.ledger = { ...world.ledger, write };
  const held = await world.claimed();
  expect((await scene.run(held)).kind).toBe('opened');
  expect((await world.item(held))?.lease_until).toBe(world.now + 9_000);
});

it('An operation of a plug-in whose account has a record is not sent', async () => {
  const scene = new DriveScene(world);
  scene.prepared = { plan: { keyed: false, exclusive: false }, openedAt: '2026-11-21T10:00:00.000Z' };
  const held = await world.claimed();
  expect((await scene.run(held)).kind).toBe('opened');
  expect(scene.calls.filter((call) => call.startsWith('send') || call === 'record')).toEqual([]);
  expect(await world.item(held)).toMatchObject({
    life: { at: 'done', login: scene.login, opened_at: '2026-11-21T10:00:00.000Z' },
  });
});

it.each(['request', 'settler'] as const)(
  'A %s notifies no client again of an account that was found by its reservation',
  async (worker) => {
    const scene = Object.assign(new DriveScene(world), { looks: [{ on: 'ours' }] });
    const held = await scene.left({ at: 'sent', login: scene.login, commands: 'one' });
    await world.ledger.write(held, { at: 'sent', login: scene.login, commands: 'found' }, world.signal());
    expect(await scene.run(held, worker)).toMatchObject({ kind: 'opened', login: scene.login });
    expect(scene.calls).not.toContain('notify');
  },
);

describe('A request that would pass over a login, and whose account has a record', () => {
  const opened_at = '2026-11-21T10:00:00.000Z';

  it.each<[string, Life | undefined]>([
    ['reserved meanwhile', undefined],
    ['another’s', { at: 'sent', login: 0, commands: 'many' }],
  ])('is answered with that account, if the login is %s', async (_, life) => {
    const scene = new DriveScene(world);
    const login = scene.login + 1;
    Object.assign(scene, { known: { on: 'recorded', login, opened_at }, looks: [{ on: 'foreign' }] });
    await reserve(login);
    if (life === undefined) await reserve(scene.login);
    const held = life === undefined ? await world.claimed() : await scene.left({ ...life, login: scene.login } as Life);
    held.found = login;
    expect(await scene.run(held)).toEqual({ kind: 'opened', login, replayed: true });
    expect(scene.calls.filter((call) => call.startsWith('send') || call === 'record' || call === 'notify')).toEqual([]);
    expect(await world.item(held)).toMatchObject({ life: { at: 'done', login, opened_at } });
  });

  it.each<[string, Life | undefined]>([
    ['reserved meanwhile', undefined],
    ['another’s', { at: 'sent', login: 0, commands: 'many' }],
  ])('goes to the operators if that account was deleted, and the login is %s', async (_, life) => {
    const scene = new DriveScene(world);
    const login = scene.login + 1;
    Object.assign(scene, { known: { on: 'deleted', login }, looks: [{ on: 'foreign' }] });
    if (life === undefined) await reserve(scene.login);
    const held = life === undefined ? await world.claimed() : await scene.left({ ...life, login: scene.login } as Life);
    expect(await scene.run(held)).toEqual({ kind: 'undecided', keyed: true, first: true });
    expect(scene.calls.filter((call) => call.startsWith('send'))).toEqual([]);
    expect(await world.item(held)).toMatchObject({ life: { at: 'undecided', login } });
  });
});

it.each([
  ['in one transaction', undefined, true],
  ['without its record, if the table of the records fails', new AwsFailure('ServiceUnavailable'), false],
])('The account of a plug-in is reserved and recorded %s', async (_, failure, recorded) => {
  const scene = new DriveScene(world);
  const write: Ledger['write'] = async (held, to, signal, record) => {
    if (record !== undefined && failure !== undefined) throw failure;
    await world.ledger.write(held, to, signal, record);
  };
  Object.assign(scene, { prepared: { plan: { keyed: false, exclusive: false } }, ledger: { ...world.ledger, write } });
  const opened: Life[] = [];
  scene.onComplete = ({ held }) => void opened.push(held.life);
  const held = await world.claimed();
  expect((await scene.run(held)).kind).toBe('opened');
  expect(scene.calls).toEqual(['send ', 'notify', 'complete']);
  expect(opened).toMatchObject([{ recorded, published: false }]);
  expect(await world.record(held)).toEqual(recorded ? expect.objectContaining({ login: scene.login }) : undefined);
});

it('The account of a plug-in whose login belongs to another operation is not recorded', async () => {
  const scene = new DriveScene(world);
  scene.prepared = { plan: { keyed: false, exclusive: false } };
  const [other, held] = [await world.claimed(), await world.claimed()];
  await scene.run(other);
  expect(await scene.run(held)).toMatchObject({ kind: 'undecided' });
  expect(await world.record(other)).toMatchObject({ operation_id: other.operationId });
});

it('The account of a plug-in is recorded although another worker has acquired the operation', async () => {
  const scene = new DriveScene(world);
  scene.prepared = { plan: { keyed: false, exclusive: false } };
  scene.ledger = {
    ...world.ledger,
    async write(held, to, signal) {
      if (to.at === 'open') throw new Overtaken();
      return world.ledger.write(held, to, signal);
    },
  };
  expect((await scene.run(await world.claimed())).kind).toBe('opened');
  expect(scene.calls).toEqual(['send ', 'record']);
});

it('A login that it cannot release, because a restored table gives it to another operation, ends the drive', async () => {
  const scene = Object.assign(new DriveScene(world), { sends: [refusal('not_executed')], hasNext: false });
  let tries = 0;
  const write: Ledger['write'] = async (held, to, signal) => {
    if (to.at !== 'gone') return world.ledger.write(held, to, signal);
    tries += 1;
    throw tries > 1 ? new Error('It tries again.') : new ReservationConflict();
  };
  scene.ledger = { ...world.ledger, write };
  const held = await world.claimed();
  expect(await scene.run(held)).toMatchObject({ kind: 'failed', failure: { kind: 'platform_refused' } });
  expect(tries).toBe(1);
  expect(await world.state(held)).toBe('sent');
});

describe('A later worker', () => {
  it('is reported after a day, although the command was repeated in between', async () => {
    const scene = Object.assign(new DriveScene(world), { sends: [lost], looks: [{ on: 'unclear' }], takesMs: 9_000 });
    const held = await scene.left({ at: 'sent', login: scene.login, commands: 'many' });
    world.now += 23 * HOUR_MS;
    await scene.run(held);
    world.now += 2 * HOUR_MS;
    await scene.run(held, 'settler');
    expect(scene.events.map(({ name }) => name)).toContain('AccountOutcomeUnknown');
  });

  it('makes an operation due again for a day before it repeats the command, although the settler had given up', async () => {
    const scene = Object.assign(new DriveScene(world), { sends: [lost], takesMs: 9_900 });
    const held = await scene.left({ at: 'sent', login: scene.login, commands: 'many' });
    world.now += DAY_MS + 1;
    await scene.run(held, 'settler');
    expect(await world.item(held)).toMatchObject({ due_at: RETRY_ONLY });
    // This worker dies: its last write does not arrive.
    const rest: Ledger['rest'] = () => Promise.reject(new AwsFailure('ServiceUnavailable'));
    scene.ledger = { ...world.ledger, rest };
    expect(await scene.run(held)).toEqual({ kind: 'unknown' });
    expect(scene.calls).toEqual([`look ${scene.login}`, `look ${scene.login}`, `send ${scene.login}`]);
    expect(await world.item(held)).toMatchObject({ due_at: held.leaseUntil });
    scene.ledger = world.ledger;
    await scene.run(held, 'settler');
    expect((await world.item(held))?.due_at).toBeGreaterThan(world.now);
  });

  it('answers from a state that is known', async () => {
    const scene = new DriveScene(world);
    const opened_at = '2026-11-22T00:00:00.000Z';
    const done: Life = { at: 'done', login: scene.login, opened_at, unpaid: false };
    expect(await scene.run(await scene.left(done))).toEqual({ kind: 'opened', login: scene.login, replayed: true });
    const undecided = await scene.left({ at: 'undecided' }, { keyed: false });
    expect(await scene.run(undecided)).toEqual({ kind: 'undecided', keyed: false, first: false });
    expect(scene.calls).toEqual([]);
  });
});

describe('A deposit', () => {
  const funded = { deposit: 10_000 };
  const completed = (deposit: 'made' | 'refused' | 'empty' | 'unknown'): Fact => ({
    ...{ on: 'completed', recorded: true, published: true },
    deposit,
  });

  it.each<[string, 'made' | 'refused' | 'unknown', object]>([
    ['is made', 'made', { at: 'done', unpaid: false }],
    ['that is refused is tried again', 'refused', { at: 'open', deposit: 'again' }],
    ['whose answer is lost is looked for', 'unknown', { at: 'open', deposit: 'sent' }],
  ])('%s', async (_, outcome, life) => {
    const scene = new DriveScene(world);
    Object.assign(scene, { prepared: { plan: funded }, completed: completed(outcome) });
    const held = await world.claimed();
    expect((await scene.run(held)).kind).toBe('opened');
    expect(scene.calls).toContain('pay');
    expect(await world.item(held)).toMatchObject({ life });
    if (outcome !== 'unknown') return;
    await scene.run(held, 'settler');
    expect(scene.calls.filter((call) => call === 'pay')).toHaveLength(1);
  });

  it('that was refused is paid only into an empty account', async () => {
    const scene = new DriveScene(world);
    Object.assign(scene, { prepared: { plan: funded }, completed: completed('refused') });
    const held = await world.claimed();
    await scene.run(held);
    await scene.run(held, 'settler');
    expect(scene.calls.filter((call) => call.endsWith('pay'))).toEqual(['pay', 'repay']);
  });

  it('is paid after a lost answer, but only into an empty account', async () => {
    const scene = new DriveScene(world);
    Object.assign(scene, { prepared: { plan: funded }, completed: completed('made'), sends: [lost] });
    scene.looks = [{ on: 'ours' }];
    await scene.run(await world.claimed());
    expect(scene.calls.filter((call) => call.endsWith('pay'))).toEqual(['repay']);
  });

  it.each<[string, Partial<DriveScene>]>([
    ['by its reservation', { prepared: { plan: funded, found: true } }],
    ['after "exists"', { prepared: { plan: funded }, sends: [{ on: 'exists' }] }],
  ])('of an empty account that was found %s is reported at once and never paid', async (_, found) => {
    const scene = new DriveScene(world);
    Object.assign(scene, { completed: completed('empty'), looks: [{ on: 'ours' }] }, found);
    const held = await world.claimed();
    await scene.run(held);
    expect(scene.calls.filter((call) => call.endsWith('pay'))).toEqual([]);
    expect(await world.item(held)).toMatchObject({ life: { at: 'done', unpaid: true } });
    expect(scene.events.map(({ name }) => name)).toContain('DepositFailed');
  });

  it('that the opening command includes is not paid again', async () => {
    const scene = new DriveScene(world);
    scene.prepared = { plan: { ...funded, deposit_with_opening: true } };
    await scene.run(await world.claimed());
    expect(scene.calls).not.toContain('pay');
  });
});
