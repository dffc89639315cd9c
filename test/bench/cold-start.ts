import { eventFor } from '../support/gateway-events.ts';
import { announce, compare, runs } from './figures.ts';
import type { FirstAnswer } from './runner.ts';
import { BARE, type MeasuredFunction, openStage, type Stage } from './stage.ts';

export const BARE_SDK =
  'The base is the bare SDK: it has the same AWS clients, at the start those that every request needs, sends the same ' +
  'calls (the password hash and the trading protocol with them), one after the other where one needs the other, does ' +
  'nothing else, and is bundled as CDK does.';

/**
 * Prints the first answers of every measured function next to those of the bare SDK.
 * @param most the aim: the time to the answer, relative to the bare SDK
 */
export async function compareFirstAnswers(stage: Stage, environment: Record<string, string>, most: number) {
  for (const name of Object.keys(BARE) as MeasuredFunction[]) {
    const answers = new Map<string, FirstAnswer[]>();
    const turns = [name, BARE[name]];
    // The first round fills the file cache and is not counted.
    for (let round = 0; round <= runs(15); round += 1) {
      // Each is the first of a round in turn.
      for (const handler of turns.reverse()) {
        const { first, end } = await stage.start(handler, eventFor(name), environment);
        end();
        if (round > 0) answers.set(handler, [...(answers.get(handler) ?? []), first]);
      }
    }
    const figure = (what: string, unit: 'ms' | 'MB', value: (one: FirstAnswer) => number, aim?: number) => {
      const [ours = [], bare = []] = [name, BARE[name]].map((handler) => answers.get(handler)?.map(value));
      compare(`${name}: ${what}`, unit, ours, bare, aim);
    };
    figure('to the answer', 'ms', ({ answeredMs }) => answeredMs, most);
    figure('until loaded', 'ms', ({ loadedMs }) => loadedMs);
    figure('processor time', 'ms', ({ processorMs }) => processorMs);
    figure('memory', 'MB', ({ rss }) => rss / 1e6, 1);
  }
}

if (import.meta.main) {
  announce(
    'cold-start',
    'A fresh process of Node 24 loads a bundle and answers its first request, with the environment of a deployment and ' +
      `the local services; from the start of the process to the answer. ${BARE_SDK} Processor time is that of all threads, which ` +
      'other work on the machine changes less. Memory is resident memory after that answer.',
  );
  await compareFirstAnswers(await openStage(), {}, 1);
  process.exit();
}
