/**
 * Reads text as people and programs send it: its Unicode form, its invisible characters, and the digits and dashes of
 * other scripts. The rules of a field come after it, and keep the form that it returns.
 */

/** Line ends and tabs are of a text. All other control characters (C0, DEL and C1) are not. */
const NO_TEXT = /[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]/;
const NO_LINE = /[\x00-\x1f\x7f-\x9f]/;
/** A file name or an id on one line: no line separators, no change of direction, no path. */
const NO_LABEL = /[\x00-\x1f\x7f-\x9f\u2028\u2029\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069/\\]/;

/** Whether this is well-formed Unicode without control characters. A text may have several lines. */
export function isText(value: string): boolean {
  return !NO_TEXT.test(value) && value.isWellFormed();
}

/** Whether this is a text of one line. */
export function isLine(value: string): boolean {
  return !NO_LINE.test(value) && value.isWellFormed();
}

/** Whether this can name a file or a person: one line that reads in the order in which it is written, and no path. */
export function isLabel(value: string): boolean {
  return !NO_LABEL.test(value) && value.isWellFormed();
}

/** Control and formatting characters, line separators and invisible ones. Chinese characters need their selectors. */
const INVISIBLE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]|(?!\p{VS})\p{DI}/u;
/** The joiners that Persian, Indic and Sinhala spelling needs: after a letter or mark of such a script. */
const SPELLED_JOINER = /(?<=[[\p{L}\p{M}]--[\p{scx=Latin}\p{scx=Inherited}]])[\u200c\u200d]/gv;
const DIRECTION_MARKS_AT_ENDS = /^[\u061c\u200e\u200f]+|[\u061c\u200e\u200f]+$/g;

/** A name in Unicode's composed form (NFC), without the direction marks that keyboards and clipboards add at its ends. */
export function readName(name: string): string {
  return name.replace(DIRECTION_MARKS_AT_ENDS, '').normalize('NFC');
}

/** Whether a reader sees everything that a name holds. */
export function isVisible(name: string): boolean {
  return name.isWellFormed() && !INVISIBLE.test(name.replace(SPELLED_JOINER, ''));
}

/** A text without white space, line ends and invisible characters around it. */
export function trimInvisible(typed: string): string {
  return typed.replace(/^[\s\p{Cf}\p{DI}]+/u, '').replace(/[\s\p{Cf}\p{DI}]+$/u, '');
}

/** Whether a reader sees anything of it. The blank pattern of Braille (U+2800) counts as a symbol in Unicode. */
export function isAnyVisible(text: string): boolean {
  return /[^\s\p{C}\p{Z}\p{DI}\u2800]|\p{Co}/u.test(text);
}

/**
 * A password in Unicode's composed form (NFC, as RFC 8265 requires), because keyboards differ in how they write `é`.
 * Not the compatibility form: it maps different characters to one.
 */
export function readPassword(password: string): string {
  return password.normalize('NFC');
}

/**
 * Digits, signs and separators as ASCII has them: a number of a phone, or a code. Digits of every script, every dash,
 * bracket and apostrophe, and the full-width forms are read; invisible characters and white space around are dropped.
 */
export function readNumber(typed: string): string {
  return typed
    .replaceAll(/[\p{Cf}\p{DI}]/gu, '')
    .replaceAll(/[^0-9A-Za-z+(). /-]/gu, asciiNumberCharacter)
    .trim();
}

function asciiNumberCharacter(character: string): string {
  if (/\p{Nd}/u.test(character)) return asciiDigit(character);
  if (/[\p{Pd}\u2212]/u.test(character)) return '-';
  if (/[\s'’‘ʼ′＇]/u.test(character)) return ' ';
  if (/[\p{Ps}\p{Pe}]/u.test(character)) return /\p{Ps}/u.test(character) ? '(' : ')';
  return SIGNS[character] ?? character;
}

const SIGNS: Readonly<Record<string, string>> = { '＋': '+', '﹢': '+', '．': '.', '·': '.', '／': '/', '⁄': '/' };

/**
 * The ASCII digit of a digit. Unicode has the ten digits of a script one after the other, from zero to nine. The digits
 * of two scripts may be neighbors.
 */
function asciiDigit(digit: string): string {
  const code = digit.codePointAt(0) ?? 0;
  let zero = code;
  while (/\p{Nd}/u.test(String.fromCodePoint(zero - 1))) zero -= 1;
  return String((code - zero) % 10);
}

/** The form in which passwords are compared with other texts: without case, and in one width. */
export function comparableText(text: string): string {
  return text.normalize('NFKC').toLowerCase();
}
