import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { Benchmark, BenchmarkRun, Figure } from './figures.ts';
import type { RegistrationPrivacy } from './registration-privacy.ts';

const SCRIPT = fileURLToPath(new URL('registration-privacy.ts', import.meta.url));

export const privacy: Benchmark = {
  name: 'privacy',
  about:
    'The time of a registration with a client’s address beside that with a stranger’s, in pairs, over HTTP, with the ' +
    'password hash and without it. "Slower" is the share of pairs in which the client’s takes longer: 50 % tells nothing.',
  run,
};

/** In a process of its own, because it needs another local service than the other benchmarks. */
async function run({ quick }: BenchmarkRun): Promise<Figure[]> {
  const args = [SCRIPT, '--json', ...(quick ? ['--quick'] : [])];
  const { stdout } = await promisify(execFile)(process.execPath, args, { maxBuffer: 10_000_000 });
  const { times } = JSON.parse(stdout) as RegistrationPrivacy;
  return times.flatMap(({ what, client, stranger, ratio, share, pairs }): Figure[] => {
    const only = (value: number) => ({ median: value, low: value, high: value, runs: pairs });
    return [
      { what, unit: 'ms', ours: only(client), base: { of: 'a stranger', ...only(stranger) }, ratio: only(ratio) },
      { what: `${what}: slower`, unit: '%', ours: only(share * 100) },
    ];
  });
}
