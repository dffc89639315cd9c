import type { CrmFileError } from './record-errors.ts';

/** The command's environment on this machine: input and output, settings, host names and time. */
export interface Terminal {
  input: AsyncIterable<Uint8Array | string>;
  /** Asks for hidden input; absent without a terminal. */
  ask?: (question: string) => Promise<string>;
  /** Results. */
  print(text: string): void;
  /** Progress, warnings and errors. */
  report(text: string): void;
  /** The file that holds the settings. */
  cdkJson: string;
  resolveHost(host: string): Promise<string[]>;
  wait(milliseconds: number): Promise<unknown>;
}

/** Characters that a terminal would obey or that hide something: control, direction, invisible. Lines may end. */
const UNSAFE = /(?!\n)[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{DI}]/gu;

/** A text with its unsafe characters escaped as in JSON: text that is JSON keeps its meaning. */
export function printable(text: string): string {
  const escaped = (unit: string) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`;
  return text.replace(UNSAFE, (character) => character.split('').map(escaped).join(''));
}

/** The same for a text that belongs on one line. */
export function printableLine(text: string): string {
  return printable(text).replaceAll('\n', '\\n');
}

/** Writes results to the standard output, whose reader may stop before the end, as `head` does. */
export function standardOutput(): (text: string) => void {
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error;
  });
  return (text) => process.stdout.write(text);
}

/** A failure that the operator reads as a sentence, without a stack. */
export class CommandError extends Error {
  override readonly name = 'CommandError';
  readonly exitCode: 1 | 2;

  constructor(message: string, exitCode: 1 | 2 = 1) {
    super(message);
    this.exitCode = exitCode;
  }
}

/** Ends the message on every wrong call. */
export const HELP_HINT = 'npm run crm -- --help shows how it is called.';

/** The operator called the command wrongly. */
export function wrong(message: string): CommandError {
  return new CommandError(`${message}\n${HELP_HINT}`, 2);
}

/** The faults, one a line. */
export function indented(error: CrmFileError): string {
  return error.message.replace(/^/gm, '  ');
}

/** `1 record`, `2 records`. */
export function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}
