import { CloudFormationClient, DescribeStackResourceCommand } from '@aws-sdk/client-cloudformation';
import { gatherSettings, parseSettingsText, SETTINGS_METADATA, type Settings, SettingsError } from '../settings.ts';
import { logicalId } from '../tables.ts';
import { CommandError, explainFailure, missingRight } from './command.ts';
import { readContext } from './service-secrets.ts';
import type { Terminal } from './terminal.ts';

/** The target of an operator's command, as far as its settings are concerned. */
export interface SettingsTarget {
  /** The name of the stack; absent for the local service and for a table alone. */
  stack?: string;
  /** The settings of the stack; the stack is asked once. Absent without a stack. */
  deployed?(): Promise<DeployedSettings>;
}

/** The settings of a stack, or the reason for which they are unknown. */
export type DeployedSettings = { settings: Settings } | { unknown: string };

/**
 * Reads the settings that a stack carries in the metadata of its table of CRM records.
 * @throws CommandError if this version does not know one of the settings
 */
export async function readDeployed(stack: string): Promise<DeployedSettings> {
  const client = new CloudFormationClient({});
  try {
    const table = { StackName: stack, LogicalResourceId: logicalId('Crm') };
    const { StackResourceDetail } = await client.send(new DescribeStackResourceCommand(table));
    const text = (JSON.parse(StackResourceDetail?.Metadata ?? '{}') as Record<string, string>)[SETTINGS_METADATA];
    if (text === undefined)
      throw new CommandError(
        `The stack ${stack} does not show its settings: deploy this version first, npm run deploy.`,
      );
    return { settings: parseSettingsText(text) };
  } catch (error) {
    if (missingRight(error) !== undefined) return { unknown: explainFailure(error).lines.join(' ') };
    if (!(error instanceof SettingsError)) throw error;
    throw new CommandError([
      `The stack ${stack} was deployed by another version: run this command in a clone of its commit.`,
      ...error.errors,
    ]);
  } finally {
    client.destroy();
  }
}

/** The settings of cdk.json, for a stack that does not show its own: its stage is in its name. */
export function writtenSettings(cdkJson: string, stack = ''): Record<string, unknown> {
  const given = gatherSettings(readContext(cdkJson));
  const [, stage = given.stage] = /^broker-api-(.+)$/.exec(stack) ?? [];
  return stage === undefined ? given : { ...given, stage };
}

const CDK_JSON_USED_INSTEAD = 'The settings of cdk.json are used, which may be others.';

/**
 * The settings of a stack, in the form of `gatherSettings`. Without a stack, and for a stack that does not show them,
 * those of cdk.json.
 */
export async function settingsOf(
  { stack, deployed }: SettingsTarget,
  { cdkJson, report }: Pick<Terminal, 'cdkJson' | 'report'>,
): Promise<Record<string, unknown>> {
  const found = await deployed?.();
  if (found !== undefined && 'settings' in found) return found.settings;
  if (found !== undefined) report(`${found.unknown} ${CDK_JSON_USED_INSTEAD}`);
  return writtenSettings(cdkJson, stack);
}
