import { describe, expect, it } from 'vitest';
import { passwordHash, randomAnswer } from '../../../../lib/platform/tp5/login.ts';

describe('authentication of the Web API', () => {
  it('the hash of the password is that of the documentation', () => {
    expect(passwordHash('Password1').toString('hex')).toBe('904ba8ecb16273d2f0ae9c3b8a023752');
  });

  it('the answer to the random number of the server is that of the documentation', () => {
    expect(randomAnswer(passwordHash('Password1'), '73007dc7184747ce0f7c98516ef1c851')).toBe(
      '77fe51827f7fa69dd80fbec9aa33f1bb',
    );
  });

  it('the answer that the server owes us is that of the documentation', () => {
    expect(randomAnswer(passwordHash('Password1'), '4db98fec17aab4dc5a240bdc659e8395')).toBe(
      '1732021b1b332f51660b2b315eed3a35',
    );
  });

  it('a password in another script is hashed as UTF-16', () => {
    expect(passwordHash('Пароль1!').toString('hex')).toBe('739b5ce78ab5e167a39e20a7662b3c2d');
  });
});
