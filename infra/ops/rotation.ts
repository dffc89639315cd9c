import { randomBytes } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { SECRET_FRESH_MS } from '../../lib/aws/secrets.ts';
import { parseKeyVersions } from '../../lib/secrets/keys.ts';
import { parseSigningSecret } from '../../lib/secrets/webhook-signature.ts';
import { CODE_VALID_MINUTES } from '../../lib/validators/otp-types.ts';
import { CommandError } from './command.ts';
import { findSecret, secretStore, settingSecretsOf } from './secrets.ts';
import { PASSWORD_SECRET, PASSWORDS } from './service-secrets.ts';
import type { Target } from './target.ts';
import type { Terminal } from './terminal.ts';

/** The length of a key that requests are signed with: as long as HMAC-SHA-256 can use. */
const SIGNING_KEY_BYTES = 32;

/**
 * Makes or replaces the key of a secret.
 * @param name of the secret, or the setting that names the receiver: `crmWebhook`; `passwords`
 */
export function rotateSecretKey(target: Target, name: string, terminal: Terminal): Promise<void> {
  return name === PASSWORDS ? rotatePasswordKey(target, terminal) : rotateSigningKey(target, name, terminal);
}

/**
 * Makes the key with which requests to a receiver are signed, or replaces it. Requests are then signed with the new key
 * and with the one before it, so the receiver may change at any time. The key is printed for the receiver before it is
 * stored, so an interrupted call never stores an unseen key.
 */
async function rotateSigningKey(target: Target, name: string, terminal: Terminal): Promise<void> {
  const secrets = (await settingSecretsOf(target, terminal)).filter(({ signs }) => signs);
  const found = findSecret(secrets, name);
  if (found === undefined) {
    const names = [...secrets.map(({ purpose }) => purpose), PASSWORDS].join(', ');
    throw new CommandError(`There is no secret ${name} that is rotated by this command. There are: ${names}.`);
  }
  const store = secretStore(target.clientOf('SECRETS_MANAGER'));
  const before = await store.read(found.name);
  const [previous] = before === undefined ? [] : parseSigningSecret(before.text);
  const current = `whsec_${randomBytes(SIGNING_KEY_BYTES).toString('base64')}`;
  terminal.report(`The new key of ${found.name}, valid from the next line on:`);
  terminal.print(current);
  await store.write(found.name, JSON.stringify({ current, previous }));
  terminal.report(
    `The key is stored. Within ${SECRET_FRESH_MS / 60_000} minutes requests are signed with it, and with the one before if there is one. Then give it to the receiver, before the next rotation.`,
  );
}

/**
 * How long registrations need a key of the pepper once another is used, in milliseconds. A function may use an earlier
 * value of the secret; then a code is valid, and for 24 hours a confirmation or a request may be repeated.
 */
const PEPPER_NEEDED_MS = SECRET_FRESH_MS + CODE_VALID_MINUTES * 60_000 + 86_400_000;

/**
 * Replaces the key that codes are sealed with. The new key is added, then used. The keys before it stay until a rotation
 * finds that no registration needs them. After an interruption the next call resumes.
 */
export async function rotatePepper(target: Target, terminal: Terminal): Promise<void> {
  const name = target.pepperSecret;
  if (name === undefined) throw new CommandError('The pepper is found by --stack NAME or --local.');
  const store = secretStore(target.clientOf('SECRETS_MANAGER'));
  const current = await renewKey(store, name, PEPPER_NEEDED_MS, terminal);
  terminal.print(`The pepper is rotated: codes are sealed with the key ${current}, and the key before it is kept.`);
}

/**
 * Replaces the key that logins and passwords of accounts are derived from. The new key is added, then used. The keys
 * before it stay: an opening is never forgotten, and a retry of it hears the passwords that its key gave. After an
 * interruption the next call resumes.
 */
async function rotatePasswordKey(target: Target, terminal: Terminal): Promise<void> {
  const store = secretStore(target.clientOf('SECRETS_MANAGER'));
  const name = await target.resource(PASSWORD_SECRET);
  const current = await renewKey(store, name, Number.POSITIVE_INFINITY, terminal);
  terminal.print(`The password secret is rotated: the key ${current} is used, and the keys before it are kept.`);
}

type Store = ReturnType<typeof secretStore>;

/**
 * Adds a key to a secret with versions, and uses it once all functions know it. An interrupted call is resumed.
 * @param neededMs how long stored items need a key once another is used, in milliseconds; then the next call removes it
 * @returns the version of the key
 */
async function renewKey(store: Store, name: string, neededMs: number, terminal: Terminal): Promise<string> {
  const { keys, current, newest, since } = await readKeys(store, name);
  if (current === newest) {
    const next = String(Number(newest) + 1);
    const needed = since.getTime() + neededMs > Date.now() ? keys : { current, [current]: keys[current] };
    await store.write(name, JSON.stringify({ ...needed, [next]: randomBytes(32).toString('hex') }));
    terminal.report(`The key ${next} is added.`);
  }
  const added = await readKeys(store, name);
  await waitUntil(added.since.getTime() + SECRET_FRESH_MS, 'all functions know it', terminal);
  // Keys from before the wait would take back what another command has added.
  if (!isDeepStrictEqual(await readKeys(store, name), added))
    throw new CommandError(`The keys of ${name} have changed meanwhile. Call the command again.`);
  await store.write(name, JSON.stringify({ ...added.keys, current: added.newest }));
  return added.newest;
}

async function readKeys(store: Store, name: string) {
  const found = await store.read(name);
  if (found === undefined) throw new CommandError(`There is no secret ${name}.`);
  // @throws KeysMalformed
  const [{ version: current }] = parseKeyVersions(found.text);
  const keys = JSON.parse(found.text) as Record<string, string>;
  const versions = Object.keys(keys).filter((key) => key !== 'current');
  if (versions.some((version) => !/^\d+$/.test(version)))
    throw new CommandError('The keys of the secret are not named by numbers.');
  return { keys, current, newest: String(Math.max(...versions.map(Number))), since: found.since };
}

/** Waits until a time, and reports how long. @param time epoch milliseconds */
async function waitUntil(time: number, until: string, { report, wait }: Terminal): Promise<void> {
  const left = time - Date.now();
  if (left <= 0) return;
  report(`Waiting ${Math.ceil(left / 60_000)} minutes until ${until}; when this is stopped, call it again later.`);
  await wait(left);
}
