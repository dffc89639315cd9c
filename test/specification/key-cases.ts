import { expect } from 'vitest';
import { newSource } from '../support/gateway-events.ts';
import { bodyOf, newKey, sendRequest } from './caller.ts';
import { type Case, decided, meets, type Section, withFault } from './cases.ts';
import { checkProblem } from './checks.ts';
import { OPERATIONS, type Operation } from './table.ts';

/** The last call of each operation, and its good answer. */
const TARGETS = { registration: 'ses', tp5: 'tp5-live', tp4: 'tp4-gateway' } as const;
const SUCCESS = { registration: 204, tp5: 200, tp4: 200 } as const;

/**
 * The tests of key records, registrations and the ledger show the meaning of a key. These cases show that each
 * operation uses it.
 */
function repeated(operation: Operation): Case[] {
  return [
    decided(`${operation}: the same key and body are answered again, and nothing is done twice`, async (world) => {
      const change = { operation, headers: newKey(), body: bodyOf({ operation }) };
      const source = newSource();
      world.service.outbox.clear();
      const first = await sendRequest(world, change, { source });
      const again = await sendRequest(world, change, { source });
      expect([first.status, again.status, again.text]).toEqual([SUCCESS[operation], SUCCESS[operation], first.text]);
      expect([first, again].map(({ headers }) => headers.get('idempotent-replayed'))).toEqual([null, 'true']);
      expect(again.headers.get('registration-id')).toBe(first.headers.get('registration-id'));
      expect(world.service.outbox.list()).toHaveLength(operation === 'registration' ? 1 : 0);
    }),
    meets({ operation, says: 'a key with another body', answer: '422 idempotency_key_reused' }, async (world) => {
      const headers = newKey();
      const source = newSource();
      const body = bodyOf({ operation });
      await sendRequest(world, { operation, headers, body }, { source });
      const other = operation === 'registration' ? { name: 'Another' } : { leverage: 200 };
      const answer = await sendRequest(world, { operation, headers, body: { ...body, ...other } }, { source });
      checkProblem(answer, '422 idempotency_key_reused');
    }),
  ];
}

/** The second request comes during the last call of the first one. */
function workedOn(operation: Operation): Case {
  const error = { operation, says: 'a key that is worked on', answer: '409 request_in_progress' } as const;
  return meets(error, async (world) => {
    const change = { operation, headers: newKey(), body: bodyOf({ operation }) };
    const source = newSource();
    const target = TARGETS[operation];
    await withFault(world, target, { kind: 'slow', ms: 1_500, times: 1 }, async () => {
      const first = sendRequest(world, change, { source });
      await expect.poll(() => world.service.faults(target).list()).toEqual([]);
      const second = await sendRequest(world, change, { source });
      checkProblem(second, '409 request_in_progress');
      expect(Number(second.headers.get('retry-after'))).toBeGreaterThan(0);
      expect((await first).status).toBe(SUCCESS[operation]);
      expect((await sendRequest(world, change, { source })).text).toBe((await first).text);
    });
  });
}

export const KEY_SECTIONS: readonly Section[] = [
  { title: 'Idempotency-Key, where the specification is silent', cases: OPERATIONS.flatMap(repeated) },
  { title: 'Idempotency-Key, of a request that is worked on', concurrent: true, cases: OPERATIONS.map(workedOn) },
];
