import { spawnSync } from 'node:child_process';
import { chmodSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { temporaryFolder } from '../support/temporary-folder.ts';

const ROOT = new URL('../..', import.meta.url);
const WORKFLOWS = new URL('.github/workflows/', ROOT);
const workflowText = (name: string) => readFileSync(new URL(name, WORKFLOWS), 'utf8');

/** The jobs of the workflow that deploys, each with its text; a job may have the steps of another. */
function deployJobs(): Record<string, string> {
  const [, text = ''] = workflowText('deploy.yml').split(/^jobs:$/m);
  const parts = text.split(/^ {2}(\w+):$/m).slice(1);
  const jobs = Object.fromEntries(parts.flatMap((part, at) => (at % 2 === 0 ? [[part, parts[at + 1] ?? '']] : [])));
  const steps = /steps: &deployment\n([\s\S]*)/.exec(jobs.test ?? '')?.[1] ?? '';
  return { ...jobs, production: `${jobs.production ?? ''}${steps}` };
}

/** Runs the script of a step with `shell: bash`, as GitHub does, and with a fake node. */
function run(step: string, node: string): number | null {
  const folder = temporaryFolder('step');
  writeFileSync(join(folder, 'node'), `#!/bin/sh\n${node}\n`);
  chmodSync(join(folder, 'node'), 0o755);
  const [, script = ''] = /run: (.+)/.exec(step) ?? [];
  const env = { PATH: `${folder}:${process.env.PATH}` };
  return spawnSync('bash', ['--noprofile', '--norc', '-eo', 'pipefail', '-c', script], { cwd: folder, env }).status;
}

describe('The workflow that deploys', () => {
  const jobs = deployJobs();
  const signingIn = Object.keys(jobs).filter((name) => jobs[name]?.includes('id-token: write'));
  const commands = (name: string) => [...(jobs[name] ?? '').matchAll(/ run: (.+)/g)].map(([, script = '']) => script);

  it('builds and tests where nothing can sign in', () => {
    expect(Object.keys(jobs)).toEqual(['build', 'diff', 'test', 'production']);
    expect(signingIn).toEqual(['diff', 'test', 'production']);
    const [before = ''] = workflowText('deploy.yml').split(/^jobs:$/m);
    expect(before).toMatch(/^permissions:\n {2}contents: read\n\n/m);
    expect(jobs.build).not.toMatch(/id-token|role-to-assume|environment:/);
    expect(commands('build')).toContain('.ci/run');
  });

  it('signs in where no script of a package runs, and deploys what was built', () => {
    const scripts = signingIn.map((name) => commands(name).filter((one) => one !== '|'));
    const deployment = [
      'npm ci --ignore-scripts',
      'node infra/deploy.ts --app "cdk.out/$STACK" --require-approval never',
    ];
    const diff = [
      'npm ci --ignore-scripts',
      expect.stringMatching(/^node node_modules\/aws-cdk\/bin\/cdk diff .*--app /),
    ];
    expect(scripts).toEqual([diff, deployment, deployment]);
    for (const name of signingIn) {
      expect(jobs[name]).toContain('actions/download-artifact@');
      expect(jobs[name]).not.toContain('cache:');
    }
    expect(jobs.diff).toMatch(/ref: '\$\{\{ github\.base_ref \}\}'/);
  });

  it('fails if the difference to production is unknown', () => {
    const diff = (jobs.diff ?? '').split(/^ {6}- /m).find((step) => step.includes('cdk diff')) ?? '';
    // Without it, a pipe hides the failure of its first command.
    expect(diff).toMatch(/^ +shell: bash$/m);
    expect(run(diff, 'echo There were no differences')).toBe(0);
    expect(run(diff, 'echo AccessDenied; exit 1')).toBe(1);
  });
});

it('No workflow leaves the credentials of its checkout to the scripts of packages', () => {
  const steps = readdirSync(WORKFLOWS).flatMap((name) => workflowText(name).split(/^ +- /m));
  const checkouts = steps.filter((step) => step.includes('actions/checkout@'));
  expect(checkouts.length).toBeGreaterThan(3);
  expect(checkouts.filter((step) => !step.includes('persist-credentials: false'))).toEqual([]);
});

it('Every workflow names its actions by a hash, and one asks for advisories each week', () => {
  const names = readdirSync(WORKFLOWS);
  const used = names.flatMap((name) => [...workflowText(name).matchAll(/uses: (\S+)/g)].map(([, action]) => action));
  expect(used.length).toBeGreaterThan(5);
  expect(used.filter((action) => !/^[\w-]+\/[\w-]+@[0-9a-f]{40}$/.test(action ?? ''))).toEqual([]);
  const asking = names.filter((name) => workflowText(name).includes('npm audit --omit=dev --audit-level=high'));
  expect(asking.map((name) => /- cron: .+ \d'/.test(workflowText(name)))).toEqual([true]);
});
