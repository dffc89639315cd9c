import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, inject, it, vi } from 'vitest';
import { type Fault, STEP_FAULT_KINDS } from '../../infra/local/faults.ts';
import { RETCODES } from '../../infra/local/platforms/web-api-retcodes.ts';
import { type AccountAnswer, accountBody } from '../support/account-calls.ts';
import type { AccountWorld } from '../support/account-world.ts';
import { bundleInto } from '../support/bundles.ts';
import { newClient, WorldPool } from '../support/world-pool.ts';

/**
 * Every kind of fault at each step before the first command of a tp5 session: no account is opened, the answer is one
 * of the contract's and comes in time, the next request works by itself, and the same one again opens one account.
 */

/** The function stops working four seconds before its end: so a silent server costs a test four seconds. */
const MS = 8_000;
const WORLDS = 4;

vi.setConfig({ maxConcurrency: WORLDS });

let pool: WorldPool;
beforeAll(async () => {
  const bundles = await bundleInto(inject('bundles'));
  pool = new WorldPool(WORLDS, { bundles });
});
afterAll(async () => {
  await pool.close();
});

const OPENED = '200';
const UNAVAILABLE = '503 platform_unavailable';
const REFUSED = '502 platform_refused';

const wordOf = ({ status, body }: AccountAnswer) => (status === 200 ? OPENED : `${status} ${body.type}`);

type StepFault = Omit<Fault, 'times'>;

/** What an opening comes to whose session cannot be opened as it should. */
function outcomeOf({ kind, step, code, ms = 0 }: StepFault): string {
  if (kind === 'slow') return ms < MS ? OPENED : UNAVAILABLE;
  // Something is there, but it does not speak TLS; or it does not take our proof.
  if (kind === 'refused' || (kind === 'garbage' && step === 'tls')) return REFUSED;
  if (kind === 'retcode' && !PASSING.includes(code ?? 0)) return REFUSED;
  return UNAVAILABLE;
}
/** Codes of a server that may be well again soon. To be told that it is done, and no more, is no authentication. */
const PASSING = [0, 1, 2, 5, 6, 7, 9, 10, 11, 12, 14, 15, 16, 17, 1018];

async function walk(world: AccountWorld, fault: StepFault, begin: (world: AccountWorld) => Promise<void>) {
  const { tp5 } = world.servers;
  const client = await newClient(world);
  const call = { userId: client.id, body: accountBody('tp5-live'), key: `key-${client.id}`, ms: MS };
  const accounts = () => tp5.accounts().filter(({ email }) => email === client.email);
  const other = await newClient(world);
  await begin(world);
  world.faults.tp5.set({ times: 1, ...fault });

  const expected = outcomeOf(fault);
  // An answer that is not the contract's throws, and so does one that is not in time.
  const first = await world.ask(call);
  expect(wordOf(first)).toBe(expected);
  expect(world.faults.tp5.list()).toEqual([]);
  expect(accounts()).toHaveLength(expected === OPENED ? 1 : 0);
  if (expected === UNAVAILABLE) expect(Number(first.headers['retry-after'])).toBeGreaterThan(0);

  expect(wordOf(await world.ask({ userId: other.id, body: accountBody('tp5-live') }))).toBe(OPENED);

  let again = await world.ask(call);
  for (let tries = 0; tries < 12 && wordOf(again) === '409 request_in_progress'; tries += 1) {
    await sleep(Math.min(1_000, Number(again.headers['retry-after']) * 1_000));
    again = await world.ask(call);
  }
  expect(wordOf(again)).toBe(OPENED);
  if (expected === OPENED) expect(again.body).toEqual(first.body);
  const { login, master_password, investor_password } = again.body;
  expect(accounts().map((account) => account.login)).toEqual([login]);
  expect(tp5.access(Number(login), String(master_password))).toBe('master');
  expect(tp5.access(Number(login), String(investor_password))).toBe('investor');
  warm.add(world);
}

/** Worlds in which a function has a session: whoever was asked last has left one. */
const warm = new WeakSet<AccountWorld>();

/** Without a session, and with nothing that was read before. */
async function cold({ environments }: AccountWorld): Promise<void> {
  await environments.retire();
}

/** With a session that the server has forgotten: the opening is on its way when a new one is needed. */
async function forgotten(world: AccountWorld): Promise<void> {
  if (!warm.has(world)) {
    const { id } = await newClient(world);
    await world.ask({ userId: id, body: accountBody('tp5-live') });
  }
  world.servers.tp5.forgetSessions();
}

const PLACES = [
  { place: 'instead of TLS', step: 'tls' },
  { place: 'at auth/start', step: 'authentication' },
  { place: 'at auth/answer', step: 'authentication', after: 1 },
] as const;

/** What a kind needs beside its name. */
const DETAILS: Partial<Record<Fault['kind'], Partial<Fault>[]>> = {
  slow: [{ ms: 400 }, { ms: 30_000 }],
  retcode: [{ code: 1001 }],
};

const CASES = PLACES.flatMap(({ place, ...at }) =>
  STEP_FAULT_KINDS[at.step].flatMap((kind) =>
    (DETAILS[kind] ?? [{}]).map((more): [string, string, StepFault] => {
      const fault = { kind, ...at, ...more };
      return [[kind, ...Object.values(more), place].join(' '), outcomeOf(fault), fault];
    }),
  ),
);

describe.concurrent.each([
  ['no session stands', cold],
  ['the server has forgotten the session', forgotten],
] as const)('when %s', (_, begin) => {
  it.each(CASES)('%s: %s, and the next request works', (_title, _outcome, fault) =>
    pool.use((world) => walk(world, fault, begin)),
  );
});

describe.concurrent('an authentication answered with the return code', () => {
  it.each(Object.entries(RETCODES))('%s, %s, opens nothing, and the next request works', (code) =>
    pool.use((world) => walk(world, { kind: 'retcode', code: Number(code), step: 'authentication' }, forgotten)),
  );
});
