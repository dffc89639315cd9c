import { spawnSync } from 'node:child_process';
import { chmodSync, globSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';

const ROOT = new URL('../..', import.meta.url);
const WORKFLOWS = globSync('.github/workflows/*.yml', { cwd: ROOT.pathname });

/** The steps of a workflow, as text. */
function steps(file: string): string[] {
  return readFileSync(new URL(file, ROOT), 'utf8')
    .split(/^ {6}- /m)
    .slice(1);
}

/** Runs the script of a step with `shell: bash`, as GitHub does, and with a fake npx. */
function run(step: string, npx: string): number | null {
  const folder = mkdtempSync(join(tmpdir(), 'step-'));
  writeFileSync(join(folder, 'npx'), `#!/bin/sh\n${npx}\n`);
  chmodSync(join(folder, 'npx'), 0o755);
  const [, script = ''] = /run: (.+)/.exec(step) ?? [];
  const env = { PATH: `${folder}:${process.env.PATH}` };
  return spawnSync('bash', ['--noprofile', '--norc', '-eo', 'pipefail', '-c', script], { cwd: folder, env }).status;
}

describe('The workflows', () => {
  it('set the shell if they pipe, or a failing command would be hidden', () => {
    const all = WORKFLOWS.flatMap(steps);
    const piping = all.filter((step) => /run: .+ \| /.test(step));
    expect(piping).toHaveLength(1);
    for (const step of piping) expect(step).toMatch(/^ +shell: bash$/m);
  });

  it('fail if the difference to production is unknown', () => {
    const [diff = ''] = steps('.github/workflows/deploy.yml').filter((step) => step.includes('cdk diff'));
    expect(run(diff, 'echo There were no differences')).toBe(0);
    expect(run(diff, 'echo AccessDenied; exit 1')).toBe(1);
  });
});
