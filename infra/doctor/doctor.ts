import { Command } from 'commander';
import { allowFarServers } from '../../lib/deadline.ts';
import { findTranslation, LANGUAGES } from '../../lib/messages/translations/languages.ts';
import { outliveReader } from '../closed-output.ts';
import { CDK_JSON, serviceSecrets } from '../ops/service-secrets.ts';
import { CDK_JSON_USED_INSTEAD, readDeployed, writtenSettings } from '../ops/stack-settings.ts';
import { LOCAL_URL, openTarget, type WrittenTarget } from '../ops/target.ts';
import { differingSettings, readSettings, type Settings, SettingsError } from '../settings.ts';
import {
  type CheckResult,
  DOCTOR_QUESTIONS,
  type DoctorCheck,
  type DoctorQuestion,
  exitCode,
  mailChecks,
  messageChecks,
  nextStepChecks,
  quotaChecks,
  runChecks,
  stackChecks,
  unknownOutcome,
  warningOutcome,
} from './checks.ts';
import { throughputChecks } from './pace.ts';
import { awsProbes, type ServerProbes, serverProbes } from './probes.ts';
import { connectionCheck, recordChecks, secretChecks, tableChecks } from './service-checks.ts';

/** `npm run doctor`: answers a question for each step of a registration, and names the next step of the operator. */
export async function runDoctor(
  args: readonly string[],
  print: (text: string) => void,
  cdkJson: string = CDK_JSON,
  progress: Look['report'] = (text) => process.stderr.write(text),
): Promise<number> {
  const program = doctorProgram().parse([...args], { from: 'user' });
  const { stack, local, json, fix = false } = program.opts<Options>();
  const look: Look = { cdkJson, fix, ids: program.args, report: progress };
  const results = await (local === undefined
    ? examineAws(look, stack)
    : examineServers(look, { local: local === true ? LOCAL_URL : local }));
  print(json === true ? `${JSON.stringify(results, null, 2)}\n` : formatReport(results));
  return exitCode(results);
}

/** The command with its arguments and options. */
export function doctorProgram(): Command {
  return new Command('npm run doctor --')
    .description(
      'Shows what works, what is missing, and how to fix it. Changes nothing without --fix. Ends with 1 if something is missing.',
    )
    .argument('[connection-id...]', 'looks at these trading servers alone')
    .option('--stack <name>', 'the deployed stack; else the one that the settings in cdk.json name')
    .option('--local [url]', `the local service, ${LOCAL_URL} if no address is given`)
    .option('--fix', 'writes what follows from the CRM records: the attributes of their items')
    .option('--json', 'prints the results as JSON');
}

interface Options {
  stack?: string;
  local?: string | true;
  json?: true;
  fix?: true;
}

/** The operator's request. */
interface Look {
  cdkJson: string;
  fix: boolean;
  /** Progress. */
  report(text: string): void;
  /** The ids of the connections to check. Empty: everything is checked. */
  ids: readonly string[];
}

async function examineAws(look: Look, name?: string): Promise<CheckResult[]> {
  const aws = awsProbes();
  const written = readSettingsFile(look.cdkJson, name);
  const stack = name ?? (written.settings && `broker-api-${written.settings.stage}`);
  if (look.ids.length > 0 && stack !== undefined) return examineServers(look, { stack });
  const found = stack === undefined ? undefined : await aws.stack(stack).catch(() => 'refused' as const);
  const hasTables = found !== undefined && found !== 'refused' && found.outputs.CrmTableName !== undefined;
  const { settings, results } = hasTables ? await stackSettings(String(stack), written, look.cdkJson) : written;
  if (settings === undefined || stack === undefined) return [...(await runChecks(quotaChecks(), aws)), ...results];
  const checked = [...results, ...(await runChecks(await awsChecks(settings, stack, found !== undefined), aws))];
  if (!hasTables) return checked;
  const more = [...tableChecks, ...secretChecks(serviceSecrets(settings))];
  return [...checked, ...(await examineServers(look, { stack }, more))];
}

/** Settings, with the results of the checks that led to them. */
interface FoundSettings {
  settings?: Settings;
  results: CheckResult[];
}

/** The settings of a deployed stack. If the stack does not show its own: `written`. */
async function stackSettings(stack: string, written: FoundSettings, cdkJson: string): Promise<FoundSettings> {
  const about = { question: 'deployed', subject: 'settings' } as const;
  try {
    const found = await readDeployed(stack);
    if ('unknown' in found) {
      const outcome = warningOutcome(`${found.unknown} ${CDK_JSON_USED_INSTEAD}`, 'npm run deploy');
      return { ...written, results: [{ ...about, ...outcome }, ...written.results] };
    }
    // A stage that cdk.json does not name is deployed with settings of the command line.
    const next = readSettingsFile(cdkJson).settings;
    const differing = next?.stage === found.settings.stage ? differingSettings(found.settings, next) : [];
    const detail = `cdk.json has others, which are not deployed: ${differing.join(', ')}`;
    const results = differing.length === 0 ? [] : [{ ...about, ...warningOutcome(detail, 'npm run deploy') }];
    return { settings: found.settings, results };
  } catch (error) {
    return { results: [{ ...about, ...unknownOutcome(error) }] };
  }
}

/** The checks for which the target must be open. */
async function examineServers(
  { ids, ...options }: Look,
  where: WrittenTarget,
  more: DoctorCheck<ServerProbes>[] = [],
): Promise<CheckResult[]> {
  const place = where.stack === undefined ? `--local=${where.local}` : `--stack ${where.stack}`;
  const checks = [connectionCheck(ids), ...(ids.length > 0 ? [] : [...recordChecks, ...more])];
  try {
    const target = await openTarget(where);
    const probes = serverProbes(target, { place, ...options });
    return await runChecks(checks, probes).finally(() => target.database.destroy());
  } catch (error) {
    return [{ question: 'deployed', subject: where.stack ?? 'local service', ...unknownOutcome(error) }];
  }
}

/** The settings in cdk.json. @param stack the stage in its name overrides the stage in the file */
function readSettingsFile(cdkJson: string, stack?: string): FoundSettings {
  const fix = 'npm run setting -- name=value …';
  try {
    return { settings: readSettings(writtenSettings(cdkJson, stack)), results: [] };
  } catch (error) {
    const errors = error instanceof SettingsError ? error.errors : ['cannot be read as JSON'];
    return {
      results: errors.map((detail) => ({ question: 'deployed', subject: 'cdk.json', state: 'missing', detail, fix })),
    };
  }
}

/** The checks of AWS. @param deployed false: only the checks that make sense before the first deployment */
export async function awsChecks(settings: Settings, stack: string, deployed: boolean): Promise<DoctorCheck[]> {
  const words = await Promise.all(LANGUAGES.map((one) => findTranslation(one)));
  const languages = words.map(({ language, whatsapp = language }) => ({ language, code: whatsapp }));
  return [
    ...quotaChecks(settings),
    ...mailChecks(settings, deployed),
    ...messageChecks(settings, languages),
    ...throughputChecks(settings),
    ...stackChecks(stack, settings, deployed),
    ...nextStepChecks(settings, stack),
  ];
}

const SIGNS = { works: 'ok', missing: 'MISSING', warning: 'warning', unknown: 'unknown' } as const;

/** Formats the results for people: each question with its results, below each its fix, and at the end the next step. */
export function formatReport(results: readonly CheckResult[]): string {
  const width = Math.max(0, ...results.map(({ subject }) => subject.length)) + 2;
  const asked = (Object.keys(DOCTOR_QUESTIONS) as DoctorQuestion[])
    .map((question) => results.filter((one) => one.question === question))
    .filter((answers) => answers.length > 0);
  const sections = asked.map((answers) => {
    const title = answers.map(({ question }) => DOCTOR_QUESTIONS[question])[0];
    const lines = answers.map(({ subject, state, detail, fix }) => {
      const line = `  ${SIGNS[state].padEnd(9)}${subject.padEnd(width)}${detail}`;
      return fix === undefined ? line : `${line}\n${' '.repeat(11)}→ ${fix}`;
    });
    return [title, ...lines].join('\n');
  });
  const open = asked.flat().filter(({ state }) => state !== 'works');
  const [next] = (['missing', 'unknown', 'warning'] as const).flatMap((one) =>
    open.filter(({ state }) => state === one),
  );
  const end =
    next === undefined
      ? 'Everything works.'
      : `${open.length} of ${results.length} need attention. Next step: ${next.subject}\n→ ${next.fix}`;
  return `${[...sections, end].join('\n\n')}\n`;
}

if (import.meta.main) {
  outliveReader();
  allowFarServers();
  process.exitCode = await runDoctor(process.argv.slice(2), (text) => process.stdout.write(text));
}
