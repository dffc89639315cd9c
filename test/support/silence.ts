import type { Faults } from '../../infra/local/faults.ts';

const SILENCE = Symbol('silence');

/**
 * The answer of a simulated server to a command, if that answer begins before a later command on another connection is
 * answered.
 * @returns undefined if the server stays silent
 */
export async function answerBefore<T>(
  { faults }: { faults: Faults },
  command: () => Promise<T>,
  later: () => Promise<unknown>,
): Promise<T | undefined> {
  const asked = new Promise<void>((resolve) => {
    faults.onCall = async () => resolve();
  });
  const answer = command();
  // The test closes the connection at its end. Then the command fails.
  answer.catch(() => {});
  await asked;
  faults.onCall = () => undefined;
  await later();
  const first = await Promise.race([answer, SILENCE]);
  return first === SILENCE ? undefined : (first as T);
}
