import { execFileSync, spawnSync } from 'node:child_process';
import { chmodSync, existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Template as SynthesizedTemplate } from 'aws-cdk-lib/assertions';
import { describe, expect, it } from 'vitest';
import { markRelease } from '../../infra/constructs/deployed-release.ts';
import { deploy } from '../../infra/deploy.ts';
import type { Template } from '../../infra/stored-resources.ts';
import { cdkJsonOf } from '../support/operators.ts';
import { propertiesOf, type resourcesOfType, synthesize, withOwnStack } from '../support/stack.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const ROOT = new URL('../..', import.meta.url);

interface Account {
  /** The state of the stack before and after. */
  status: string | undefined;
  /** The exit code of `cdk deploy`. */
  code?: number;
  args?: string[];
  context?: object;
  /** The templates of the deployed stack and of the new one. */
  before?: Template;
  after?: Template;
}

/** An account with one stack, and a `cdk` that leaves the stack in this state. */
async function deployed({ status, code = 0, args = [], context = {}, before = {}, after = PROTECTED }: Account) {
  const calls: string[] = [];
  const written: Template[] = [];
  let report = '';
  const ended = await deploy(args, cdkJsonOf({ senderAddress: 'no-reply@acme.example', ...context }), {
    cdk: async (words) => {
      calls.push(`cdk ${words.join(' ')}`);
      return words[0] === 'synth' ? 0 : code;
    },
    synthesized: async (folder) => ({ name: `broker-api-${folder === 'cdk.out' ? 'prod' : folder}`, template: after }),
    status: async () => status,
    deployed: async () => before,
    write: async (_, template) => void written.push(template),
    protect: async (stack) => void calls.push(`protect ${stack}`),
    report: (text) => {
      report += text;
    },
  });
  return { ended, calls, written, report };
}

/** A stack with the setting `retainData`. */
const PROTECTED: Template = {
  Resources: { CrmTable: { Type: 'AWS::DynamoDB::Table', Properties: { DeletionProtectionEnabled: true } } },
};
const SYNTH = 'cdk synth --quiet --output cdk.out';
const DEPLOY = 'cdk deploy --app cdk.out';

/** The stack of today with so many indexes of the table of CRM records. */
function withIndexes(count: number): Template {
  const { Resources = {} } = synthesize().toJSON() as Template;
  const { CrmTable } = Resources;
  const Properties = { ...CrmTable?.Properties };
  Properties.GlobalSecondaryIndexes = (Properties.GlobalSecondaryIndexes as object[]).slice(0, count);
  return { Resources: { ...Resources, CrmTable: { Type: CrmTable?.Type ?? '', Properties } } };
}

describe('npm run deploy', () => {
  it('protects the stack from deletion after its first success', async () => {
    const { ended, calls } = await deployed({ status: 'CREATE_COMPLETE' });
    expect(calls).toEqual([SYNTH, DEPLOY, 'protect broker-api-prod']);
    expect(ended).toBe(0);
  });

  it.each(['ROLLBACK_COMPLETE', 'ROLLBACK_FAILED', 'CREATE_FAILED', 'REVIEW_IN_PROGRESS', undefined])(
    'leaves a first deployment that failed (%s) unprotected, so that the next one can replace it',
    async (status) => {
      const { ended, calls } = await deployed({ status, code: 1 });
      expect([calls, ended]).toEqual([[SYNTH, DEPLOY], 1]);
    },
  );

  it.each(['UPDATE_ROLLBACK_COMPLETE', 'UPDATE_ROLLBACK_FAILED', 'UPDATE_COMPLETE'])(
    'protects the stack again after an update that failed (%s)',
    async (status) => {
      const { ended, calls } = await deployed({ status, code: 1 });
      expect([calls, ended]).toEqual([[SYNTH, DEPLOY, 'protect broker-api-prod'], 1]);
    },
  );

  it('builds with the settings of the command line, and protects no stage whose data is not retained', async () => {
    const args = ['-c', 'stage=test', '--require-approval', 'never', '--context', 'brand.name=Acme', '--context=vpc='];
    const { calls } = await deployed({ status: 'CREATE_COMPLETE', args, after: {} });
    expect(calls).toEqual([`${SYNTH} -c stage=test -c brand.name=Acme -c vpc=`, `${DEPLOY} --require-approval never`]);
  });

  it('deploys the output of an earlier cdk synth, and builds nothing', async () => {
    const { calls } = await deployed({
      status: 'UPDATE_COMPLETE',
      args: ['--app', 'test', '--require-approval', 'never'],
    });
    expect(calls).toEqual(['cdk deploy --app test --require-approval never', 'protect broker-api-test']);
  });

  it('refuses an update of several indexes of one table, and writes the steps in which it can be done', async () => {
    const [before, after] = [withIndexes(0), withIndexes(4)];
    const { ended, calls, written, report } = await deployed({ status: 'UPDATE_COMPLETE', before, after });
    expect([ended, calls]).toEqual([1, [SYNTH]]);
    const indexes = written.map((one) => one.Resources?.CrmTable?.Properties?.GlobalSecondaryIndexes);
    expect(indexes.map((some) => (some as object[]).length)).toEqual([1, 2, 3]);
    expect(report).toContain('CrmTable: one update changes one index of a table, not 4');
    expect(
      report.match(/aws cloudformation deploy --stack-name broker-api-prod --template-file cdk\.out\/step-/g),
    ).toHaveLength(3);
    // The last step is an update that is accepted.
    const last = await deployed({ status: 'UPDATE_COMPLETE', before: written[2] ?? {}, after });
    expect(last.calls).toEqual([SYNTH, DEPLOY, 'protect broker-api-prod']);
  });

  it('refuses an update that would leave data behind, also with a single index', async () => {
    const before = withIndexes(3);
    const after = withIndexes(4);
    const { CrmTable } = after.Resources ?? {};
    const renamed = {
      ...CrmTable,
      Type: 'AWS::DynamoDB::Table',
      Properties: { ...CrmTable?.Properties, TableName: 'x' },
    };
    const { ended, calls, written, report } = await deployed({
      ...{ status: 'UPDATE_COMPLETE', before },
      after: { Resources: { ...after.Resources, CrmTable: renamed } },
    });
    expect([ended, calls, written]).toEqual([1, [SYNTH], []]);
    expect(report).toContain('CrmTable: the update would put an empty resource in its place');
  });
});

describe('A first deployment that fails', () => {
  it('can be deleted: the stack itself asks for no protection', () => {
    for (const retainData of [true, false])
      expect(withOwnStack({ retainData }, (stack) => stack.terminationProtection)).not.toBe(true);
  });

  it('leaves no resource with a name that the next one needs', () => {
    const retained = Object.entries(synthesize().toJSON().Resources as ReturnType<typeof resourcesOfType>).filter(
      ([, { DeletionPolicy }]) => DeletionPolicy === 'Retain',
    );
    expect(retained.map(([id]) => id).filter((id) => !/CurrentVersion/.test(id))).toEqual([]);
  });
});

/** The command reports errors itself, except when it only lists environments to bootstrap. */
const AS_CDK = JSON.stringify({ '@aws-cdk/core:failSynthOnValidationErrors': false });
/** The rules of CloudFormation take seconds to load, and this stack has no resource that they check. */
const WITHOUT_RULES = { CDK_VALIDATION: 'false' };

it('Bootstrapping needs no setting: without one there is a stack that names the missing ones and cannot be deployed', () => {
  const out = temporaryFolder('app');
  const { PATH, NODE_COMPILE_CACHE } = process.env;
  execFileSync(process.execPath, ['infra/app.ts'], {
    cwd: ROOT.pathname,
    env: { PATH, NODE_COMPILE_CACHE, CDK_OUTDIR: out, CDK_CONTEXT_JSON: AS_CDK, ...WITHOUT_RULES },
    stdio: 'pipe',
  });
  const metadata = JSON.parse(readFileSync(join(out, 'settings-needed.metadata.json'), 'utf8')) as object;
  expect(Object.values(metadata).flat()).toContainEqual(
    expect.objectContaining({ type: 'aws:cdk:error', data: expect.stringContaining('senderAddress: is required') }),
  );
  expect(existsSync(join(out, 'broker-api-prod.template.json'))).toBe(false);
});

it.each(['all', 'canary'])(
  'The stack carries its version and commit as tags, and in a parameter whose history names those before: %s',
  (release) => {
    withOwnStack({ release }, (stack) => {
      markRelease(stack, '1.2.3', '0123456789ab');
      const template = SynthesizedTemplate.fromStack(stack);
      expect(propertiesOf(template, 'AWS::SSM::Parameter')).toMatchObject([
        {
          Name: '/broker-api-test/release',
          Value: '1.2.3 0123456789ab',
          Tags: { version: '1.2.3', commit: '0123456789ab' },
        },
      ]);
    });
  },
);

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
