import type { AccountAnswer } from '../account-calls.ts';
import type { AccountWorld } from '../account-world.ts';
import { listenTo } from './moments.ts';

/** The maximum number of the diary's last lines in a report. */
const MAX_LINES = 300;
/** The fields of a log line that the diary shows. All others are equal in each line, or are counts. */
const LOGGED_FIELDS = ['operation_id', 'registration_id', 'login', 'status', 'type', 'step', 'reason'];

/** The events of a world, in order: the attempts, the received calls, and what the functions logged. */
export class Diary {
  readonly #world: AccountWorld;
  readonly #lines: string[] = [];
  readonly #began: number;
  readonly #stopListening: (() => void)[];
  #logged: number;

  constructor(world: AccountWorld) {
    this.#world = world;
    this.#began = world.clock.now();
    this.#logged = world.environments.log.length;
    this.#stopListening = Object.entries(world.faults).map(([target, faults]) =>
      listenTo(faults, ({ name, parameters, fault }) => {
        if (name === 'Query' && fault === undefined) return;
        const login = parameters?.Login === undefined ? '' : ` login ${parameters.Login}`;
        this.write(`${target} ${name}${login}${fault === undefined ? '' : `, fault: ${JSON.stringify(fault)}`}`);
      }),
    );
  }

  write(text: string): void {
    this.#copyLog();
    const seconds = ((this.#world.clock.now() - this.#began) / 1_000).toFixed(3);
    this.#lines.push(`${seconds.padStart(12)} ${text}`);
  }

  /** The last lines of the diary. */
  lastLines(): string {
    this.#copyLog();
    return this.#lines.slice(-MAX_LINES).join('\n');
  }

  end(): void {
    for (const stop of this.#stopListening) stop();
  }

  #copyLog(): void {
    const { log } = this.#world.environments;
    const written = log.slice(this.#logged).join('').split('\n');
    this.#logged = log.length;
    for (const line of written) if (line !== '') this.#lines.push(`${' '.repeat(12)}   ${lineInShort(line)}`);
  }
}

function lineInShort(line: string): string {
  try {
    const event = JSON.parse(line) as Record<string, unknown>;
    const fields = LOGGED_FIELDS.filter((name) => event[name] !== undefined).map((name) => `${name} ${event[name]}`);
    return [event.message, ...fields].join(', ');
  } catch {
    return line;
  }
}

/** An answer without passwords. */
export function answerInShort(answer: Pick<AccountAnswer, 'status' | 'body'> | undefined): string {
  if (answer === undefined) return '';
  const { type = '', login = '', operation_id = '' } = answer.body;
  return ` ${answer.status} ${type}${login} ${operation_id}`.trimEnd();
}
