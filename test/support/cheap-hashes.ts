import { argon2 } from 'node:crypto';
import { promisify } from 'node:util';
import { verifyPassword } from '../../lib/secrets/password-hash.ts';

const derive = promisify(argon2);
const unpadded = (bytes: Buffer) => bytes.toString('base64').replace(/=+$/, '');

/**
 * Hashes that cost a thousandth: one at production cost takes 50 ms. The real functions are in
 * `test/functions/wiring.test.ts`, and the real hash in `test/lib/secrets/password-hash.test.ts`.
 */
export const CHEAP_HASHES = {
  async hashPassword(password: string, nonce: Buffer): Promise<string> {
    const message = Buffer.from(password.normalize('NFC'));
    const tag = await derive('argon2id', { message, nonce, memory: 8, passes: 1, parallelism: 1, tagLength: 32 });
    return `$argon2id$v=19$m=8,t=1,p=1$${unpadded(nonce)}$${unpadded(tag)}`;
  },
  /** A hash holds its own cost. */
  async matchesPassword(phc: string | undefined, password: string): Promise<boolean> {
    return phc === undefined || verifyPassword(phc, password);
  },
};
