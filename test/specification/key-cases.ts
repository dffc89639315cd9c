import { expect } from 'vitest';
import { bodyOf, call, newKey, newSource } from './caller.ts';
import { type Case, decided, meets, whileWrong } from './cases.ts';
import { checkFaults, checkProblem } from './checks.ts';
import { accepted } from './promises.ts';
import { type Change, OPERATIONS, type Operation } from './table.ts';
import type { Section } from './walk.ts';

/** The last call of each operation, and its good answer. */
const TARGETS = { registration: 'ses', tp5: 'tp5-live', tp4: 'tp4-gateway' } as const;
const SUCCESS = { registration: 204, tp5: 200, tp4: 200 } as const;

function answeredAgain(operation: Operation): Case[] {
  const success = SUCCESS[operation];
  return [
    decided(`${operation}: the same key and body are answered again, and nothing is done twice`, async (world) => {
      const change = { operation, headers: newKey(), body: bodyOf({ operation }) };
      const source = newSource();
      world.service.outbox.clear();
      const first = await call(world, change, { source });
      const again = await call(world, change, { source });
      expect([first.status, again.status, again.text]).toEqual([success, success, first.text]);
      expect([first, again].map(({ headers }) => headers.get('idempotent-replayed'))).toEqual([null, 'true']);
      expect(world.service.outbox.list()).toHaveLength(operation === 'registration' ? 1 : 0);
    }),
    decided(
      `${operation}: a key is the same in quotes, and belongs to one caller: on the open route to an address`,
      async (world) => {
        const { 'idempotency-key': key } = newKey();
        const body = bodyOf({ operation });
        const source = newSource();
        await call(world, { operation, body, headers: { 'idempotency-key': key } }, { source });
        const quoted = await call(world, { operation, body, headers: { 'idempotency-key': `"${key}"` } }, { source });
        expect(quoted.headers.get('idempotent-replayed')).toBe('true');
        const other = await call(world, {
          operation,
          body: bodyOf({ operation }),
          headers: { 'idempotency-key': key },
        });
        // The account routes identify the caller by the authorizer, not the address.
        const again = operation === 'registration' ? null : 'true';
        expect([other.status, other.headers.get('idempotent-replayed')]).toEqual([success, again]);
      },
    ),
  ];
}

function workedOnAnew(operation: Operation): Case[] {
  return [
    meets(
      { operation, says: 'a key with another body', status: 422, type: 'idempotency_key_reused' },
      async (world) => {
        const headers = newKey();
        const source = newSource();
        const body = bodyOf({ operation });
        await call(world, { operation, headers, body }, { source });
        const other = operation === 'registration' ? { name: 'Another' } : { leverage: 200 };
        const answer = await call(world, { operation, headers, body: { ...body, ...other } }, { source });
        checkProblem(answer, 422, 'idempotency_key_reused');
      },
    ),
    decided(`${operation}: after a failure that did nothing, the same key is worked on anew`, async (world) => {
      const change = { operation, headers: newKey(), body: bodyOf({ operation }) };
      const source = newSource();
      const failed = await whileWrong(world, TARGETS[operation], { kind: 'throttled', times: 1 }, () =>
        call(world, change, { source }),
      );
      expect(failed.status).toBeGreaterThanOrEqual(502);
      const again = await call(world, change, { source });
      expect([again.status, again.headers.get('idempotent-replayed')]).toEqual([SUCCESS[operation], null]);
    }),
  ];
}

/** The second request comes during the last call of the first one. */
function workedOn(operation: Operation): Case {
  const error = { operation, says: 'a key that is worked on', status: 409, type: 'request_in_progress' } as const;
  return meets(error, async (world) => {
    const change = { operation, headers: newKey(), body: bodyOf({ operation }) };
    const source = newSource();
    const target = TARGETS[operation];
    await whileWrong(world, target, { kind: 'slow', ms: 1_500, times: 1 }, async () => {
      const first = call(world, change, { source });
      await expect.poll(() => world.service.faults(target).list()).toEqual([]);
      const second = await call(world, change, { source });
      checkProblem(second, 409, 'request_in_progress');
      expect(Number(second.headers.get('retry-after'))).toBeGreaterThan(0);
      expect((await first).status).toBe(SUCCESS[operation]);
      expect((await call(world, change, { source })).text).toBe((await first).text);
    });
  });
}

/** `test/lib/validators/headers.test.ts` has all spellings. */
function spellings(operation: Operation): Case[] {
  return [
    decided(`${operation}: a key of two words is refused with format at Idempotency-Key`, async (world) => {
      const answer = await call(world, { operation, headers: { 'idempotency-key': 'two words' } });
      checkFaults(answer, [{ header: 'Idempotency-Key', rule: 'format' }]);
    }),
    decided(`${operation}: a key of 255 characters is accepted`, (world) =>
      accepted(world, { operation, headers: { 'idempotency-key': 'x'.repeat(255) } }),
    ),
  ];
}

const FOUND_AGAIN = decided('tp5: after an answer that was lost, the account is found and told', async (world) => {
  const change: Change = { operation: 'tp5', headers: newKey() };
  const source = newSource();
  const accounts = () => world.service.platforms.get('tp5-live')?.accounts().length ?? 0;
  const before = accounts();
  const first = await whileWrong(world, 'tp5-live', { kind: 'reply_lost', times: 1 }, () =>
    call(world, change, { source }),
  );
  const again = await call(world, change, { source });
  expect([first.status, again.status, again.text]).toEqual([200, 200, first.text]);
  expect(accounts()).toBe(before + 1);
});

export const KEY_SECTIONS: readonly Section[] = [
  {
    title: 'Idempotency-Key, where the specification is silent',
    cases: [
      ...OPERATIONS.flatMap((operation) => [
        ...answeredAgain(operation),
        ...workedOnAnew(operation),
        ...spellings(operation),
      ]),
      FOUND_AGAIN,
    ],
  },
  { title: 'Idempotency-Key, of a request that is worked on', concurrent: true, cases: OPERATIONS.map(workedOn) },
];
