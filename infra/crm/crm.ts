import { Command, CommanderError, Option } from 'commander';
import { check } from './check.ts';
import { type CrmStreams, HELP_HINT } from './command.ts';
import { explain } from './explain.ts';
import { addressesOf } from './public-address.ts';
import { exportFile, importFile, list, put, remove } from './records.ts';
import { LOCAL_URL, openTarget, type Target, type Where } from './target.ts';

const AFTER_HELP = `
AWS credentials and region come from the environment (AWS_PROFILE, AWS_REGION and so on). Within a pipe, use
\`npm run -s crm\`, which leaves out npm's own words. The command ends with 0 when all went well, 1 when something
did not, 2 when it was called wrongly.
`;

/** Runs the operators' command. @returns its exit code */
export async function runCrm(args: readonly string[], streams: CrmStreams): Promise<number> {
  try {
    await program(streams).parseAsync(args, { from: 'user' });
    return 0;
  } catch (error) {
    // The library has said by itself what is wrong with the call.
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
    const { message, exitCode } = explain(error);
    streams.tell(`${message}\n`);
    return exitCode;
  }
}

function program(streams: CrmStreams): Command {
  const crm = new Command('npm run crm --')
    .description(
      "The operators' command on the records of the CRM. Say where the records are: --stack, --table or --local.",
    )
    .option('--stack <name>', "the table of a deployed stack, found by the stack's outputs")
    .option('--table <name>', 'a table by its name')
    .addOption(new Option('--local [url]', 'the local service').preset(LOCAL_URL))
    .addHelpText('after', AFTER_HELP)
    .configureHelp({ showGlobalOptions: true, helpWidth: 120 })
    .showHelpAfterError(HELP_HINT)
    .configureOutput({ writeOut: streams.print, writeErr: streams.tell })
    .exitOverride();

  const onTarget = async (work: (target: Target) => Promise<void>) => {
    const target = await openTarget(crm.opts<Where>());
    await work(target).finally(() => target.table.close());
  };
  recordCommands(crm, onTarget, streams);
  crm
    .command('check <connection-id...>')
    .description('connects to trading servers, logs in and looks at the range of logins, without creating anything')
    .action((ids: string[]) => onTarget((target) => check(target, ids, streams)));
  return crm;
}

type OnTarget = (work: (target: Target) => Promise<void>) => Promise<void>;

function recordCommands(crm: Command, onTarget: OnTarget, streams: CrmStreams): void {
  const DRY_RUN = ['--dry-run', 'shows what would change, and changes nothing'] as const;
  crm
    .command('import <file>')
    .description('adds and changes the records of a CRM file (- reads the standard input); deletes none')
    .option(...DRY_RUN)
    .action((file, options) => onTarget((target) => importFile(target, file, options, streams)));
  crm
    .command('export [file]')
    .description('writes all records as a CRM file, to the standard output where no file is named')
    .action((file) => onTarget((target) => exportFile(target, file, streams)));
  crm
    .command('list <kind>')
    .description('shows the records of a kind: forms, clients, account-types or connections')
    .option('--json', 'lists as JSON')
    .action((kind, options) => onTarget((target) => list(target, kind, options, streams)));
  crm
    .command('put <kind> <file>')
    .description('adds or changes one record, which stands in a file as JSON (- reads the standard input)')
    .option(...DRY_RUN)
    .action((kind, file, options) => onTarget((target) => put(target, [kind, file], options, streams)));
  crm
    .command('delete <kind> <id...>')
    .description('deletes records')
    .option(...DRY_RUN)
    .action((kind, ids, options) => onTarget((target) => remove(target, [kind, ids], options, streams)));
}

if (import.meta.main) {
  process.exitCode = await runCrm(process.argv.slice(2), {
    input: process.stdin,
    print: (text) => process.stdout.write(text),
    tell: (text) => process.stderr.write(text),
    addressesOf,
  });
}
