import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, inject, it, vi } from 'vitest';
import type { Fault } from '../../infra/local/faults.ts';
import { type AccountAnswer, type AccountCall, accountBody } from '../support/account-calls.ts';
import { CONNECTIONS, type ConnectionId } from '../support/account-connections.ts';
import type { AccountWorld } from '../support/account-world.ts';
import { bundleInto } from '../support/bundles.ts';
import { marksOf, placesOf, placesOfMarks } from '../support/secret-search.ts';
import { newClient, WorldPool } from '../support/world-pool.ts';

/** Longer than the lease of a function that was killed, by a second. */
const LEASE_OVER_MS = 31_000;

vi.setConfig({ maxConcurrency: 20, testTimeout: 300_000 });

let pool: WorldPool;
beforeAll(async () => {
  const bundles = await bundleInto(inject('bundles'));
  pool = new WorldPool(CASES.length, { bundles, settleSeconds: 2 });
});
afterAll(async () => {
  await pool.close();
});

/** Until it is neither being worked on nor unknown for the moment; @returns the last answer and how many there were */
async function persist(world: AccountWorld, call: AccountCall): Promise<{ answer: AccountAnswer; tries: number }> {
  for (let tries = 1; ; tries += 1) {
    const answer = await world.ask(call);
    const waits = answer.status === 504 || answer.body.type === 'request_in_progress';
    if (!waits || tries === 40) return { answer, tries };
    await sleep(Math.min(1_000, Number(answer.headers['retry-after']) * 1_000));
  }
}

interface Case {
  on: ConnectionId;
  more?: Record<string, unknown>;
  /** It is killed when so many calls to the database or commands to the platform have come in. */
  at: { database: number } | { platform: number };
  fault?: Partial<Fault> & Pick<Fault, 'kind'>;
  ends: number;
  accounts: number;
}

const CASES: [string, Case][] = [
  ['before its claim is answered', { on: 'tp5-live', at: { database: 2 }, ends: 200, accounts: 1 }],
  ['while it notes that it will send', { on: 'tp5-live', at: { database: 3 }, ends: 200, accounts: 1 }],
  ['after the opening has arrived', { on: 'tp5-live', at: { platform: 1 }, ends: 200, accounts: 1 }],
  [
    'while a slow server has not opened the account yet, which it does when nobody waits any more',
    { on: 'tp5-live', at: { platform: 1 }, fault: { kind: 'slow', ms: 1_000 }, ends: 200, accounts: 1 },
  ],
  [
    'while a silent server will never open the account',
    { on: 'tp5-live', at: { platform: 1 }, fault: { kind: 'silence' }, ends: 200, accounts: 1 },
  ],
  ['while the account is being recorded', { on: 'tp5-live', at: { database: 4 }, ends: 200, accounts: 1 }],
  ['while its end is being written', { on: 'tp5-live', at: { database: 5 }, ends: 200, accounts: 1 }],
  ['while it makes the deposit', { on: 'tp5-demo', at: { platform: 2 }, ends: 200, accounts: 1 }],
  [
    'while a gateway opens a login of its own',
    {
      on: 'gw-live',
      more: { login: 900_001 },
      at: { platform: 1 },
      fault: { kind: 'slow', ms: 1_000 },
      ends: 200,
      accounts: 1,
    },
  ],
  [
    'while a gateway opens a login of the connection’s own',
    { on: 'gw-range', at: { platform: 1 }, fault: { kind: 'slow', ms: 1_000 }, ends: 200, accounts: 1 },
  ],
  [
    'while a server that will never open the account was asked for a login of the connection’s own',
    { on: 'tp5-range', at: { platform: 1 }, fault: { kind: 'silence' }, ends: 200, accounts: 1 },
  ],
  [
    'while a gateway, which cannot be asked, opens a login of the server’s',
    { on: 'gw-live', at: { platform: 1 }, fault: { kind: 'slow', ms: 500 }, ends: 409, accounts: 1 },
  ],
  [
    'while the registration plug-in, which cannot be asked, opens it',
    { on: 'reg-live', at: { platform: 1 }, fault: { kind: 'slow', ms: 500 }, ends: 409, accounts: 1 },
  ],
];

describe.concurrent('A function that is killed', () => {
  it.each(CASES)('%s leaves a request that ends well: at most one account', (_, one) =>
    pool.use(async (world) => {
      const { on, more, at, fault, ends, accounts } = one;
      const server = world.servers[CONNECTIONS[on].server];
      await world.addClients([{ id: 'CLIENT01', email: 'annegret@mailbox.example', name: 'Annegret Leewarden' }]);
      // Two environments, so that the retry need not wait for one.
      const warm = await Promise.all([1, 2].map(() => world.ask({ body: accountBody(on) })));
      for (const { status } of warm) expect(status).toBe(200);

      const { id, email } = await newClient(world);
      const call = { userId: id, body: accountBody(on, more), key: `key-${id}` };
      const [calls, commands] = [world.database.calls.length, server.commands];
      if (fault !== undefined) world.faults[CONNECTIONS[on].server].set({ times: 1, ...fault });
      const pending = world.send(call);
      const reached = () =>
        'database' in at
          ? world.database.calls.slice(calls).filter(({ repeated }) => repeated !== true).length >= at.database
          : server.commands - commands >= at.platform;
      let over = false;
      pending.outcome.then(() => {
        over = true;
      });
      while (!reached() && !over) await sleep(1);
      await pending.kill();
      expect((await pending.outcome).kind).toBe('killed');

      // A client that does not wait is told to, unless the kill came so late that the account's login was noted.
      const isOpen = server.accounts().some((account) => account.email === email);
      const hasty = await world.ask(call);
      if (!isOpen || hasty.status !== 200) expect(hasty.body.type).toBe('request_in_progress');
      await world.clock.pass(LEASE_OVER_MS);
      const { answer } = await persist(world, call);
      expect(answer.status).toBe(ends);
      if (ends === 409) expect(answer.body.type).toBe('account_outcome_unknown');
      const opened = server.accounts().filter((account) => account.email === email);
      expect(opened).toHaveLength(accounts);
      if (ends !== 200) return;
      const { login, master_password, investor_password } = answer.body;
      expect(opened[0]).toMatchObject({ login, balance: on === 'tp5-demo' ? 10_000 : 0 });
      expect(server.access(Number(login), String(master_password))).toBe('master');
      expect(server.access(Number(login), String(investor_password))).toBe('investor');
      expect((await world.ask(call)).body).toEqual(answer.body);
      expect(await world.records(id)).toHaveLength(1);
    }),
  );
});

describe('The search for passwords', () => {
  it.each([
    ['as it is', (text: string) => text],
    ['in JSON', (text: string) => JSON.stringify({ text })],
    ['in JSON in JSON', (text: string) => JSON.stringify(JSON.stringify({ text }))],
    ['in an address', (text: string) => `?q=${encodeURIComponent(text)}`],
    ['in base64', (text: string) => Buffer.from(text).toString('base64')],
    ['in base64 of more', (text: string) => Buffer.from(`{"a":"${text}"}`).toString('base64')],
    ['in base64url of more', (text: string) => Buffer.from(`"${text}" and`).toString('base64url')],
    ['in hexadecimal', (text: string) => Buffer.from(text).toString('hex')],
    ['in HTML', (text: string) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;')],
  ])('finds one %s', (_, write) => {
    const password = 'a"b\\c<d&e=1A';
    const texts = { here: `before ${write(password)} after`, there: 'before and after' };
    expect(placesOf(['another', password], texts)).toEqual(['here']);
  });
});

describe('The search for clients’ data', () => {
  const client = {
    name: 'Ignatius Pérezmarín',
    email: 'somebody.else@mailbox.example',
    phone: { country_code: '44', number: '07400 123456' },
  };

  it.each([
    'Ignatius',
    'IGNATIUS',
    'pérezmarín,',
    'Perezmarin',
    'P\\u00e9rezmar\\u00edn',
    encodeURIComponent('Pérezmarín'),
    Buffer.from('Mr Ignatius P.').toString('base64'),
    Buffer.from('Ignatius').toString('hex').toUpperCase(),
    'somebody.else',
    'somebody.else=mailbox.example',
    'Somebody.Else%40',
    'nobody at mailbox.example',
    '+447400123456',
    '07400123456',
    '+44 (0) 7400/123-456',
    Buffer.from('+447400123456').toString('base64url'),
  ])('finds a client in %s', (written) => {
    const texts = { here: `{"step":"before ${written} after"}`, there: '{"step":"before and after"}' };
    expect(placesOfMarks(marksOf(client), texts)).toEqual(['here']);
  });

  it('finds none in times, ids and numbers that stand side by side', () => {
    const text = '{"at":"2026-07-27T21:07:40.012Z","login":3456,"id":"74001234-5600-4000-8000-740012345600"}';
    expect(placesOfMarks(marksOf(client), { here: text })).toEqual([]);
  });

  it.each([{ name: 'Ann Lee' }, { email: 'ann@mailbox.example' }, { phone: { country_code: '44', number: '0123' } }])(
    'refuses what is too short to be found: %j',
    (short) => {
      expect(() => marksOf({ ...client, ...short })).toThrow('too short');
    },
  );
});
