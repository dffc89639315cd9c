import { execFile } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { performance } from 'node:perf_hooks';
import { promisify } from 'node:util';
import { passwordSalt, sealSecrets } from '../../lib/secrets/one-time-code.ts';
import { OTP_TYPES } from '../../lib/validators/otp-types.ts';
import { cheapHash } from '../support/cheap-hashes.ts';
import { FRONT_SETTINGS, frontHeaders } from '../support/front.ts';
import { registrationRecord } from '../support/registration-record.ts';
import {
  CONFIRM_PATH,
  PASSWORD,
  type RegistrationWorld,
  type Reply,
  registrationOf,
  registrationWorld,
} from '../support/registration-world.ts';
import { type Benchmark, type BenchmarkRun, type Figure, quantile } from './figures.ts';

const USUAL_PAIRS = 20;

export const privacy: Benchmark = {
  name: 'privacy',
  about:
    `The time of a registration with a client's address next to that with a stranger's, in ${USUAL_PAIRS} pairs unless --pairs says ` +
    'otherwise, over HTTP, with a captcha and a proxy; and of refused confirmations next to that of a wrong code for a ' +
    'stranger\'s address. Passwords have a cheap hash: the time of a real one would hide the rest. "Slower" is the share of ' +
    'pairs in which the first takes longer: 50 % reveals nothing. 20 pairs show a difference of a fifth.',
  run,
};

/** In a process of its own: it needs another local service than the other benchmarks. */
async function run({ pairs = USUAL_PAIRS }: BenchmarkRun): Promise<Figure[]> {
  const { stdout } = await promisify(execFile)(process.execPath, [import.meta.filename, String(pairs)]);
  return JSON.parse(stdout) as Figure[];
}

/** Requests of each kind that warm the function up and are not counted. */
const WARM_UP = 5;

/** Sends a request, and checks that it is answered as it should be. */
type Request = (world: RegistrationWorld) => Promise<() => Promise<Reply>>;

const registering =
  (kind: 'client' | 'stranger', channel: (typeof OTP_TYPES)[number]): Request =>
  async (world) => {
    const body = registrationOf(world[kind](), { otp_type: channel });
    return () => world.post(body, frontHeaders(world.service));
  };

const CODE = '111111';

/** A refused confirmation: the registrations of the address, and the input. */
interface Refusal {
  /** Absent: no registration was asked for. */
  holds?: 'code' | 'owner_notice';
  guesses?: number;
  code?: string;
  password?: string;
}

const BASE = 'a stranger, wrong code';
const REFUSALS: Readonly<Record<string, Refusal>> = {
  [BASE]: { holds: 'code' },
  'a client, wrong code': { holds: 'owner_notice' },
  'a client, the code that was never sent': { holds: 'owner_notice', code: CODE },
  'a stranger, right code without the password': { holds: 'code', code: CODE, password: 'wrong horse battery' },
  'a stranger, wrong code without the password': { holds: 'code', password: 'wrong horse battery' },
  'a stranger, right code after all guesses': { holds: 'code', guesses: 5, code: CODE },
  'an address without a registration': {},
};

const confirming =
  (refusal: Refusal): Request =>
  async (world) => {
    const { email } = world.stranger();
    await seed(world, refusal, email.toLowerCase());
    const { code = '222222', password = PASSWORD } = refusal;
    const headers = frontHeaders({ captcha: undefined });
    return () => world.postTo(CONFIRM_PATH, { otp_type: 'email', email, code, password }, headers);
  };

/** Keeps a registration as a request does, with a code that is known here. */
async function seed(
  { registrations, pepper }: RegistrationWorld,
  { holds, guesses = 0 }: Refusal,
  address: string,
): Promise<void> {
  if (holds === undefined) return;
  const { signal } = new AbortController();
  const registrationId = `seeded-${address}`;
  const password_hash = await cheapHash(PASSWORD, passwordSalt(pepper.current, 'email', address));
  const now = new Date().toISOString();
  const record = registrationRecord(registrationId, address, { password_hash, requested_at: now });
  const place = { registrationId, channel: 'email', address } as const;
  const seals = sealSecrets({ code: CODE, passwordHash: password_hash }, place, pepper, Date.now());
  await registrations.put(record, seals, Date.now(), signal);
  for (let guess = 0; guess < guesses; guess += 1) {
    const made = [{ registrationId, guess: `guess ${guess}` }];
    await registrations.countGuesses(record, made, await registrations.list(record, signal), signal);
  }
  const delivery = { kind: holds, outcome: 'sent', sent_at: now, email_taken: holds === 'owner_notice' } as const;
  await registrations.noteDelivery(registrationId, delivery, signal);
}

/** The times of requests of each kind, in milliseconds. */
async function timesOf(
  world: RegistrationWorld,
  requests: Readonly<Record<string, Request>>,
  answer: string,
  pairs: number,
): Promise<Record<string, number[]>> {
  const times: Record<string, number[]> = {};
  for (let pair = -WARM_UP; pair < pairs; pair += 1) {
    if (pair % 10 === 0) await world.forgetLimits();
    for (const [kind, prepare] of inAnyOrder(Object.entries(requests))) {
      const send = await prepare(world);
      const startedAt = performance.now();
      const { status, json } = await send();
      const took = performance.now() - startedAt;
      if (String(json.type ?? status) !== answer) throw new Error(`${kind} was answered with ${json.type ?? status}.`);
      if (pair >= 0) times[kind] = [...(times[kind] ?? []), took];
    }
  }
  return times;
}

function inAnyOrder<T>(values: readonly T[]): T[] {
  const left = [...values];
  return values.flatMap(() => left.splice(randomInt(left.length), 1));
}

/** How well the times of two kinds of request can be distinguished. */
function difference(what: string, ours: readonly number[], of: string, theirs: readonly number[]): Figure[] {
  const slower = ours.map((time) => theirs.filter((other) => other < time).length / theirs.length);
  const share = slower.reduce((sum, one) => sum + one, 0) / ours.length;
  const only = (value: number) => ({ median: value, low: value, high: value, runs: ours.length });
  const [mine, base] = [quantile(ours, 0.5), quantile(theirs, 0.5)];
  return [
    { what, unit: 'ms', ours: only(mine), base: { of, ...only(base) }, ratio: only(mine / base) },
    { what: `${what}: slower`, unit: '%', ours: only(share * 100) },
  ];
}

async function measure(pairs: number): Promise<Figure[]> {
  const clients = (pairs + WARM_UP) * OTP_TYPES.length;
  const world = await registrationWorld({ clients, environment: FRONT_SETTINGS });
  const figures: Figure[] = [];
  try {
    for (const channel of OTP_TYPES) {
      const kinds = { client: registering('client', channel), stranger: registering('stranger', channel) };
      const { client = [], stranger = [] } = await timesOf(world, kinds, '204', pairs);
      figures.push(...difference(`registering by ${channel}`, client, 'a stranger', stranger));
    }
    const kinds = Object.entries(REFUSALS).map(([name, refusal]) => [name, confirming(refusal)]);
    const { [BASE]: base = [], ...others } = await timesOf(
      world,
      Object.fromEntries(kinds),
      'code_not_accepted',
      pairs,
    );
    for (const [name, ours] of Object.entries(others))
      figures.push(...difference(`confirming, ${name}`, ours, BASE, base));
  } finally {
    await world.close();
  }
  return figures;
}

if (import.meta.main) process.stdout.write(JSON.stringify(await measure(Number(process.argv[2]))));
