import { performance } from 'node:perf_hooks';
import type { LambdaHandler } from '../../infra/local/gateway.ts';
import { secretReader } from '../../lib/aws/secrets.ts';
import { confirmationConfig } from '../../lib/config.ts';
import { endpoint } from '../../lib/http/endpoint.ts';
import { sourceReader } from '../../lib/http/source.ts';
import { type PendingRegistration, registrationsIn } from '../../lib/records/registrations.ts';
import { type ConfirmationParts, confirmRegistration } from '../../lib/registration/confirmation.ts';
import { confirmationDependencies } from '../../lib/registration/confirmation-dependencies.ts';
import { sealCode } from '../../lib/secrets/one-time-code.ts';
import { hashPassword } from '../../lib/secrets/password-hash.ts';
import { telemetry } from '../../lib/telemetry.ts';
import { ConfirmationRequestSchema, MAX_CONFIRMATION_BYTES } from '../../lib/validators/confirmation.ts';
import { DOOR, throughDoor } from '../support/door.ts';
import {
  CONFIRM_PATH,
  PASSWORD,
  type RegistrationWorld,
  registrationWorld,
  whatIsTold,
} from '../support/registration-world.ts';
import { lineOf, type Telling, telling } from './telling.ts';

/**
 * What somebody who gives codes for others' addresses learns of them: by the bytes of the refusal, the database calls
 * behind it, and a stop-watch; behind a proxy. By itself: `node test/bench/confirmation-privacy.ts [--quick] [--json]`.
 */

export interface ConfirmationPrivacy {
  /** How many answers differ in any byte but the request's id and the time of day. */
  answers: number;
  /** How many rows of database calls differ. */
  calls: number;
  times: Telling[];
}

const CODE = '111111';
const WRONG_CODE = '222222';
const WRONG_PASSWORD = 'wrong horse battery';
const signal = new AbortController().signal;

/** Whose address it is, what stands there, and what is given. */
interface Kind {
  /** Absent: nobody has asked for a registration. */
  holds?: 'code' | 'owner_notice';
  guesses?: number;
  code: string;
  password: string;
}

const BASE = 'a stranger’s, wrong code';
const KINDS: Readonly<Record<string, Kind>> = {
  [BASE]: { holds: 'code', code: WRONG_CODE, password: PASSWORD },
  'a client’s, wrong code': { holds: 'owner_notice', code: WRONG_CODE, password: PASSWORD },
  'a client’s, the code that nobody got': { holds: 'owner_notice', code: CODE, password: PASSWORD },
  'a stranger’s, right code without the password': { holds: 'code', code: CODE, password: WRONG_PASSWORD },
  'a stranger’s, wrong code without the password': { holds: 'code', code: WRONG_CODE, password: WRONG_PASSWORD },
  'a stranger’s, right code after all guesses': { holds: 'code', guesses: 5, code: CODE, password: PASSWORD },
  'an address that nobody gave': { code: WRONG_CODE, password: PASSWORD },
};

/** Requests that are not counted, because they warm the function up. */
const WARM_UP = 5;

/** @param pairs how many requests of each kind, with the hashes and without them */
export async function confirmationPrivacy({
  pairs = 150,
  progress = () => {},
}: {
  pairs?: number;
  progress?: (text: string) => void;
} = {}): Promise<ConfirmationPrivacy> {
  const world = await registrationWorld({ clients: 1, load: loadBoth, environment: DOOR });
  const walk: Walk = { world, hash: await hashPassword(PASSWORD), answers: new Set(), calls: new Set() };
  try {
    const times: Telling[] = [];
    for (const hashed of [true, false]) times.push(...(await compare(walk, hashed, pairs, progress)));
    return { answers: walk.answers.size, calls: walk.calls.size, times };
  } finally {
    await world.close();
  }
}

interface Walk {
  world: RegistrationWorld;
  /** Of the password of all registrations. */
  hash: string;
  /** Everything that an answer says. */
  answers: Set<string>;
  /** The database calls of a request, in their order. */
  calls: Set<string>;
}

async function compare(
  walk: Walk,
  hashed: boolean,
  pairs: number,
  progress: (text: string) => void,
): Promise<Telling[]> {
  const times = new Map<string, number[]>(Object.keys(KINDS).map((name) => [name, []]));
  for (let pair = -WARM_UP; pair < pairs; pair += 1) {
    if (pair % 10 === 0) progress(`confirming ${pair}/${pairs}`);
    for (const [name, kind] of inAnyOrder(Object.entries(KINDS))) {
      const took = await refused(walk, kind, hashed);
      if (pair >= 0) times.get(name)?.push(took);
    }
  }
  const base = times.get(BASE) ?? [];
  return [...times]
    .filter(([name]) => name !== BASE)
    .map(([name, ours]) =>
      telling(`confirming, ${name}, ${hashed ? 'as deployed' : 'without hashes'}`, ours, BASE, base),
    );
}

/** One refusal, for an address of its own. @returns milliseconds */
async function refused(walk: Walk, kind: Kind, hashed: boolean): Promise<number> {
  const { world, answers, calls } = walk;
  const { email } = world.stranger();
  await seed(walk, kind, email.toLowerCase());
  const { database } = world.service;
  database.calls.length = 0;
  const began = performance.now();
  const reply = await world.send({
    method: 'POST',
    path: CONFIRM_PATH,
    headers: {
      'content-type': 'application/json',
      ...throughDoor({ captcha: undefined }),
      ...(hashed ? {} : { [UNHASHED]: 'true' }),
    },
    body: JSON.stringify({ otp_type: 'email', email, code: kind.code, password: kind.password }),
  });
  const took = performance.now() - began;
  if (reply.json.type !== 'code_not_accepted') throw new Error(`The request was answered with ${reply.status}.`);
  answers.add(JSON.stringify(whatIsTold(reply)));
  calls.add(database.calls.map(({ operation, table }) => `${operation} ${table}`).join());
  return took;
}

/** Keeps a registration as a request does, whose code is known here. */
async function seed({ world, hash }: Walk, { holds, guesses = 0 }: Kind, address: string): Promise<void> {
  if (holds === undefined) return;
  const registrations = registrationsIn(world.tables.registrations);
  const registration_id = `seeded-${address}`;
  const sealed = sealCode(
    CODE,
    { registrationId: registration_id, channel: 'email', address },
    world.pepper,
    Date.now(),
  );
  const record: PendingRegistration = {
    registration_id,
    type: 'trader',
    otp_type: 'email',
    address,
    email: address,
    email_key: address,
    name: 'Nia Newman',
    password_hash: hash,
    form_id: 'FORM0002',
    custom_fields: '{}',
    documents: [],
    code: { ...sealed, guesses },
    requested_at: new Date().toISOString(),
  };
  await registrations.put(record, Date.now(), signal);
  const delivery = { kind: holds, outcome: 'sent', email_taken: holds === 'owner_notice' } as const;
  await registrations.noteDelivery(registration_id, delivery, signal);
}

function inAnyOrder<T>(values: readonly T[]): T[] {
  return values
    .map((value) => ({ value, place: Math.random() }))
    .sort((a, b) => a.place - b.place)
    .map(({ value }) => value);
}

/** A request with this header is worked on without the hashes, whose time would hide that of all the rest. */
const UNHASHED = 'x-unhashed';

async function loadBoth(name: string): Promise<LambdaHandler> {
  if (name !== 'confirm-registration') return async () => ({ statusCode: 404 });
  const hashed = handlerWith({});
  const unhashed = handlerWith({ isPassword: async (hash, password) => hash === undefined || password === PASSWORD });
  return (event, context) => (UNHASHED in event.headers ? unhashed : hashed)(event, context);
}

/** The function as `functions/confirm-registration.ts` wires it, but for these parts. */
function handlerWith(changed: Partial<ConfirmationParts>): LambdaHandler {
  const config = confirmationConfig();
  const readSecret = secretReader();
  const parts = { ...confirmationDependencies(config, readSecret), ...changed };
  return endpoint({
    body: ConfirmationRequestSchema,
    source: sourceReader(config.front, readSecret),
    maxBodyBytes: MAX_CONFIRMATION_BYTES,
    telemetry: telemetry('confirm-registration', config.stage),
    handle: (request, events, until) => confirmRegistration(parts, request, events, until),
  }) as LambdaHandler;
}

function inLines({ answers, calls, times }: ConfirmationPrivacy): string {
  return [
    `Different answers: ${answers}. Different rows of database calls: ${calls}.`,
    'Time of a refusal:',
    ...times.map(lineOf),
  ].join('\n');
}

if (import.meta.main) {
  const flags = process.argv.slice(2);
  const figures = await confirmationPrivacy({
    pairs: flags.includes('--quick') ? 20 : 150,
    progress: (text) => process.stderr.isTTY && process.stderr.write(`\r\x1b[K${text}`),
  });
  process.stdout.write(`${flags.includes('--json') ? JSON.stringify(figures, undefined, 2) : inLines(figures)}\n`);
}
