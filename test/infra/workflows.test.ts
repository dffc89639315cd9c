import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';

const WORKFLOWS = new URL('../../.github/workflows/', import.meta.url);
const workflowText = (name: string) => readFileSync(new URL(name, WORKFLOWS), 'utf8');

/** The jobs of the workflow that deploys, each with its text; a job may have the steps of another. */
function deployJobs(): Record<string, string> {
  const [, text = ''] = workflowText('deploy.yml').split(/^jobs:$/m);
  const parts = text.split(/^ {2}(\w+):$/m).slice(1);
  const jobs = Object.fromEntries(parts.flatMap((part, at) => (at % 2 === 0 ? [[part, parts[at + 1] ?? '']] : [])));
  const steps = /steps: &deployment\n([\s\S]*)/.exec(jobs.test ?? '')?.[1] ?? '';
  return { ...jobs, production: `${jobs.production ?? ''}${steps}` };
}

describe('The workflow that deploys', () => {
  const jobs = deployJobs();
  const signingIn = ['diff', 'test', 'production'];
  const commands = (name: string) => [...(jobs[name] ?? '').matchAll(/ run: (.+)/g)].map(([, script = '']) => script);

  it('signs in only in the jobs that run CDK on the artefact', () => {
    expect(Object.keys(jobs)).toEqual(['tests', 'synthesize', ...signingIn]);
    expect(Object.keys(jobs).filter((name) => /id-token|role-to-assume/.test(jobs[name] ?? ''))).toEqual(signingIn);
    const deployment = 'node infra/deploy.ts --app "cdk.out/$STACK" --require-approval never';
    for (const name of ['test', 'production']) expect(commands(name)).toEqual(['npm ci --ignore-scripts', deployment]);
    // The command of main: a pull request cannot choose what signs in.
    expect(jobs.diff).toMatch(/ref: '\$\{\{ github\.base_ref \}\}'/);
  });

  it('tests in a job that hands nothing on, and makes the artefact in a fresh one without scripts of packages', () => {
    expect(commands('tests')).toEqual(['.ci/run']);
    expect(jobs.tests).not.toMatch(/upload-artifact|cache/);
    expect(commands('synthesize')[0]).toBe('npm ci --ignore-scripts');
    for (const name of ['synthesize', ...signingIn]) expect(jobs[name]).not.toContain('cache:');
  });
});

describe('Every workflow', () => {
  it('leaves no credentials of its checkout to the scripts of packages, and names its actions by a hash', () => {
    const steps = readdirSync(WORKFLOWS).flatMap((name) => workflowText(name).split(/^ +- /m));
    const checkouts = steps.filter((step) => step.includes('actions/checkout@'));
    expect(checkouts.length).toBeGreaterThan(3);
    expect(checkouts.filter((step) => !step.includes('persist-credentials: false'))).toEqual([]);
    const actions = steps.flatMap((step) => /uses: (\S+)/.exec(step)?.[1] ?? []);
    expect(actions.filter((action) => !/^[\w-]+\/[\w-]+@[0-9a-f]{40}$/.test(action))).toEqual([]);
  });

  it('is told of advisories and signatures each week', () => {
    const text = workflowText('advisories.yml');
    expect(text).toMatch(/- cron: .+ \d'/);
    for (const command of ['npm audit --omit=dev', 'npm audit --audit-level', 'npm audit signatures'])
      expect(text).toContain(`run: ${command}`);
  });
});
