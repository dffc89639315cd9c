import { dynamoTable } from '../../lib/aws/dynamodb.ts';
import { secretReader } from '../../lib/aws/secrets.ts';
import {
  knowOperation,
  type OperatorDependencies,
  type Refusal,
  storeWord,
  type Word,
  type WordOutcome,
} from '../../lib/openings/operator.ts';
import { platformConnections } from '../../lib/platform/connections.ts';
import { dynamoAccountDirectory } from '../../lib/records/crm-records.ts';
import type { Telemetry } from '../../lib/telemetry.ts';
import { CommandError, wrongUsage } from './command.ts';
import { openLedger } from './open-ledger.ts';
import { CONSEQUENCES, describeOperation, describeWord, settleCommand, wordText } from './operation-text.ts';
import { findOperation } from './operations.ts';
import type { Target } from './target.ts';
import type { Terminal } from './terminal.ts';

/** How long the questions to the database and to the trading server may take together, in milliseconds. */
const ALL_CALLS_MS = 30_000;

const SILENT: Telemetry = { event: () => {}, with: () => SILENT };

async function operatorDependencies(target: Target): Promise<OperatorDependencies> {
  const { database, clientOf, resource } = target;
  const readSecret = secretReader(clientOf('SECRETS_MANAGER'));
  return {
    ledger: await openLedger(target),
    directory: dynamoAccountDirectory(dynamoTable(database, await resource('CrmTable'))),
    platform: platformConnections({ readSecret }),
    telemetry: SILENT,
    now: Date.now,
  };
}

/** Shows what is known of an operation, what its trading server says, and what an operator can say. */
export async function showOperation(target: Target, id: string, { print }: Terminal): Promise<void> {
  const held = await findOperation(target, id);
  const signal = AbortSignal.timeout(ALL_CALLS_MS);
  print(describeOperation(await knowOperation(await operatorDependencies(target), held, signal), target.place));
}

/** The options of `settle`: one word, and the same word again. */
export interface SettleOptions {
  login?: string;
  none?: true;
  undecided?: true;
  deposit?: true;
  confirm?: string;
}

/** Stores what an operator says about an operation. What the server does not show must be said twice. */
export async function settle(target: Target, id: string, options: SettleOptions, terminal: Terminal): Promise<void> {
  const word = parseWord(options);
  const { pk } = await findOperation(target, id);
  const confirmed = options.confirm === wordText(word);
  const signal = AbortSignal.timeout(ALL_CALLS_MS);
  const settled = await storeWord(await operatorDependencies(target), pk, word, { confirmed }, signal);
  if (settled.is !== 'settled') throw notSettled(settled, word, { id, place: target.place, confirm: options.confirm });
  terminal.print([`The operation ${id} is settled: ${describeWord(word)}.`, CONSEQUENCES[word.say]]);
}

function parseWord({ login, none, undecided, deposit }: SettleOptions): Word {
  const said = [login, none, undecided, deposit].filter((one) => one !== undefined);
  if (said.length !== 1) throw wrongUsage('Say one thing: --login N, --none, --undecided or --deposit.');
  if (login === undefined) return { say: none ? 'none' : undecided ? 'undecided' : 'deposit' };
  if (!/^[1-9]\d*$/.test(login) || !Number.isSafeInteger(Number(login)))
    throw wrongUsage('--login takes the login of the account.');
  return { say: 'login', login: Number(login) };
}

/** The reason for which a word is not stored. */
const REFUSALS: Readonly<Record<Refusal, string>> = {
  nothing_sent: 'nothing was sent for it, so there is nothing to decide',
  ended: 'the server has decided it, or it is said already',
  too_early: 'the server may still answer',
  not_its_login: 'the command did not name this login, and the server did not answer with it',
  absent: 'the server has no account at this login',
  of_another_operation: "the comment of the account has another operation's id",
  held_by_another: 'another operation holds this login: if an operator said so, take that back first (--undecided)',
  ours_there: "the server has an account with this operation's id",
  not_a_word: 'no operator has said anything that could be taken back',
  no_deposit: 'no deposit is left to an operator',
};

function notSettled(
  settled: Exclude<WordOutcome, { is: 'settled' }>,
  word: Word,
  { id, place, confirm }: { id: string; place: readonly string[]; confirm: string | undefined },
): CommandError {
  if (settled.is === 'busy')
    return new CommandError(`Nothing was settled: another worker holds the operation ${id}. Try again in a minute.`);
  const known = describeOperation(settled.known, place);
  if (settled.is === 'refused')
    return new CommandError([`Nothing was settled: ${REFUSALS[settled.why]}.`, '', ...known]);
  const doubt = confirm === undefined ? [] : [`--confirm ${confirm} is not what was said.`];
  return new CommandError([
    ...doubt,
    `Nothing is settled yet: the server does not show it, so your word alone counts. You say: ${describeWord(word)}.`,
    CONSEQUENCES[word.say],
    'Say it a second time:',
    `  ${settleCommand(id, word, place)} --confirm ${wordText(word)}`,
  ]);
}
