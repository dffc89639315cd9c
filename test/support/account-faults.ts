import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, inject, it, vi } from 'vitest';
import type { Fault, FaultKind } from '../../infra/local/faults.ts';
import { type AccountAnswer, type AccountCall, accountBody } from './account-calls.ts';
import { CONNECTIONS, type ConnectionId } from './account-connections.ts';
import type { AccountWorld } from './account-world.ts';
import { bundleInto } from './bundles.ts';
import { newClient, WorldPool } from './world-pool.ts';

/** The function stops working four seconds before its end: so a silent server costs a test two seconds. */
const MS = 6_000;
const COLD_MS = 8_000;
/** Faults that leave nobody waiting. */
const ANSWERED: readonly FaultKind[] = ['throttled', 'refused', 'down', 'retcode'];
/** Longer by far than what a slow server of these cases is late: the machine may be busy. */
const SETTLE_SECONDS = 2;
const WORLDS = 6;
const CLIENT = { id: 'CLIENT01', email: 'annegret@mailbox.example', name: 'Annegret Leewarden' };

/** Status and type of an answer; several where the clock decides, and a busy machine with it. */
export type Expected = string | string[];

export interface Case {
  on: ConnectionId;
  more?: Record<string, unknown>;
  target: keyof AccountWorld['faults'];
  fault: Omit<Fault, 'times'> & { times?: number };
  /** Without a session, and without secrets that were read before. */
  cold?: boolean;
  /** The operation may be left under its lease, which a retry waits for: it lasts as long as the function's time. */
  leased?: boolean;
  first: Expected;
  /** How many accounts the client has after the first answer. */
  accounts?: number | undefined;
  /** The answer to a retry with the same key; 200 where absent. */
  retry?: Expected;
  /** What may be on the account in the end: the deposit, or nothing, which is told. */
  balance?: readonly number[];
}

export const DEPOSIT = 10_000;

export const OPENED = '200';
export const UNAVAILABLE = '503 platform_unavailable';
export const REFUSED = '502 platform_refused';
export const UNKNOWN = '504 account_outcome_unknown';
/** Settled within the request, if there is time. */
export const SOON = [OPENED, UNKNOWN];
export const UNSETTLED = '409 account_outcome_unknown';
export const INTERNAL = '500 internal_error';

const wordOf = ({ status, body }: AccountAnswer) => (status === 200 ? OPENED : `${status} ${body.type}`);
const among = (expected: Expected) => (Array.isArray(expected) ? expected : [expected]);

/** The connections to which a world's environment has a session that stands. */
const warm = new WeakMap<AccountWorld, Set<ConnectionId>>();

/**
 * Runs cases side by side, each in a world of its own: one fault at one step of an opening comes to the contract's answer
 * in time and to at most one account, and the next request works by itself.
 */
export function accountFaults(): (title: string, list: [string, Case][]) => void {
  vi.setConfig({ maxConcurrency: WORLDS });
  let pool: WorldPool;
  beforeAll(async () => {
    const bundles = await bundleInto(inject('bundles'));
    pool = new WorldPool(WORLDS, { bundles, settleSeconds: SETTLE_SECONDS, clients: [CLIENT] });
  });
  afterAll(async () => {
    await pool.close();
  });
  return (title, list) =>
    describe.concurrent(title, () => {
      it.each(list)('%s', (_, one) => pool.use((world) => walk(world, one)));
    });
}

/** One client's request, and what the server has of it. */
class Walk {
  readonly #world: AccountWorld;
  readonly #one: Case;
  readonly #client: { id: string; email: string };
  readonly call: AccountCall;

  constructor(world: AccountWorld, one: Case, client: { id: string; email: string }) {
    this.#world = world;
    this.#one = one;
    this.#client = client;
    this.call = { userId: client.id, body: accountBody(one.on, one.more), key: `key-${client.id}` };
  }

  get #server() {
    return this.#world.servers[CONNECTIONS[this.#one.on].server];
  }

  accounts() {
    return this.#server.accounts().filter(({ email }) => email === this.#client.email);
  }

  /** Whether operators were told that the deposit is missing. */
  #isTold(): boolean {
    const { log } = this.#world.environments;
    return log.some((line) => line.includes('DepositFailed') && line.includes(this.#client.id));
  }

  /** @throws Error when the function's time is over before it answers */
  async ask(): Promise<AccountAnswer> {
    const { fault, cold, leased } = this.#one;
    const isBrief = fault.kind === 'slow' && (fault.ms ?? 0) < 1_000;
    // Only who waits for nothing, or for a lease, needs an end of the function's time, which a busy machine would reach first.
    if (isBrief || (ANSWERED.includes(fault.kind) && leased !== true)) return this.#world.ask(this.call);
    return this.#world.ask({ ...this.call, ms: cold === true ? COLD_MS : MS });
  }

  /** As a client does that waits when it is told to. */
  async askAgain(): Promise<AccountAnswer> {
    for (let requests = 1; ; requests += 1) {
      const answer = await this.#world.ask(this.call);
      if (requests > 12 || !['409 request_in_progress', UNKNOWN].includes(wordOf(answer))) return answer;
      await sleep(Math.min(1_000, Number(answer.headers['retry-after']) * 1_000));
    }
  }

  async checkOpened({ body }: AccountAnswer): Promise<void> {
    const { login, master_password, investor_password } = body;
    expect(this.#server.access(Number(login), String(master_password))).toBe('master');
    expect(this.#server.access(Number(login), String(investor_password))).toBe('investor');
    const records = await this.#world.records(this.#client.id);
    expect(records.map((record) => record.login)).toEqual([login]);
  }

  /** The deposit is there once, or its lack is told. */
  async checkDeposit({ body }: AccountAnswer, expected: readonly number[]): Promise<void> {
    const balance = () => this.accounts()[0]?.balance;
    for (let requests = 0; requests < 12 && balance() !== DEPOSIT && !this.#isTold(); requests += 1) {
      await sleep(500);
      expect((await this.#world.ask(this.call)).body).toEqual(body);
    }
    expect(expected).toContain(balance());
    expect(this.#isTold()).toBe(balance() !== DEPOSIT);
  }
}

async function walk(world: AccountWorld, one: Case): Promise<void> {
  const { on, target, fault, retry = OPENED } = one;
  const { login: _, ...rest } = one.more ?? {};
  const next = { body: accountBody(on, rest) };
  const client = await newClient(world);
  const own = new Walk(world, one, client);

  // Whatever the case before has left behind, this begins with a session that stands, or with none.
  if (!warm.get(world)?.has(on)) expect(wordOf(await world.ask(next))).toBe(OPENED);
  warm.delete(world);
  if (one.cold === true) await world.environments.retire();
  world.faults[target].set({ times: 1, ...fault });

  const first = await own.ask();
  expect(among(one.first)).toContain(wordOf(first));
  checkHeaders(first, retry);
  if (one.accounts !== undefined) expect(own.accounts()).toHaveLength(one.accounts);
  expect(own.accounts().length).toBeLessThanOrEqual(1);

  // By itself: a refusal or a silence uses its fault up, a short outage too. Of secrets, one or two are read before the answer.
  if (one.cold === true) world.faults[target].clear();
  expect(wordOf(await world.ask(next))).toBe(OPENED);
  warm.set(world, new Set([on]));

  const last = await own.askAgain();
  expect(among(retry)).toContain(wordOf(last));
  expect(own.accounts().length).toBeLessThanOrEqual(1);
  if (among(retry).includes(OPENED)) expect(own.accounts()).toHaveLength(1);
  if (last.status !== 200) return;
  if (first.status === 200) expect(last.body).toEqual(first.body);
  await own.checkOpened(last);
  if (one.balance !== undefined) await own.checkDeposit(last, one.balance);
}

/** Whether a caller is told when to come back, where that may help. */
function checkHeaders(answer: AccountAnswer, retry: Expected): void {
  const word = wordOf(answer);
  if (word === UNKNOWN) expect(answer.body.operation_id).toMatch(/^[0-9a-f-]{36}$/);
  if (word === UNAVAILABLE || (word === UNKNOWN && retry !== UNSETTLED)) {
    expect(Number(answer.headers['retry-after'])).toBeGreaterThan(0);
  } else if (word === UNKNOWN) {
    expect(answer.headers['retry-after']).toBeUndefined();
  }
}
