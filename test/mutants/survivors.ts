import type { Mutant } from './mutate.ts';

/** A mutant that no test notices, and why that is right. */
export interface Survivor extends Pick<Mutant, 'path' | 'text' | 'change'> {
  reason: string;
}

/** Not a list of gaps: a mutant that shows a missing test gets the test. */
export const SURVIVORS: readonly Survivor[] = [
  {
    path: 'lib/aws/secrets.ts',
    text: 'maxAttempts: 3,',
    change: 'maxAttempts: 3, → nothing',
    reason: 'The SDK tries three times by default, too.',
  },
];

export function isListed({ path, text, change }: Mutant): boolean {
  return SURVIVORS.some((one) => one.path === path && one.text === text && one.change === change);
}
