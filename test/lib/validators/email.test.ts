import { domainToASCII } from 'node:url';
import fc from 'fast-check';
import * as v from 'valibot';
import { describe, expect, it } from 'vitest';
import { asciiEmail, EmailSchema, emailKey, foldedEmail } from '../../../lib/validators/email.ts';
import { listViolations } from '../../../lib/validators/primitives.ts';

const rulesOf = (email: unknown) => {
  const result = v.safeParse(EmailSchema, email);
  return result.success ? [] : listViolations(result.issues).map(({ rule }) => rule);
};

describe('an email address', () => {
  it('is sent with its domain in punycode and its local part as typed', () => {
    expect(asciiEmail('Ann.Lee@MÜNCHEN.de')).toBe('Ann.Lee@xn--mnchen-3ya.de');
    expect(asciiEmail('Ann@Example.com')).toBe('Ann@example.com');
  });

  it('is looked up without regard to case, and to how its domain is written', () => {
    expect(emailKey('Ann.Lee@MÜNCHEN.de')).toBe('ann.lee@xn--mnchen-3ya.de');
    expect(emailKey('ann.lee@XN--MNCHEN-3YA.DE')).toBe('ann.lee@xn--mnchen-3ya.de');
    expect(emailKey('ann@ｅxample。com')).toBe('ann@example.com');
  });

  it.each([
    ['Ann.Lee+news@Example.com', 'ann.lee@example.com'],
    ['A.n.N+x+y@gmail.com', 'ann@gmail.com'],
    ['ann@GoogleMail.com', 'ann@gmail.com'],
    ['a.nn@mygmail.com', 'a.nn@mygmail.com'],
    ['+ann@example.com', '+ann@example.com'],
    ['A.n_n-Lee+x@ProtonMail.com', 'annlee@proton.me'],
    ['annlee@pm.me', 'annlee@proton.me'],
    ['annlee@protonmail.ch', 'annlee@proton.me'],
    ['ann-lee+x@yandex.com.tr', 'ann.lee@yandex.ru'],
    ['ann.lee@ya.ru', 'ann.lee@yandex.ru'],
    ['ann@yandex.com.am', 'ann@yandex.ru'],
    ['ann@yandex.example', 'ann@yandex.example'],
    ['ann@yandex.zip', 'ann@yandex.zip'],
    ['ann@yandex.co.uk', 'ann@yandex.co.uk'],
    ['ann.lee+x@me.com', 'ann.lee@icloud.com'],
    ['ann.lee@mac.com', 'ann.lee@icloud.com'],
    ['shop+x@ann.fastmail.com', 'ann@fastmail.com'],
    ['shop@ann.fastmail.fm', 'ann@fastmail.fm'],
    ['ann+shop@fastmail.com', 'ann@fastmail.com'],
    ['ann@fastmail.co.uk', 'ann@fastmail.co.uk'],
  ])(
    'is counted by limits without tag and case, and under one name at the large providers: %s as %s',
    (email, folded) => {
      expect(foldedEmail(emailKey(email))).toBe(folded);
    },
  );

  it('has a counted form and a look-up form that do not change when they are made again, for any input', () => {
    fc.assert(
      fc.property(fc.oneof(fc.emailAddress(), fc.string({ unit: 'binary' })), (email) => {
        expect(emailKey(emailKey(email))).toBe(emailKey(email));
        if (rulesOf(email).length === 0) {
          expect(rulesOf(asciiEmail(email))).toEqual([]);
          const folded = foldedEmail(emailKey(email));
          expect(foldedEmail(folded)).toBe(folded);
        }
      }),
    );
  });

  it('has the domain that IDNA would return, even if the service does not call IDNA', () => {
    const label = fc.string({ unit: fc.constantFrom('a', 'z', 'A', '0', '9', 'x', 'n', '-', 'ü'), maxLength: 6 });
    const punycode = fc.constantFrom('xn--', 'xn--mnchen-3ya', 'xn--a', 'XN--', '0x7f', '127');
    const domain = fc
      .array(fc.oneof(label, punycode), { minLength: 1, maxLength: 4 })
      .map((labels) => labels.join('.'));
    fc.assert(
      fc.property(domain, fc.constantFrom('', '.com', '.1'), (begin, end) => {
        const typed = begin + end;
        const ascii = domainToASCII(typed);
        if (ascii === '') expect(rulesOf(`ann@${typed}`)).not.toEqual([]);
        else if (rulesOf(`ann@${typed}`).length === 0) expect(emailKey(`ann@${typed}`)).toBe(`ann@${ascii}`);
      }),
      { numRuns: 100 },
    );
  });
});
