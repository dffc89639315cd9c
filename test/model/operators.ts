import type { Fact } from '../../lib/openings/life.ts';
import { isOwn } from './scenario.ts';
import {
  changeWorker,
  isOf,
  type Ledger,
  LOGINS,
  ledgerOf,
  NOBODY,
  NOTHING,
  reserve,
  setWorker,
  type Turn,
  type Worker,
  type World,
  workerName,
} from './world.ts';

/** The operator reports what the server has; or another operation's account, by mistake; or nothing, at any time. */
export function askOperator(turn: Turn, worker: Worker, index: number): void {
  const { accounts, earlier, commands, deposits, payments, workers } = turn.world;
  const { life, id } = worker;
  // An operator gets an operation long after its functions have ended.
  const isAlone = !workers.some((one, at) => one !== null && at !== index && isOf(one.id, id));
  const say = (fact: Fact, also: (next: World) => void = () => {}) =>
    turn.add(`${workerName(worker, index)} says ${fact.on}${'login' in fact ? ` ${fact.login}` : ''}`, (next) => {
      also(next);
      changeWorker(next, index, { fact });
    });
  turn.add(`${workerName(worker, index)} finds no way`, (next) => {
    setWorker(next, index, null);
  });
  if (life.at !== 'sent' && life.at !== 'undecided' && life.at !== 'done') return;
  if (life.at === 'sent' && !isOwn(turn.scenario)) return;
  if (life.at === 'done') {
    if (!life.unpaid) return;
    if (deposits > 0) return void say({ on: 'operator_paid' });
    if (payments === 0 && isAlone)
      say({ on: 'operator_paid' }, (next) => {
        next.deposits += 1;
      });
    return;
  }
  const login = 'login' in life ? (life.login ?? 0) : 0;
  if (login === 0 && turn.scenario.keyed) return void askWithoutLogin(turn, worker, say);
  for (const one of LOGINS) {
    const { reservations, records } = ledgerOf(turn, worker);
    const holder = reservations[one] ?? NOTHING;
    if (life.at !== 'undecided') continue;
    const isAnothers = holder !== NOTHING && holder !== id;
    if (!isOf(accounts[one], id) && !isOf(earlier[one], id) && !isAnothers) continue;
    // Without a proof, the login of another operation stays reserved for that one.
    const takes = holder === NOBODY || records[one] === id || isShownAt(turn, id, one);
    say({ on: 'operator_found', login: one }, (next) => takes && takeLogin(next, worker, one));
  }
  // Where the connection has led to another server, the operator asks the first one too.
  const isElsewhere = login === 0 ? earlier.some((one) => isOf(one, id)) : isOf(earlier[login], id);
  const owner = accounts[login] ?? NOTHING;
  if (life.at === 'undecided' && login !== 0 && owner !== NOTHING && !isOf(owner, id) && !isElsewhere)
    say({ on: 'operator_foreign' });
  // An account that another operation has reserved is that one's.
  const { reservations } = ledgerOf(turn, worker);
  const isHeld = (one: number) => ![NOTHING, id].includes(reservations[one] ?? NOTHING);
  const isHere = login === 0 ? LOGINS.some((one) => isOf(accounts[one], id) && !isHeld(one)) : owner !== NOTHING;
  const isOver = isAlone && !commands.some((one) => isOf(one.id, id));
  if (!isElsewhere && !isHere && isOver) say({ on: 'operator_found_none' });
}

/** A restored operation without its login: its record, its reservation and the server's comments name one. */
function askWithoutLogin(turn: Turn, worker: Worker, say: (fact: Fact, also?: (next: World) => void) => void): void {
  const { accounts } = turn.world;
  const { id } = worker;
  const { records, reservations } = ledgerOf(turn, worker);
  const isTraced = (login: number) => records[login] === id || reservations[login] === id;
  for (const login of LOGINS.filter((one) => accounts[one] !== NOTHING)) {
    const isOurs = isOf(accounts[login], id);
    // Its plan is in the account's record alone. Without it, a retry decides again.
    if (isOurs && (isTraced(login) || isShownAt(turn, id, login)))
      say(records.includes(id) ? { on: 'operator_found', login } : { on: 'operator_resumed' }, (next) =>
        takeLogin(next, worker, login),
      );
    if (!isOurs && isTraced(login))
      say({ on: 'operator_foreign' }, (next) => reserve(next, worker.ledger, login, NOBODY));
  }
  if (!LOGINS.some((login) => accounts[login] !== NOTHING && isTraced(login))) say({ on: 'operator_found_none' });
}

/** Whether the account at the login shows the operation's id. */
function isShownAt({ scenario, world }: Turn, id: string, login: number): boolean {
  return scenario.shows === 'comments' && login !== world.relabelled && isOf(world.accounts[login], id);
}

/** A login that another operation or an operator has reserved since is the operation's again. */
function takeLogin(world: World, { ledger, id }: Worker, login: number): void {
  const { reservations } = world.ledgers[ledger] as Ledger;
  if (reservations[login] !== NOTHING) reserve(world, ledger, login, id);
}
