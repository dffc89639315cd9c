import type { Life } from '../../lib/openings/life.ts';
import { freeLogins } from './server.ts';
import {
  ANOTHER,
  addCommand,
  changeLedger,
  describeLife,
  FOREIGN,
  type Id,
  isOf,
  type Ledger,
  LOGINS,
  NOBODY,
  NOTHING,
  openAccount,
  reserve,
  type Turn,
  takeCommand,
  type World,
} from './world.ts';

/** Events without a worker. */
export function happenAlone(turn: Turn): void {
  const { commands, accounts, payments, relabelled } = turn.world;
  for (const login of turn.scenario.relabels === true && relabelled === 0 ? LOGINS : []) {
    if (accounts[login] === NOTHING) continue;
    turn.add(`a dealer changes the comment of ${login}`, (next) => {
      next.relabelled = login;
    });
  }
  for (const { id, login, server } of turn.scenario.answers === true ? [] : commands) {
    turn.add(`a command of ${id} is dropped`, (next) => takeCommand(next, id, login, server));
    for (const chosen of freeLogins(turn, login, server)) {
      turn.add(`a late command of ${id} opens ${chosen}`, (next) => {
        takeCommand(next, id, login, server);
        if (server === next.server) openAccount(next, chosen, id);
        else next.earlier = next.earlier.with(chosen, id);
      });
    }
  }
  interfere(turn);
  if (payments > 0) {
    turn.add('a payment is dropped', (next) => {
      next.payments -= 1;
    });
    turn.add('a late payment arrives', (next) => {
      next.payments -= 1;
      next.deposits += 1;
    });
  }
  if (turn.scenario.stranger === true && !accounts.includes(FOREIGN)) {
    for (const free of LOGINS.filter((one) => accounts[one] === NOTHING)) {
      turn.add(`somebody else opens ${free}`, (next) => {
        openAccount(next, free, FOREIGN);
      });
    }
  }
  const gone = LOGINS.find((login) => accounts[login] !== NOTHING);
  if (turn.scenario.restored === true && gone !== undefined) {
    turn.add(`the server is restored without ${gone}`, (next) => {
      next.accounts = next.accounts.with(gone, NOTHING);
    });
  }
}

const isOfFirst = (owner: Id) => isOf(owner, 'A');

/** Another operation, another server, another derivation. */
function interfere(turn: Turn): void {
  const { keyed, another, moves, rederives } = turn.scenario;
  const { ledgers, server, derivation, hasAnother } = turn.world;
  // A plug-in's logins are reserved for each server.
  const { accounts, earlier } = turn.world;
  const isUsed = (login: number) => !keyed && (accounts[login] !== NOTHING || earlier[login] !== NOTHING);
  const mayCome = another === true || (another === 'later' && ledgers.some(({ records }) => records.some(isOfFirst)));
  for (const [index, { reservations }] of mayCome && !hasAnother ? ledgers.entries() : []) {
    for (const login of LOGINS.filter((one) => reservations[one] === NOTHING && !isUsed(one))) {
      turn.add(`another operation reserves ${login} and sends its command`, (next) => {
        next.hasAnother = true;
        reserve(next, index, login, ANOTHER);
        // A plug-in names its login once the account is open.
        if (keyed) addCommand(next, ANOTHER, login);
        else openAccount(next, login, ANOTHER);
      });
    }
  }
  for (const [index, { reservations }] of keyed ? ledgers.entries() : []) {
    // An account with its id in the comment is its own, to another operation.
    for (const login of LOGINS.filter((one) => reservations[one] === ANOTHER && one !== turn.world.relabelled)) {
      const owner = accounts[login] ?? NOTHING;
      if (!isOf(owner, 'A')) continue;
      // Without comments an operator says that it is somebody else's.
      const holder = turn.scenario.shows === 'comments' ? owner : NOBODY;
      turn.add(`another operation leaves ${login} to ${holder}`, (next) => reserve(next, index, login, holder));
    }
  }
  if (moves === true && server === 0) {
    turn.add('the connection leads to another server', (next) => {
      next.server = 1;
      [next.earlier, next.accounts] = [next.accounts, next.earlier];
    });
  }
  if (rederives !== undefined && derivation === 0) {
    turn.add(`the request is ${rederives}`, (next) => {
      next.derivation = 1;
    });
  }
}

/** A ledger is lost in part or whole, once; or a key expires early. Workers that hold its operation are overtaken. */
export function loseTables(turn: Turn, index: number, ledger: Ledger): void {
  const { loses, losesWhilePaying, expires, funded, keyed } = turn.scenario;
  const { payments, workers } = turn.world;
  const isPaid = payments > 0 || workers.some((worker) => worker?.step === 'pay' || worker?.step === 'repay');
  const isPaying = (loses === 'ledger' || loses === 'all') && losesWhilePaying !== true && isPaid;
  const overtake = (next: World) => {
    next.workers = next.workers.map((worker) => (worker?.ledger === index ? { ...worker, stale: true } : worker));
  };
  // With a rival, the first request's operation is lost: the other one would be lost in the same way.
  for (const [request, { id, life }] of Object.entries(ledger.operations).slice(0, 1)) {
    if (expires === true && life.at === 'done' && !life.unpaid) {
      turn.add(`the key of ${id} expires`, (next) => {
        changeLedger(next, index, { operations: { ...ledger.operations, [request]: { id, life: { at: 'gone' } } } });
      });
    }
    if (loses === undefined || isPaying || turn.world.lost || life.at === 'gone') continue;
    const states: Life[] = [{ at: 'gone' }];
    if (loses === 'operations' && life.at !== 'claimed') states.push({ at: 'claimed' });
    // `crm restore` leaves claims to the operators.
    if (loses !== 'reservations') states.push({ at: 'undecided' });
    if (loses === 'operations' && (life.at === 'open' || life.at === 'done'))
      // With a deposit, `crm restore` sets it back.
      states.push(
        { at: 'sent', login: life.login, commands: funded === true ? 'found' : 'one' },
        reopened(life, funded),
      );
    for (const state of loses === 'reservations' ? [life] : states) {
      turn.add(`ledger ${index + 1} is lost: ${loses}, ${id} is ${describeLife(state)}`, (next) => {
        next.lost = true;
        const { server } = ledger.operations[request] ?? {};
        const hasPlan = state.at === 'sent' || state.at === 'open' || (state.at === 'undecided' && !keyed);
        const keepsServer = loses === 'reservations' || hasPlan;
        const operation = { id, life: state, ...(keepsServer && server !== undefined ? { server } : {}) };
        changeLedger(next, index, {
          operations: { ...ledger.operations, [request]: operation },
          ...(loses === 'operations' ? {} : { reservations: ledger.reservations.map(() => NOTHING) }),
          ...(loses === 'all' ? { records: ledger.records.map(() => NOTHING) } : {}),
        });
        if (loses !== 'reservations') overtake(next);
      });
    }
  }
}

/** An open account as `crm restore` copies it: a payment may have left since. */
function reopened({ login }: { login: number }, funded: boolean | undefined): Life {
  const deposit = funded === true ? 'found' : 'none';
  return { at: 'open', login, opened_at: '', recorded: false, deposit, published: false };
}
