import type { KnownOperation, Word } from '../../lib/openings/operator.ts';
import type { HeldOperation } from '../../lib/openings/stored-operation.ts';
import type { Sighting } from '../../lib/platform/platform.ts';
import { serverAddress } from '../../lib/records/crm-records.ts';
import { missingParts } from './operations.ts';
import { opsCommand } from './terminal.ts';

/** Everything that is known of an operation, and the commands by which it can be ended. @param place of the target */
export function describeOperation(known: KnownOperation, place: readonly string[]): string[] {
  const { held, client, connection, movedFrom } = known;
  const { operationId, plan, since } = held;
  const person = client === undefined ? 'no record' : [client.name, client.email].filter(Boolean).join(', ');
  const order =
    plan === undefined
      ? []
      : [
          `  Client: ${plan.user_id} (${person})`,
          `  Asked for: an account of the group ${plan.group}, leverage ${plan.leverage}, on ${plan.connection_id} (${plan.version})`,
          `  Caller: ${plan.caller}`,
        ];
  const moved = `the first command went to ${movedFrom}, and the connection leads elsewhere now: look at the first one`;
  const server = connection === undefined ? 'the CRM has no such connection' : serverAddress(connection);
  return [
    `Operation ${operationId}`,
    ...order,
    ...(since === undefined ? [] : [`  First command since the key was free last: ${new Date(since).toISOString()}`]),
    `  State: ${describeState(held)}`,
    ...missingParts(held.life).map((part) => `  Missing: ${part}`),
    `  Server: ${movedFrom === undefined ? server : moved}`,
    ...[...known.seen].map((seen) => `    ${describeLogin(seen, known)}`),
    ...describeUnseen(known),
    '',
    ...describeAccepted(known, place),
  ];
}

function describeState({ life, closed }: HeldOperation): string {
  switch (life.at) {
    case 'claimed': {
      if (closed === undefined) return 'nothing was sent, and its key is free';
      const looks = closed.length === 0 ? '' : `; its next use looks first at ${closed.join(', ')}`;
      return `an operator said that no account is the request's, so its key is free${looks}`;
    }
    case 'sent': {
      const login = life.login === undefined ? '' : ` for the login ${life.login}`;
      return life.commands === 'taken'
        ? `the only command${login} was answered: the login exists`
        : `a command${login} has left, and its outcome is unknown`;
    }
    case 'undecided': {
      const sent = life.login === undefined ? '' : `; the command named the login ${life.login}`;
      return `an operator decides${sent}${life.other === undefined ? '' : `; the server answered with ${life.other}`}`;
    }
    case 'open':
      return `the account ${life.login} is open: ${life.word === true ? 'an operator said so' : 'the server said so'}`;
    case 'gone':
      return 'nothing was opened';
  }
}

const SIGHTINGS: Readonly<Record<Sighting['is'], string>> = {
  ours: "an account with this operation's id",
  foreign: "an account with another operation's id",
  unmarked: "an account without an operation's id",
  absent: 'no account',
  silent: 'the server has no command that shows it',
};

function describeLogin([login, seen]: [number, Sighting | undefined], { held, holders }: KnownOperation): string {
  const { life } = held;
  const isShown = life.at === 'open' && life.word !== true && life.deposit !== 'unpaid' && life.login === login;
  const unseen = isShown ? 'not asked: the server has shown it before' : 'not seen from here';
  const says = seen === undefined ? unseen : SIGHTINGS[seen.is];
  const owner = seen?.owner === undefined ? '' : `, ${seen.owner}`;
  const holder = holders.get(login);
  return `${login}: ${says}${owner}${holder === undefined ? '' : `; the operation ${holder} holds this login`}`;
}

/** What a person must find out on the server. */
function describeUnseen({ held, seen, funded }: KnownOperation): string[] {
  const { life, plan, operationId } = held;
  if (life.at === 'open' && life.deposit === 'unpaid')
    return [
      `    The account ${funded === undefined ? 'cannot be asked for its money' : funded ? 'holds money' : 'is empty'}.`,
    ];
  if (life.at === 'open' || life.at === 'claimed' || seen.size > 0) return [];
  const group = plan === undefined ? '' : ` of the group ${plan.group}`;
  return [
    `    It cannot say. Look there for a comment that begins with ${operationId}; if there is none, for an account${group}`,
    "    with the client's name, registered within five minutes of the first command.",
  ];
}

function describeAccepted(known: KnownOperation, place: readonly string[]): string[] {
  const { accepted, waitsUntil, held } = known;
  if (waitsUntil !== undefined)
    return [
      `The server may still answer: retries and the settler ask it. You decide from ${new Date(waitsUntil).toISOString()} on.`,
    ];
  if (accepted.length === 0) return ['There is nothing to decide.'];
  const { operationId } = held;
  const lines = accepted.flatMap(({ say, login, proven }) => {
    const proof = proven ? ', as the server shows' : '';
    if (say === 'login' && login === undefined)
      return [
        `  ${opsCommand(place, ['settle', operationId], '--login', 'LOGIN')}`,
        "      the account LOGIN is the request's",
      ];
    const word: Word = say === 'login' ? { say, login: Number(login) } : { say };
    return [`  ${settleCommand(operationId, word, place)}`, `      ${describeWord(word)}${proof}`];
  });
  return ['What you can say:', ...lines];
}

/** The command that says a word. */
export function settleCommand(id: string, word: Word, place: readonly string[]): string {
  return opsCommand(place, ['settle', id], `--${word.say}`, ...(word.say === 'login' ? [String(word.login)] : []));
}

/** A word as `--confirm` repeats it. */
export function wordText(word: Word): string {
  return word.say === 'login' ? String(word.login) : word.say;
}

export function describeWord(word: Word): string {
  switch (word.say) {
    case 'login':
      return `the account ${word.login} is the request's`;
    case 'none':
      return "no account is the request's";
    case 'undecided':
      return 'what was said of it is taken back';
    case 'deposit':
      return 'the deposit is paid, or will not be';
  }
}

/** What follows from each word. */
export const CONSEQUENCES: Readonly<Record<Word['say'], string>> = {
  login:
    'Its key answers with that account. Record, event and mail follow within a minute. ' +
    'Unless the server shows the account, a demo deposit is yours to pay; then say --deposit.',
  none:
    "The key's next use opens an account. If there is one already, its client then has two. " +
    'A web-registration plug-in blocks a repeat for some seconds: if the key hears 504 again, say --none once more.',
  undecided: 'Its key answers 504 again, until an operator decides.',
  deposit: 'The service pays nothing.',
};
