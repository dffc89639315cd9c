import { Command } from 'commander';
import { findTranslation, LANGUAGES } from '../../lib/messages/translations/languages.ts';
import { standardOutput } from '../crm/command.ts';
import { CDK_JSON, readContext, serviceSecrets } from '../crm/service-secrets.ts';
import { LOCAL_URL, openTarget, type Where } from '../crm/target.ts';
import { readSettings, type Settings, SettingsError } from '../settings.ts';
import {
  type Check,
  type CheckResult,
  connectionCheck,
  examine,
  exitCode,
  mailChecks,
  messageChecks,
  quotaChecks,
  secretChecks,
  settlementCheck,
  stackChecks,
  tableChecks,
  unknown,
} from './checks.ts';
import { awsProbes, type ServerProbes, serverProbes } from './probes.ts';

/** `npm run doctor`: one table with the state of each subject and the command that fixes it. Changes nothing. */
export async function runDoctor(
  args: readonly string[],
  print: (text: string) => void,
  cdkJson: string = CDK_JSON,
): Promise<number> {
  const program = new Command('npm run doctor --')
    .description(
      'Shows what works, what is missing, and how to fix it; changes nothing. Ends with 1 if something is missing.',
    )
    .option('--stack <name>', 'the deployed stack; else the one that the settings in cdk.json name')
    .option('--local [url]', `the local service, ${LOCAL_URL} if no address is given`)
    .option('--json', 'prints the results as JSON')
    .parse([...args], { from: 'user' });
  const { stack, local, json } = program.opts<{ stack?: string; local?: string | true; json?: true }>();
  const results = await (local === undefined
    ? examineAws(cdkJson, stack)
    : examineServers({ local: local === true ? LOCAL_URL : local }, []));
  print(json === true ? `${JSON.stringify(results, null, 2)}\n` : table(results));
  return exitCode(results);
}

async function examineAws(cdkJson: string, name?: string): Promise<CheckResult[]> {
  const aws = awsProbes();
  const settings = readSettingsFile(cdkJson);
  if (!('stage' in settings)) return [...(await examine(quotaChecks(), aws)), ...settings.results];
  const stack = name ?? `broker-api-${settings.stage}`;
  const found = await aws.stack(stack).catch(() => 'refused' as const);
  const results = await examine(await awsChecks(settings, stack, found !== undefined), aws);
  if (found === undefined || found === 'refused' || found.outputs.CrmTableName === undefined) return results;
  const secrets = serviceSecrets(readContext(cdkJson), found.outputs.PepperSecretArn, stack);
  return [...results, ...(await examineServers({ stack }, [...tableChecks, ...secretChecks(secrets)]))];
}

/** The checks for which the target must be open. */
async function examineServers(where: Where, more: Check<ServerProbes>[]): Promise<CheckResult[]> {
  const place = where.stack === undefined ? `--local=${where.local}` : `--stack ${where.stack}`;
  try {
    const target = await openTarget(where);
    const checks = [...more, connectionCheck, settlementCheck()];
    return await examine(checks, serverProbes(target, place)).finally(() => target.table.close());
  } catch (error) {
    return [{ area: 'crm', subject: 'records', ...unknown(error) }];
  }
}

function readSettingsFile(cdkJson: string): Settings | { results: CheckResult[] } {
  const fix = 'npm run setting -- name=value …';
  try {
    return readSettings(readContext(cdkJson));
  } catch (error) {
    const errors = error instanceof SettingsError ? error.errors : ['cannot be read as JSON'];
    return {
      results: errors.map((detail) => ({ area: 'settings', subject: 'cdk.json', state: 'missing', detail, fix })),
    };
  }
}

/** @param deployed false: only the checks that make sense before the first deployment */
export async function awsChecks(settings: Settings, stack: string, deployed: boolean): Promise<Check[]> {
  const words = await Promise.all(LANGUAGES.map(findTranslation));
  const languages = words.map(({ language, whatsapp = language }) => whatsapp);
  return [
    ...quotaChecks(settings),
    ...mailChecks(settings, deployed),
    ...messageChecks(settings, languages),
    ...stackChecks(stack, settings, deployed),
  ];
}

const SIGNS = { works: 'ok', missing: 'MISSING', warning: 'warning', unknown: 'unknown' } as const;

/** For people: one line for each result, and below it how to fix it. */
export function table(results: readonly CheckResult[]): string {
  const names = results.map(({ area, subject }) => `${area}: ${subject}`);
  const width = Math.max(0, ...names.map(({ length }) => length)) + 2;
  const lines = results.map(({ state, detail, fix }, index) => {
    const line = `${SIGNS[state].padEnd(9)}${(names[index] ?? '').padEnd(width)}${detail}`;
    return fix === undefined ? line : `${line}\n${' '.repeat(9)}→ ${fix}`;
  });
  const open = results.filter(({ state }) => state !== 'works').length;
  return `${lines.join('\n')}\n\n${open === 0 ? 'Everything works.' : `${open} of ${results.length} need attention.`}\n`;
}

if (import.meta.main) process.exitCode = await runDoctor(process.argv.slice(2), standardOutput());
