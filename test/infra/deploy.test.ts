import { execFileSync, spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Template } from 'aws-cdk-lib/assertions';
import { describe, expect, it } from 'vitest';
import { markRelease } from '../../infra/constructs/deployed-release.ts';
import { deploy } from '../../infra/deploy.ts';
import { cdkJsonOf } from '../support/operators.ts';
import { inBareApp, propertiesOf, type resourcesOfType, synthesize } from '../support/stack.ts';

const ROOT = new URL('../..', import.meta.url);

/** An account with one stack, and a `cdk` that leaves the stack in this state. */
async function deployed(status: string | undefined, code: number, args: string[] = [], context: object = {}) {
  const calls: string[] = [];
  const ended = await deploy(args, cdkJsonOf({ senderAddress: 'no-reply@acme.example', ...context }), {
    cdk: async (words) => {
      calls.push(`cdk ${words.join(' ')}`);
      return code;
    },
    status: async () => status,
    protect: async (stack) => void calls.push(`protect ${stack}`),
    report: () => {},
  });
  return { ended, calls };
}

describe('npm run deploy', () => {
  it('protects the stack from deletion after its first success', async () => {
    const { ended, calls } = await deployed('CREATE_COMPLETE', 0);
    expect(calls).toEqual(['cdk deploy', 'protect broker-api-prod']);
    expect(ended).toBe(0);
  });

  it.each(['ROLLBACK_COMPLETE', 'ROLLBACK_FAILED', 'CREATE_FAILED', 'REVIEW_IN_PROGRESS', undefined])(
    'leaves a first deployment that failed (%s) unprotected, so that the next one can replace it',
    async (status) => {
      const { ended, calls } = await deployed(status, 1);
      expect([calls, ended]).toEqual([['cdk deploy'], 1]);
    },
  );

  it.each(['UPDATE_ROLLBACK_COMPLETE', 'UPDATE_ROLLBACK_FAILED', 'UPDATE_COMPLETE'])(
    'protects the stack again after an update that failed (%s)',
    async (status) => {
      const { ended, calls } = await deployed(status, 1);
      expect([calls, ended]).toEqual([['cdk deploy', 'protect broker-api-prod'], 1]);
    },
  );

  it('deploys the stage of the command line, and protects no stage whose data is not retained', async () => {
    const { calls } = await deployed('CREATE_COMPLETE', 0, ['-c', 'stage=test', '--context', 'brand.name=Acme']);
    expect(calls).toEqual(['cdk deploy -c stage=test --context brand.name=Acme', 'protect broker-api-test']);
    expect((await deployed('CREATE_COMPLETE', 0, ['-c', 'retainData=false'])).calls).toHaveLength(1);
    expect((await deployed('CREATE_COMPLETE', 0, [], { retainData: false })).calls).toHaveLength(1);
  });
});

describe('A first deployment that fails', () => {
  it('can be deleted: the stack itself asks for no protection', () => {
    for (const retainData of [true, false])
      expect(inBareApp({ retainData }, (stack) => stack.terminationProtection)).not.toBe(true);
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
  const out = mkdtempSync(join(tmpdir(), 'app-'));
  execFileSync(process.execPath, ['infra/app.ts'], {
    cwd: ROOT.pathname,
    env: { PATH: process.env.PATH, CDK_OUTDIR: out, CDK_CONTEXT_JSON: AS_CDK, ...WITHOUT_RULES },
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
    inBareApp({ release }, (stack) => {
      markRelease(stack, '1.2.3', '0123456789ab');
      const template = Template.fromStack(stack);
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

/** Runs the script of a step with `shell: bash`, as GitHub does, and with a fake npx. */
function run(step: string, npx: string): number | null {
  const folder = mkdtempSync(join(tmpdir(), 'step-'));
  writeFileSync(join(folder, 'npx'), `#!/bin/sh\n${npx}\n`);
  chmodSync(join(folder, 'npx'), 0o755);
  const [, script = ''] = /run: (.+)/.exec(step) ?? [];
  const env = { PATH: `${folder}:${process.env.PATH}` };
  return spawnSync('bash', ['--noprofile', '--norc', '-eo', 'pipefail', '-c', script], { cwd: folder, env }).status;
}

it('The workflow fails if the difference to production is unknown', () => {
  const steps = readFileSync(new URL('.github/workflows/deploy.yml', ROOT), 'utf8').split(/^ {6}- /m);
  const diff = steps.find((step) => step.includes('cdk diff')) ?? '';
  // Without it, a pipe hides the failure of its first command.
  expect(diff).toMatch(/^ +shell: bash$/m);
  expect(run(diff, 'echo There were no differences')).toBe(0);
  expect(run(diff, 'echo AccessDenied; exit 1')).toBe(1);
});
