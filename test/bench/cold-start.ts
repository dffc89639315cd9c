import { eventFor } from '../support/gateway-events.ts';
import { announce, compare, runs } from './figures.ts';
import type { Answers, FirstAnswer } from './runner.ts';
import { BARE, type HandlerName, type MeasuredFunction, openStage } from './stage.ts';

/** The calls of one process whose processor time is counted after its first answer. */
const WARM_CALLS = 200;

/** The aims: figures of ours, relative to the bare SDK. */
const AIMS = { answeredMs: 0.9, loadedMs: 0.8, rss: 1, warm: 1.15 };

announce(
  'cold-start',
  'A fresh process of Node 24 loads a bundle and answers its first request with success, with the environment of a ' +
    'deployment and the local services. Times begin when Lambda’s runtime client would load the function. The base is ' +
    'the bare SDK: it has the same AWS clients, at the start those that every request needs, sends the same calls (the ' +
    'password hash and the trading protocol with them), as many of them at once, does nothing else, and is bundled as ' +
    'CDK does. Processor time is that of all threads, which other work on the machine changes less. Memory is resident ' +
    'memory after that answer. A refusal is a first request without a body, next to a first success of ours.',
);
const stage = await openStage();
for (const name of Object.keys(BARE) as MeasuredFunction[]) {
  const handlers: HandlerName[] = [name, BARE[name]];
  const first = new Map<string, FirstAnswer[]>();
  const warm = new Map<string, Answers[]>();
  const refused: FirstAnswer[] = [];
  // The first round fills the file cache and is not counted.
  for (let round = 0; round <= runs(15); round += 1) {
    // Each is the first of a round in turn.
    for (const handler of handlers.reverse()) {
      const environment = await stage.start(handler, eventFor(name));
      if (round > 0) first.set(handler, [...(first.get(handler) ?? []), environment.first]);
      if (round > 0 && round <= 5) {
        const answers = await environment.call(Array.from({ length: WARM_CALLS }, () => eventFor(name)));
        warm.set(handler, [...(warm.get(handler) ?? []), answers]);
      }
      environment.end();
    }
    const refusal = await stage.start(name, { ...eventFor(name), body: '' }, 400);
    if (round > 0) refused.push(refusal.first);
    refusal.end();
  }
  const [ours = [], bare = []] = [name, BARE[name]].map((handler) => first.get(handler));
  const values = (all: readonly FirstAnswer[], member: 'answeredMs' | 'loadedMs' | 'processorMs' | 'rss') =>
    all.map((one) => one[member] / (member === 'rss' ? 1e6 : 1));
  const perCall = (handler: string) => (warm.get(handler) ?? []).map(({ processorMs }) => processorMs / WARM_CALLS);
  const compareFirst = (what: string, member: Parameters<typeof values>[1], most?: number) =>
    compare(`${name}: ${what}`, member === 'rss' ? 'MB' : 'ms', values(ours, member), values(bare, member), most);
  compareFirst('to the first success', 'answeredMs', AIMS.answeredMs);
  compareFirst('until loaded', 'loadedMs', AIMS.loadedMs);
  compareFirst('processor time', 'processorMs');
  compareFirst('memory', 'rss', AIMS.rss);
  compare(`${name}: processor time, warm`, 'ms', perCall(name), perCall(BARE[name]), AIMS.warm);
  compare(`${name}: processor time, refusal`, 'ms', values(refused, 'processorMs'), values(ours, 'processorMs'));
}
process.exit();
