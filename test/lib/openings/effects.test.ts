import { describe, expect, it } from 'vitest';
import { AwsFailure } from '../../../lib/aws/failure.ts';
import type { AccountNotices } from '../../../lib/messages/notices.ts';
import { planTimes } from '../../../lib/openings/dependencies.ts';
import { deriveIdentity, operationComment } from '../../../lib/openings/derivation.ts';
import { EFFECTS } from '../../../lib/openings/effects.ts';
import type { CallerOrder, Job } from '../../../lib/openings/job.ts';
import type { HeldOperation, OperationPlan } from '../../../lib/openings/ledger.ts';
import type { Life, LifeAt } from '../../../lib/openings/life.ts';
import { type LoginSearch, loginChoice } from '../../../lib/openings/login-search.ts';
import { PlatformFailure, type Proof, type Sighting, type TradingPlatform } from '../../../lib/platform/platform.ts';
import type { AccountRecord } from '../../../lib/records/accounts.ts';
import type { AccountClient, AccountType } from '../../../lib/records/crm-records.ts';
import { LIVE } from '../../support/crm-example.ts';
import { ACCOUNT_BODY, CLIENT_ANN, derivationKeys, planFor, recordingTelemetry } from '../../support/openings.ts';

const LOGIN = 500_001;
const PASSWORDS = { master_password: 'Ma5ter#word', investor_password: 'Inve5tor#wd' };

const ACCOUNT_TYPE: AccountType = { id: 'ATDEMO01', platform: 'tp5', deposit: 100 };

const PAYING: LifeAt<'open'> = {
  ...{ at: 'open', login: LOGIN, opened_at: '', recorded: true, published: true },
  deposit: 'sent',
};

interface Scene {
  sighting?: Sighting;
  /** The login that the server answers with. */
  opened?: number;
  plan?: Partial<OperationPlan>;
  life?: Life;
  body?: { login: number | undefined };
  /** The login that a reservation binds to the operation. */
  found?: number;
  notices?: Partial<AccountNotices>;
  client?: AccountClient;
  events?: Parameters<typeof recordingTelemetry>[0];
  record?: AccountRecord;
  /** The failure of the command, and of the payment. */
  failure?: unknown;
  payFailure?: unknown;
  holdsFunds?: boolean;
  /** Collects the amounts of the payments. */
  paid?: number[];
  accountType?: AccountType | undefined;
  /** An id in the account's comment. */
  comment?: string;
  /** The logins that the operation of that id has reserved. */
  reserved?: number[];
  /** The login and the time of the account's record, which was read because the ledger may have been lost. */
  recorded?: { login: number; opened_at: string };
  /** The operation that holds the login. */
  holder?: string;
}

/** A retry whose first command went to the server of `LIVE`. @param change of the connection since */
function retry(change: object, { sighting = 'absent', opened = LOGIN, plan = {}, body, ...more }: Scene = {}): Job {
  const {
    notices = {},
    client = CLIENT_ANN,
    events = [],
    record,
    failure,
    payFailure,
    holdsFunds = false,
    paid = [],
    comment,
    reserved = [],
    recorded,
    holder,
  } = more;
  const { life = { at: 'sent', login: LOGIN, commands: 'many' }, found } = more;
  const accountType = 'accountType' in more ? more.accountType : ACCOUNT_TYPE;
  const accounts = { read: async () => record, put: async () => {} };
  const platform: Partial<TradingPlatform> = {
    keyed: true,
    unsupported: () => [],
    async open() {
      if (failure !== undefined) throw failure;
      return { login: opened };
    },
    async look({ isOperation }) {
      if (comment === undefined) return sighting;
      return (await isOperation?.(comment)) ? 'foreign' : 'unmarked';
    },
    async fund(_login, amount) {
      paid.push(amount);
      if (payFailure !== undefined) throw payFailure;
    },
    holdsFunds: async () => holdsFunds,
  };
  const server = {
    platform: platform as TradingPlatform,
    connection: { ...LIVE, demo: true, ...change },
    client,
    accountType,
  };
  const operationId = 'operation-1';
  const held = {
    plan: planFor(operationId, { server: `${LIVE.host}:${LIVE.port}`, deposit: 100, ...plan }),
    ...{ operationId, life, found },
  } as HeldOperation;
  const telemetry = recordingTelemetry(events);
  const next = async () => ({ login: recorded === undefined ? LOGIN : undefined, record: recorded, tries: 1 });
  const logins = { next } as unknown as LoginSearch;
  const order = {
    ...{ body: { ...ACCOUNT_BODY, ...body }, version: 'tp5', passwords: PASSWORDS, ids: [operationId] },
    server: async () => server,
    recorded: Promise.resolve(recorded),
    logins: loginChoice(Promise.resolve(logins), { operationId, givenLogin: body?.login, telemetry }),
  };
  return {
    worker: 'request',
    ...{ held, telemetry },
    dependencies: {
      now: Date.now,
      notices,
      accounts,
      events: { publish: async () => {} },
      ledger: {
        reserved: async () => reserved,
        holders: async () => new Map(holder === undefined ? [] : [[LOGIN, holder]]),
      },
    } as unknown as Job['dependencies'],
    times: planTimes(Date.now(), Date.now() + 20_000),
    server: async () => server,
    keys: async () => derivationKeys('1'),
    generated: async () => ({ role: 'master', password: PASSWORDS.master_password }),
    order: order as unknown as CallerOrder,
  };
}

describe('A retry whose connection leads to another server since', () => {
  it.each([{ host: 'mt5-2.example.com' }, { port: 8443 }])('sends nothing there: %j', async (moved) => {
    expect(await EFFECTS.send(retry({ name: 'Renamed', groups: [] }))).toEqual({ on: 'opened', login: LOGIN });
    expect(await EFFECTS.send(retry(moved))).toEqual({ on: 'moved' });
  });

  it('counts an account there as its own only if the account shows the mark', async () => {
    const looked = (change: object, sighting: Sighting) => EFFECTS.look(retry(change, { sighting }));
    expect(await looked({}, 'unmarked')).toEqual({ on: 'unproven' });
    expect(await looked({ port: 8443 }, 'unmarked')).toEqual({ on: 'moved' });
    expect(await looked({ port: 8443 }, 'ours')).toEqual({ on: 'ours' });
  });

  it('pays nothing there', async () => {
    expect(await EFFECTS.pay(retry({}, { life: PAYING }))).toMatchObject({ deposit: 'made' });
    expect(await EFFECTS.pay(retry({ port: 8443 }, { life: PAYING }))).toMatchObject({ deposit: 'refused' });
  });
});

describe('The record of a new account', () => {
  it.each([
    ['none', true],
    ['due', false],
  ] as const)('is written while its event is published, unless a deposit follows: %s', async (deposit, published) => {
    const life = {
      at: 'open',
      login: LOGIN,
      opened_at: '2026-11-22T00:00:00.000Z',
      recorded: false,
      deposit,
      published: false,
    } as const;
    expect(await EFFECTS.record(retry({}), life)).toEqual({ recorded: true, published });
  });
});

it.each([
  [undefined, { on: 'not_executed', failure: { type: 'group_not_found' } }],
  [LOGIN, { on: 'ready', login: LOGIN, found: true }],
])(
  'An order whose login was reserved is not judged again, although the connection has lost its group: %s',
  async (found, fact) => {
    expect(await EFFECTS.prepare(retry({ groups: [] }, found === undefined ? {} : { found }))).toMatchObject(fact);
  },
);

describe('A login of the caller', () => {
  async function prepared(login: number | undefined, change: object = {}, sighting: Sighting = 'absent') {
    const job = retry(change, { sighting, body: { login } });
    return { fact: await EFFECTS.prepare(job), plan: job.held.plan };
  }

  it.each<[string, number | undefined, object, boolean]>([
    ['outside of the ranges is not ours without proof', 1, {}, false],
    ['in the ranges is', LOGIN, {}, true],
    ['in the ranges of a strict connection is not', LOGIN, { strict: true }, false],
    ['that the service chooses is', undefined, {}, true],
    ['that the service chooses on a strict connection is not', undefined, { strict: true }, false],
  ])('%s', async (_, login, change, exclusive) => {
    expect((await prepared(login, change)).plan).toMatchObject({ exclusive, login_given: login !== undefined });
  });

  it('that exists is taken, unless the account is this operation’s', async () => {
    expect((await prepared(LOGIN, {}, 'unmarked')).fact).toMatchObject({
      on: 'not_executed',
      failure: { kind: 'login_taken' },
    });
    expect(await prepared(LOGIN, {}, 'ours')).toMatchObject({ fact: { login: LOGIN, found: true } });
  });
});

it.each<[Sighting, string, string, string]>([
  ['absent', 'absent', 'absent', 'refused'],
  ['silent', 'silent', 'unproven', 'unconfirmed'],
  ['unmarked', 'unproven', 'unproven', 'unproven'],
  ['foreign', 'foreign', 'foreign', 'foreign'],
])('A login that is %s is %s to a look, %s after "exists" and %s after a refusal', async (sighting, ...facts) => {
  const job = retry({}, { sighting });
  const learned = await Promise.all((['look', 'prove', 'confirm'] as const).map((step) => EFFECTS[step](job)));
  expect(learned.map(({ on }) => on)).toEqual(facts);
});

describe('An id in the comment', () => {
  const keys = derivationKeys('1');
  const another = deriveIdentity(keys[0], 'key#another', '1.a');
  const id = another.operationId;
  it.each<[string, string, number[], string]>([
    ['with its mark', operationComment(keys, another), [], 'foreign'],
    ['without a mark, with its reservation', id, [LOGIN], 'foreign'],
    ['without a mark, whose reservation is lost', id, [], 'unproven'],
    ['with a mark that is not ours', `${id}-0123456789abcdef`, [], 'unproven'],
    ['of somebody else', '018f3c1e-7a1b-7c3d-9e4f-5a6b7c8d9e0f', [LOGIN], 'unproven'],
  ])(
    '%s shows whose the account is only if one of our operations has that id: the login is then kept for that operation',
    async (_, comment, reserved, on) => {
      const job = retry({}, { comment, reserved });
      expect(await EFFECTS.look(job)).toEqual({ on });
      expect(job.held.seenOwner).toBe(on === 'foreign' ? id : undefined);
    },
  );
});

describe('The record of an account that names the operation', () => {
  const record = { operation_id: 'operation-1' } as AccountRecord;

  it('shows that an absent account was deleted', async () => {
    expect(await EFFECTS.look(retry({}, { record }))).toEqual({ on: 'deleted' });
  });

  it.each(['foreign', 'unmarked', 'silent'] as const)('proves that a login is ours that is %s', async (sighting) => {
    const job = retry({}, { record, sighting });
    for (const step of ['look', 'prove', 'confirm'] as const) expect(await EFFECTS[step](job)).toEqual({ on: 'ours' });
    expect(
      await EFFECTS.prove(retry({}, { record: { operation_id: 'another' } as AccountRecord, sighting })),
    ).not.toEqual({ on: 'ours' });
  });

  it.each(['foreign', 'ours'] as const)(
    'keeps a caller from hearing that his own account, which is %s, has taken his login',
    async (sighting) => {
      const job = retry({}, { record, sighting, body: { login: LOGIN } });
      expect(await EFFECTS.prepare(job)).toMatchObject({ on: 'ready', login: LOGIN, found: true });
      expect(job.held.found).toBe(LOGIN);
    },
  );

  it.each(['ours', 'unmarked'] as const)(
    'shows that the account was answered before, if the only command is answered that it exists and it is %s',
    async (sighting) => {
      const life = { at: 'sent', login: LOGIN, commands: 'taken' } as const;
      const [known, unknown] = [retry({}, { life, record, sighting }), retry({}, { life, sighting: 'ours' })];
      for (const job of [known, unknown]) expect(await EFFECTS.prove(job)).toEqual({ on: 'ours' });
      expect([known.held.found, unknown.held.found]).toEqual([LOGIN, undefined]);
    },
  );
});

describe('The record of a forgotten operation', () => {
  const recorded = { login: LOGIN, opened_at: '2026-11-21T10:00:00.000Z' };
  const known = { on: 'recorded', ...recorded };
  const deleted = { on: 'deleted', login: LOGIN };
  const [key] = derivationKeys('1');
  const another = deriveIdentity(key, 'key#another', '1.a');
  const comment = operationComment([key], another);

  it.each<[string, Scene, object]>([
    ['is answered if the server shows it', { sighting: 'ours' }, known],
    ['is answered without another proof', { sighting: 'unmarked' }, known],
    ['is answered if the server cannot look', { sighting: 'silent' }, known],
    ['is not opened again if it was deleted', { sighting: 'absent' }, deleted],
    ['is answered although its comment was edited', { comment }, known],
    ['is not at a login with the account of its holder', { comment, holder: another.operationId }, deleted],
  ])('names an account that %s', async (_, scene, fact) => {
    const job = retry({}, { ...scene, recorded, life: { at: 'claimed' } });
    expect(await EFFECTS.prepare(job)).toEqual(fact);
    expect(job.held.found).toBe(LOGIN);
    // The same before another login is asked for.
    const later = retry({}, { ...scene, recorded });
    later.held.seenOwner = 'the owner of the login that is given up';
    expect(await EFFECTS.next(later)).toEqual(fact);
    expect(later.held.seenOwner).toBe('the owner of the login that is given up');
  });

  it('is not judged again, although the connection has lost its group', async () => {
    const job = retry({ groups: [] }, { recorded, found: LOGIN, sighting: 'ours' });
    expect(await EFFECTS.prepare(job)).toEqual(known);
  });

  const throttled = new AwsFailure('ThrottlingException');
  it.each<[Life, object]>([
    [{ at: 'claimed' }, { on: 'not_executed', failure: throttled }],
    [{ at: 'sent', login: LOGIN - 1, commands: 'many' }, { on: 'unclear' }],
  ])('leads to no other login if it cannot be read: %j', async (life, fact) => {
    const job = retry({}, { life });
    Object.assign(job.order ?? {}, { logins: { next: () => Promise.reject(throttled) } });
    expect(await EFFECTS.next(job)).toEqual(fact);
  });

  it.each<[Life, object]>([
    [{ at: 'claimed' }, { on: 'not_executed', failure: { kind: 'platform_unavailable' } }],
    [{ at: 'sent', login: LOGIN - 1, commands: 'many' }, { on: 'unclear' }],
  ])('leads to no other login without an answer of the server: %j', async (life, fact) => {
    const job = { ...retry({}, { recorded, life }), server: async () => undefined };
    expect(await EFFECTS.next(job)).toMatchObject(fact);
  });
});

it('An unexpected error of a command proves nothing', async () => {
  const failing = retry({}, { failure: new TypeError('unexpected') });
  expect(await EFFECTS.send(failing)).toMatchObject({ on: 'lost' });
});

it.each<[Proof, string]>([
  ['unsent', 'not_executed'],
  ['not_served', 'not_executed'],
  ['content', 'rejected'],
  ['nothing', 'doubtful'],
])('A refusal that proves %s is %s', async (proof, on) => {
  const failure = new PlatformFailure('platform_unavailable', { reason: 'retcode', proof });
  expect(await EFFECTS.send(retry({}, { failure }))).toMatchObject({ on });
});

describe('A payment', () => {
  const refused = (proof: Proof) => new PlatformFailure('platform_unavailable', { reason: 'retcode', proof });

  it.each<[string, 'pay' | 'repay' | 'complete', boolean, PlatformFailure | undefined, string, number]>([
    ['that is due is made', 'pay', false, undefined, 'made', 1],
    ['that may have left is only looked for', 'complete', false, undefined, 'empty', 0],
    ['that is repeated is not made into an account that holds money', 'repay', true, undefined, 'made', 0],
    ['that is repeated is made into an empty account', 'repay', false, undefined, 'made', 1],
    ['that was refused for its content is refused', 'pay', false, refused('content'), 'refused', 1],
    ['that was refused for the state of the server is looked for', 'pay', true, refused('nothing'), 'made', 1],
    ['that was refused for the state of the server may still arrive', 'pay', false, refused('nothing'), 'empty', 1],
  ])('%s', async (_, step, holdsFunds, payFailure, outcome, payments) => {
    const paid: number[] = [];
    const job = retry({}, { life: PAYING, holdsFunds, ...(payFailure && { payFailure }), paid });
    expect(await EFFECTS[step](job)).toMatchObject({ deposit: outcome });
    expect(paid).toHaveLength(payments);
  });

  const type = (change: Partial<AccountType>): AccountType => ({ ...ACCOUNT_TYPE, ...change });
  describe.each(['request', 'settler', 'operator'] as const)('by a %s believes no stored amount', (worker) => {
    it.each<[string, object, AccountType | undefined, number | undefined, number[]]>([
      ['pays what both say', {}, ACCOUNT_TYPE, 100, [100]],
      ['pays no more than the account type says', {}, ACCOUNT_TYPE, 1_000_000, [100]],
      ['takes no money out of an account', {}, ACCOUNT_TYPE, -100, []],
      ['pays no more than was promised', {}, type({ deposit: 500 }), 100, [100]],
      ['pays nothing on a live connection', { demo: false }, ACCOUNT_TYPE, 1_000_000, []],
      ['pays nothing without the account type', {}, undefined, 1_000_000, []],
      ['pays nothing for a type of the other version', {}, type({ platform: 'tp4' }), 1_000_000, []],
      ['pays nothing if the type has no deposit', {}, type({ deposit: undefined }), 1_000_000, []],
      ['pays nothing without a stored amount', {}, ACCOUNT_TYPE, undefined, []],
    ])('%s', async (_, change, accountType, deposit, payments) => {
      for (const step of ['pay', 'repay'] as const) {
        const paid: number[] = [];
        const job = retry(change, { life: PAYING, paid, accountType, plan: { deposit } });
        const outcome = payments.length === 0 ? 'refused' : 'made';
        expect(await EFFECTS[step]({ ...job, worker })).toMatchObject({ deposit: outcome });
        expect(paid).toEqual(payments);
      }
    });
  });
});

it('An answer that names another login than the command shows that the server ignores the command’s login', async () => {
  expect(await EFFECTS.send(retry({}, { opened: LOGIN + 1 }))).toEqual({ on: 'lost', other: LOGIN + 1 });
});

it.each<[Partial<OperationPlan>, string[]]>([
  [{}, []],
  [{ send_email: true }, ['email']],
  [{ send_pop_up: true }, ['popUp']],
  [{ send_email: true, send_pop_up: true }, ['email', 'popUp']],
])('An opened account with %j sends the notices %j', async (plan, wanted) => {
  const sent: string[] = [];
  const notices = { email: async () => void sent.push('email'), popUp: async () => void sent.push('popUp') };
  await EFFECTS.notify(retry({}, { plan, notices }), LOGIN);
  expect(sent).toEqual(wanted);
});

it.each([
  ['email', ['popUp'], 'email'],
  ['popUp', ['email'], 'popup'],
])(
  'An opened account whose notice %s fails sends the other one, and reports the failed one',
  async (failing, wanted, notice) => {
    const sent: string[] = [];
    const events: Parameters<typeof recordingTelemetry>[0] = [];
    const deliver = (name: string) => async () => {
      if (name === failing) throw new AwsFailure('Throttling');
      sent.push(name);
    };
    const notices = { email: deliver('email'), popUp: deliver('popUp') };
    await EFFECTS.notify(retry({}, { plan: { send_email: true, send_pop_up: true }, notices, events }), LOGIN);
    expect(sent).toEqual(wanted);
    expect(events).toMatchObject([{ name: 'NoticeFailed', fields: { login: LOGIN, notice } }]);
  },
);

it.each<Partial<AccountClient>>([{ unproven: ['email'] }, { email: undefined }])(
  'An opened account sends no mail to a client whose address was never proven: %j',
  async (change) => {
    const sent: string[] = [];
    const events: Parameters<typeof recordingTelemetry>[0] = [];
    const notices = { email: async ({ email }: { email: string }) => void sent.push(email), popUp: async () => {} };
    const client = { ...CLIENT_ANN, ...change };
    const job = retry({}, { plan: { send_email: true, send_pop_up: true }, notices, client, events });
    await EFFECTS.notify(job, LOGIN);
    expect(sent).toEqual([]);
    expect(events).toMatchObject([{ name: 'EmailNotProven', fields: { login: LOGIN } }]);
  },
);
