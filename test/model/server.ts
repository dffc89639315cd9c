import type { Fact, PaymentOutcome } from '../../lib/openings/life.ts';
import {
  ANOTHER,
  changeWorker,
  FOREIGN,
  LOGINS,
  ledgerOf,
  MAX_PENDING,
  NOTHING,
  openAccount,
  type Turn,
  takeCommand,
  type Worker,
  type World,
  workerName,
} from './world.ts';

/** Adds a fact that the worker may learn now, and what else happens then. */
export type Learn = (fact: Fact, title: string, also?: (next: World) => void) => void;

/** What may be answered to the command that a worker has sent, and what the server has done. */
export function receiveAnswer(turn: Turn, { id, life }: Worker, learn: Learn): void {
  const { keyed, lies, liesAboutRights, repeats, otherLogin, answers } = turn.scenario;
  const login = 'login' in life ? (life.login ?? 0) : 0;
  const consume = (next: World) => takeCommand(next, id, login);
  if (answers !== true) learn({ on: 'lost' }, 'gets no answer');
  const { server } = turn.world;
  if (!turn.world.commands.some((one) => one.id === id && one.login === login && one.server === server)) return;
  learn({ on: 'not_executed' }, 'is refused', consume);
  if (answers !== true) {
    learn({ on: 'rejected' }, 'is refused for the content', consume);
    learn({ on: 'doubtful' }, 'is refused for the state of the server', consume);
  }
  for (const chosen of freeLogins(turn, login)) {
    const execute = (next: World) => {
      consume(next);
      openAccount(next, chosen, id);
      const isRecorded = next.ledgers.some(({ records }) => records[chosen] === id);
      if (isRecorded && next.earlier[chosen] === NOTHING) next.isReopened = true;
    };
    learn({ on: 'opened', login: chosen }, `has opened ${chosen}`, execute);
    if (answers === true) continue;
    learn({ on: 'doubtful' }, `has opened ${chosen}, and is refused for the state of the server`, execute);
    if (liesAboutRights === true)
      learn({ on: 'not_executed' }, `has opened ${chosen}, and is refused for our rights`, execute);
    if (lies === true) learn({ on: 'rejected' }, `has opened ${chosen}, and is refused for the content`, execute);
    if (repeats === true && keyed) learn({ on: 'exists' }, `opens ${chosen}, and is answered that it exists`, execute);
  }
  if (login !== 0 && turn.world.accounts[login] !== NOTHING)
    learn({ on: 'exists' }, 'is answered that it exists', consume);
  if (otherLogin !== true) return;
  for (const chosen of LOGINS) {
    const holder = turn.world.ledgers[0]?.reservations[chosen] ?? NOTHING;
    const [opened] = freeLogins(turn, login);
    if (holder === NOTHING || holder === id || opened === undefined) continue;
    learn({ on: 'opened', login: chosen }, `has opened ${opened}, and gets the answer ${chosen}`, (next) => {
      consume(next);
      openAccount(next, opened, id);
    });
  }
}

/** The logins that a command may open: its own, or any if the server chooses. */
export function freeLogins(turn: Turn, login: number, on = turn.world.server): number[] {
  const { server, accounts, earlier } = turn.world;
  const there = on === server ? accounts : earlier;
  const isUnused = (one: number) => accounts[one] === NOTHING && earlier[one] === NOTHING;
  // A login that the server chooses is reserved for that server: two servers never have the same one.
  if (login === 0) return LOGINS.filter(isUnused);
  return there[login] === NOTHING ? [login] : [];
}

/** What a worker can prove about the account at a login. */
export function sightingAt(
  turn: Turn,
  login: number,
  { id, ledger }: Worker,
): 'ours' | 'foreign' | 'unproven' | 'absent' | 'silent' {
  const { shows, keyed } = turn.scenario;
  const { ignoresRecord, believesPasswords } = turn.mistake;
  const owner = turn.world.accounts[login] ?? NOTHING;
  const isRecorded = turn.world.ledgers[ledger]?.records[login] === id && ignoresRecord !== true;
  if (!keyed) return 'silent';
  if (shows === 'silent') return isRecorded ? 'ours' : 'silent';
  if (owner === NOTHING) return 'absent';
  if (believesPasswords === true && shows === 'nothing') return 'ours';
  // The id and the passwords of another life are others, if they do not follow from the key.
  if (owner === id && shows !== 'nothing' && login !== turn.world.relabelled) return 'ours';
  if (isRecorded) return 'ours';
  if (login === turn.world.relabelled) return 'foreign';
  return owner !== FOREIGN && owner !== id && shows === 'comments' ? 'foreign' : 'unproven';
}

/** Whether the connection has led to another server since the operation's first command. */
export function hasMoved(turn: Turn, { id, ledger }: Worker): boolean {
  const stored = turn.world.ledgers[ledger]?.operations[id.charAt(0)];
  return stored?.server !== undefined && stored.server !== turn.world.server && turn.mistake.ignoresMove !== true;
}

/** What a worker may learn when it looks at its login. */
export function lookUp(
  turn: Turn,
  worker: Worker,
  step: 'look' | 'prove' | 'confirm',
  index: number,
  learn: Learn,
): void {
  const login = 'login' in worker.life ? (worker.life.login ?? 0) : 0;
  learn({ on: step === 'look' ? 'unclear' : 'unconfirmed' }, 'looks, and gets no answer');
  const sighting = sightingAt(turn, login, worker);
  if (hasMoved(turn, worker) && sighting !== 'ours') return void learn({ on: 'moved' }, 'looks at another server');
  const isRecorded = ledgerOf(turn, worker).records[login] === worker.id && turn.mistake.ignoresRecord !== true;
  if (sighting === 'absent' && isRecorded)
    return void learn({ on: 'deleted' }, 'looks, and finds nothing where its record has an account');
  if (sighting === 'silent' || sighting === 'absent') {
    const facts = {
      look: sighting,
      prove: sighting === 'silent' ? 'unproven' : 'absent',
      confirm: 'refused',
    } as const;
    const on = step === 'confirm' && sighting === 'silent' ? 'unconfirmed' : facts[step];
    return void learn({ on }, `looks, and learns ${on}`);
  }
  const owner = login === turn.world.relabelled ? ANOTHER : (turn.world.accounts[login] ?? NOTHING);
  learn({ on: sighting }, `looks, and finds an account: ${sighting}`, (next) => {
    if (sighting === 'foreign') changeWorker(next, index, { seenOwner: owner });
  });
}

/** What a worker may learn when it records, pays and publishes. */
export function completeAccount(
  turn: Turn,
  worker: Worker,
  step: 'complete' | 'pay' | 'repay',
  index: number,
  learn: Learn,
): void {
  if (worker.life.at !== 'open') return;
  const { deposit } = worker.life;
  const { deposits } = turn.world;
  const done = (outcome: PaymentOutcome): Fact => ({
    ...{ on: 'completed', recorded: true, published: true },
    deposit: outcome,
  });
  learn({ on: 'completed', recorded: false, published: false, deposit: 'kept' }, 'completes nothing');
  if (deposit !== 'sent' && deposit !== 'found') return void learn(done('kept'), 'completes it');
  if (hasMoved(turn, worker))
    return void learn(done(step === 'complete' ? 'unknown' : 'refused'), 'does not pay on another server');
  if (step === 'complete') {
    learn(done('unknown'), 'cannot read the balance');
    return void learn(done(deposits > 0 ? 'made' : 'empty'), 'reads the balance');
  }
  learn(done('refused'), 'is refused the payment');
  if (turn.scenario.paysLater === true)
    learn(done('refused'), 'is refused the payment, which is made later', (next) => {
      next.payments = Math.min(MAX_PENDING, next.payments + 1);
    });
  if (turn.scenario.paysTwice === true)
    learn(done('made'), 'pays, and a gateway repeats it', (next) => {
      next.deposits += 2;
    });
  if (step === 'repay' && deposits > 0) return void learn(done('made'), 'finds money');
  learn(done('made'), 'pays', (next) => {
    next.deposits += 1;
  });
  turn.add(`${workerName(worker, index)} pays, and gets no answer`, (next) => {
    next.payments = Math.min(MAX_PENDING, next.payments + 1);
    changeWorker(next, index, { fact: done('unknown'), step: null });
  });
}
