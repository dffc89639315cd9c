import { describe, expect, it } from 'vitest';
import { PlatformFailure } from '../../../lib/platform/platform.ts';
import type { Connection, WebApiConnection } from '../../../lib/records/crm-records.ts';
import { FakeAccounts, GATEWAY, LIVE, OWN_LOGINS, opened } from '../../support/account-fakes.ts';
import { beforeEachOpening, KEY, lost } from '../../support/account-tests.ts';
import type { TestDatabase } from '../../support/database.ts';

let database: TestDatabase;
let world: FakeAccounts;
beforeEachOpening((fresh, its) => {
  world = fresh;
  database = its;
  world.settleMs = 60_000;
});

const OWN = { login: 700_123 };
const failure = (kind: 'password_rejected' | 'platform_unavailable' | 'platform_refused') =>
  new PlatformFailure(kind, { reason: 'retcode_of_a_test' });
function withoutRange(connection: Connection): Connection {
  const { logins: _, ...rest } = connection as WebApiConnection;
  return rest;
}
const sentLogins = () => world.platform.sent.map(({ login }) => login);

describe('A login of the caller’s own', () => {
  const openings = [
    ['on a server without a range', LIVE, 'tp5'],
    ['beside a range', OWN_LOGINS, 'tp5'],
  ] as const;

  it.each(openings)('%s is found after a lost answer', async (_, connection, version) => {
    world.records = { ...world.records, connection };
    world.platform.openings = [{ kind: 'reply_lost', failure: lost() }];
    expect(opened(await world.run(OWN, { ...KEY, version })).login).toBe(OWN.login);
    expect(world.platform.sent[0]).not.toHaveProperty('reserved');
  });

  it.each(openings)('%s is sent again where the account is absent', async (_, connection, version) => {
    world.records = { ...world.records, connection };
    world.platform.openings = [{ kind: 'fails', sent: true, failure: lost() }];
    expect(opened(await world.run(OWN, { ...KEY, version })).login).toBe(OWN.login);
    expect(sentLogins()).toEqual([OWN.login, OWN.login]);
  });

  it('that is somebody else’s is login_taken, at once or after a lost answer, and the key is free', async () => {
    world.platform.strangers.add(OWN.login);
    expect(await world.refused(OWN, KEY)).toMatchObject({ type: 'login_taken', status: 409 });
    world.platform.openings = [{ kind: 'reply_lost', failure: lost() }];
    expect(await world.refused(OWN, KEY)).toMatchObject({ type: 'login_taken', status: 409 });
    world.platform.strangers.clear();
    expect(opened(await world.run(OWN, KEY)).login).toBe(OWN.login);
  });

  it('is looked up before it is believed taken, when an earlier request may have sent it', async () => {
    world.platform.opening = { kind: 'reply_lost', failure: lost() };
    world.platform.finding = () => failure('platform_unavailable');
    await world.refused(OWN, { ...KEY, ms: 500 });
    world.platform.finding = undefined;
    world.platform.opening = { kind: 'opens' };
    expect(await world.run(OWN, KEY)).toMatchObject({ body: { login: OWN.login }, replayed: true });
    expect(world.platform.accounts).toHaveLength(1);
  });

  it('is never login_taken because of another worker of the same request', async () => {
    const rival = new FakeAccounts(database);
    Object.assign(rival, { userId: world.userId });
    const { open } = world.platform;
    world.platform.open = async (order, departure, ...more) => {
      const note = async () => {
        await departure.note();
        // As if this process slept, or the other’s clock were ahead.
        rival.skip(31_000);
        await rival.run(OWN, KEY);
        world.platform.accounts.push(...rival.platform.accounts);
      };
      return open.call(world.platform, order, { ...departure, note }, ...more);
    };
    expect(await world.refused(OWN, KEY)).toMatchObject({ type: 'request_in_progress', status: 409 });
    expect((await rival.run(OWN, KEY)).replayed).toBe(true);
  });

  it('that exists on a server that cannot tell whose it is stays unknown: 504, then 409, never 200', async () => {
    world.records = { ...world.records, connection: withoutRange(GATEWAY) };
    world.platform.tells = false;
    const ask = { ...KEY, version: 'tp4' } as const;
    world.platform.opening = { kind: 'reply_lost', failure: lost() };
    const first = await world.refused(OWN, ask);
    expect(first).toMatchObject({ type: 'account_outcome_unknown', status: 504 });
    expect(first.options.retryAfterSeconds).toBeUndefined();
    world.platform.opening = { kind: 'opens' };
    for (let requests = 0; requests < 2; requests += 1) {
      expect(await world.refused(OWN, ask)).toMatchObject({ type: 'account_outcome_unknown', status: 409 });
      world.skip(100_000);
    }
    expect(world.platform.accounts).toHaveLength(1);
  });

  it('is settled by the same command where the server cannot tell whether it exists', async () => {
    world.platform.openings = [{ kind: 'fails', sent: true, failure: lost() }];
    world.platform.finding = () => ({ kind: 'cannot_tell' });
    expect(opened(await world.run(OWN, KEY)).login).toBe(OWN.login);
    expect(sentLogins()).toEqual([OWN.login, OWN.login]);
  });
});
