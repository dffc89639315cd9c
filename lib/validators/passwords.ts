import * as v from 'valibot';
import { once } from '../once.ts';
import { boundedText, violationMessage } from './primitives.ts';
import { comparableText, isAnyVisible, isLine } from './typed-text.ts';

const MIN_CHARACTERS = 8;
const MAX_CHARACTERS = 128;
/** The length in UTF-16 units above which a password is refused unread: `boundedText` reads up to four a character. */
export const MAX_PASSWORD_UNITS = 4 * MAX_CHARACTERS;

/**
 * The password that a person registers with. It has no composition rules, which make passwords weaker (NIST SP
 * 800-63B).
 */
export const RegistrationPasswordSchema = v.pipe(
  boundedText(MIN_CHARACTERS, MAX_CHARACTERS, 'password'),
  v.check(isLine, violationMessage('characters', 'must hold no control characters')),
  v.check(isAnyVisible, violationMessage('characters', 'must not be only white space or invisible characters')),
  v.metadata({ format: 'password' }),
  v.examples(['correct horse battery']),
);

/** The 50,000 most frequent passwords of at least 8 characters, which Mozilla accounts refuse. Loaded on first use. */
const commonPasswords = once(async () => {
  const { default: encoded } = await import('fxa-common-password-list/src/encoded-passwords.js');
  const initials = new Map<string, ReadonlySet<string>>();
  return {
    has(password: string): boolean {
      const initial = password.charAt(0);
      const found = initials.get(initial) ?? decodeInitial(encoded, initial);
      initials.set(initial, found);
      return found.has(password);
    },
  };
});

/**
 * The passwords of the sorted list that begin with this character. Each line has the number of characters that it
 * shares with the line before, in base 36, and the rest. To decode all of the list takes twenty times as long.
 */
function decodeInitial(encoded: string, initial: string): ReadonlySet<string> {
  const start = `\n${encoded}`.indexOf(`\n0${initial}`);
  if (start === -1) return new Set();
  const end = encoded.indexOf('\n0', start);
  let password = '';
  const passwords = encoded.slice(start, end === -1 ? undefined : end).split('\n');
  return new Set(
    passwords.map((line) => {
      password = password.slice(0, Number.parseInt(line.charAt(0), 36)) + line.slice(1);
      return password;
    }),
  );
}

/** Characters that are next to each other on keyboards. Those of an alphabet follow each other in Unicode. */
const ROWS = ['1234567890', 'qwertyuiop', 'asdfghjkl', 'zxcvbnm', 'qwertzuiop', 'azertyuiop', 'йцукенгшщзхъ'];

/**
 * Whether attackers try this password first, in any case: one of the list, also with symbols at its ends; one block
 * repeated to the end; a plain sequence; or one of the guessed texts with up to four digits behind.
 * @param guessedTexts the names that everybody may know, such as the person's own name
 */
export async function isCommonPassword(password: string, guessedTexts: readonly string[]): Promise<boolean> {
  const compared = comparableText(password);
  if (isRepeated(compared) || isSequence(compared) || guessedTexts.some((text) => isTextWithDigits(password, text)))
    return true;
  const common = await commonPasswords();
  return common.has(compared) || common.has(compared.replace(/^[^\p{L}\p{N}]+|[^\p{L}\p{N}]+$/gu, ''));
}

/** Whether a password is this text, with up to four digits behind; without regard to case and white space. */
function isTextWithDigits(password: string, text: string): boolean {
  const [whole = '', start = ''] = [password, text].map((typed) => comparableText(typed).replaceAll(/\s/g, ''));
  return start !== '' && whole.startsWith(start) && /^\d{0,4}$/.test(whole.slice(start.length));
}

/** Whether a password is a block and its repetitions; the last one may be cut. */
function isRepeated(password: string): boolean {
  for (let block = 1; block <= password.length / 2; block += 1) {
    if (password.startsWith(password.slice(block))) return true;
  }
  return false;
}

/** Whether each character follows the one before, up or down an alphabet or a row of keys. */
function isSequence(password: string): boolean {
  const characters = [...password];
  const backwards = characters.toReversed().join('');
  if (ROWS.some((row) => row.includes(password) || row.includes(backwards))) return true;
  const steps = characters
    .slice(1)
    .map((character, index) => (character.codePointAt(0) ?? 0) - (characters[index]?.codePointAt(0) ?? 0));
  return [1, -1].some((step) => steps.every((taken) => taken === step || taken === -9 * step));
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
export function hasRequiredClasses(password: string, version: keyof typeof PASSWORD_RULES): boolean {
  const { classes, atLeast } = PASSWORD_RULES[version];
  const holds = (name: CharacterClass) => [...CHARACTER_CLASSES[name]].some((sign) => password.includes(sign));
  return classes.filter(holds).length >= atLeast;
}

/** A master or investor password of a trading account. */
export function tradingPasswordSchema(version: keyof typeof PASSWORD_RULES) {
  const { min, max, detail } = PASSWORD_RULES[version];
  return v.pipe(
    v.string(),
    v.check(
      ({ length }) => length >= min && length <= max,
      violationMessage('length', `must be ${min} to ${max} characters`),
    ),
    v.regex(/^[\x20-\x7e]*$/, violationMessage('characters', 'must be printable ASCII characters')),
    v.check((password) => hasRequiredClasses(password, version), violationMessage('complexity', detail)),
    v.metadata({ minLength: min, maxLength: max, format: 'password' }),
  );
}
