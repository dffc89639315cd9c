import { createHash } from 'node:crypto';

/** `MD5( MD5( UTF16LE(password) ) || "WebAPI" )`, 16 raw bytes: the only form of the password that both proofs need. */
export function passwordHash(password: string): Buffer {
  return md5(md5(Buffer.from(password, 'utf16le')), Buffer.from('WebAPI', 'ascii'));
}

/** The answer to the other side's random number: `hex( MD5( hash || unhex(random) ) )`. */
export function randomAnswer(hash: Buffer, randomHex: string): string {
  return md5(hash, Buffer.from(randomHex, 'hex')).toString('hex');
}

function md5(...parts: Buffer[]): Buffer {
  const digest = createHash('md5');
  for (const part of parts) digest.update(part);
  return digest.digest();
}
