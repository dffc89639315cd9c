import { randomInt, randomUUID } from 'node:crypto';
import { performance } from 'node:perf_hooks';
import type { LambdaHandler } from '../../infra/local/gateway.ts';
import { secretReader } from '../../lib/aws/secrets.ts';
import { registrationConfig } from '../../lib/config.ts';
import { captchaVerifier } from '../../lib/http/captcha.ts';
import { endpoint } from '../../lib/http/endpoint.ts';
import { sourceReader } from '../../lib/http/source.ts';
import { registrationDependencies } from '../../lib/registration/dependencies.ts';
import { requestRegistration } from '../../lib/registration/registration.ts';
import type { RegistrationParts } from '../../lib/registration/work.ts';
import { telemetry } from '../../lib/telemetry.ts';
import { type Channel, OTP_TYPES } from '../../lib/validators/otp-types.ts';
import { MAX_REGISTRATION_BYTES, registrationRequestSchema } from '../../lib/validators/registration.ts';
import { longestRow, trace } from '../support/database-trace.ts';
import { DOOR, throughDoor } from '../support/door.ts';
import { type RegistrationWorld, registrationOf, registrationWorld } from '../support/registration-world.ts';
import { lineOf, type Telling, telling } from './telling.ts';

/**
 * What somebody with a stop-watch learns of who is a client, and how many database calls stand one after another before
 * a message is sent; with a captcha, behind a proxy. By itself: `node test/bench/registration-privacy.ts [--quick] [--json]`.
 */

export interface RoundTrips {
  what: string;
  /** The longest row of database calls, each of which began when the one before had ended, until the message is sent. */
  oneAfterTheOther: number;
  /** All database calls of the request. */
  calls: number;
}

export interface RegistrationPrivacy {
  roundTrips: RoundTrips[];
  times: Telling[];
}

/** How long each database call is held up while they are counted, so that calls made side by side overlap. */
const HOLD_MS = 60;
const CHANNELS: readonly Channel[] = OTP_TYPES;

/** @param pairs how many requests of each kind; `times` compares them with and without the password's hash */
export async function registrationPrivacy({
  pairs = 150,
  progress = () => {},
}: {
  pairs?: number;
  progress?: (text: string) => void;
} = {}): Promise<RegistrationPrivacy> {
  // The first request of each kind warms the function up.
  const clients = (pairs + WARM_UP) * CHANNELS.length * 2;
  const world = await registrationWorld({ clients, load: loadBoth, environment: DOOR });
  try {
    const roundTrips = [await countRoundTrips(world, {}), await countRoundTrips(world, { keyed: true })];
    const times: Telling[] = [];
    for (const channel of CHANNELS) {
      for (const hashed of [true, false]) {
        times.push(await compare(world, channel, hashed, pairs, progress));
      }
    }
    return { roundTrips, times };
  } finally {
    await world.close();
  }
}

const WARM_UP = 5;

async function countRoundTrips(world: RegistrationWorld, { keyed = false }): Promise<RoundTrips> {
  const { database, standIns } = world.service;
  const headers: Record<string, string> = keyed ? { 'idempotency-key': randomUUID() } : {};
  world.service.faults('dynamodb').set({ kind: 'slow', times: 1_000, ms: HOLD_MS });
  const [calls, sends] = [trace(database.url), trace(standIns.ses.url)];
  const { status } = await world.post(registrationOf(world.stranger()), { ...throughDoor(world.service), ...headers });
  for (const one of [calls, sends]) one.stop();
  world.service.faults('dynamodb').clear();
  const sentAt = sends.calls[0]?.startedAt;
  if (status !== 204 || sentAt === undefined) throw new Error(`The request was answered with ${status}.`);
  return {
    what: keyed ? 'with an Idempotency-Key' : 'without an Idempotency-Key',
    oneAfterTheOther: longestRow(calls.calls.filter(({ startedAt }) => startedAt < sentAt)),
    calls: calls.calls.length,
  };
}

async function compare(
  world: RegistrationWorld,
  channel: Channel,
  hashed: boolean,
  pairs: number,
  progress: (text: string) => void,
): Promise<Telling> {
  const what = `${channel}, ${hashed ? 'as deployed' : 'without the password’s hash'}`;
  const headers: Record<string, string> = hashed ? {} : UNHASHED;
  const times: Record<'client' | 'stranger', number[]> = { client: [], stranger: [] };
  for (let pair = -WARM_UP; pair < pairs; pair += 1) {
    if (pair % 10 === 0) {
      progress(`${what} ${pair}/${pairs}`);
      await world.forgetLimits();
    }
    const order = randomInt(2) === 0 ? (['client', 'stranger'] as const) : (['stranger', 'client'] as const);
    for (const kind of order) {
      const body = JSON.stringify(registrationOf(world[kind](), { otp_type: channel }));
      const given = { ...throughDoor(world.service), ...headers };
      const began = performance.now();
      const { status } = await world.post(body, given);
      const took = performance.now() - began;
      if (status !== 204) throw new Error(`The request was answered with ${status}.`);
      if (pair >= 0) times[kind].push(took);
    }
  }
  return telling(what, times.client, 'a stranger', times.stranger);
}

/** A request with this header is worked on without the hash, whose time would hide that of all the rest. */
const UNHASHED = { 'x-unhashed': 'true' };

async function loadBoth(name: string): Promise<LambdaHandler> {
  if (name !== 'request-registration') return async () => ({ statusCode: 404 });
  const hashed = handlerWith({});
  const unhashed = handlerWith({ hashPassword: async () => '$argon2id$' });
  return (event, context) => ('x-unhashed' in event.headers ? unhashed : hashed)(event, context);
}

/** The function as `functions/request-registration.ts` wires it, but for these parts. */
function handlerWith(changed: Partial<RegistrationParts>): LambdaHandler {
  const config = registrationConfig();
  const readSecret = secretReader();
  const parts = { ...registrationDependencies(config, readSecret), ...changed };
  return endpoint({
    body: registrationRequestSchema(config.phone?.countries),
    source: sourceReader(config.front, readSecret),
    captcha: config.captcha && captchaVerifier(config.captcha, { readSecret, url: config.captchaUrl }),
    maxBodyBytes: MAX_REGISTRATION_BYTES,
    telemetry: telemetry('request-registration', config.stage),
    handle: (request, events, signal) => requestRegistration(parts, request, events, signal),
  }) as LambdaHandler;
}

function inLines({ roundTrips, times }: RegistrationPrivacy): string {
  return [
    'Database calls one after the other until the message is sent (all of the request):',
    ...roundTrips.map(({ what, oneAfterTheOther, calls }) => `  ${oneAfterTheOther} (${calls})  ${what}`),
    'Time of a request for a client’s address and for a stranger’s:',
    ...times.map(lineOf),
  ].join('\n');
}

if (import.meta.main) {
  const flags = process.argv.slice(2);
  const figures = await registrationPrivacy({
    pairs: flags.includes('--quick') ? 20 : 150,
    progress: (text) => process.stderr.isTTY && process.stderr.write(`\r\x1b[K${text}`),
  });
  process.stdout.write(`${flags.includes('--json') ? JSON.stringify(figures, undefined, 2) : inLines(figures)}\n`);
}
