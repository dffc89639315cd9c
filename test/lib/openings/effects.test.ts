import { describe, expect, it } from 'vitest';
import { retryAfterRule } from '../../../infra/openapi/problems.ts';
import type { AccountNotices } from '../../../lib/messages/notices.ts';
import type { AccountDependencies } from '../../../lib/openings/dependencies.ts';
import { planTimes } from '../../../lib/openings/dependencies.ts';
import { type AccountRequest, requestEffects, type Work } from '../../../lib/openings/effects.ts';
import type { Held, Plan } from '../../../lib/openings/ledger.ts';
import { PlatformFailure, type Proof, type Sighting, type TradingPlatform } from '../../../lib/platform/platform.ts';
import type { ProblemType } from '../../../lib/problem.ts';
import type { AccountClient } from '../../../lib/records/account-directory.ts';
import type { AccountRecord } from '../../../lib/records/accounts.ts';
import { LIVE } from '../../support/crm-example.ts';
import { ANN, BODY, planFor, recordingTelemetry } from '../../support/openings.ts';

const LOGIN = 500_001;
const PASSWORDS = { master_password: 'Ma5ter#word', investor_password: 'Inve5tor#wd' };

interface Scene {
  sighting?: Sighting;
  /** The login that the server answers with. */
  opened?: number;
  plan?: Partial<Plan>;
  body?: { login: number | undefined };
  notices?: Partial<AccountNotices>;
  client?: AccountClient;
  events?: Parameters<typeof recordingTelemetry>[0];
  record?: AccountRecord;
  /** The failure of the command, and of the payment. */
  failure?: unknown;
  payFailure?: unknown;
  holdsFunds?: boolean;
  /** Collects the payments. */
  paid?: number[];
}

/** The effects of a retry whose first command went to the server of `LIVE`. @param change of the connection since */
function retry(change: object, { sighting = 'absent', opened = LOGIN, plan = {}, body, ...more }: Scene = {}) {
  const { notices = {}, client = ANN, events = [], record, failure, payFailure, holdsFunds = false, paid = [] } = more;
  const accounts = { read: async () => record, put: async () => {} };
  const platform: Partial<TradingPlatform> = {
    keyed: true,
    unsupported: () => [],
    async open() {
      if (failure !== undefined) throw failure;
      return { login: opened };
    },
    look: async () => sighting,
    async fund(login) {
      paid.push(login);
      if (payFailure !== undefined) throw payFailure;
    },
    holdsFunds: async () => holdsFunds,
  };
  const server = { platform: platform as TradingPlatform, connection: { ...LIVE, ...change }, client };
  const work: Work = {
    dependencies: {
      now: Date.now,
      notices,
      accounts,
      events: { publish: async () => {} },
    } as unknown as AccountDependencies,
    held: {
      plan: planFor('operation-1', { server: `${LIVE.host}:${LIVE.port}`, ...plan }),
      operationId: 'operation-1',
    } as unknown as Held,
    times: planTimes(Date.now(), Date.now() + 20_000),
    telemetry: recordingTelemetry(events),
    server: async () => server,
    generated: async () => ({ role: 'master', password: PASSWORDS.master_password }),
  };
  const found = async () => ({ ...server, accountType: undefined });
  const logins = { next: async () => ({ login: LOGIN, tries: 1 }), isComplete: false };
  const request = { body: { ...BODY, ...body }, version: 'tp5', passwords: PASSWORDS, found, logins };
  return requestEffects(work, request as unknown as AccountRequest);
}

describe('A retry whose connection leads to another server since', () => {
  it.each([{ host: 'mt5-2.example.com' }, { port: 8443 }])('sends nothing there: %j', async (moved) => {
    expect(await retry({ name: 'Renamed', groups: [] }).send(LOGIN)).toEqual({ on: 'opened', login: LOGIN });
    expect(await retry(moved).send(LOGIN)).toEqual({ on: 'moved' });
  });

  it('takes an account there for its own only if it shows the mark', async () => {
    const looked = (change: object, sighting: Sighting) => retry(change, { sighting }).look(LOGIN, 'look');
    expect(await looked({}, 'unmarked')).toEqual({ on: 'unproven' });
    expect(await looked({ port: 8443 }, 'unmarked')).toEqual({ on: 'moved' });
    expect(await looked({ port: 8443 }, 'ours')).toEqual({ on: 'ours' });
  });

  it('pays nothing there', async () => {
    const life = { at: 'open', login: LOGIN, opened_at: '', recorded: true, deposit: 'sent', published: true } as const;
    expect(await retry({}).complete(life, 'pay')).toMatchObject({ deposit: 'made' });
    expect(await retry({ port: 8443 }).complete(life, 'pay')).toMatchObject({ deposit: 'refused' });
  });
});

it('A request whose time was up before all logins were searched gets Retry-After, as the reference says', async () => {
  const request = retry({});
  await request.nextLogin();
  const { kind, options } = request.noLoginFailure();
  expect(options.retryAfterSeconds).toBe(5);
  expect(retryAfterRule(kind as ProblemType, 503)).toBe('sometimes');
});

describe('The record of a new account', () => {
  it.each([
    ['none', true],
    ['due', false],
  ] as const)(
    'is written, and its event published at the same time unless a deposit follows: %s',
    async (deposit, published) => {
      const life = {
        at: 'open',
        login: LOGIN,
        opened_at: '2026-11-22T00:00:00.000Z',
        recorded: false,
        deposit,
        published: false,
      } as const;
      expect(await retry({}).record(life)).toEqual({ recorded: true, published });
    },
  );
});

describe('A login of the caller', () => {
  const prepared = (login: number | undefined, change: object = {}, sighting: Sighting = 'absent') =>
    retry(change, { sighting, body: { login } }).prepare();

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
    await expect(prepared(LOGIN, {}, 'unmarked')).rejects.toMatchObject({ kind: 'login_taken' });
    expect(await prepared(LOGIN, {}, 'ours')).toMatchObject({ fact: { login: LOGIN, found: true } });
  });
});

it.each<[Sighting, string, string, string]>([
  ['absent', 'absent', 'absent', 'refused'],
  ['silent', 'silent', 'unproven', 'unconfirmed'],
  ['unmarked', 'unproven', 'unproven', 'unproven'],
  ['foreign', 'foreign', 'foreign', 'foreign'],
])('A login that is %s is %s to a look, %s after "exists" and %s after a refusal', async (sighting, ...facts) => {
  const { look } = retry({}, { sighting });
  const learned = await Promise.all((['look', 'prove', 'confirm'] as const).map((step) => look(LOGIN, step)));
  expect(learned.map(({ on }) => on)).toEqual(facts);
});

it('An account that is absent although its record exists was deleted', async () => {
  const record = { operation_id: 'operation-1' } as AccountRecord;
  expect(await retry({}, { record }).look(LOGIN, 'look')).toEqual({ on: 'deleted' });
});

it('An error of a command that nobody expects proves nothing', async () => {
  const failing = retry({}, { failure: new TypeError('unexpected') });
  expect(await failing.send(LOGIN)).toMatchObject({ on: 'lost' });
});

it.each<[Proof, string]>([
  ['unsent', 'not_executed'],
  ['rights', 'not_executed'],
  ['content', 'rejected'],
  ['nothing', 'doubtful'],
])('A refusal that proves %s is %s', async (proof, on) => {
  const failure = new PlatformFailure('platform_unavailable', { reason: 'retcode', proof });
  expect(await retry({}, { failure }).send(LOGIN)).toMatchObject({ on });
});

describe('A payment', () => {
  const life = { at: 'open', login: LOGIN, opened_at: '', recorded: true, deposit: 'sent', published: true } as const;
  const refused = (proof: Proof) => new PlatformFailure('platform_unavailable', { reason: 'retcode', proof });

  it.each<[string, 'pay' | 'repay' | undefined, boolean, PlatformFailure | undefined, string, number]>([
    ['that is due is made', 'pay', false, undefined, 'made', 1],
    ['that may have left is only looked for', undefined, false, undefined, 'empty', 0],
    ['that is repeated is not made into an account that holds money', 'repay', true, undefined, 'made', 0],
    ['that is repeated is made into an empty account', 'repay', false, undefined, 'made', 1],
    ['that was refused for its content is refused', 'pay', false, refused('content'), 'refused', 1],
    ['that was refused for the state of the server is looked for', 'pay', true, refused('nothing'), 'made', 1],
    ['that was refused for the state of the server may still arrive', 'pay', false, refused('nothing'), 'empty', 1],
  ])('%s', async (_, pay, holdsFunds, payFailure, outcome, payments) => {
    const paid: number[] = [];
    const { complete } = retry({}, { holdsFunds, ...(payFailure && { payFailure }), paid });
    expect(await complete(life, pay)).toMatchObject({ deposit: outcome });
    expect(paid).toHaveLength(payments);
  });
});

it('An answer that names another login than the command says that the server opens accounts elsewhere', async () => {
  expect(await retry({}, { opened: LOGIN + 1 }).send(LOGIN)).toEqual({ on: 'lost', other: LOGIN + 1 });
});

it.each<[Partial<Plan>, string[]]>([
  [{}, []],
  [{ send_email: true }, ['email']],
  [{ send_pop_up: true }, ['popUp']],
  [{ send_email: true, send_pop_up: true }, ['email', 'popUp']],
])('%j sends the notices %j', async (plan, wanted) => {
  const sent: string[] = [];
  const notices = { email: async () => void sent.push('email'), popUp: async () => void sent.push('popUp') };
  await retry({}, { plan, notices }).notify(LOGIN);
  expect(sent).toEqual(wanted);
});

it.each<Partial<AccountClient>>([{ unproven: ['email'] }, { email: undefined }])(
  'sends no mail to a client whose address was never proven: %j',
  async (change) => {
    const sent: string[] = [];
    const events: Parameters<typeof recordingTelemetry>[0] = [];
    const notices = { email: async ({ email }: { email: string }) => void sent.push(email), popUp: async () => {} };
    const client = { ...ANN, ...change };
    await retry({}, { plan: { send_email: true, send_pop_up: true }, notices, client, events }).notify(LOGIN);
    expect(sent).toEqual([]);
    expect(events).toMatchObject([{ name: 'EmailNotProven', fields: { login: LOGIN } }]);
  },
);
