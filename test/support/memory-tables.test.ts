import fc from 'fast-check';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Item } from '../../lib/aws/dynamodb.ts';
import { OTP_TYPES } from '../../lib/validators/otp-types.ts';
import { scanItems, type TestDatabase, testDatabase } from './database.ts';
import type { MemoryTable } from './memory-tables.ts';
import { forever } from './outcomes.ts';
import { DAY, MINUTE, RegistrationScene } from './registration-scene.ts';
import { runs } from './runs.ts';
import { faultySteps } from './step-faults.ts';

const STEPS = ['update key', 'update key 2', 'put registration', 'update address', 'update registration', 'send'];
/** Requests and confirmations of a few people, keys, codes and passwords, in which steps may go wrong. */
const histories = fc.array(
  fc.record({
    minutes: fc.constantFrom(0, 1, 5, 15, 60, 25 * 60),
    isConfirmation: fc.boolean(),
    by: fc.constantFrom(...OTP_TYPES),
    idempotencyKey: fc.option(fc.constantFrom('key-1', 'key-2'), { nil: undefined }),
    source: fc.constantFrom('203.0.113.7', '2001:db8:1:2::1', '2001:db8:1:3::1'),
    code: fc.constantFrom('012345', '111111', '222222'),
    password: fc.constantFrom('one password', 'other password'),
    at: fc.option(fc.constantFrom(...STEPS), { nil: undefined }),
    fault: fc.constantFrom('refused' as const, 'answer lost' as const),
  }),
  { minLength: 8, maxLength: 12 },
);

let database: TestDatabase;
beforeAll(async () => {
  database = await testDatabase(afterAll);
});

/** The tables of a scene, on dynalite. */
function dynaliteTables(): RegistrationScene['tables'] {
  const tables = Object.entries(database.tables).map(([name, table]) => [name, { ...table, items: new Map() }]);
  return Object.fromEntries(tables) as Record<keyof RegistrationScene['tables'], MemoryTable>;
}

/** Items without what is random, in one order. */
function comparable(items: Iterable<Item>): unknown[] {
  const random = /[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}|[\w-]{43}/g;
  const masked = [...items].map((item) => JSON.parse(JSON.stringify(item).replace(random, 'random')) as Item);
  return masked.map((item) => JSON.stringify(Object.entries(item).toSorted())).toSorted();
}

it('A table in memory evaluates every expression of a registration as dynalite does', async () => {
  await fc.assert(
    fc.asyncProperty(histories, async (history) => {
      const [memory, other] = [new RegistrationScene(), new RegistrationScene({ tables: dynaliteTables() })];
      const NAMES = ['limits', 'operations', 'registrations'] as const;
      for (const name of NAMES) {
        for (const { pk } of await scanItems(database.client, name))
          await database.tables[name].delete({ pk: String(pk) }, forever);
      }
      for (const item of memory.tables.crm.items.values()) await database.tables.crm.put(item, forever);
      for (const { minutes, isConfirmation, code, password, at, fault, ...asked } of history) {
        const answers = [memory, other].map(async (scene) => {
          const steps = faultySteps(at, fault);
          Object.assign(scene, { now: scene.now + minutes * MINUTE, code });
          const answer = isConfirmation
            ? await scene.confirm({ code, password, ...steps })
            : await scene.request({ ...asked, body: { password }, ...steps });
          return { answer, steps: scene.steps.toSorted() };
        });
        const [one, two] = await Promise.all(answers);
        expect(one).toEqual(two);
      }
      for (const name of NAMES) {
        expect(comparable(memory.tables[name].items.values())).toEqual(
          comparable(await scanItems(database.client, name)),
        );
      }
      memory.now += DAY;
      other.now += DAY;
      await Promise.all([memory.publishPending(), other.publishPending()]);
      expect(memory.published.length).toBe(other.published.length);
    }),
    { ...runs(2), endOnFailure: true },
  );
});
