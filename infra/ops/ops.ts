import { createInterface } from 'node:readline/promises';
import { Writable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { Command, Option } from 'commander';
import { allowFarServers } from '../../lib/deadline.ts';
import { outliveReader } from '../closed-output.ts';
import { HELP_HINT, runProgram } from './command.ts';
import { forgetPerson } from './forget.ts';
import { printForm } from './form.ts';
import { listOperations, showClient } from './operations.ts';
import { rebuild } from './rebuild.ts';
import { deleteRecords, exportFile, importFile, listRecords } from './records.ts';
import { redeliverEvents } from './redeliver.ts';
import { showRegistrations } from './registration.ts';
import { restoreTable } from './restore.ts';
import { rotatePepper, rotateSecretKey } from './rotation.ts';
import { putSecret } from './secrets.ts';
import { CDK_JSON } from './service-secrets.ts';
import { settle, showOperation } from './settle.ts';
import { LOCAL_URL, openTarget, type Target, type WrittenTarget } from './target.ts';
import { linePrinter, printableLine, type Terminal } from './terminal.ts';

const AFTER_HELP = `
AWS credentials and region come from the environment (such as AWS_PROFILE and AWS_REGION). Within a pipe, use
\`npm run -s ops\`, which leaves out npm's own output. The command ends with 0 when all went well, 1 when something
did not, 2 when it was called wrongly.
`;

/** Runs the operators' command. @returns its exit code */
export async function runOps(args: readonly string[], terminal: Terminal): Promise<number> {
  return runProgram(operatorsProgram(terminal), args, terminal);
}

/** The command with its subcommands, their arguments and options. */
export function operatorsProgram(terminal: Terminal): Command {
  const ops = new Command('npm run ops --')
    .description(
      "The operators' command on the records of the CRM. Say where the records are: --stack, --table or --local.",
    )
    .option('--stack <name>', "the table of a deployed stack, found by the stack's outputs")
    .option('--table <name>', 'a table by its name')
    .addOption(new Option('--local [url]', 'the local service').preset(LOCAL_URL))
    .addHelpText('after', AFTER_HELP)
    .configureHelp({ showGlobalOptions: true, helpWidth: 120 })
    .showHelpAfterError(HELP_HINT)
    .configureOutput({
      writeOut: (text) => terminal.print(text.trimEnd().split('\n')),
      writeErr: (text) => terminal.report(text.trimEnd().split('\n')),
    })
    .exitOverride();

  const onTarget = async (work: (target: Target) => Promise<void>) => {
    const target = await openTarget(ops.opts<WrittenTarget>());
    await work(target).finally(() => target.database.destroy());
  };
  recordCommands(ops, onTarget, terminal);
  serviceCommands(ops, onTarget, terminal);
  operationCommands(ops, onTarget, terminal);
  supportCommands(ops, onTarget, terminal);
  dataCommands(ops, onTarget, terminal);
  return ops;
}

type OnTarget = (work: (target: Target) => Promise<void>) => Promise<void>;

function recordCommands(ops: Command, onTarget: OnTarget, terminal: Terminal): void {
  const DRY_RUN = ['--dry-run', 'shows what would change, and changes nothing'] as const;
  ops
    .command('import <file>')
    .description('adds and changes the records of a CRM file (- reads the standard input); deletes none')
    .option(...DRY_RUN)
    .action((file, options) => onTarget((target) => importFile(target, file, options, terminal)));
  ops
    .command('export [file]')
    .description('writes all records as a CRM file, to the standard output if no file is named')
    .action((file) => onTarget((target) => exportFile(target, file, terminal)));
  ops
    .command('list <kind>')
    .description('shows the records of a kind: forms, clients, account-types or connections')
    .action((kind) => onTarget((target) => listRecords(target, kind, terminal)));
  ops
    .command('form <id>')
    .description('prints a form as JSON Schema, with labels and order, for a registration page')
    .action((id) => onTarget((target) => printForm(target, id, terminal)));
  ops
    .command('delete <kind> <id...>')
    .description('deletes records')
    .option(...DRY_RUN)
    .action((kind, ids, options) => onTarget((target) => deleteRecords(target, [kind, ids], options, terminal)));
}

function serviceCommands(ops: Command, onTarget: OnTarget, terminal: Terminal): void {
  const secret = ops.command('secret').description('secrets of trading servers and others');
  secret
    .command('put <name>')
    .description(
      'stores the secret of a connection, of a setting, the pepper, or that of passwords; asks for it, or reads the standard input',
    )
    .option('--server <host:port...>', 'further servers that get the secret of a connection')
    .option('--yes', 'confirms the servers, where nobody can be asked')
    .action((name, options) => onTarget((target) => putSecret(target, name, options, terminal)));
  secret
    .command('rotate <name>')
    .description(
      'makes or replaces the key that requests to a receiver are signed with, and prints it; passwords: the key that logins and passwords of accounts are derived from, in five minutes',
    )
    .action((name) => onTarget((target) => rotateSecretKey(target, name, terminal)));
  ops
    .command('pepper')
    .description('the key that codes are sealed with')
    .command('rotate')
    .description('replaces it, without downtime; takes 20 minutes, and resumes after an interruption')
    .action(() => onTarget((target) => rotatePepper(target, terminal)));
}

function supportCommands(ops: Command, onTarget: OnTarget, terminal: Terminal): void {
  ops
    .command('registration <address>')
    .description(
      'shows why a person gets no code: the requests of the address, their codes, and whether SES suppresses it',
    )
    .option('--unsuppress', 'removes the email address from the suppression list of SES')
    .action((address, options) => onTarget((target) => showRegistrations(target, address, options, terminal)));
  ops
    .command('client <id>')
    .description('shows the record of a client, the accounts opened here, and the operations that have not ended')
    .action((id) => onTarget((target) => showClient(target, id, terminal)));
}

function dataCommands(ops: Command, onTarget: OnTarget, terminal: Terminal): void {
  ops
    .command('forget [address]')
    .description(
      'deletes what is kept about a person who has proven an email or a phone: registrations, documents, the client',
    )
    .option('--client <id>', 'the person by the client, with all addresses that no other client has proven')
    .option('--dry-run', 'shows what would be deleted, and deletes nothing')
    .action((address, options) => onTarget((target) => forgetPerson(target, address, options, terminal)));
  ops
    .command('restore <table>')
    .description(
      'puts what a table lacks from a table that AWS restored; infra/docs/operating.md, Restore, has the steps',
    )
    .requiredOption('--from <name>', 'the name of the restored table')
    .option('--dry-run', 'shows what would change, and changes nothing')
    .action((table, options) => onTarget((target) => restoreTable(target, table, options, terminal)));
  ops
    .command('rebuild')
    .description(
      'writes lost operations and reservations again, from the records of accounts, while the functions are stopped; infra/docs/operating.md, Restore, has the steps',
    )
    .option('--dry-run', 'shows what would change, and changes nothing')
    .action((options) => onTarget((target) => rebuild(target, options, terminal)));
}

function operationCommands(ops: Command, onTarget: OnTarget, terminal: Terminal): void {
  ops
    .command('operations')
    .description('lists the operations that have not ended')
    .action(() => onTarget((target) => listOperations(target, terminal)));
  ops
    .command('operation <id>')
    .description('shows what is known of an operation, what its trading server says, and the commands that end it')
    .action((id) => onTarget((target) => showOperation(target, id, terminal)));
  ops
    .command('settle <id>')
    .description('ends an operation by your word; what the server does not show must be said twice, by --confirm')
    .option('--login <login>', "the account with this login is the request's")
    .option('--none', "no account is the request's: the key's next use opens one")
    .option('--undecided', 'takes back what was said')
    .option('--deposit', 'the deposit is paid, or will not be')
    .option('--confirm <word>', 'the same again: the login, or none, undecided or deposit')
    .action((id, options) => onTarget((target) => settle(target, id, options, terminal)));
  ops
    .command('redeliver')
    .description('delivers the events again that the CRM did not accept for a day')
    .action(() => onTarget((target) => redeliverEvents(target, terminal)));
}

/** Asks the person at the terminal. */
async function askPerson(question: string, shown?: 'shown'): Promise<string> {
  const silent = new Writable({ write: (_chunk, _encoding, done) => done() });
  const output = shown === undefined ? silent : process.stderr;
  // From here on the terminal does not show what is typed.
  const lines = createInterface({ input: process.stdin, output, terminal: true });
  if (shown === undefined) process.stderr.write(printableLine(question));
  const answer = await lines.question(printableLine(question));
  if (shown === undefined) process.stderr.write('\n');
  lines.close();
  return answer;
}

if (import.meta.main) {
  outliveReader();
  allowFarServers();
  process.exitCode = await runOps(process.argv.slice(2), {
    input: process.stdin,
    ...(process.stdin.isTTY ? { ask: askPerson } : {}),
    print: linePrinter((text) => process.stdout.write(text)),
    report: linePrinter((text) => process.stderr.write(text)),
    cdkJson: CDK_JSON,
    wait: sleep,
  });
}
