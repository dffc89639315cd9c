import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import {
  CloudFormationClient,
  DescribeStacksCommand,
  UpdateTerminationProtectionCommand,
} from '@aws-sdk/client-cloudformation';
import { outliveReader } from './closed-output.ts';
import { CDK_JSON, readContext } from './ops/service-secrets.ts';
import { linePrinter, type Terminal } from './ops/terminal.ts';
import { readSettings, SETTINGS_FIX, SettingsError } from './settings.ts';
import { logicalId } from './tables.ts';

/** The steps of a deployment; tests pass their own. */
export interface DeploySteps {
  /** The folder that `cdk synth` writes. */
  output: string;
  /** Runs the command `cdk`. @returns its exit code */
  cdk(args: readonly string[]): Promise<number>;
  /** The state of a stack, such as `UPDATE_COMPLETE`; undefined if there is none. */
  status(stack: string): Promise<string | undefined>;
  protect(stack: string): Promise<void>;
  report: Terminal['report'];
}

/**
 * `npm run deploy`: runs `cdk synth` and `cdk deploy`, then protects the stack from deletion. CloudFormation would enable
 * a protection of the template before it creates the first resource; a first deployment that fails could then not be
 * deleted, and every later one would fail. `cdk deploy` removes the protection each time, so it is enabled again after a
 * failed update too.
 * @param args of `cdk deploy`, such as `-c stage=test`; with `--app` and a folder of `cdk synth`, that one is deployed
 */
export async function deploy(args: readonly string[], cdkJson: string, steps: DeploySteps): Promise<number> {
  const { context, app, deployArguments } = readArguments(args);
  if (app === undefined) {
    readSettings({ ...readContext(cdkJson), ...context });
    const code = await steps.cdk(['synth', '--quiet', '--output', steps.output, ...contextArguments(context)]);
    if (code !== 0) return code;
  }
  const folder = app ?? steps.output;
  const { stack, retainsData, refusals } = await readAssembly(folder);
  if (refusals.length > 0) {
    steps.report([`${folder} was not deployed:`, ...refusals.map((one) => `  ${one}`)]);
    return 1;
  }
  const code = await steps.cdk(['deploy', '--app', folder, ...deployArguments]);
  if (!retainsData || !hasBeenCreated(await steps.status(stack))) return code;
  await steps.protect(stack);
  steps.report(`${stack} is protected from deletion.`);
  return code;
}

interface Assembly {
  /** The name of its one stack. */
  stack: string;
  /** Whether the stack's tables are protected, as the setting `retainData` says. */
  retainsData: boolean;
  /** The artifacts of an assembly that no deployment of this project has. A foreign writer of the folder added them. */
  refusals: string[];
}

interface Manifest {
  artifacts: Record<
    string,
    { type: string; properties?: { templateFile?: string; stackName?: string; file?: string } }
  >;
}
interface AssetManifest {
  files?: Record<string, { source: { executable?: unknown } }>;
  dockerImages?: Record<string, unknown>;
}
interface Template {
  Resources?: Record<string, { Properties?: Record<string, unknown> }>;
}

const STACK_TYPE = 'aws:cloudformation:stack';
const ASSETS_TYPE = 'cdk:asset-manifest';
const ARTIFACT_TYPES: readonly string[] = [STACK_TYPE, ASSETS_TYPE, 'cdk:tree', 'cdk:feature-flag-report'];

/** Reads what `cdk synth` has written: one stack, whose assets are files as they are. */
async function readAssembly(folder: string): Promise<Assembly> {
  const read = async <T>(name = '') => JSON.parse(await readFile(join(folder, name), 'utf8')) as T;
  const artifacts = Object.entries((await read<Manifest>('manifest.json')).artifacts);
  const refusals = artifacts
    .filter(([, { type }]) => !ARTIFACT_TYPES.includes(type))
    .map(([id, { type }]) => `The artifact ${id} is of the type ${type}.`);
  const stacks = artifacts.filter(([, { type }]) => type === STACK_TYPE);
  if (stacks.length !== 1) refusals.push(`It has ${stacks.length} stacks, not one.`);
  for (const [, { properties }] of artifacts.filter(([, { type }]) => type === ASSETS_TYPE)) {
    const { files = {}, dockerImages = {} } = await read<AssetManifest>(properties?.file);
    const commands = Object.entries(files).filter(([, { source }]) => source.executable !== undefined);
    refusals.push(...commands.map(([id]) => `CDK would run a command for the asset ${id}.`));
    refusals.push(...Object.keys(dockerImages).map((id) => `CDK would build the image ${id}.`));
  }
  const [id = '', { properties } = {}] = stacks[0] ?? [];
  const { Resources = {} } = stacks.length === 0 ? {} : await read<Template>(properties?.templateFile);
  const retainsData = Resources[logicalId('Crm')]?.Properties?.DeletionProtectionEnabled === true;
  return { stack: properties?.stackName ?? id, retainsData, refusals };
}

/**
 * Splits the command line into the settings, the folder, and all other arguments.
 * @throws SettingsError for an option without its value: without it, another stage would be deployed
 */
function readArguments(args: readonly string[]) {
  const options = {
    context: { type: 'string', short: 'c', multiple: true },
    app: { type: 'string', short: 'a' },
  } as const;
  const { values, tokens } = parseArgs({ args: [...args], options, strict: false, tokens: true });
  const given = (values.context ?? []).map((one) => /^([^=]+)=(.*)$/s.exec(String(one)));
  if (given.includes(null) || values.app === true || values.app === '')
    throw new SettingsError(['an option needs a value: -c NAME=VALUE, --app FOLDER']);
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

function awsSteps(): DeploySteps {
  const client = new CloudFormationClient({});
  return {
    output: 'cdk.out',
    async cdk(args) {
      const child = spawn(process.execPath, [createRequire(import.meta.url).resolve('aws-cdk/bin/cdk'), ...args], {
        stdio: 'inherit',
      });
      const [code] = (await once(child, 'close')) as [number | null];
      return code ?? 1;
    },
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
    report: linePrinter((text) => process.stderr.write(text)),
  };
}

if (import.meta.main) {
  outliveReader();
  try {
    process.exitCode = await deploy(process.argv.slice(2), CDK_JSON, awsSteps());
  } catch (error) {
    if (!(error instanceof SettingsError)) throw error;
    process.stderr.write(`${error.message}\n${SETTINGS_FIX}\n`);
    process.exitCode = 1;
  }
}
