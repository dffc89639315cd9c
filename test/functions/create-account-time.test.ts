import { afterAll, beforeAll, describe, expect, inject, it, vi } from 'vitest';
import type { Fault } from '../../infra/local/faults.ts';
import { Turns } from '../../infra/local/turns.ts';
import { accountBody } from '../support/account-calls.ts';
import type { ConnectionId } from '../support/account-connections.ts';
import type { AccountWorld } from '../support/account-world.ts';
import { bundleInto } from '../support/bundles.ts';
import { WorldPool } from '../support/world-pool.ts';

/**
 * The times as they are deployed: the function has 29 seconds, the settling time is a minute. Everything here waits, so
 * all of it waits side by side.
 */

const CLIENT = { id: 'CLIENT01', email: 'annegret@mailbox.example', name: 'Annegret Leewarden' };
const ANSWER_SECONDS = 25;

interface Case {
  faults: Partial<Record<keyof AccountWorld['faults'], Omit<Fault, 'times'> & { times?: number }>>;
  cold?: boolean;
  more?: Record<string, unknown>;
  /** The status of the answer of each connection, which all are called at once. */
  answers: Partial<Record<ConnectionId, number>>;
  /** The least that it takes, in seconds. */
  least?: number;
}

const FOR_EVER = 1_000;
const hanging = { kind: 'slow', ms: 60_000, times: FOR_EVER } as const;
/** The SDK's clients wait for three seconds. */
const barelyAnswering = { kind: 'slow', ms: 2_700, times: FOR_EVER } as const;
const slowly = { kind: 'slow', ms: 12_000 } as const;
const silent = { kind: 'silence', times: FOR_EVER } as const;
const notices = { send_email: true, send_pop_up: true };

const CASES: [string, Case][] = [
  [
    'servers that take twelve seconds, beside a slow database, have opened their accounts',
    {
      faults: {
        tp5: slowly,
        reg: slowly,
        gw: slowly,
        dynamodb: { kind: 'slow', ms: 1_500, times: FOR_EVER },
      },
      answers: { 'tp5-live': 200, 'reg-live': 200, 'gw-live': 200 },
      least: 12,
    },
  ],
  [
    'servers that keep silent leave the outcome unknown',
    {
      faults: { tp5: silent, reg: silent, gw: silent },
      answers: { 'tp5-live': 504, 'reg-live': 504, 'gw-live': 504 },
      least: 14,
    },
  ],
  [
    'a server that keeps silent beside a database that barely answers leaves the outcome unknown',
    { faults: { tp5: silent, dynamodb: barelyAnswering }, answers: { 'tp5-live': 504 } },
  ],
  [
    'an opening that was dropped by a server which drops every look-up leaves the outcome unknown',
    { faults: { tp5: { kind: 'session_dropped', times: FOR_EVER } }, answers: { 'tp5-live': 504 } },
  ],
  [
    'a deposit that hangs after an opening of twelve seconds, and notices that hang then, change nothing',
    {
      faults: { tp5: { ...slowly, times: 2 }, ses: hanging, sns: hanging },
      more: notices,
      answers: { 'tp5-demo': 200 },
      least: 20,
    },
  ],
  [
    'a deposit that was dropped changes nothing',
    { faults: { tp5: { kind: 'session_dropped', after: 1 } }, answers: { 'tp5-demo': 200 } },
  ],
  [
    'notices that hang change nothing',
    { faults: { ses: hanging, sns: hanging }, more: notices, answers: { 'tp5-live': 200 }, least: 10 },
  ],
  [
    'a database that hangs from the start is an error of ours',
    { faults: { dynamodb: hanging }, answers: { 'tp5-live': 500 } },
  ],
  [
    'a database that hangs from the note before the sending on is an error of ours',
    { faults: { dynamodb: { ...hanging, after: 2 } }, answers: { 'tp5-live': 500 } },
  ],
  [
    'a database that hangs once the account is open, after twelve seconds, changes nothing',
    { faults: { tp5: slowly, dynamodb: { ...hanging, after: 3 } }, answers: { 'tp5-live': 200 }, least: 12 },
  ],
  [
    'secrets that hang are an error of ours',
    { faults: { secrets: hanging }, cold: true, answers: { 'tp5-live': 500 } },
  ],
  [
    'a platform’s secret that hangs makes it unavailable',
    { faults: { secrets: { ...hanging, after: 1 } }, cold: true, answers: { 'tp5-live': 503 } },
  ],
];

vi.setConfig({ maxConcurrency: CASES.length, testTimeout: 90_000 });

let pool: WorldPool;
beforeAll(async () => {
  const bundles = await bundleInto(inject('bundles'));
  pool = new WorldPool(CASES.length, { bundles, settleSeconds: 60, clients: [CLIENT] });
});
afterAll(async () => {
  await pool.close();
});

/** One function is loaded after the other, so that the times are those of the waiting. */
const loading = new Turns(1);

describe.concurrent(`Within ${ANSWER_SECONDS} seconds`, () => {
  it.each(CASES)('%s', (_, { faults, cold, more, answers, least = 0 }) =>
    pool.use(async (world) => {
      const connections = Object.keys(answers) as ConnectionId[];
      await loading.take(async () => {
        // All at once, so that each has an environment of its own.
        const warm = await Promise.all(connections.map((on) => world.ask({ body: accountBody(on) })));
        for (const { status } of warm) expect(status).toBe(200);
        if (cold === true) await world.environments.retire();
      });
      for (const [target, fault] of Object.entries(faults)) {
        world.faults[target as keyof typeof faults].set({ times: 1, ...fault });
      }

      const began = performance.now();
      const asked = connections.map(async (on) => {
        const { status, body } = await world.ask({ body: accountBody(on, more), key: `key-${on}` });
        const seconds = (performance.now() - began) / 1_000;
        expect(status).toBe(answers[on]);
        if (status === 504) expect(body.type).toBe('account_outcome_unknown');
        expect(seconds).toBeGreaterThanOrEqual(least);
        expect(seconds).toBeLessThan(ANSWER_SECONDS);
      });
      await Promise.all(asked);
    }),
  );
});
