/**
 * Reads text as people and programs send it: its Unicode form, its invisible characters, and the digits and dashes of
 * other scripts. The rules of a field come after it, and keep the form that it returns.
 */

/** A text may have line ends and tabs. It may not have other control characters (C0, DEL and C1). */
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
/** Marks that clipboards and keyboards leave anywhere in a name: byte order marks and object replacements. */
const CLIPBOARD_MARKS = /[\ufeff\ufffc]/g;
const AROUND_NAME = /[\s\u061c\u200e\u200f]/;
/** Longer than in any script (UAX 15, stream-safe text). Composing takes the square of its length. */
const LONG_RUN_OF_MARKS = /\p{M}{31}/u;
const OPENS_DIRECTION = /^[\u202a\u202b\u2066-\u2068]/;

/**
 * A name in Unicode's composed form (NFC), without white space, line ends and direction marks around it. Address books
 * put a pair of direction isolates or embeddings around a whole name. Such pairs are dropped; any other stays, and the
 * rules refuse it.
 */
function readName(typed: string): string {
  const name = typed.replaceAll(CLIPBOARD_MARKS, '');
  let start = 0;
  let end = name.length;
  // Each character is read once: a pattern for the end would read white space inside of the name again and again.
  for (;;) {
    while (start < end && AROUND_NAME.test(name.charAt(start))) start += 1;
    while (start < end && AROUND_NAME.test(name.charAt(end - 1))) end -= 1;
    if (end - start < 2 || !isDirectionPair(name.charAt(start), name.charAt(end - 1))) break;
    start += 1;
    end -= 1;
  }
  const kept = name.slice(start, end);
  return LONG_RUN_OF_MARKS.test(kept) ? kept : kept.normalize('NFC');
}

function isDirectionPair(first: string, last: string): boolean {
  return OPENS_DIRECTION.test(first) && last === (first >= '\u2066' ? '\u2069' : '\u202c');
}

/** Whether a reader sees everything that a name holds. */
export function isVisible(name: string): boolean {
  return name.isWellFormed() && !INVISIBLE.test(name.replace(SPELLED_JOINER, ''));
}

/** The text without white space, line ends and invisible characters around it. */
export function trimInvisible(typed: string): string {
  // From the first visible character to the last one, which `.*` finds from the end.
  return /[^\s\p{Cf}\p{DI}](?:.*[^\s\p{Cf}\p{DI}])?/su.exec(typed)?.[0] ?? '';
}

/** Whether a text is white space and invisible marks alone. */
export function isBlankText(text: string): boolean {
  return /^[\s\p{Cf}\p{DI}]*$/u.test(text);
}

/** Whether a reader sees anything of a text. The blank pattern of Braille (U+2800) counts as a symbol in Unicode. */
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

/** The scheme of a copied link, in any width. */
const TEL_SCHEME = /^\s*[tｔ][eｅ][lｌ]\s*[:：]/iu;
const PLUS = /[+＋﹢⁺]/u;
/** Letters at the place where keyboards of Japan, China and Korea have them instead of a dash. */
const DASH_LETTERS = '\u30fc\uff70\u4e00\u3161';
/** Half a character, a control character, a letter, or a numeral that is no digit: none of them separates digits. */
const NO_SEPARATOR = /(?!\s)[\p{Cc}\p{Cs}\p{L}\p{Nl}\p{No}]/u;

/**
 * The number of a phone in ASCII: digits of every script, and a plus before the first one. Letters stay, and the rules
 * refuse them. Everything else separates, and is dropped.
 */
function readNumber(typed: string): string {
  let number = '';
  for (const character of typed.replace(TEL_SCHEME, '')) {
    if (/\p{Nd}/u.test(character)) number += asciiDigit(character);
    else if (PLUS.test(character)) number ||= '+';
    else if (NO_SEPARATOR.test(character) && !DASH_LETTERS.includes(character)) number += character;
  }
  return number;
}

/** A dial code: as a number, without the zeros of an international call. */
function readDialCode(typed: string): string {
  return readNumber(typed).replace(/^00/, '');
}

/** A one-time password: the digits of a number. Letters stay, and the rules refuse them. */
function readCode(typed: string): string {
  return readNumber(typed).replace('+', '');
}

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

/** Reads `pt_BR` and `pt_BR.UTF-8`, as systems write them, as `pt-BR`. */
function readLanguage(typed: string): string {
  return typed.replace(/(?:\.[\w-]+)?(?:@\w+)?$/, '').replaceAll('_', '-');
}

/**
 * How each kind of text is read before its rules are checked. The rules, the stored value and the CRM have the returned
 * form.
 */
export const TEXT_READINGS = {
  /** Free text, and ids: as typed. */
  text: (typed: string) => typed,
  /** The name of a person, a document or a place. */
  name: readName,
  number: readNumber,
  dialCode: readDialCode,
  code: readCode,
  password: readPassword,
  language: readLanguage,
} as const satisfies Record<string, (typed: string) => string>;
export type TextKind = keyof typeof TEXT_READINGS;
