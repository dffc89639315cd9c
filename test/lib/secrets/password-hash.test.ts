import { describe, expect, it } from 'vitest';
import { hashPassword, verifyPassword } from '../../../lib/secrets/password-hash.ts';

describe('The hash of a password', () => {
  it("is argon2id with OWASP's parameters, as a PHC string", async () => {
    const hash = await hashPassword('correct horse battery staple');
    const [, id, version, parameters, kept = '', tag = '', ...more] = hash.split('$');
    expect([id, version, parameters, more]).toEqual(['argon2id', 'v=19', 'm=19456,t=2,p=1', []]);
    expect(Buffer.from(kept, 'base64')).toHaveLength(16);
    expect(Buffer.from(tag, 'base64')).toHaveLength(32);
    expect(kept + tag).not.toContain('=');
  });

  it('verifies the password and no other', async () => {
    const hash = await hashPassword('correct horse battery staple');
    expect(await verifyPassword(hash, 'correct horse battery staple')).toBe(true);
    expect(await verifyPassword(hash, 'correct horse battery stapler')).toBe(false);
    expect(await verifyPassword(hash, '')).toBe(false);
  });

  it('has a salt of its own each time', async () => {
    expect(await hashPassword('the same')).not.toBe(await hashPassword('the same'));
  });

  it('is the same whether an accent was typed as one character or two', async () => {
    const hash = await hashPassword('caf\u00e9-au-lait');
    expect(await verifyPassword(hash, 'cafe\u0301-au-lait')).toBe(true);
  });

  it('distinguishes characters that only look equal', async () => {
    const hash = await hashPassword('x\u00b2-password');
    expect(await verifyPassword(hash, 'x2-password')).toBe(false);
  });

  it('depends on every character of a long password, of any script', async () => {
    const long = '\u{1f511}пароль密码'.repeat(12);
    const hash = await hashPassword(long);
    expect(await verifyPassword(hash, long)).toBe(true);
    expect(await verifyPassword(hash, `${long.slice(0, -1)}x`)).toBe(false);
  });
});

describe('A PHC string', () => {
  // The reference implementation's own tests (P-H-C/phc-winner-argon2, src/test.c).
  it.each([
    '$argon2id$v=19$m=65536,t=2,p=1$c29tZXNhbHQ$CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc',
    '$argon2id$v=19$m=256,t=2,p=1$c29tZXNhbHQ$nf65EOgLrQMR/uIPnA4rEsF5h7TKyQwu9U1bMCHGi/4',
    '$argon2id$v=19$m=256,t=2,p=2$c29tZXNhbHQ$bQk8UB/VmZZF4Oo79iDXuL5/0ttZwg2f/5U52iv1cDc',
    '$argon2id$v=19$m=65536,t=1,p=1$c29tZXNhbHQ$9qWtwbpyPd3vm1rB1GThgPzZ3/ydHL92zKL+15XZypg',
  ])('%s is verified by the parameters in it', async (phc) => {
    expect(await verifyPassword(phc, 'password')).toBe(true);
    expect(await verifyPassword(phc, 'Password')).toBe(false);
  });

  it.each([
    '',
    'password',
    '$argon2i$v=19$m=65536,t=2,p=1$c29tZXNhbHQ$CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc',
    '$argon2id$v=16$m=65536,t=2,p=1$c29tZXNhbHQ$CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc',
    '$argon2id$v=19$m=65536,t=2,p=1$c29tZXNhbHQ$',
    '$argon2id$v=19$m=99999999,t=2,p=1$c29tZXNhbHQ$CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc',
  ])('%j verifies nothing', async (phc) => {
    expect(await verifyPassword(phc, 'password')).toBe(false);
  });
});
