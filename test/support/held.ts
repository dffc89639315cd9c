import type { Faults } from '../../infra/local/faults.ts';

/** Whatever a fault makes slow or late waits until it is let go, however long the rest of the test takes. */
export function held(faults: Faults): { letGo(): void } {
  const { promise, resolve } = Promise.withResolvers<void>();
  faults.pause = () => promise;
  return { letGo: resolve };
}
