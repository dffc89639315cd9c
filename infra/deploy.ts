import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import {
  CloudFormationClient,
  DescribeStacksCommand,
  GetTemplateCommand,
  UpdateTerminationProtectionCommand,
} from '@aws-sdk/client-cloudformation';
import { outliveReader } from './closed-output.ts';
import { CDK_JSON, readContext } from './ops/service-secrets.ts';
import { readSettings, SettingsError } from './settings.ts';
import { findUpdateErrors, indexSteps, replacedResources, storedResources, type Template } from './stored-resources.ts';
import { logicalId } from './tables.ts';

/** The steps of a deployment; tests pass their own. */
export interface DeploySteps {
  /** Runs the command `cdk`. @returns its exit code */
  cdk(args: readonly string[]): Promise<number>;
  /** The stack that `cdk synth` has written into a folder. */
  synthesized(folder: string): Promise<{ name: string; template: Template }>;
  /** @returns undefined for a stack that does not exist */
  status(stack: string): Promise<string | undefined>;
  /** The template of a stack that exists. */
  deployed(stack: string): Promise<Template>;
  /** Writes a template. */
  write(path: string, template: Template): Promise<void>;
  protect(stack: string): Promise<void>;
  report(text: string): void;
}

/** The folder of `cdk synth`. */
const OUTPUT = 'cdk.out';

/**
 * `npm run deploy`: runs `cdk synth`, refuses an update that CloudFormation would refuse or that would leave data behind,
 * runs `cdk deploy`, then protects the stack from deletion. CloudFormation would enable a protection of the template
 * before it creates the first resource; a first deployment that fails could then not be deleted, and every later one would
 * fail. `cdk deploy` removes the protection each time, so it is enabled again after a failed update too.
 * @param args of `cdk deploy`, such as `-c stage=test`; with `--app` and a folder of `cdk synth`, that one is deployed
 */
export async function deploy(args: readonly string[], cdkJson: string, steps: DeploySteps): Promise<number> {
  const { context, app, deployArguments } = readArguments(args);
  if (app === undefined) {
    readSettings({ ...readContext(cdkJson), ...context });
    const code = await steps.cdk(['synth', '--quiet', '--output', OUTPUT, ...contextArguments(context)]);
    if (code !== 0) return code;
  }
  const folder = app ?? OUTPUT;
  const { name, template } = await steps.synthesized(folder);
  const before = await steps.status(name);
  if (hasBeenCreated(before)) {
    const errors = await refusals(name, folder, template, steps);
    if (errors.length > 0) {
      steps.report(`${name} was not changed.\n${errors.join('\n')}\n`);
      return 1;
    }
  }
  const code = await steps.cdk(['deploy', '--app', folder, ...deployArguments]);
  if (!retainsData(template) || !hasBeenCreated(await steps.status(name))) return code;
  await steps.protect(name);
  steps.report(`${name} is protected from deletion.\n`);
  return code;
}

/** The reasons for which the update is refused, and how it can be done. */
async function refusals(stack: string, folder: string, template: Template, steps: DeploySteps): Promise<string[]> {
  const deployed = await steps.deployed(stack);
  const [before, after] = [storedResources(deployed), storedResources(template)];
  const errors = findUpdateErrors(before, after);
  if (errors.length === 0) return [];
  if (replacedResources(before, after).length > 0) {
    return [...errors, 'Deploy a version in between, or copy the data first: the change log of the version says how.'];
  }
  const commands: string[] = [];
  for (const [index, step] of indexSteps(deployed, template).entries()) {
    const file = join(folder, `step-${index + 1}.json`);
    await steps.write(file, step);
    commands.push(
      `  aws cloudformation deploy --stack-name ${stack} --template-file ${file} --capabilities CAPABILITY_IAM --s3-bucket ASSETS_BUCKET`,
    );
  }
  return [
    ...errors,
    'Change one index at a time, while the functions of today run on; ASSETS_BUCKET is the one that `cdk bootstrap` made, cdk-hnb659fds-assets-ACCOUNT-REGION:',
    ...commands,
    'Then deploy again.',
  ];
}

/** Whether the tables of a template are protected, as the setting `retainData` says. */
function retainsData({ Resources = {} }: Template): boolean {
  return Resources[logicalId('Crm')]?.Properties?.DeletionProtectionEnabled === true;
}

/** Splits the command line into the settings, the folder, and all other arguments. */
function readArguments(args: readonly string[]) {
  const options = {
    context: { type: 'string', short: 'c', multiple: true },
    app: { type: 'string', short: 'a' },
  } as const;
  const { values, tokens } = parseArgs({ args: [...args], options, strict: false, tokens: true });
  const given = (values.context ?? []).map((one) => /^([^=]+)=(.*)$/s.exec(String(one)));
  const context = Object.fromEntries(given.map((match) => [match?.[1] ?? '', match?.[2] ?? '']));
  const app = typeof values.app === 'string' ? values.app : undefined;
  const knownIndexes = tokens.flatMap((token) =>
    token.kind === 'option' && token.name in options
      ? [token.index, ...(token.value !== undefined && !token.inlineValue ? [token.index + 1] : [])]
      : [],
  );
  return { context, app, deployArguments: args.filter((_, index) => !knownIndexes.includes(index)) };
}

function contextArguments(context: Record<string, string>): string[] {
  return Object.entries(context).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
}

/**
 * Whether the stack was ever created. After a failed first deployment it was not: the next one deletes what is left of
 * it.
 */
function hasBeenCreated(status: string | undefined): boolean {
  return status !== undefined && !/^(CREATE_(?!COMPLETE$)|ROLLBACK_|REVIEW_|DELETE_)/.test(status);
}

interface Manifest {
  artifacts: Record<string, { type: string; properties?: { templateFile: string; stackName?: string } }>;
}

function awsSteps(): DeploySteps {
  const client = new CloudFormationClient({});
  return {
    async cdk(args) {
      const child = spawn(process.execPath, [createRequire(import.meta.url).resolve('aws-cdk/bin/cdk'), ...args], {
        stdio: 'inherit',
      });
      const [code] = (await once(child, 'close')) as [number | null];
      return code ?? 1;
    },
    async synthesized(folder) {
      const { artifacts } = JSON.parse(await readFile(join(folder, 'manifest.json'), 'utf8')) as Manifest;
      const stacks = Object.entries(artifacts).filter(([, { type }]) => type === 'aws:cloudformation:stack');
      const [[id, { properties }] = ['', { properties: undefined }]] = stacks;
      const template = JSON.parse(await readFile(join(folder, properties?.templateFile ?? ''), 'utf8')) as Template;
      return { name: properties?.stackName ?? id, template };
    },
    async deployed(stack) {
      const { TemplateBody = '{}' } = await client.send(new GetTemplateCommand({ StackName: stack }));
      return JSON.parse(TemplateBody) as Template;
    },
    write: (path, template) => writeFile(path, JSON.stringify(template)),
    async status(stack) {
      try {
        const { Stacks = [] } = await client.send(new DescribeStacksCommand({ StackName: stack }));
        return Stacks[0]?.StackStatus;
      } catch (error) {
        if (error instanceof Error && /does not exist/.test(error.message)) return undefined;
        throw error;
      }
    },
    async protect(stack) {
      await client.send(
        new UpdateTerminationProtectionCommand({ StackName: stack, EnableTerminationProtection: true }),
      );
    },
    report: (text) => process.stderr.write(text),
  };
}

if (import.meta.main) {
  outliveReader();
  try {
    process.exitCode = await deploy(process.argv.slice(2), CDK_JSON, awsSteps());
  } catch (error) {
    if (!(error instanceof SettingsError)) throw error;
    process.stderr.write(`${error.message}\nWrite them: npm run setting -- name=value …\n`);
    process.exitCode = 1;
  }
}
