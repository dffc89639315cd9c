import { randomInt } from 'node:crypto';
import { performance } from 'node:perf_hooks';
import type { LambdaHandler } from '../../infra/local/gateway.ts';
import { passwordSalt, sealSecrets } from '../../lib/secrets/one-time-code.ts';
import { hashPassword } from '../../lib/secrets/password-hash.ts';
import { type Channel, OTP_TYPES } from '../../lib/validators/otp-types.ts';
import { cheapHash, withCheapHashes } from '../support/cheap-hashes.ts';
import { FRONT_SETTINGS, frontHeaders } from '../support/front.ts';
import { registrationRecord } from '../support/registration-record.ts';
import {
  CONFIRM_PATH,
  PASSWORD,
  type RegistrationWorld,
  registrationOf,
  registrationWorld,
  whatIsTold,
} from '../support/registration-world.ts';
import { quantile } from './figures.ts';

/**
 * What timing reveals about who is a client: for registrations and refused confirmations, with the bytes of the answer
 * and the database calls. `privacy-process <pairs>` prints a `Privacy` as JSON.
 */

export interface Privacy {
  registrations: Difference[];
  confirmations: Difference[];
  /** How many answers to a confirmation differ in any byte but the request's id and the time of day. */
  answers: number;
  /** How many sequences of database calls differ. */
  calls: number;
}

/** How well the times of two kinds of request can be distinguished. */
export interface Difference {
  what: string;
  /** Medians, in milliseconds. */
  ours: number;
  base: number;
  /** The comparison. */
  of: string;
  /** The probability that one of ours takes longer; 0.5 reveals nothing. */
  share: number;
  pairs: number;
}

/** Requests of each kind that warm the function up and are not counted. */
const WARM_UP = 5;
/** A request with this header is handled with cheap password hashes: the time of real ones would hide all the rest. */
const CHEAP = 'x-cheap-hashes';
const headersOf = (hashed: boolean): Record<string, string> => (hashed ? {} : { [CHEAP]: 'true' });

async function measure(pairs: number): Promise<Privacy> {
  const clients = (pairs + WARM_UP) * OTP_TYPES.length * 2;
  const world = await registrationWorld({ clients, load: loadBoth, environment: FRONT_SETTINGS });
  const seen = { answers: new Set<string>(), calls: new Set<string>() };
  const [registrations, confirmations]: Difference[][] = [[], []];
  try {
    for (const channel of OTP_TYPES) {
      for (const hashed of [true, false]) registrations?.push(await registering(world, channel, hashed, pairs));
    }
    for (const hashed of [true, false]) {
      confirmations?.push(...(await confirming({ world, ...seen }, hashed, pairs)));
    }
  } finally {
    await world.close();
  }
  const { answers, calls } = seen;
  return {
    registrations: registrations ?? [],
    confirmations: confirmations ?? [],
    answers: answers.size,
    calls: calls.size,
  };
}

function difference(what: string, ours: readonly number[], of: string, theirs: readonly number[]): Difference {
  const slower = ours.map((time) => theirs.filter((other) => other < time).length / theirs.length);
  const share = slower.reduce((sum, one) => sum + one, 0) / ours.length;
  return { what, ours: quantile(ours, 0.5), base: quantile(theirs, 0.5), of, share, pairs: ours.length };
}

async function registering(
  world: RegistrationWorld,
  channel: Channel,
  hashed: boolean,
  pairs: number,
): Promise<Difference> {
  const times = { client: [] as number[], stranger: [] as number[] };
  for (let pair = -WARM_UP; pair < pairs; pair += 1) {
    if (pair % 10 === 0) await world.forgetLimits();
    for (const kind of inAnyOrder(['client', 'stranger'] as const)) {
      const body = JSON.stringify(registrationOf(world[kind](), { otp_type: channel }));
      const headers = { ...frontHeaders(world.service), ...headersOf(hashed) };
      const startedAt = performance.now();
      const { status } = await world.post(body, headers);
      const took = performance.now() - startedAt;
      if (status !== 204) throw new Error(`A registration was answered with ${status}.`);
      if (pair >= 0) times[kind].push(took);
    }
  }
  const what = `${channel}, ${hashed ? 'as deployed' : "without the password's hash"}`;
  return difference(what, times.client, 'a stranger', times.stranger);
}

const CODE = '111111';
const WRONG_CODE = '222222';
const WRONG_PASSWORD = 'wrong horse battery';

/** A refused confirmation: the registrations of the address, and the input. */
interface Refusal {
  /** Absent: no registration was asked for. */
  holds?: 'code' | 'owner_notice';
  guesses?: number;
  code: string;
  password: string;
}

const BASE = 'a stranger, wrong code';
const REFUSALS: Readonly<Record<string, Refusal>> = {
  [BASE]: { holds: 'code', code: WRONG_CODE, password: PASSWORD },
  'a client, wrong code': { holds: 'owner_notice', code: WRONG_CODE, password: PASSWORD },
  'a client, the code that was never sent': { holds: 'owner_notice', code: CODE, password: PASSWORD },
  'a stranger, right code without the password': { holds: 'code', code: CODE, password: WRONG_PASSWORD },
  'a stranger, wrong code without the password': { holds: 'code', code: WRONG_CODE, password: WRONG_PASSWORD },
  'a stranger, right code after all guesses': { holds: 'code', guesses: 5, code: CODE, password: PASSWORD },
  'an address without a registration': { code: WRONG_CODE, password: PASSWORD },
};

interface Confirming {
  world: RegistrationWorld;
  answers: Set<string>;
  calls: Set<string>;
}

async function confirming(options: Confirming, hashed: boolean, pairs: number): Promise<Difference[]> {
  const times = new Map<string, number[]>(Object.keys(REFUSALS).map((name) => [name, []]));
  for (let pair = -WARM_UP; pair < pairs; pair += 1) {
    for (const [name, refusal] of inAnyOrder(Object.entries(REFUSALS))) {
      const took = await refused(options, refusal, hashed);
      if (pair >= 0) times.get(name)?.push(took);
    }
  }
  const base = times.get(BASE) ?? [];
  const others = [...times].filter(([name]) => name !== BASE);
  const how = hashed ? 'as deployed' : 'without hashes';
  return others.map(([name, ours]) => difference(`confirming, ${name}, ${how}`, ours, BASE, base));
}

/** One refusal, for an address of its own. @returns milliseconds */
async function refused({ world, answers, calls }: Confirming, refusal: Refusal, hashed: boolean): Promise<number> {
  const { email } = world.stranger();
  await seed(world, hashed ? hashPassword : cheapHash, refusal, email.toLowerCase());
  const { database } = world.service;
  database.calls.length = 0;
  const startedAt = performance.now();
  const body = { otp_type: 'email', email, code: refusal.code, password: refusal.password };
  const headers = { ...frontHeaders({ captcha: undefined }), ...headersOf(hashed) };
  const reply = await world.postTo(CONFIRM_PATH, body, headers);
  const took = performance.now() - startedAt;
  if (reply.json.type !== 'code_not_accepted') throw new Error(`A confirmation was answered with ${reply.status}.`);
  answers.add(JSON.stringify(whatIsTold(reply)));
  calls.add(database.calls.map(({ operation, table }) => `${operation} ${table}`).join());
  return took;
}

/** Keeps a registration as a request does, with a code that is known here. */
async function seed(
  { registrations, pepper }: RegistrationWorld,
  hash: typeof hashPassword,
  { holds, guesses = 0 }: Refusal,
  address: string,
): Promise<void> {
  if (holds === undefined) return;
  const { signal } = new AbortController();
  const registration_id = `seeded-${address}`;
  const password_hash = await hash(PASSWORD, passwordSalt(pepper.current, 'email', address));
  const place = { registrationId: registration_id, channel: 'email', address } as const;
  const record = registrationRecord(registration_id, address, {
    password_hash,
    requested_at: new Date().toISOString(),
  });
  const seals = sealSecrets({ code: CODE, passwordHash: password_hash }, place, pepper, Date.now());
  await registrations.put(record, seals, Date.now(), signal);
  for (let guess = 0; guess < guesses; guess += 1) {
    const made = [{ registrationId: registration_id, guess: `guess ${guess}` }];
    await registrations.countGuesses(record, made, await registrations.list(record, signal), signal);
  }
  const sent_at = new Date().toISOString();
  const delivery = { kind: holds, outcome: 'sent', sent_at, email_taken: holds === 'owner_notice' } as const;
  await registrations.noteDelivery(registration_id, delivery, signal);
}

function inAnyOrder<T>(values: readonly T[]): T[] {
  const left = [...values];
  return values.flatMap(() => left.splice(randomInt(left.length), 1));
}

/** Both functions, each with its hashes and with hashes that cost next to nothing. */
async function loadBoth(name: string): Promise<LambdaHandler> {
  const cheap = withCheapHashes(name);
  if (cheap === undefined) return async () => ({ statusCode: 404 });
  const { handler } = (await import(`../../functions/${name}.ts`)) as { handler: LambdaHandler };
  return (event, context) => (CHEAP in event.headers ? cheap : handler)(event, context);
}

process.stdout.write(JSON.stringify(await measure(Number(process.argv[2]))));
