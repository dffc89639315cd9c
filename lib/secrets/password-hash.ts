import { argon2, randomBytes, timingSafeEqual } from 'node:crypto';
import { promisify } from 'node:util';

/** argon2id as OWASP's Password Storage Cheat Sheet recommends: 19 MiB, two passes, one lane. */
const PARAMETERS = { memory: 19_456, passes: 2, parallelism: 1 };
const SALT_BYTES = 16;
const TAG_BYTES = 32;

/** `$argon2id$v=19$m=19456,t=2,p=1$<salt>$<tag>`, base64 without padding (the PHC string format). */
const PHC = /^\$argon2id\$v=19\$m=(\d{1,7}),t=(\d{1,2}),p=(\d{1,2})\$([A-Za-z0-9+/]{11,64})\$([A-Za-z0-9+/]{16,86})$/;

/** Hashes a password with a random salt, off the main thread; about 30 to 60 ms of one core. @returns the PHC string */
export async function hashPassword(password: string): Promise<string> {
  const salt = randomBytes(SALT_BYTES);
  const tag = await derive(password, salt, PARAMETERS, TAG_BYTES);
  const { memory, passes, parallelism } = PARAMETERS;
  return `$argon2id$v=19$m=${memory},t=${passes},p=${parallelism}$${unpadded(salt)}$${unpadded(tag)}`;
}

/** Whether this is the password, by the parameters in the string. A malformed hash matches nothing. */
export async function verifyPassword(phc: string, password: string): Promise<boolean> {
  const [, memory, passes, parallelism, salt, tag] = PHC.exec(phc) ?? [];
  if (salt === undefined || tag === undefined) return false;
  const expected = Buffer.from(tag, 'base64');
  const parameters = { memory: Number(memory), passes: Number(passes), parallelism: Number(parallelism) };
  const actual = await derive(password, Buffer.from(salt, 'base64'), parameters, expected.length);
  return timingSafeEqual(expected, actual);
}

const deriveBytes = promisify(argon2);

/**
 * The password is in Unicode's composed form (NFC, as RFC 8265 requires), because keyboards differ in how they write
 * `é`. Not the compatibility form: it maps different characters to one.
 */
function derive(password: string, nonce: Buffer, parameters: typeof PARAMETERS, tagLength: number): Promise<Buffer> {
  const message = Buffer.from(password.normalize('NFC'), 'utf8');
  return deriveBytes('argon2id', { ...parameters, message, nonce, tagLength });
}

function unpadded(bytes: Buffer): string {
  return bytes.toString('base64').replace(/=+$/, '');
}
