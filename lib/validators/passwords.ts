import * as v from 'valibot';
import { once } from '../once.ts';
import { rule, text } from './primitives.ts';

export const MIN_PASSWORD_CHARACTERS = 8;

/**
 * The password that a person registers with. It has no composition rules, which make passwords weaker (NIST SP
 * 800-63B).
 */
export const RegistrationPasswordSchema = v.pipe(
  text(MIN_PASSWORD_CHARACTERS, 128),
  v.check((password) => /\S/.test(password), rule('characters', 'must not be only white space')),
  v.metadata({ format: 'password' }),
  v.examples(['correct horse battery']),
);

/** No password of the list is longer. */
const MAX_COMMON_LENGTH = 20;

/** Large, so loaded on first use. */
const commonPasswords = once(async (): Promise<readonly string[]> => {
  return (await import('@zxcvbn-ts/language-common/src/passwords.json', { with: { type: 'json' } })).default;
});

/** Whether many people use this password, in any case of its letters. */
export async function isCommonPassword(password: string): Promise<boolean> {
  if (password.length > MAX_COMMON_LENGTH) return false;
  return (await commonPasswords()).includes(password.toLowerCase());
}

/**
 * The kinds of characters in password rules. Special: all other printable ASCII characters. A space is allowed and has
 * no kind.
 */
export const CHARACTER_CLASSES = {
  lowercase: 'abcdefghijklmnopqrstuvwxyz',
  uppercase: 'ABCDEFGHIJKLMNOPQRSTUVWXYZ',
  digit: '0123456789',
  special: '!"#$%&\'()*+,-./:;<=>?@[\\]^_`{|}~',
} as const;
type CharacterClass = keyof typeof CHARACTER_CLASSES;

/** The password rules of both platform versions (specification, 2.3). A password needs `atLeast` of the classes. */
export const PASSWORD_RULES = {
  tp5: {
    min: 8,
    max: 15,
    classes: ['lowercase', 'uppercase', 'digit', 'special'],
    atLeast: 4,
    detail: 'must hold a lowercase letter, an uppercase letter, a digit and a special character',
  },
  tp4: {
    min: 5,
    max: 15,
    classes: ['lowercase', 'uppercase', 'digit'],
    atLeast: 2,
    detail: 'must hold at least two of: lowercase letters, uppercase letters, digits',
  },
} as const;

/** True if a password of any length has the kinds of characters that the version asks for. */
export function isMixed(password: string, version: keyof typeof PASSWORD_RULES): boolean {
  const { classes, atLeast } = PASSWORD_RULES[version];
  const holds = (name: CharacterClass) => [...CHARACTER_CLASSES[name]].some((one) => password.includes(one));
  return classes.filter(holds).length >= atLeast;
}

/** A master or investor password of a trading account. */
export function tradingPasswordSchema(version: keyof typeof PASSWORD_RULES) {
  const { min, max, detail } = PASSWORD_RULES[version];
  return v.pipe(
    v.string(),
    v.check(({ length }) => length >= min && length <= max, rule('length', `must be ${min} to ${max} characters`)),
    v.regex(/^[\x20-\x7e]*$/, rule('characters', 'must be printable ASCII characters')),
    v.check((password) => isMixed(password, version), rule('complexity', detail)),
    v.metadata({ minLength: min, maxLength: max, format: 'password' }),
  );
}
