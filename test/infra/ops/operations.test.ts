import { randomUUID } from 'node:crypto';
import { beforeEach, describe, expect, it } from 'vitest';
import { OPERATOR_ONLY } from '../../../lib/records/due.ts';
import { openAccount } from '../../support/local-service.ts';
import { Operators } from '../../support/operators.ts';
import { NEVER_ABORTED } from '../../support/outcomes.ts';

const operators = new Operators();
const PLUG_IN = { connection_id: 'tp4-live-1', group: 'standard', leverage: 100 };
const DEMO = { connection_id: 'tp5-demo-1', group: 'demo\\standard', leverage: 100, account_type_id: 'ATDEMO01' };

function open(order: { connection_id: string; leverage: number }, key: string) {
  return openAccount(operators.service, order.connection_id.startsWith('tp5') ? 'tp5' : 'tp4', order, key);
}

/** An opening whose answer is lost on a server that cannot be asked. */
async function openWithLostAnswer() {
  const key = randomUUID();
  operators.service.faults('tp4-live-1').set({ kind: 'reply_lost', times: 1 });
  const { body } = await open(PLUG_IN, key);
  expect(body).toMatchObject({ type: 'account_outcome_unknown' });
  return { id: String(body.operation_id), key, retry: () => open(PLUG_IN, key) };
}

async function listed(): Promise<Record<string, unknown>[]> {
  return JSON.parse((await operators.local('operations', '--open', '--json')).out) as Record<string, unknown>[];
}

const stored = () => operators.tableOf('operations');

/** Changes an operation as time or another worker would. */
async function change(id: string, update: string, values?: Record<string, unknown>): Promise<void> {
  const pk = (await operators.items('operations')).find(({ operation_id, life }) => operation_id === id && life)?.pk;
  const changed = { update, ...(values === undefined ? {} : { values }) };
  await stored().update({ pk: String(pk) }, changed, NEVER_ABORTED);
}

/** An account whose deposit has failed for a day. */
async function openWithFailedDeposit(order: typeof DEMO): Promise<string> {
  const { body } = await open(order, randomUUID());
  const opened = (await operators.items('operations')).find(
    ({ life }) => (life as { login?: unknown } | undefined)?.login === body.login,
  );
  const id = String(opened?.operation_id);
  await change(id, 'SET life.unpaid = :true, due_shard = :shard, due_at = :at REMOVE expires_at', {
    ':true': true,
    ':shard': 'due#0',
    ':at': OPERATOR_ONLY,
  });
  return id;
}

beforeEach(async () => {
  for (const { operation_id } of await listed()) await change(String(operation_id), 'REMOVE due_shard, due_at');
});

describe('npm run ops -- operations --open', () => {
  it('lists unfinished operations and their missing steps', async () => {
    const { id } = await openWithLostAnswer();
    const { code, out } = await operators.local('operations', '--open');
    expect(code).toBe(0);
    expect(out).toMatch(/^ID +USER +CONNECTION +GROUP +LOGIN +WHAT IS MISSING\n/);
    expect(out).toMatch(
      new RegExp(`${id} +CLIENT01 +tp4-live-1 +standard +whether it was opened: an operator decides`),
    );
    expect((await listed()).map(({ operation_id }) => operation_id)).toEqual([id]);
  });

  it('lists hundreds of operations once each, the oldest first, and those for an operator last', async () => {
    const { id } = await openWithLostAnswer();
    const [one = expect.fail()] = (await operators.items('operations')).filter(
      ({ operation_id }) => operation_id === id,
    );
    const began = Date.now() - 250 * 60_000;
    const copies = Array.from({ length: 250 }, (_, minute) => {
      const operation_id = randomUUID();
      const due_at = minute % 50 === 0 ? OPERATOR_ONLY : began + minute * 60_000;
      return { ...one, pk: `operation#${operation_id}`, due_shard: `due#${minute % 4}`, due_at, operation_id };
    });
    // Not in the order in which they are due.
    for (const copy of copies.toReversed()) await stored().put(copy, NEVER_ABORTED);
    const wanted = copies.toSorted((a, b) => a.due_at - b.due_at).map(({ operation_id }) => operation_id);
    const ids = (await listed()).map(({ operation_id }) => String(operation_id)).filter((listedId) => listedId !== id);
    expect(ids).toHaveLength(250);
    expect(ids.slice(0, 245)).toEqual(wanted.slice(0, 245));
    expect(new Set(ids.slice(245))).toEqual(new Set(wanted.slice(245)));
    const rows = (await operators.local('operations', '--open')).out.trimEnd().split('\n');
    expect(rows).toHaveLength(1 + 251);
    for (const { pk } of copies) await stored().delete({ pk }, NEVER_ABORTED);
  });
});

describe('npm run ops -- operation', () => {
  it('shows the operation, the account on the server and the possible commands, and no secret', async () => {
    const { id } = await openWithLostAnswer();
    const { code, out } = await operators.local('operation', id);
    expect(code).toBe(0);
    for (const words of [`"operation_id": "${id}"`, '"group": "standard"', 'it cannot say', '--login N', '--none'])
      expect(out).toContain(words);
    expect(out).not.toMatch(/nonce|fingerprint|lease/);
  });

  it('shows an operation that has ended, and one that waits for a retry', async () => {
    const order = { connection_id: 'tp5-live-1', group: 'real\\standard', leverage: 100 };
    const { body } = await open(order, randomUUID());
    const ended = (await operators.items('operations')).find(
      ({ life }) => (life as { login?: unknown } | undefined)?.login === body.login,
    );
    const id = String(ended?.operation_id);
    const shown = await operators.local('operation', id);
    expect(shown.out).toContain(`The server: the account ${body.login} was opened.\nIt has ended.\n`);
    await change(id, 'SET life = :sent', { ':sent': { at: 'sent', login: body.login, commands: 'many' } });
    const waiting = await operators.local('operation', id);
    expect(waiting.out).toMatch(/The server: it has the account .*\nIt waits for a retry with the same key/);
    expect(waiting.out).not.toContain('due_at');
    await change(id, 'SET life = :claimed', { ':claimed': { at: 'claimed' } });
    const claimed = await operators.local('operation', id);
    expect(claimed.out).toMatch(/nothing was sent to it\.\nIt waits for a retry .*, which sends the first command/);
  });
});

it('An operation that a restore has lost is found by its record and its reservation', async () => {
  const order = { connection_id: 'tp5-live-1', group: 'real\\standard', leverage: 100 };
  const { body } = await open(order, randomUUID());
  const item = (await operators.items('operations')).find(
    ({ life }) => (life as { login?: unknown } | undefined)?.login === body.login,
  );
  await stored().delete({ pk: String(item?.pk) }, NEVER_ABORTED);
  const { code, reported } = await operators.local('settle', String(item?.operation_id), '--none');
  expect(code).toBe(1);
  expect(reported).toContain(`it has opened the account ${body.login} of the client CLIENT01`);
  expect(reported).toContain(`The login ${body.login} is reserved for it`);
});

describe('npm run ops -- settle', () => {
  it('by the login that was found writes the record, and a retry is answered with it', async () => {
    const { id, retry } = await openWithLostAnswer();
    const [account = expect.fail()] = operators.service.platforms.get('tp4-live-1')?.accounts().slice(-1) ?? [];
    expect((await operators.local('settle', id, '--login', String(account.login))).out).toBe(
      `The operation ${id} is settled.\n`,
    );
    expect(await operators.items('accounts')).toContainEqual(
      expect.objectContaining({ operation_id: id, login: account.login, user_id: 'CLIENT01', group: 'standard' }),
    );
    const { status, body } = await retry();
    expect([status, body.login]).toEqual([200, account.login]);
    expect(await listed()).toEqual([]);
  });

  it('by the login leaves the deposit of an account that was found to the settler, which pays nothing', async () => {
    const id = await openWithFailedDeposit({ ...DEMO, account_type_id: 'ATLIVE05' });
    const item = (await operators.items('operations')).find(({ operation_id }) => operation_id === id) ?? {};
    const { login } = item.life as { login: number };
    const plan = { ...(item.plan as object), deposit: 100 };
    const undecided = { ...item, life: { at: 'undecided', login }, plan, since: Date.now() };
    await stored().put(undecided, NEVER_ABORTED);
    expect(await operators.local('settle', id, '--login', String(login))).toMatchObject({ code: 0, reported: '' });
    expect(await listed()).toMatchObject([{ operation_id: id, life: { at: 'open', login, deposit: 'found' } }]);
  });

  it('as none frees the key', async () => {
    const { id, key, retry } = await openWithLostAnswer();
    expect((await retry()).status).toBe(409);
    expect((await operators.local('settle', id, '--none')).code).toBe(0);
    expect(await listed()).toEqual([]);
    // The plug-in counts the same operation as one visitor, who must wait.
    expect((await open({ ...PLUG_IN, leverage: 200 }, key)).status).toBe(200);
  });

  it('as another client’s login reserves it for no operation, and a retry gets the next login', async () => {
    const order = { connection_id: 'tp5-live-1', group: 'real\\standard', leverage: 100 };
    const key = randomUUID();
    operators.service.faults('tp5-live-1').set({ kind: 'retcode', code: 3004, times: 1 });
    const { body } = await open(order, key);
    expect(body).toMatchObject({ type: 'account_outcome_unknown', detail: expect.stringContaining('operator') });
    const id = String(body.operation_id);
    const [one = expect.fail()] = await listed();
    const { login = 0 } = one.life as { login?: number };
    const settle = (...how: string[]) => operators.local('settle', id, ...how);
    expect((await settle('--foreign', String(login))).reported).toMatch(
      /^Nothing was settled. The server: it has no account/,
    );
    operators.service.platforms.get('tp5-live-1')?.populate({ group: 'real\\standard', from: login, count: 1 });
    expect((await settle('--none')).reported).toMatch(/^Nothing was settled. The server: it has the account/);
    expect(await settle('--foreign', String(login))).toMatchObject({ code: 0, reported: '' });
    const retried = await open(order, key);
    expect(retried.status).toBe(200);
    expect(retried.body.login).not.toBe(login);
  });

  it('refuses a login that another operation has, and does not change the operation', async () => {
    const { body } = await open(PLUG_IN, randomUUID());
    const { id, retry } = await openWithLostAnswer();
    const { code, reported } = await operators.local('settle', id, '--login', String(body.login));
    expect([code, reported]).toEqual([
      1,
      `The login ${body.login} belongs to another operation; nothing was settled.\n`,
    ]);
    expect(await listed()).toHaveLength(1);
    expect((await retry()).status).toBe(409);
  });

  it('that could not be written says so, and leaves the operation on the list', async () => {
    const { id } = await openWithLostAnswer();
    const faults = operators.service.faults('dynamodb');
    // After the lease it reads the client's accounts of both versions.
    faults.onCall = async ({ name }) => {
      if (name === 'UpdateItem') faults.set({ kind: 'refused', times: 9, after: 2 });
    };
    const { code, reported } = await operators.local('settle', id, '--none');
    faults.onCall = () => undefined;
    faults.clear();
    expect([code, reported]).toEqual([1, 'It could not be written. Repeat the command in a minute.\n']);
    expect(await listed()).toMatchObject([{ operation_id: id, life: { at: 'undecided' } }]);
  });

  it('that was written, although every answer of the database was lost, is not taken back', async () => {
    const { id } = await openWithLostAnswer();
    const [account = expect.fail()] = operators.service.platforms.get('tp4-live-1')?.accounts().slice(-1) ?? [];
    const faults = operators.service.faults('dynamodb');
    faults.onCall = async ({ name, fault }) => {
      if (name === 'UpdateItem' && fault === undefined) faults.set({ kind: 'reply_lost', times: 10, after: 2 });
    };
    const { reported } = await operators.local('settle', id, '--login', String(account.login));
    faults.onCall = () => undefined;
    faults.clear();
    expect(reported).toBe('It could not be written. Repeat the command in a minute.\n');
    expect(await listed()).toMatchObject([{ operation_id: id, life: { at: 'open', login: account.login } }]);
  });

  it('by the login leaves a record that could not be written to the settler', async () => {
    const { id } = await openWithLostAnswer();
    const [account = expect.fail()] = operators.service.platforms.get('tp4-live-1')?.accounts().slice(-1) ?? [];
    const faults = operators.service.faults('dynamodb');
    faults.onCall = async ({ name, fault }) => {
      // After the lease it reads the client's accounts of both versions. Then state and record are one transaction; without
      // the record the state is written alone, and the record after it.
      if (name === 'UpdateItem') faults.set({ kind: 'refused', times: 1, after: 2 });
      if (name === 'TransactWriteItems' && fault !== undefined) faults.set({ kind: 'refused', times: 1, after: 1 });
    };
    expect((await operators.local('settle', id, '--login', String(account.login))).code).toBe(0);
    faults.onCall = () => undefined;
    faults.clear();
    const [one = expect.fail()] = await listed();
    expect(one).toMatchObject({ operation_id: id, life: { at: 'open', recorded: false } });
    expect(Date.parse(String(one.due_at))).toBeLessThan(Date.now() + 120_000);
  });

  it('with a deposit that exists removes the account from the list', async () => {
    const id = await openWithFailedDeposit(DEMO);
    expect((await operators.local('operations', '--open')).out).toContain('the deposit: an operator pays');
    expect(await operators.local('settle', id, '--deposit')).toMatchObject({ code: 0, reported: '' });
    expect(await listed()).toEqual([]);
  });

  it('with a deposit leaves an account on the list that is empty', async () => {
    const id = await openWithFailedDeposit({ ...DEMO, account_type_id: 'ATLIVE05' });
    const { code, reported } = await operators.local('settle', id, '--deposit');
    expect([code, reported]).toEqual([1, expect.stringMatching(/^The account \d+ is empty: make the deposit/m)]);
    expect(await listed()).toHaveLength(1);
  });

  it('changes no operation that another worker holds', async () => {
    const { id } = await openWithLostAnswer();
    await change(id, 'SET lease_until = :soon', { ':soon': Date.now() + 60_000 });
    expect(await operators.local('settle', id, '--none')).toMatchObject({
      code: 1,
      reported: 'Another worker holds it now; try again in a minute.\n',
    });
    await change(id, 'SET lease_until = :past', { ':past': 0 });
  });

  it.each([
    [[], 'Say what was found: --login N, --foreign N, --none or --deposit.'],
    [['--none', '--deposit'], 'Say what was found: --login N, --foreign N, --none or --deposit.'],
    [['--login', 'x'], '--login takes the login of the account.'],
    [['--deposit'], 'Nothing was settled.'],
  ])('called with %j says why it does nothing', async (options, words) => {
    const { id } = await openWithLostAnswer();
    const { code, reported } = await operators.local('settle', id, ...options);
    expect(code).toBeGreaterThan(0);
    expect(reported).toContain(words);
    expect(await listed()).toHaveLength(1);
  });
});
