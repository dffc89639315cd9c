import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Operation } from '../../../lib/records/operations.ts';
import { fresh, newScope, operationsWorlds, signal } from '../../support/operations-world.ts';
import { runs } from '../../support/runs.ts';

const world = operationsWorlds();

describe('However many workers race for one key', () => {
  it('exactly one of them works on it', async () => {
    const { operations } = world();
    const scope = newScope();
    const claims = await Promise.all(Array.from({ length: 20 }, () => operations.claim(scope, ['f'], 1_000, signal())));
    expect(claims.filter(({ kind }) => kind === 'fresh')).toHaveLength(1);
    expect(claims.filter(({ kind }) => kind === 'in_progress')).toHaveLength(19);
  });

  it('exactly one of them settles what a dead one left', async () => {
    const { operations, clock } = world();
    const scope = newScope();
    await operations.markSent(await fresh(operations, scope), {}, signal());
    clock.now += 1_001;
    const claims = await Promise.all(Array.from({ length: 20 }, () => operations.claim(scope, ['f'], 1_000, signal())));
    expect(claims.filter(({ kind }) => kind === 'undecided')).toHaveLength(1);
  });

  it('never two of them may send between two certain failures, whatever they do and whenever they die', async () => {
    const step = fc.record({
      worker: fc.nat(2),
      does: fc.constantFrom('claim', 'send', 'finish', 'release', 'time passes'),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 25 }), async (steps) => {
        const { operations, clock } = world();
        const scope = newScope();
        const held = new Map<number, { operation: Operation; mayOpen: boolean }>();
        // How many accounts could exist that no one has looked for.
        let opened = 0;
        for (const { worker, does } of steps) {
          const mine = held.get(worker);
          if (does === 'time passes') clock.now += 1_001;
          if (does === 'claim' && mine === undefined) {
            const claim = await operations.claim(scope, ['f'], 1_000, signal());
            if (claim.kind === 'fresh') {
              expect(opened).toBe(0);
              held.set(worker, { operation: claim.operation, mayOpen: true });
            }
            // Who settles finds the account of the one that died, and must not open.
            if (claim.kind === 'undecided') held.set(worker, { operation: claim.operation, mayOpen: false });
            if (claim.kind === 'finished') expect(opened).toBe(1);
          }
          if (mine === undefined || does === 'claim' || does === 'time passes') continue;
          held.delete(worker);
          try {
            if (does === 'send' && mine.mayOpen) {
              await operations.markSent(mine.operation, {}, signal());
              opened += 1;
              held.set(worker, { ...mine, mayOpen: false });
            }
            if (does === 'finish' && opened === 1) await operations.finish(mine.operation, signal());
            if (does === 'release' && mine.mayOpen) await operations.release(mine.operation, signal());
          } catch {
            // The lease was lost: nothing was sent.
          }
          expect(opened).toBeLessThanOrEqual(1);
        }
      }),
      runs(15),
    );
  });
});
