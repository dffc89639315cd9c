import type { Socket } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import iconv from 'iconv-lite';
import type { Fault } from '../faults.ts';
import {
  type AnswerToUnknown,
  type SimulatedGroup,
  SimulatedPlatform,
  type SimulatedServer,
  type StoredAccount,
} from './simulated-server.ts';

/** The length of the longest line that is read; a longer line closes the connection. */
const MAX_LINE = 1_023;
const GARBAGE = '\x00\xffHTTP/1.0 418\r\n\r\n<html>LOGIN=1</html>';

/** The answer that a gateway also gives to a login that exists. */
const CREATE_FAILED = 'account create failed';

/**
 * The answers of the faults `retcode` and `executed_retcode`, by the equivalent return code of the tp5 Web API; from 9001
 * on codes of this server.
 */
const RETURN_CODES: Record<number, string> = {
  3: 'invalid data',
  8: 'invalid GROUP',
  10: 'MT is disconnected',
  12: 'IP is blocked. Please wait 20 secs and try again.',
  13: 'No connection',
  1000: 'common error',
  1001: 'invalid MASTER',
  1012: 'illegal IP',
  3004: CREATE_FAILED,
  3006: 'simple password',
  9001: 'invalid LEVERAGE',
  9002: 'invalid NAME',
  9003: 'invalid PASSWORD',
  9004: 'invalid CMD',
  9011: 'miss MASTER',
  9012: 'miss NAME',
  9013: 'miss PASSWORD',
  9014: 'miss INVESTOR',
  9999: 'internal error 9999',
};

/** The text of a return code. */
function errorText(code: number): string {
  return RETURN_CODES[code] ?? CREATE_FAILED;
}

/**
 * A trading server with the text protocol. It checks as little as real ones, so an injection would succeed.
 *
 * Faults count commands. `throttled`: `IP is blocked`. `refused`: an address that is not listed, so the gateway answers
 * `illegal IP` and the plug-in closes silently. `retcode`: the `ERROR` of `RETURN_CODES`.
 */
export async function startTextServer(options: TextServerOptions): Promise<SimulatedServer> {
  const server = new SimulatedTextServer(options);
  await server.listen(options.port);
  return server;
}

export interface TextServerOptions {
  dialect: 'web-registration' | 'interface-gateway';
  /** The port to listen on. 0 or absent: any free port. */
  port?: number;
  master: string;
  /** The groups in the plug-in's order: the first one has index 1. */
  groups: SimulatedGroup[];
  /** The code page in which the server shows names. The server itself knows bytes only. */
  codePage?: string;
  /** How long the plug-in makes one `IP=` wait between two accounts. */
  floodSeconds?: number;
  /** The gateway has the plug-in's groups and deposits: groups by number, no read-only flag. */
  groupNumbers?: boolean;
  /** The letter before every command; another letter closes the connection. Default: `W`. */
  prefix?: 'W' | 'Z';
  /** True: the server ignores `INVESTOR`, so its accounts have no investor password. */
  ignoresInvestor?: boolean;
  /** How the gateway answers `WCHKACCOUNT`; absent: it knows it. */
  accountCheck?: AnswerToUnknown;
  /** How answers are written. Default: as documented. */
  answers?: AnswerStyle;
  /** The number of bytes of an answer that go out in one packet. */
  packetBytes?: number;
}

/** `no_end`: without `end`; `partial`: a success in part, with the name of a missing field. */
export type AnswerStyle =
  | ('byte_order_mark' | 'small_letters' | 'spaces' | 'one_line' | 'banner' | 'full_stop')
  | ('no_end' | 'partial');

/**
 * An answer: its lines without `end`. `closes`: the server closes without an answer. `silent`: the server sends nothing
 * and keeps the connection open.
 */
type Reply = string[] | 'closes' | 'silent';

/** The size of each value in bytes, with the final NUL of the server's language. */
const SIZES = { group: 16, password: 16, name: 128, email: 48, comment: 64, other: 256 };

/** The details that `WNEWACCOUNT` keeps in addition, with the maximum bytes. */
const DETAILS = {
  COUNTRY: 32,
  STATE: 256,
  CITY: 256,
  ADDRESS: 256,
  ZIPCODE: 256,
  ID: 256,
  STATUS: 256,
  AGENT: 256,
  PHONE: 32,
  PHONE_PASSWORD: 256,
  SEND_REPORTS: 256,
};
/**
 * The keys that `WNEWACCOUNT` accepts. The server refuses an unknown key, so that no test passes without its effect.
 */
const KEYS = new Set([
  ...['MASTER', 'IP', 'GROUP', 'LOGIN', 'NAME', 'PASSWORD', 'INVESTOR', 'EMAIL', 'COMMENT', 'LEVERAGE', 'READONLY'],
  ...['DEPOSIT', 'BALANCE', 'BALCOMMENT'],
  ...Object.keys(DETAILS),
]);

const MAX_LOGIN = 2_147_483_647;
const UNKNOWN_COMMAND: Reply = ['ERROR', 'invalid CMD'];

class SimulatedTextServer extends SimulatedPlatform {
  readonly #options: TextServerOptions;
  /** The times at which each `IP=` last opened an account. */
  readonly #visitors = new Map<string, number>();

  constructor(options: TextServerOptions) {
    super(100_001);
    this.#options = options;
  }

  /** Reads one line and ignores the rest. */
  protected override accept(socket: Socket): void {
    let received = '';
    const onData = (bytes: Buffer) => {
      received += bytes.toString('latin1');
      const length = received.indexOf('\n');
      if (length === -1 && received.length <= MAX_LINE) return;
      socket.off('data', onData).resume();
      if (length === -1 || length > MAX_LINE) socket.end();
      else this.#serve(socket, received.slice(0, length).replace(/\r$/, '')).catch(() => socket.destroy());
    };
    socket.on('data', onData);
  }

  async #serve(socket: Socket, line: string): Promise<void> {
    const fault = await this.nextFault({ name: line.split(' ', 1)[0] ?? '' }, /^[WZ]NEWACCOUNT/.test(line));
    await this.perform<Reply>(fault, {
      execute: (ignoresLogin) => this.#execute(ignoresLogin ? line.replace(/\|LOGIN=[^|]*/, '') : line),
      refusal: (one) => this.#refusal(one),
      answer: (reply) => this.#answer(socket, reply),
      garbage: () => this.#send(socket, GARBAGE),
      end: (ending) => (ending === 'dropped' || ending === 'reset' ? socket.resetAndDestroy() : socket.end()),
    });
  }

  #refusal({ kind, code = 0 }: Fault): Reply {
    if (kind === 'refused') return this.#options.dialect === 'interface-gateway' ? error('illegal IP') : 'closes';
    return error(errorText(kind === 'throttled' ? 12 : code));
  }

  async #answer(socket: Socket, reply: Reply): Promise<void> {
    // The gateway's answer has no line end.
    const { dialect, answers } = this.#options;
    const end = answers === 'no_end' ? '' : dialect === 'interface-gateway' ? 'end' : 'end\r\n';
    if (reply === 'closes') socket.end();
    else if (reply !== 'silent') {
      const lines = inStyle(reply, answers);
      await this.#send(socket, lines.map((line) => `${line}\r\n`).join('') + end);
    }
  }

  async #send(socket: Socket, text: string): Promise<void> {
    const { packetBytes = 1 } = this.#options;
    for (let at = 0; at < text.length && socket.writable; at += packetBytes) {
      socket.write(text.slice(at, at + packetBytes), 'latin1');
      await nextTurn();
    }
    socket.end();
  }

  /**
   * Executes a command of either dialect, read as the real servers read it: a parameter is the first `KEY=` anywhere in
   * the line, its value runs to the next `|`, more than fits is cut, and nothing of it is checked.
   *
   * @param line one line as it came, a character for each byte
   */
  #execute(line: string): Reply {
    // A text of the server's language ends at its first NUL.
    if (!line.startsWith(this.#options.prefix ?? 'W')) return 'closes';
    const [command = ''] = line.slice(1).split('\0');
    if (command.startsWith('NEWACCOUNT') && !hasKnownKeys(command)) return error('invalid data');
    if (this.#options.dialect === 'web-registration') {
      return command.startsWith('NEWACCOUNT') ? this.#register(command) : 'closes';
    }
    const master = cut(find(command, 'MASTER='), SIZES.other);
    if (master === undefined) return error('miss MASTER');
    if (master !== this.#options.master) return error('invalid MASTER');
    if (command.startsWith('NEWACCOUNT')) return this.#create(command);
    const { accountCheck = 'known' } = this.#options;
    return command.startsWith('CHKACCOUNT') ? ask(accountCheck, () => this.#checkAccount(command)) : UNKNOWN_COMMAND;
  }

  /** The plug-in: groups by index, every login its own, one `invalid data` for most errors. */
  #register(command: string): Reply {
    if (cut(find(command, 'MASTER='), SIZES.other) !== this.#options.master) return error('invalid data');
    const ip = cut(find(command, 'IP='), SIZES.other);
    const group = this.#options.groups[integer(find(command, 'GROUP=')) - 1];
    if (ip === undefined || group === undefined || group.permitted === false) return error('invalid data');
    const account = this.#read(command, group.name);
    if (isSimple(account.master, group.minPasswordLength)) return error('simple password');
    if (account.name === '' || account.leverage < 1) return error('invalid data');
    const { floodSeconds = 20 } = this.#options;
    const last = this.#visitors.get(ip);
    if (last !== undefined && Date.now() - last < floodSeconds * 1_000) {
      return error(`IP is blocked. Please wait ${floodSeconds} secs and try again.`);
    }
    this.#visitors.set(ip, Date.now());
    return this.#add({ ...account, login: 0, readonly: false, balance: demoDeposit(command, group) });
  }

  /** The gateway: groups by name, the login and the read-only flag read, an error text for each error. */
  #create(command: string): Reply {
    const { groups, groupNumbers = false } = this.#options;
    const named = find(command, 'GROUP=') ?? '';
    const group = groupNumbers
      ? groups[integer(named) - 1]
      : groups.find(({ name }) => name === this.#decode(named, SIZES.group));
    if (group === undefined || group.permitted === false) return error('invalid GROUP');
    for (const key of ['NAME', 'PASSWORD', 'INVESTOR']) {
      if (find(command, `${key}=`) === undefined) return error(`miss ${key}`);
    }
    const account = this.#read(command, group.name);
    if (isSimple(account.master, group.minPasswordLength)) return error('invalid PASSWORD');
    if (account.name === '') return error('invalid NAME');
    if (account.leverage < 1) return error('invalid LEVERAGE');
    const balance = groupNumbers ? demoDeposit(command, group) : number(find(command, 'BALANCE='));
    return this.#add({
      ...account,
      login: integer(find(command, 'LOGIN=')),
      readonly: !groupNumbers && integer(find(command, 'READONLY=')) !== 0,
      balance: balance >= 0.01 ? balance : 0,
    });
  }

  #read(command: string, group: string): Omit<StoredAccount, 'login' | 'readonly' | 'balance'> {
    const text = (key: string, size: number) => this.#decode(find(command, key) ?? '', size);
    return {
      group,
      leverage: integer(find(command, 'LEVERAGE=') ?? '100'),
      name: text('NAME=', SIZES.name),
      email: text('EMAIL=', SIZES.email),
      comment: text('COMMENT=', SIZES.comment),
      master: text('PASSWORD=', SIZES.password),
      investor: this.#options.ignoresInvestor ? '' : text('INVESTOR=', SIZES.password),
      details: Object.fromEntries(
        Object.entries(DETAILS).map(([key, size]) => [key.toLowerCase(), text(`${key}=`, size)]),
      ),
    };
  }

  #add(account: StoredAccount): string[] {
    if (account.login > MAX_LOGIN || this.#exists(account.login)) return error('account create failed');
    return ['OK', `LOGIN=${this.add(account)}`];
  }

  #exists(login: number): boolean {
    return this.find(login) !== undefined;
  }

  #checkAccount(command: string): Reply {
    const login = find(command, 'LOGIN=');
    if (login === undefined) return error('miss LOGIN');
    return this.#exists(integer(login)) ? ['OK', 'user check successful'] : error('user check failed');
  }

  #decode(bytes: string, size: number): string {
    return iconv.decode(Buffer.from(cut(bytes, size) ?? '', 'latin1'), this.#options.codePage ?? 'windows-1252');
  }
}

/** The plug-in's deposit. */
function demoDeposit(command: string, { name }: SimulatedGroup): number {
  const deposit = Math.min(Math.max(number(find(command, 'DEPOSIT=')), 0), 100_000_000);
  return name.startsWith('demo') ? deposit : 0;
}

function hasKnownKeys(command: string): boolean {
  const [, ...parameters] = command.split('|');
  return parameters.every((one) => one === '' || KEYS.has(one.split('=', 1)[0] ?? ''));
}

/** The value of a key as the plug-in finds it: by `strstr` for the key, then up to `|`. */
function find(command: string, key: string): string | undefined {
  const at = command.indexOf(key);
  return at === -1 ? undefined : command.slice(at + key.length).split('|', 1)[0];
}

function cut<T extends string | undefined>(bytes: T, size: number): T | string {
  return bytes === undefined ? bytes : bytes.slice(0, size - 1);
}

/** The number that C's `atof` reads: leading blanks, then as many characters as make a number; else 0. */
function number(text: string | undefined): number {
  return Number(/^\s*[+-]?\d+(\.\d+)?(e[+-]?\d+)?/i.exec(text ?? '')?.[0] ?? 0);
}

/** The number that C's `atoi` reads. */
function integer(text: string | undefined): number {
  return Number(/^\s*[+-]?\d+/.exec(text ?? '')?.[0] ?? 0);
}

/**
 * Whether a password has fewer than `minLength` characters, or only one of lower case, upper case and digits; any other
 * character counts for a missing kind.
 */
function isSimple(password: string, minLength = 5): boolean {
  const classes = [/[a-z]/, /[A-Z]/, /\d/].filter((one) => one.test(password)).length;
  return password.length < Math.max(5, minLength) || (classes < 2 && !/[^A-Za-z\d]/.test(password));
}

/** An answer in the style of some servers. */
function inStyle([first = '', second, ...rest]: string[], style: AnswerStyle | undefined): string[] {
  const lines = [first, ...(second === undefined ? [] : [second]), ...rest];
  switch (style) {
    case 'byte_order_mark':
      return [`\xef\xbb\xbf${first}`, ...lines.slice(1)];
    case 'small_letters':
      return lines.map((line) => line.toLowerCase());
    case 'spaces':
      return lines.map((line) => line.replace('=', ' = '));
    case 'one_line':
      return second === undefined ? lines : [`${first} ${second}`, ...rest];
    case 'banner':
      return ['MetaTrader 4 gateway, build 1420', ...lines];
    case 'partial':
      return first === 'OK' && second?.startsWith('LOGIN=') ? [...lines, 'miss BNSCODE'] : lines;
    case 'full_stop':
      return first === 'ERROR' ? lines.map((line, place) => (place === 1 ? `${line}.` : line)) : lines;
    default:
      return lines;
  }
}

function ask(question: AnswerToUnknown, answer: () => Reply): Reply {
  if (question === 'silent') return 'silent';
  return question === 'known' ? answer() : UNKNOWN_COMMAND;
}

function error(reason: string): string[] {
  return ['ERROR', reason];
}
