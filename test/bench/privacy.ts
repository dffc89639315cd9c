import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { ConfirmationPrivacy } from './confirmation-privacy.ts';
import { type Benchmark, type Figure, figure } from './figures.ts';
import type { RegistrationPrivacy } from './registration-privacy.ts';
import type { Telling } from './telling.ts';

export const privacy: Benchmark = {
  name: 'privacy',
  about:
    'In 20 pairs, which show a difference of a fifth; the two scripts by themselves take 150. The time of a registration with a client’s address beside that with a stranger’s, in pairs, over HTTP, with a ' +
    'captcha and behind a proxy, with the password hash and without it; and of refused confirmations, beside that of a wrong code for a stranger’s address. ' +
    '"Slower" is the share of pairs in which the first takes longer: 50 % tells nothing.',
  async run() {
    const { times } = await figuresOf<RegistrationPrivacy>('registration-privacy.ts');
    const confirming = await figuresOf<ConfirmationPrivacy>('confirmation-privacy.ts');
    return [
      ...times.flatMap(ofTimes),
      figure('confirming: answers, by their bytes', 'kinds', [confirming.answers], { of: 'ours', most: 1 }),
      figure('confirming: database calls, in their order', 'kinds', [confirming.calls], { of: 'ours', most: 1 }),
      ...confirming.times.flatMap(ofTimes),
    ];
  },
};

/** In a process of its own, because it needs another local service than the other benchmarks. */
async function figuresOf<T>(script: string): Promise<T> {
  const args = [fileURLToPath(new URL(script, import.meta.url)), '--json', '--quick'];
  const { stdout } = await promisify(execFile)(process.execPath, args, { maxBuffer: 10_000_000 });
  return JSON.parse(stdout) as T;
}

function ofTimes({ what, ours, base, of, ratio, share, pairs }: Telling): Figure[] {
  const only = (value: number) => ({ median: value, low: value, high: value, runs: pairs });
  return [
    { what, unit: 'ms', ours: only(ours), base: { of, ...only(base) }, ratio: only(ratio) },
    { what: `${what}: slower`, unit: '%', ours: only(share * 100) },
  ];
}
