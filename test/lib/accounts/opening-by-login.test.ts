import { ScanCommand } from '@aws-sdk/lib-dynamodb';
import { beforeEach, describe, expect, it } from 'vitest';
import { DatabaseFailure } from '../../../lib/aws/dynamodb.ts';
import { PlatformFailure } from '../../../lib/platform/platform.ts';
import type { Problem } from '../../../lib/problem.ts';
import type { Connection, WebApiConnection } from '../../../lib/records/crm-records.ts';
import { BODY, FakeAccounts, GATEWAY, OWN_LOGINS, opened, RANGE } from '../../support/account-fakes.ts';
import { beforeEachOpening, KEY, lost } from '../../support/account-tests.ts';
import type { TestDatabase } from '../../support/database.ts';

let database: TestDatabase;
let world: FakeAccounts;
beforeEachOpening((fresh, its) => {
  world = fresh;
  database = its;
  world.settleMs = 60_000;
});

const failure = (kind: 'password_rejected' | 'platform_unavailable' | 'platform_refused') =>
  new PlatformFailure(kind, { reason: 'retcode_of_a_test' });
const isOfRange = (login: number | undefined) => login !== undefined && login >= RANGE.from && login <= RANGE.to;
/** In how many milliseconds the operation of a problem is due. */
async function dueIn({ options }: Problem): Promise<number> {
  const { Items = [] } = await database.client.send(new ScanCommand({ TableName: 'operations' }));
  const item = Items.find(
    ({ operation_id, state }) => operation_id === options.members?.operation_id && state === 'sent',
  );
  return Number(item?.due_at) - Date.now();
}
function withoutRange(connection: Connection): Connection {
  const { logins: _, ...rest } = connection as WebApiConnection;
  return rest;
}
/** No login is another test's. */
async function forgetReservations(): Promise<void> {
  const { Items = [] } = await database.client.send(new ScanCommand({ TableName: 'operations' }));
  const keys = Items.map(({ pk }) => ({ pk: String(pk) })).filter(({ pk }) => pk.startsWith('login#'));
  await Promise.all(keys.map((key) => database.tables.operations.delete(key, AbortSignal.timeout(60_000))));
}
const sentLogins = () => world.platform.sent.map(({ login }) => login);

describe.each([
  ['a server that shows whose an account is', OWN_LOGINS, true, 'tp5'],
  ['a gateway, which does not', GATEWAY, false, 'tp4'],
] as const)('A connection with logins of its own, on %s', (_, connection, tells, version) => {
  const ask = { ...KEY, version };
  beforeEach(async () => {
    await forgetReservations();
    world.records = { ...world.records, connection };
    world.platform.tells = tells;
  });

  it('opens an account with one of them, another one for every request', async () => {
    const logins = [opened(await world.run({}, ask)).login, opened(await world.run({}, { version })).login];
    expect(logins.every(isOfRange)).toBe(true);
    expect(new Set(logins).size).toBe(2);
    expect(sentLogins()).toEqual(logins);
  });

  it('marks it as reserved, so that what has it is ours', async () => {
    await world.run({}, ask);
    expect(world.platform.sent[0]).toMatchObject({ reserved: true });
  });

  it('finds a lost answer’s account at once', async () => {
    world.platform.openings = [{ kind: 'reply_lost', failure: lost() }];
    const { login } = opened(await world.run({}, ask));
    expect(isOfRange(login)).toBe(true);
    expect(world.platform.calls).toEqual(['open', 'sent', 'find']);
    expect(world.platform.traces[0]).toMatchObject({ login, reserved: true });
    expect(await world.record(login, { id: BODY.connection_id, platform: version })).toBeDefined();
  });

  it('sends the same command again where a lost answer’s account is absent, without waiting', async () => {
    world.platform.openings = [{ kind: 'fails', sent: true, failure: lost() }];
    const began = Date.now();
    const answer = await world.run({}, ask);
    expect(Date.now() - began).toBeLessThan(15_000);
    expect(answer.replayed).toBe(false);
    expect(sentLogins()).toEqual([opened(answer).login, opened(answer).login]);
  });

  it('takes the account of the first command for its own when the second one is refused for it', async () => {
    world.platform.openings = [{ kind: 'late', failure: lost() }];
    const { open } = world.platform;
    world.platform.open = async (...order) => {
      if (world.platform.sent.length === 1) world.platform.arrive();
      return open.apply(world.platform, order);
    };
    expect(isOfRange(opened(await world.run({}, ask)).login)).toBe(true);
    expect(world.platform.accounts).toHaveLength(1);
    expect(world.platform.sent).toHaveLength(2);
  });

  it('goes on with the same login in the next request, whenever that comes', async () => {
    world.platform.opening = { kind: 'fails', sent: true, failure: lost() };
    world.platform.finding = () => failure('platform_unavailable');
    const problem = await world.refused({}, { ...ask, ms: 500 });
    expect(problem).toMatchObject({ type: 'account_outcome_unknown', status: 504 });
    expect(problem.options.retryAfterSeconds).toBe(1);
    // What nobody retries is looked at when the command can no longer be carried out.
    expect(await dueIn(problem)).toBeGreaterThan(50_000);
    world.platform.finding = undefined;
    world.platform.opening = { kind: 'opens' };
    const answer = await world.run({}, ask);
    expect(answer.replayed).toBe(false);
    expect(new Set(sentLogins()).size).toBe(1);
    expect(world.platform.accounts).toHaveLength(1);
  });

  it('gives the account that came late to the next request', async () => {
    world.platform.opening = { kind: 'late', failure: lost() };
    world.platform.finding = () => failure('platform_unavailable');
    await world.refused({}, { ...ask, ms: 500 });
    world.platform.finding = undefined;
    world.platform.arrive();
    const answer = await world.run({}, ask);
    expect(answer.replayed).toBe(true);
    expect(opened(answer).login).toBe(world.platform.accounts[0]?.login);
    expect(world.platform.accounts).toHaveLength(1);
  });

  it('never opens a second account, whatever comes late, and in whichever request', async () => {
    world.platform.opening = { kind: 'late', failure: lost() };
    for (let requests = 0; requests < 3; requests += 1) {
      expect(await world.refused({}, { ...ask, ms: 500 })).toMatchObject({ status: 504 });
      world.skip(100_000_000);
    }
    world.platform.opening = { kind: 'opens' };
    const { login } = opened(await world.run({}, ask));
    world.platform.arrive();
    expect(world.platform.accounts.map((account) => account.login)).toEqual([login]);
    expect(opened(await world.run({}, ask)).login).toBe(login);
  });

  it('answers 504, never 503, while an earlier command may yet be carried out, though the next one certainly was not', async () => {
    world.platform.openings = [{ kind: 'late', failure: lost() }];
    world.platform.opening = { kind: 'fails', sent: true, failure: failure('platform_unavailable') };
    expect(await world.refused({}, { ...ask, ms: 500 })).toMatchObject({ status: 504 });
    world.platform.opening = { kind: 'fails', sent: false, failure: failure('platform_refused') };
    expect(await world.refused({}, { ...ask, ms: 500 })).toMatchObject({ status: 504 });
    world.platform.arrive();
    expect((await world.run({}, ask)).replayed).toBe(true);
  });

  it('believes what the server says of the order itself, also after an answer that was lost', async () => {
    world.platform.openings = [{ kind: 'fails', sent: true, failure: lost() }];
    world.platform.opening = { kind: 'fails', sent: true, failure: failure('password_rejected') };
    expect(await world.refused({}, ask)).toMatchObject({ type: 'password_rejected', status: 400 });
  });

  const withRange = (from: number, to: number) => {
    const narrowed = { ...connection, logins: { from, to } };
    world.records = { ...world.records, connection: narrowed as Connection };
  };

  it('asks for the next one where another operation of this service has it, and for no more than there are', async () => {
    withRange(500_001, 500_002);
    // Every command is carried out, and every answer lost: nobody may take the other's account for his own.
    world.platform.opening = { kind: 'reply_lost', failure: lost() };
    const logins = [opened(await world.run({}, ask)).login, opened(await world.run({}, { version })).login];
    expect(new Set(logins)).toEqual(new Set([500_001, 500_002]));
    const problem = await world.refused({}, { ...ask, key: 'key-3' });
    expect(problem).toMatchObject({ type: 'login_range_exhausted', status: 503 });
    expect(world.platform.accounts).toHaveLength(2);
  });

  it('asks for the next one where a stranger has it', async () => {
    withRange(500_001, 500_002);
    world.platform.strangers.add(500_001);
    expect(opened(await world.run({}, ask)).login).toBe(500_002);
    expect(await world.refused({}, { version })).toMatchObject({ type: 'login_range_exhausted' });
  });

  it('goes on with the login that was sent though the range is another one by now, or gone', async () => {
    world.platform.opening = { kind: 'late', failure: lost() };
    await world.refused({}, { ...ask, ms: 500 });
    withRange(1, 1_000);
    await world.refused({}, { ...ask, ms: 500 });
    world.records = { ...world.records, connection: withoutRange(connection) };
    world.platform.arrive();
    const finding = { kind: 'found', login: world.platform.accounts[0]?.login ?? 0 } as const;
    world.platform.finding = () => finding;
    expect(opened(await world.run({}, ask)).login).toBe(finding.login);
    expect(new Set(sentLogins()).size).toBe(1);
  });

  it('never takes an account for its own whose login another operation has reserved', async () => {
    withRange(500_001, 500_001);
    await new Promise<void>((resolve) => {
      const victim = new FakeAccounts(database);
      Object.assign(victim, { userId: world.userId, records: world.records });
      victim.platform.open = async (_order, departure) => {
        await departure.note();
        resolve();
        return new Promise<never>(() => {});
      };
      victim.run({}, ask).catch(() => {});
    });
    // The note was written and the reservation was not, before it died.
    const pk = `login#${version}#500001`;
    await database.tables.operations.put({ pk, operation_id: 'another' }, AbortSignal.timeout(60_000));
    world.platform.strangers.add(500_001);
    world.skip(31_000);
    expect(await world.refused({}, ask)).toMatchObject({ type: 'login_range_exhausted' });
    expect(world.platform.calls).toEqual([]);
  });

  it.each([
    ['fails', false],
    ['loses its answer', true],
  ])('sends nothing when the reservation %s, and opens the account with the next request', async (__, late) => {
    world.operations.failing = { at: 3, late };
    await expect(world.run({}, ask)).rejects.toThrow(DatabaseFailure);
    expect(world.platform.sent).toEqual([]);
    expect(isOfRange(opened(await world.run({}, ask)).login)).toBe(true);
  });

  it('reserves a caller’s own login of the range, too, and gives it back when it was for nothing', async () => {
    withRange(500_000, 599_999);
    const login = 512_345;
    world.platform.openings = [{ kind: 'fails', sent: true, failure: failure('password_rejected') }];
    expect(await world.refused({ login }, ask)).toMatchObject({ type: 'password_rejected' });
    expect(opened(await world.run({ login }, ask)).login).toBe(login);
    const sent = world.platform.sent.length;
    expect(await world.refused({ login }, { ...ask, key: 'key-2' })).toMatchObject({ type: 'login_taken' });
    expect(world.platform.sent).toHaveLength(sent);
  });
});
