import { randomInt } from 'node:crypto';
import { SENDING_SERVICES } from '../../infra/local/stand-ins/senders.ts';
import { type Channel, OTP_TYPES } from '../../lib/validators/otp-types.ts';
import { FRONT_SETTINGS, frontHeaders } from '../support/front.ts';
import { registrationOf, registrationWorld } from '../support/registration-world.ts';
import { announce, compare, print, runs } from './figures.ts';

const PAIRS = runs(20);
/** Pairs that warm the function up and are not counted. */
const WARM_UP = 5;

/** What the sender does with the messages of a measurement, and the answer to both populations. */
const OUTCOMES = [
  { title: 'accepted', status: 204, fault: undefined },
  { title: 'refused recipient', status: 502, fault: 'refused_recipient' },
] as const;

announce(
  'privacy',
  `The time of a registration with a client's address next to that with a stranger's, in ${PAIRS} pairs, over HTTP, with a ` +
    'captcha and a proxy; once if the message is sent, once if the sender refuses the recipient. Passwords have a cheap ' +
    'hash: the time of a real one would hide the rest. If the client takes longer in 50 % of the pairs, the time reveals ' +
    'nothing. 20 pairs show a difference of a fifth.',
);
const clients = (PAIRS + WARM_UP) * OTP_TYPES.length * OUTCOMES.length;
const world = await registrationWorld({ clients, settings: FRONT_SETTINGS });
for (const outcome of OUTCOMES) for (const channel of OTP_TYPES) await measure(channel, outcome);
process.exit();

async function measure(channel: Channel, { title, status, fault }: (typeof OUTCOMES)[number]): Promise<void> {
  const times = { client: [] as number[], stranger: [] as number[] };
  for (let pair = -WARM_UP; pair < PAIRS; pair += 1) {
    if (pair % 10 === 0) await world.forgetLimits();
    const kinds = ['client', 'stranger'] as const;
    for (const kind of randomInt(2) === 0 ? kinds : kinds.toReversed()) {
      if (fault !== undefined) world.service.faults(SENDING_SERVICES[channel]).set({ kind: fault, times: 1 });
      const ms = await timeOf(kind, channel, status);
      if (pair >= 0) times[kind].push(ms);
    }
  }
  compare(`${channel}, ${title}`, 'ms', times.client, times.stranger);
  const slower = times.client.filter((ms, pair) => ms > (times.stranger[pair] ?? 0)).length;
  print(`    a client takes longer in ${((slower / PAIRS) * 100).toFixed(0)} % of the pairs`);
}

/** The time of a registration by a new person of this kind, in milliseconds. */
async function timeOf(kind: 'client' | 'stranger', channel: Channel, expected: number): Promise<number> {
  const body = registrationOf(world[kind](), { otp_type: channel });
  const headers = frontHeaders(world.service);
  const startedAt = performance.now();
  const { status } = await world.post(body, headers);
  if (status !== expected) throw new Error(`A ${kind} was answered with ${status}.`);
  return performance.now() - startedAt;
}
