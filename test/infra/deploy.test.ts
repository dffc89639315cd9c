import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { App } from 'aws-cdk-lib';
import { Template as SynthesizedTemplate } from 'aws-cdk-lib/assertions';
import { describe, expect, it } from 'vitest';
import { markRelease } from '../../infra/constructs/deployed-release.ts';
import { deploy } from '../../infra/deploy.ts';
import { linePrinter } from '../../infra/ops/terminal.ts';
import { cdkJsonOf } from '../support/operators.ts';
import { propertiesOf, type resourcesOfType, synthesize, withOwnStack } from '../support/stack.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const FOLDER = temporaryFolder('assembly');

interface Artifact {
  type: string;
  properties?: object;
}

/** Writes what `cdk synth` leaves in a folder, as far as a deployment reads it. @returns the folder */
function assembly(stack: string, given: { retains?: boolean; assets?: object; more?: Record<string, Artifact> } = {}) {
  const { retains = true, assets = { files: { one: { source: { path: 'asset.1' } } } }, more = {} } = given;
  const folder = join(FOLDER, stack);
  mkdirSync(folder, { recursive: true });
  const artifacts: Record<string, Artifact> = {
    [`${stack}.assets`]: { type: 'cdk:asset-manifest', properties: { file: 'assets.json' } },
    [stack]: { type: 'aws:cloudformation:stack', properties: { templateFile: 'template.json' } },
    Tree: { type: 'cdk:tree', properties: { file: 'tree.json' } },
    ...more,
  };
  const Resources = { CrmTable: { Properties: { DeletionProtectionEnabled: retains } } };
  for (const [name, content] of Object.entries({
    'manifest.json': { artifacts },
    'assets.json': assets,
    'template.json': { Resources },
  }))
    writeFileSync(join(folder, name), JSON.stringify(content));
  return folder;
}

/** An account with one stack. @param account the state of the stack afterwards, and the exit code of `cdk deploy` */
async function deployed(
  args: string[],
  { status, code = 0, output = assembly('broker-api-prod') }: { status?: string; code?: number; output?: string },
) {
  const calls: string[] = [];
  let report = '';
  const ended = await deploy(args, cdkJsonOf({ senderAddress: 'no-reply@acme.example' }), {
    output,
    cdk: async (words) => {
      calls.push(`cdk ${words.join(' ').replaceAll(`${FOLDER}/`, '')}`);
      return words[0] === 'synth' ? 0 : code;
    },
    status: async () => status,
    protect: async (stack) => void calls.push(`protect ${stack}`),
    report: linePrinter((text) => {
      report += text;
    }),
  });
  return { ended, calls, report };
}

const SYNTH = 'cdk synth --quiet --output broker-api-prod';
const DEPLOY = 'cdk deploy --app broker-api-prod';
const PROTECT = 'protect broker-api-prod';

describe('npm run deploy', () => {
  it('protects a stack that exists from deletion, and no first deployment that failed: the next one replaces that', async () => {
    const made = ['CREATE_COMPLETE', 'UPDATE_COMPLETE', 'UPDATE_ROLLBACK_COMPLETE', 'UPDATE_ROLLBACK_FAILED'];
    for (const status of made)
      expect(await deployed([], { status, code: 1 })).toMatchObject({ ended: 1, calls: [SYNTH, DEPLOY, PROTECT] });
    const failed = ['ROLLBACK_COMPLETE', 'ROLLBACK_FAILED', 'CREATE_FAILED', 'REVIEW_IN_PROGRESS', undefined];
    for (const status of failed)
      expect((await deployed([], { ...(status && { status }), code: 1 })).calls).toEqual([SYNTH, DEPLOY]);
  });

  it.each([
    ['-c', 'stage'],
    ['-c'],
    ['--context'],
    ['-c', '=test'],
    ['-c', 'senderName=Acme', '-cstage'],
    ['-a'],
    ['--app='],
  ])('deploys nothing when a value is missing: %s %s %s', async (...args) => {
    const steps = { status: 'UPDATE_COMPLETE' };
    await expect(deployed(args.filter(Boolean), steps)).rejects.toThrow(/needs a value/);
  });

  it('builds with the settings of the command line, and protects no stage whose data is not retained', async () => {
    const args = ['-c', 'stage=test', '--require-approval', 'never', '--context', 'brand.name=Acme', '--context=vpc='];
    const output = assembly('broker-api-test', { retains: false });
    const { calls } = await deployed(args, { status: 'CREATE_COMPLETE', output });
    expect(calls).toEqual([
      'cdk synth --quiet --output broker-api-test -c stage=test -c brand.name=Acme -c vpc=',
      'cdk deploy --app broker-api-test --require-approval never',
    ]);
  });

  it('deploys the output of an earlier cdk synth, and builds nothing', async () => {
    const args = ['--app', assembly('broker-api-prod'), '--require-approval', 'never'];
    const { calls } = await deployed(args, { status: 'UPDATE_COMPLETE' });
    expect(calls).toEqual([`${DEPLOY} --require-approval never`, PROTECT]);
  });

  it.each<[string, Parameters<typeof assembly>[1], string]>([
    [
      'a command for an asset',
      { assets: { files: { f00d: { source: { executable: ['sh', '-c', 'id'] } } } } },
      'CDK would run a command for the asset f00d.',
    ],
    [
      'an image',
      { assets: { dockerImages: { f00d: { source: { directory: '.' } } } } },
      'CDK would build the image f00d.',
    ],
    [
      'another assembly in it, whose name would forge a line',
      { more: { 'inner\n::notice::ok': { type: 'cdk:cloud-assembly' } } },
      'The artifact inner\\u000a::notice::ok is of the type cdk:cloud-assembly.',
    ],
    ['two stacks', { more: { other: { type: 'aws:cloudformation:stack' } } }, 'It has 2 stacks, not one.'],
  ])('refuses an assembly with %s: whoever wrote it would act with the deploying role', async (_, given, sentence) => {
    const { ended, calls, report } = await deployed(['--app', assembly('poisoned', given)], {
      status: 'UPDATE_COMPLETE',
    });
    expect([ended, calls]).toEqual([1, []]);
    expect(report).toContain(`  ${sentence}\n`);
  });

  it('deploys what CDK itself writes', async () => {
    const folder = join(FOLDER, 'real');
    withOwnStack({}, (stack) => cpSync((stack.node.root as App).synth().directory, folder, { recursive: true }));
    const { calls } = await deployed(['--app', folder], { status: 'UPDATE_COMPLETE' });
    expect(calls).toEqual(['cdk deploy --app real', 'protect broker-api-test']);
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
    cwd: ROOT,
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
