import { CloudFormationClient, DescribeStackResourceCommand } from '@aws-sdk/client-cloudformation';
import { gatherSettings, parseSettingsText, SETTINGS_METADATA, type Settings, SettingsError } from '../settings.ts';
import { logicalId } from '../tables.ts';
import { CommandError } from './command.ts';
import { readContext } from './service-secrets.ts';

/**
 * Reads the settings that a stack carries in the metadata of its table of CRM records.
 * @throws CommandError if there are none, or this version does not know one of them
 */
export async function readDeployed(stack: string): Promise<Settings> {
  const client = new CloudFormationClient({});
  try {
    const table = { StackName: stack, LogicalResourceId: logicalId('Crm') };
    const { StackResourceDetail } = await client.send(new DescribeStackResourceCommand(table));
    const text = (JSON.parse(StackResourceDetail?.Metadata ?? '{}') as Record<string, string>)[SETTINGS_METADATA];
    if (text === undefined)
      throw new CommandError(`The stack ${stack} does not show its settings: deploy this version first.`);
    return parseSettingsText(text);
  } catch (error) {
    if (!(error instanceof SettingsError)) throw error;
    throw new CommandError([
      `The stack ${stack} was deployed by another version: run this command in a clone of its commit.`,
      ...error.errors,
    ]);
  } finally {
    client.destroy();
  }
}

/** The settings of cdk.json, in the form of `gatherSettings`. @param stack the stage in its name overrides the file */
export function writtenSettings(cdkJson: string, stack = ''): Record<string, unknown> {
  const given = gatherSettings(readContext(cdkJson));
  const [, stage = given.stage] = /^broker-api-(.+)$/.exec(stack) ?? [];
  return stage === undefined ? given : { ...given, stage };
}
