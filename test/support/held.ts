import type { Faults } from '../../infra/local/faults.ts';

/** Calls that a fault makes slow or late wait until they are released, with any duration of the test. */
export function held(faults: Faults): { letGo(): void } {
  const { promise, resolve } = Promise.withResolvers<void>();
  faults.pause = () => promise;
  return { letGo: resolve };
}
