import { endWithReader } from '../../infra/closed-output.ts';
import { exploreScenario } from './explore.ts';
import type { Scenario } from './world.ts';

/** `npm run model`: explores every history of every scenario, and prints the states and the time of each. */

const SHOWN: Omit<Scenario, 'name'> = { keyed: true, workers: 1, shows: 'comments' };
const HIDDEN: Omit<Scenario, 'name'> = { keyed: true, workers: 1, shows: 'existence' };
const PLUG_IN: Omit<Scenario, 'name'> = { keyed: false, workers: 1, shows: 'nothing' };

/** One worker at a time, which may die; the mistakes are looked for here first. */
export const SMALL: readonly Scenario[] = [
  { ...SHOWN, name: 'a server that shows comments', errors: 0 },
  { ...HIDDEN, name: 'a server that hides comments', repeats: true, errors: 0 },
  { ...HIDDEN, name: 'a server that hides comments, without an operator' },
  { ...HIDDEN, name: 'a stranger in a range of ours', stranger: true, errors: 0 },
  { ...HIDDEN, name: 'a strict server and a stranger', strict: true, stranger: true, errors: 0 },
  { ...HIDDEN, name: 'a login of the caller, with hidden comments', own: true, stranger: true, errors: 0 },
  { ...SHOWN, name: 'a gateway without a look-up', shows: 'nothing', repeats: true, errors: 0 },
  { ...SHOWN, name: 'a login that another operation uses', rival: true, errors: 0 },
  { ...SHOWN, name: 'a login that is archived', archived: true, errors: 0 },
  { ...SHOWN, name: 'a server that opens another login', renames: true, errors: 0 },
  { ...SHOWN, name: 'a login of the caller, and a lost ledger', own: true, lost: true, errors: 0 },
  { ...SHOWN, name: 'a deposit', funded: true },
  { ...SHOWN, name: 'a deposit, and a server that refuses what it has done', funded: true, lies: true, errors: 0 },
  { ...PLUG_IN, name: 'the plug-in', mailed: true, errors: 0 },
  { ...SHOWN, name: 'a server that shows comments, and an operator who errs twice', errors: 2 },
  { ...HIDDEN, name: 'a login of the caller, and an operator who errs once', own: true, errors: 1 },
  { ...PLUG_IN, name: 'the plug-in, and an operator who errs once', mailed: true, errors: 1 },
  { ...PLUG_IN, name: 'the plug-in, another operation, and an operator who errs twice', errors: 2, rival: true },
  { ...HIDDEN, name: 'a strict server, and an operator who errs once', strict: true, errors: 1 },
];

/** Two workers at a time, each of which may be overtaken; an operator who errs again. */
export const LARGE: readonly Scenario[] = [
  { ...SHOWN, name: 'two workers, lies and repeats', workers: 2, lies: true, repeats: true, errors: 0 },
  { ...HIDDEN, name: 'two workers, with hidden comments', workers: 2, lies: true, repeats: true, errors: 0 },
  { ...HIDDEN, name: 'two workers, and a stranger', workers: 2, strict: true, stranger: true, errors: 0 },
  { ...SHOWN, name: 'two workers, a login of the caller', workers: 2, own: true, stranger: true, errors: 0 },
  { ...SHOWN, name: 'two workers, no look-up', workers: 2, shows: 'nothing', errors: 0 },
  { ...SHOWN, name: 'two workers, a deposit', workers: 2, funded: true },
  { ...PLUG_IN, name: 'two workers, the plug-in', workers: 2, mailed: true, errors: 0 },
  { ...HIDDEN, name: 'a strict server, and an operator who errs twice', strict: true, mailed: true, errors: 2 },
];

if (import.meta.main) {
  endWithReader();
  let total = 0;
  for (const scenario of [...SMALL, ...LARGE]) {
    const began = performance.now();
    const { states, broken } = exploreScenario(scenario);
    total += states;
    const seconds = ((performance.now() - began) / 1_000).toFixed(1);
    process.stdout.write(`${scenario.name.padEnd(64)} ${states} states, ${seconds} s\n`);
    if (broken === undefined) continue;
    process.exitCode = 1;
    process.stdout.write(`  BROKEN: ${broken.message}\n    ${broken.story.join('\n    ')}\n`);
  }
  process.stdout.write(`${total} states\n`);
}
