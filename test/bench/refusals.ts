import { MAX_VIOLATIONS } from '../../lib/validators/primitives.ts';
import { eventFor, registrationBody } from '../support/gateway-events.ts';
import { announce, compare, runs } from './figures.ts';
import { hostileBodies } from './hostile-bodies.ts';
import { type Environment, openStage } from './stage.ts';

/** A body is sent repeatedly for this long, and at least and at most this many times. */
const MS_FOR_A_BODY = 300;
const LEAST_ROUNDS = 2;
const MAX_ROUNDS = runs(9);
/** The aim: this many times `JSON.parse`. */
const MAX_TIMES = 10;
const CALLS_WITH_LEAST = 20;

/** The smallest refusal that lists as many violations as any. */
const MOST_VIOLATIONS = JSON.stringify({
  ...registrationBody(1),
  form_id: 'FORMFULL',
  ...Object.fromEntries(Array.from({ length: MAX_VIOLATIONS }, (_, index) => [`k${index}`, 0])),
});

announce(
  'refusals',
  'The processor time of a hostile body, from the event to the refusal, without that of the smallest refusal that lists as ' +
    'many violations. The base is JSON.parse of the same text in a process of its own; the three take turns. Tables and ' +
    'secrets answer at once, and an Idempotency-Key makes the body count.',
);
const stage = await openStage();
const refusing = await stage.start('refusing', eventFor('request-registration'));
const parsing = await stage.start('parse', eventFor('request-registration'));
await processorMs(refusing, MOST_VIOLATIONS, 500);
for (const { what, text } of hostileBodies()) {
  // So often in a row that a measurement takes several milliseconds.
  const calls = text.length < 50_000 ? 200 : text.length < 1_000_000 ? 20 : 1;
  const [refused, parsed]: [number[], number[]] = [[], []];
  const endsAt = performance.now() + MS_FOR_A_BODY;
  // The first round warms up the compiler.
  for (let round = calls === 1 ? 0 : -1; round < MAX_ROUNDS; round += 1) {
    if (round >= LEAST_ROUNDS && performance.now() > endsAt) break;
    const least = await processorMs(refusing, MOST_VIOLATIONS, CALLS_WITH_LEAST);
    const [all, base] = [await processorMs(refusing, text, calls), await processorMs(parsing, text, calls)];
    if (round < 0) continue;
    refused.push(Math.max(0, all - least));
    parsed.push(base);
  }
  compare(what, 'ms', refused, parsed, MAX_TIMES);
}
process.exit();

/**
 * The processor time of a call with this body, in milliseconds: load of other processes hardly counts, but other
 * threads of this one do, such as garbage collection.
 */
async function processorMs(environment: Environment, body: string, calls: number): Promise<number> {
  const one = (call: number) => ({ ...eventFor('request-registration', `key-${call}`), body });
  const answers = await environment.call(Array.from({ length: calls }, (_, call) => one(call)));
  if (environment === refusing && answers.statuses.some((status) => status < 400)) throw new Error('It is accepted.');
  return answers.processorMs / calls;
}
