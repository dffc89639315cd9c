import { readFileSync } from 'node:fs';
import { Command } from 'commander';
import { LANGUAGES, wordsFor } from '../../lib/messages/translations/languages.ts';
import { CommandError, toStandardOutput } from '../crm/command.ts';
import { LOCAL_URL, openTarget, type Where } from '../crm/target.ts';
import { readSettings, type Settings, SettingsError } from '../settings.ts';
import { awsLooks } from './aws-looks.ts';
import { accountChecks, type Check, examine, exitCode } from './checks.ts';
import type { Finding, ServerLooks } from './looks.ts';
import { mailChecks } from './mail-checks.ts';
import { messageChecks } from './message-checks.ts';
import { secretChecks } from './secret-checks.ts';
import { serverLooks } from './server-looks.ts';
import { connectionChecks, settlementCheck, stackChecks } from './stack-checks.ts';

/** `npm run doctor`: one table of what works, what is missing, and the command that mends it. Changes nothing. */
export async function runDoctor(args: readonly string[], print: (text: string) => void): Promise<number> {
  const program = new Command('npm run doctor --')
    .description(
      'Says what works, what is missing, and what mends it; changes nothing. Ends with 1 when something is missing.',
    )
    .option('--stack <name>', 'the deployed stack; else the one that the settings in cdk.json name')
    .option('--local [url]', `the local service, ${LOCAL_URL} where no address is given`)
    .option('--json', 'prints the findings as JSON')
    .parse([...args], { from: 'user' });
  const { stack, local, json } = program.opts<{ stack?: string; local?: string | true; json?: true }>();
  try {
    const findings = await (local === undefined ? ofAws(stack) : ofLocal(local === true ? LOCAL_URL : local));
    print(json === true ? `${JSON.stringify(findings, null, 2)}\n` : table(findings));
    return exitCode(findings);
  } catch (error) {
    if (!(error instanceof CommandError)) throw error;
    print(`${error.message}\n`);
    return 1;
  }
}

function ofLocal(local: string): Promise<Finding[]> {
  return withServers({ local }, async (servers) =>
    examine([...(await connectionChecks(servers)), settlementCheck()], servers),
  );
}

async function ofAws(name?: string): Promise<Finding[]> {
  const aws = awsLooks();
  const settings = settingsOf(readFileSync(new URL('../../cdk.json', import.meta.url), 'utf8'));
  if (settings instanceof SettingsError)
    return [...(await examine(accountChecks(), aws)), ...settings.faults.map(faulty)];
  const stack = name ?? `broker-api-${settings.stage}`;
  const outputs = (await aws.stack(stack).catch(() => undefined))?.outputs;
  const findings = await examine(await checksOf(settings, stack, outputs !== undefined), aws);
  if (outputs?.CrmTableName === undefined) return findings;
  const rest = await withServers({ stack }, async (servers) =>
    examine([...secretChecks(settings, outputs), ...(await connectionChecks(servers)), settlementCheck()], servers),
  );
  return [...findings, ...rest];
}

async function withServers(where: Where, work: (servers: ServerLooks) => Promise<Finding[]>) {
  const target = await openTarget(where);
  const place = where.stack === undefined ? `--local=${where.local}` : `--stack ${where.stack}`;
  return await work(serverLooks(target, place)).finally(() => target.table.close());
}

function settingsOf(cdkJson: string): Settings | SettingsError {
  try {
    return readSettings((JSON.parse(cdkJson) as { context?: Record<string, unknown> }).context ?? {});
  } catch (error) {
    if (error instanceof SettingsError) return error;
    throw error;
  }
}

function faulty(fault: string): Finding {
  return { area: 'settings', what: 'cdk.json', state: 'missing', says: fault, mend: 'npm run setting -- name=value …' };
}

/** Before the first deployment those alone that need no stack. */
export async function checksOf(settings: Settings, stack: string, deployed: boolean): Promise<Check[]> {
  const words = await Promise.all(LANGUAGES.map(wordsFor));
  const languages = words.map(({ whatsapp }) => whatsapp);
  return [
    ...accountChecks(settings),
    ...mailChecks(settings, deployed),
    ...messageChecks(settings, languages),
    ...stackChecks(stack, settings, deployed),
  ];
}

const SIGNS = { works: 'ok', missing: 'MISSING', warning: 'warning', unknown: 'unknown' } as const;

/** For people: one line for each finding, and below it what mends it. */
export function table(findings: readonly Finding[]): string {
  const names = findings.map(({ area, what }) => `${area}: ${what}`);
  const width = Math.max(0, ...names.map(({ length }) => length)) + 2;
  const lines = findings.map(({ state, says, mend }, index) => {
    const line = `${SIGNS[state].padEnd(9)}${(names[index] ?? '').padEnd(width)}${says}`;
    return mend === undefined ? line : `${line}\n${' '.repeat(9)}→ ${mend}`;
  });
  const open = findings.filter(({ state }) => state !== 'works').length;
  return `${lines.join('\n')}\n\n${open === 0 ? 'Everything works.' : `${open} of ${findings.length} need a look.`}\n`;
}

if (import.meta.main) process.exitCode = await runDoctor(process.argv.slice(2), toStandardOutput());
