import { Command } from 'commander';
import { allowFarServers } from '../../lib/deadline.ts';
import { outliveReader } from '../closed-output.ts';
import { CDK_JSON, serviceSecrets } from '../ops/service-secrets.ts';
import { readDeployed, writtenSettings } from '../ops/stack-settings.ts';
import { LOCAL_URL, openTarget, type WrittenTarget } from '../ops/target.ts';
import { linePrinter, type Terminal } from '../ops/terminal.ts';
import { differingSettings, readSettings, type Settings, SettingsError } from '../settings.ts';
import {
  type CheckResult,
  DOCTOR_QUESTIONS,
  type DoctorCheck,
  type DoctorQuestion,
  exitCode,
  mailChecks,
  messageChecks,
  missingOutcome,
  nextStepChecks,
  runChecks,
  stackOutcome,
  unknownOutcome,
  warningOutcome,
} from './checks.ts';
import { awsProbes, type ServerProbes, serverProbes } from './probes.ts';
import { connectionCheck, recordChecks, secretChecks } from './service-checks.ts';

/** The operator's request. */
export interface Look {
  /** The file that holds the settings. */
  cdkJson: string;
  /** The deployed stack; absent: the one that the settings in cdk.json name. */
  stack?: string | undefined;
  /** The address of a local service. */
  local?: string | undefined;
  /** Whether the attributes that follow from the records are written. */
  fix: boolean;
  /** The ids of the connections to check. Empty: everything is checked. */
  ids: readonly string[];
}

/** `npm run doctor`: answers a question for each step of a registration, and names the next step of the operator. */
export async function runDoctor(args: readonly string[], print: Terminal['print']): Promise<number> {
  const program = doctorProgram().parse([...args], { from: 'user' });
  const { stack, local, fix = false } = program.opts<{ stack?: string; local?: string | true; fix?: true }>();
  const url = local === true ? LOCAL_URL : local;
  const results = await examine({ cdkJson: CDK_JSON, stack, local: url, fix, ids: program.args });
  print(formatReport(results));
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
    .option('--fix', 'writes what follows from the CRM records: the attributes of their items');
}

/** The doctor's answers. */
export async function examine(look: Look): Promise<CheckResult[]> {
  const { cdkJson, local, ids } = look;
  if (local !== undefined) return examineService(look, { local });
  const written = readSettingsFile(cdkJson, look.stack);
  const stack = look.stack ?? (written.settings && `broker-api-${written.settings.stage}`);
  if (stack === undefined) return written.results;
  const aws = awsProbes();
  const state = await aws.stack(stack).then(
    (found) => ({ found }),
    (error: unknown) => ({ failure: unknownOutcome(error) }),
  );
  // Without a region, credentials or this right there is nothing to see, so nothing is called missing.
  if ('failure' in state) return [{ question: 'deployed', subject: stack, ...state.failure }];
  const hasTables = state.found?.outputs.CrmTableName !== undefined;
  if (ids.length > 0 && hasTables) return examineService(look, { stack });
  const { settings, results } = hasTables ? await stackSettings(stack, cdkJson) : written;
  const outcome = await stackOutcome(aws, stack, settings?.retainData === true);
  const answers: CheckResult[] = [{ question: 'deployed', subject: stack, ...outcome }, ...results];
  if (settings !== undefined) answers.push(...(await runChecks(awsChecks(settings, stack, hasTables), aws)));
  if (!hasTables) return answers;
  const secrets = settings === undefined ? [] : secretChecks(serviceSecrets(settings));
  return [...answers, ...(await examineService(look, { stack }, secrets))];
}

/** Settings, and what is to be said of them. */
interface FoundSettings {
  settings?: Settings;
  results: CheckResult[];
}

/** The settings of a deployed stack. */
async function stackSettings(stack: string, cdkJson: string): Promise<FoundSettings> {
  const about = { question: 'deployed', subject: 'settings' } as const;
  try {
    const settings = await readDeployed(stack);
    // A stage that cdk.json does not name is deployed with settings of the command line.
    const next = readSettingsFile(cdkJson).settings;
    const differing = next?.stage === settings.stage ? differingSettings(settings, next) : [];
    const detail = `cdk.json has others, which are not deployed: ${differing.join(', ')}`;
    const results = differing.length === 0 ? [] : [{ ...about, ...warningOutcome(detail, 'npm run deploy') }];
    return { settings, results };
  } catch (error) {
    return { results: [{ ...about, ...unknownOutcome(error) }] };
  }
}

/** The CRM records, the secrets and the trading servers. */
async function examineService(
  { ids, fix }: Look,
  where: WrittenTarget,
  more: DoctorCheck<ServerProbes>[] = [],
): Promise<CheckResult[]> {
  const checks = [connectionCheck(ids), ...(ids.length > 0 ? [] : [...recordChecks, ...more])];
  try {
    const target = await openTarget(where);
    const probes = serverProbes(target, fix);
    return await runChecks(checks, probes).finally(() => target.database.destroy());
  } catch (error) {
    return [{ question: 'deployed', subject: where.stack ?? 'local service', ...unknownOutcome(error) }];
  }
}

/** The settings in cdk.json, or its first error. @param stack the stage in its name overrides the stage in the file */
function readSettingsFile(cdkJson: string, stack?: string): FoundSettings {
  try {
    return { settings: readSettings(writtenSettings(cdkJson, stack)), results: [] };
  } catch (error) {
    const [first = 'cannot be read as JSON'] = error instanceof SettingsError ? error.errors : [];
    const fix = `npm run setting -- ${first.split(':')[0]}=…`;
    return { results: [{ question: 'deployed', subject: 'cdk.json', ...missingOutcome(first, fix) }] };
  }
}

/** The checks of AWS. @param deployed false: only the checks that make sense before the first deployment */
export function awsChecks(settings: Settings, stack: string, deployed: boolean): DoctorCheck[] {
  return [
    ...mailChecks(settings, deployed),
    ...messageChecks(settings),
    ...(deployed ? nextStepChecks(settings, stack) : []),
  ];
}

const SIGNS = { works: 'ok', missing: 'MISSING', warning: 'warning', unknown: 'unknown' } as const;

/** The lines of the report: each question with its results, below each its fix, and at the end the next step. */
export function formatReport(results: readonly CheckResult[]): string[] {
  const width = Math.max(0, ...results.map(({ subject }) => subject.length)) + 2;
  const asked = (Object.keys(DOCTOR_QUESTIONS) as DoctorQuestion[])
    .map((question) => results.filter((one) => one.question === question))
    .filter((answers) => answers.length > 0);
  const sections = asked.flatMap((answers) => {
    const title = answers.map(({ question }) => DOCTOR_QUESTIONS[question])[0];
    const lines = answers.flatMap(({ subject, state, detail, fix }) => {
      const line = `  ${SIGNS[state].padEnd(9)}${subject.padEnd(width)}${detail}`;
      return fix === undefined ? [line] : [line, `${' '.repeat(11)}→ ${fix}`];
    });
    return [String(title), ...lines, ''];
  });
  const open = asked.flat().filter(({ state }) => state !== 'works');
  const [next] = (['missing', 'unknown', 'warning'] as const).flatMap((one) =>
    open.filter(({ state }) => state === one),
  );
  if (next === undefined) return [...sections, 'Everything works.'];
  return [
    ...sections,
    `${open.length} of ${results.length} need attention. Next step: ${next.subject}`,
    `→ ${next.fix}`,
  ];
}

if (import.meta.main) {
  outliveReader();
  allowFarServers();
  process.exitCode = await runDoctor(
    process.argv.slice(2),
    linePrinter((text) => process.stdout.write(text)),
  );
}
