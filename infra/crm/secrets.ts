import { randomBytes } from 'node:crypto';
import { text as readAll } from 'node:stream/consumers';
import * as v from 'valibot';
import { FRESH_MS } from '../../lib/aws/secrets.ts';
import { type Connection, platformSecretSchema } from '../../lib/records/crm-records.ts';
import { CODE_VALID_MINUTES } from '../../lib/secrets/one-time-code.ts';
import { parsePepper } from '../../lib/secrets/pepper.ts';
import { CommandError, type Terminal } from './command.ts';
import { findConnection } from './find-connection.ts';
import { type SecretStore, secretStore } from './secret-store.ts';
import type { Target } from './target.ts';

/**
 * Stores a secret: that of a connection, which has the shape of its protocol, or any other by its own name. It is asked
 * for where a person sits, and else read from the standard input.
 */
export async function putSecret(target: Target, name: string, terminal: Terminal): Promise<void> {
  const connection = await findConnection(target, name);
  const text = await (connection === undefined ? plainSecret(terminal) : platformSecret(connection, terminal));
  const secret = connection?.secret ?? name;
  const done = await secretStore(target.client).write(secret, text);
  terminal.print(`The secret ${secret} is ${done}; functions use it within ${FRESH_MS / 60_000} minutes.\n`);
}

async function plainSecret({ ask, input }: Terminal): Promise<string> {
  const text = ask === undefined ? (await readAll(input)).replace(/\r?\n$/, '') : await ask('Its value: ');
  if (text === '') throw new CommandError('A secret is not empty; nothing was stored.');
  return text;
}

async function platformSecret(connection: Connection, { ask, input }: Terminal): Promise<string> {
  const { id, protocol } = connection;
  const shape = protocol === 'web-api' ? '{"login": 1000, "password": "…"}' : '{"master": "…"}';
  let value: unknown;
  if (ask === undefined) value = jsonOf(await readAll(input));
  else if (protocol === 'web-api')
    value = { login: Number(await ask("The manager's login: ")), password: await ask('Its API password: ') };
  else value = { master: await ask('The master password: ') };
  // What was typed never stands in a message.
  if (!v.is(platformSecretSchema(connection), value))
    throw new CommandError(`The secret of ${id} must be ${shape}; nothing was stored.`);
  return JSON.stringify(value);
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Until no function holds an earlier value in memory, and until no code sealed with it is good any more. */
const KNOWN_MS = FRESH_MS;
const FORGOTTEN_MS = FRESH_MS + CODE_VALID_MINUTES * 60_000;

/**
 * Replaces the key that codes are sealed with, without a moment in which a code cannot be verified: the new key is
 * added, then used, then the old one is taken away, each when all functions have seen the step before. Where it was
 * interrupted, it goes on.
 */
export async function rotatePepper(target: Target, terminal: Terminal): Promise<void> {
  const name = target.pepperSecret;
  if (name === undefined) throw new CommandError('The pepper is found by --stack NAME or --local.');
  const store = secretStore(target.client);
  const began = await readPepper(store, name);
  if (began.versions.length === 1) {
    const next = String(Math.max(...began.versions.map(Number)) + 1);
    await store.write(name, JSON.stringify({ ...began.keys, [next]: randomBytes(32).toString('hex') }));
    terminal.tell(`The key ${next} is added.\n`);
  }
  const added = await readPepper(store, name);
  const newest = String(Math.max(...added.versions.map(Number)));
  if (added.current !== newest) {
    await waitUntil(added.since.getTime() + KNOWN_MS, 'all functions know it', terminal);
    await store.write(name, JSON.stringify({ ...added.keys, current: newest }));
    terminal.tell(`Codes are sealed with the key ${newest}.\n`);
  }
  const used = await readPepper(store, name);
  await waitUntil(used.since.getTime() + FORGOTTEN_MS, 'no code is sealed with an older one', terminal);
  await store.write(name, JSON.stringify({ current: newest, [newest]: used.keys[newest] }));
  terminal.print(`The pepper is rotated: codes are sealed with the key ${newest}, and no other is left.\n`);
}

async function readPepper(store: SecretStore, name: string) {
  const found = await store.read(name);
  if (found === undefined) throw new CommandError(`There is no secret ${name}.`);
  // @throws PepperMalformed
  const { version: current } = parsePepper(found.text);
  const keys = JSON.parse(found.text) as Record<string, string>;
  const versions = Object.keys(keys).filter((key) => key !== 'current');
  if (versions.some((version) => !/^\d+$/.test(version)))
    throw new CommandError('The keys of the pepper are not named by numbers.');
  return { keys, current, versions, since: found.since };
}

/** @param time epoch milliseconds */
async function waitUntil(time: number, until: string, { tell, wait }: Terminal): Promise<void> {
  const left = time - Date.now();
  if (left <= 0) return;
  tell(`Waiting ${Math.ceil(left / 60_000)} minutes until ${until}; when this is stopped, call it again later.\n`);
  await wait(left);
}
