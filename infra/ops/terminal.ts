/** The command's environment on this machine: input and output, settings and time. */
export interface Terminal {
  input: AsyncIterable<Uint8Array | string>;
  /** Asks the person; the answer is hidden unless it is `shown`. Absent without a person. */
  ask?: (question: string, shown?: 'shown') => Promise<string>;
  /** Prints results. If the reader of the output has gone, they are dropped, and the command continues. */
  print: PrintLines;
  /** Progress, warnings and errors. */
  report: PrintLines;
  /** The file that holds the settings. */
  cdkJson: string;
  wait(milliseconds: number): Promise<unknown>;
}

/** Prints lines. A line never becomes several, whatever the stored items in it. */
type PrintLines = (lines: string | readonly string[]) => void;

/**
 * The one way by which operators' commands and the doctor print.
 * @param write gets the text with its line feeds
 */
export function linePrinter(write: (text: string) => void): PrintLines {
  return (lines) =>
    write(
      [lines]
        .flat()
        .map((line) => `${printableLine(line)}\n`)
        .join(''),
    );
}

/** Characters that a terminal would obey, or that hide something: control, direction, separator, invisible. */
const UNSAFE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{DI}\p{Cs}]/gu;

/** A text whose unsafe characters, line feeds too, are escaped as in JSON: text that is JSON keeps its meaning. */
export function printableLine(text: string): string {
  const escaped = (unit: string) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`;
  return text.replace(UNSAFE, (character) => character.split('').map(escaped).join(''));
}

/** The lines of a value as JSON. */
export function jsonLines(value: unknown): string[] {
  return JSON.stringify(value, null, 2).split('\n');
}

/** The words that no shell reads in another way. */
const PLAIN_WORD = /^[\w.:@/+=,-]+$/;
/** The characters that not every shell leaves alone between single quotes: cmd knows no such quotes. */
const NEVER_PASTED = /['"&|<>^%!]/;

const LEFT_OUT = '…';

/** A command that can be pasted into any shell: words are quoted, and one that no quotes make safe is left out as `…`. */
export function shellCommand(...words: string[]): string {
  const quoted = (word: string) => (NEVER_PASTED.test(word) || printableLine(word) !== word ? LEFT_OUT : `'${word}'`);
  return words.map((word) => (PLAIN_WORD.test(word) || word === LEFT_OUT ? word : quoted(word))).join(' ');
}

/**
 * `npm run ops -- …` to paste. @param place the options that name the target, such as `['--stack', 'broker-api-prod']`
 * @param words names and ids; one that begins with a dash would be read as an option, and is left out
 */
export function opsCommand(place: readonly string[], words: readonly string[], ...options: string[]): string {
  const named = words.map((word) => (word.startsWith('-') ? LEFT_OUT : word));
  return shellCommand('npm', 'run', 'ops', '--', ...named, ...options, ...place);
}
