import type { Faults } from '../../infra/local/faults.ts';

/** Slow and late calls wait until they are released, however long the test takes. */
export function holdSlowCalls(faults: Faults): { letGo(): void } {
  const { promise, resolve } = Promise.withResolvers<void>();
  faults.pause = () => promise;
  return { letGo: resolve };
}
