import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createRequire } from 'node:module';
import { parseArgs } from 'node:util';
import {
  CloudFormationClient,
  DescribeStacksCommand,
  UpdateTerminationProtectionCommand,
} from '@aws-sdk/client-cloudformation';
import { CDK_JSON, readContext } from './crm/service-secrets.ts';
import { readSettings, SettingsError } from './settings.ts';

/** The steps of a deployment; tests pass their own. */
export interface DeploySteps {
  /** Runs the command `cdk`. @returns its exit code */
  cdk(args: readonly string[]): Promise<number>;
  /** @returns undefined for a stack that does not exist */
  status(stack: string): Promise<string | undefined>;
  protect(stack: string): Promise<void>;
  report(text: string): void;
}

/**
 * `npm run deploy`: runs `cdk deploy`, then protects the stack from deletion. CloudFormation would enable a protection
 * of the template before it creates the first resource; a first deployment that fails could then not be deleted, and
 * every later one would fail. `cdk deploy` removes the protection each time, so it is enabled again after a failed
 * update too.
 * @param args of `cdk deploy`, such as `-c stage=test`
 */
export async function deploy(args: readonly string[], cdkJson: string, steps: DeploySteps): Promise<number> {
  const { stage, retainData } = readSettings({ ...readContext(cdkJson), ...contextOf(args) });
  const stack = `broker-api-${stage}`;
  const code = await steps.cdk(['deploy', ...args]);
  if (!retainData || !hasBeenCreated(await steps.status(stack))) return code;
  await steps.protect(stack);
  steps.report(`${stack} is protected from deletion.\n`);
  return code;
}

/** The settings of the command line. */
function contextOf(args: readonly string[]): Record<string, string> {
  const options = { context: { type: 'string', short: 'c', multiple: true } } as const;
  const { values } = parseArgs({ args: [...args], options, strict: false });
  const given = (values.context ?? []).map((one) => /^([^=]+)=(.*)$/s.exec(String(one)));
  return Object.fromEntries(given.map((match) => [match?.[1] ?? '', match?.[2] ?? '']));
}

/** False after a failed first deployment: the next one deletes its rest. */
function hasBeenCreated(status: string | undefined): boolean {
  return status !== undefined && !/^(CREATE_(?!COMPLETE$)|ROLLBACK_|REVIEW_|DELETE_)/.test(status);
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
  try {
    process.exitCode = await deploy(process.argv.slice(2), CDK_JSON, awsSteps());
  } catch (error) {
    if (!(error instanceof SettingsError)) throw error;
    process.stderr.write(`${error.message}\nWrite them: npm run setting -- name=value …\n`);
    process.exitCode = 1;
  }
}
