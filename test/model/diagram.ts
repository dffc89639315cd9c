import { readFileSync, writeFileSync } from 'node:fs';
import { type DecisionContext, type Fact, LIFE, type Life } from '../../lib/openings/life.ts';

/** `node test/model/diagram.ts` writes the diagram of states into `lib/README.md`; a test compares it. */

const PAGE = new URL('../../lib/README.md', import.meta.url);
const BLOCK = /(<!-- states -->\n```mermaid\n)[\s\S]*?(```)/;

const SAMPLES: { [S in Life['at']]: Extract<Life, { at: S }> } = {
  claimed: { at: 'claimed' },
  sent: { at: 'sent', login: 1, commands: 'one' },
  open: { at: 'open', login: 1, opened_at: '', recorded: true, deposit: 'due', published: true },
  undecided: { at: 'undecided', login: 1 },
  done: { at: 'done', login: 1, opened_at: '', unpaid: true },
  gone: { at: 'gone' },
};
const CONTEXT: DecisionContext = {
  ...{ worker: 'request', keyed: true, exclusive: true, loginGiven: false, deposit: 'due', now: 0, old: false },
  next: () => 2,
};

function sampleFact(on: Fact['on']): Fact {
  if (on === 'completed') return { on, recorded: true, deposit: 'made', published: true };
  if (on === 'opened' || on === 'operator_found') return { on, login: 1 };
  if (on === 'recorded') return { on, login: 1, opened_at: '' };
  return { on } as Fact;
}

/** The states and the facts that lead from one to another, as a Mermaid diagram. */
function diagram(): string {
  const facts = new Map<string, Set<string>>();
  for (const [state, transitions] of Object.entries(LIFE)) {
    for (const { on, to } of transitions) {
      for (const name of on) {
        const target = to === undefined ? undefined : targetOf(state as Life['at'], name, to as Target);
        if (target === undefined || target === state) continue;
        const arrow = `${state} --> ${target}`;
        facts.set(arrow, (facts.get(arrow) ?? new Set()).add(name));
      }
    }
  }
  const arrows = [...facts].map(([arrow, names]) => `  ${arrow}: ${[...names].join(', ')}`);
  return ['stateDiagram-v2', '  [*] --> claimed', ...arrows, '  gone --> [*]', '  done --> [*]', ''].join('\n');
}

type Target = (life: Life, context: DecisionContext, fact: Fact) => Life;

function targetOf(state: Life['at'], name: Fact['on'], to: Target): string {
  return to(SAMPLES[state], CONTEXT, sampleFact(name)).at;
}

export function pageWithDiagram(): string {
  return readFileSync(PAGE, 'utf8').replace(BLOCK, (_, start: string, end: string) => `${start}${diagram()}${end}`);
}

if (import.meta.main) writeFileSync(PAGE, pageWithDiagram());
