import { createServer, type Server, type Socket } from 'node:net';
import { type Fault, type FaultKind, Faults, type IncomingCall, PLATFORM_FAULT_KINDS } from '../faults.ts';
import { listenOn, refuseWhileDown } from '../listen.ts';

/** An account on a simulated trading server, as `/_local/platforms/{connection_id}/accounts` shows it. */
export interface SimulatedAccount {
  login: number;
  group: string;
  leverage: number;
  name: string;
  email: string;
  /** Trading is disabled. */
  readonly: boolean;
  balance: number;
  comment: string;
}

/** Accounts of strangers: a range of logins in one group. */
export interface BulkAccounts {
  group: string;
  from: number;
  count: number;
}

export interface StoredAccount extends SimulatedAccount {
  master: string;
  investor: string;
  /** The other members that the account was opened with, by their names in the protocol, in lower case. */
  details: Readonly<Record<string, string>>;
}

/** The accounts of a simulated server. */
export class AccountStore {
  /** Accounts of strangers. */
  bulk: BulkAccounts | undefined;
  readonly #accounts = new Map<number, StoredAccount>();
  #nextLogin: number;

  constructor(firstLogin: number) {
    this.#nextLogin = firstLogin;
  }

  accounts(): SimulatedAccount[] {
    return [...this.#accounts.values()].map(({ master: _1, investor: _2, details: _3, ...shown }) => shown);
  }

  /** The other members that the account was opened with, by their names in the protocol, in lower case. */
  details(login: number): StoredAccount['details'] | undefined {
    return this.#accounts.get(login)?.details;
  }

  /** Adds accounts of strangers. They cost no memory and are not listed. */
  populate(bulk: BulkAccounts): void {
    this.bulk = bulk;
  }

  /** Changes an account, as a dealer or a plug-in does. */
  edit(login: number, changes: Partial<Pick<SimulatedAccount, 'comment' | 'group'>>): void {
    const account = this.#accounts.get(login);
    if (account !== undefined) Object.assign(account, changes);
  }

  /** Removes an account, as restoring the server from a backup does. */
  remove(login: number): void {
    this.#accounts.delete(login);
  }

  /** The access that a password gives to a login. */
  access(login: number, password: string): 'master' | 'investor' | 'none' {
    const account = this.#accounts.get(login);
    if (account === undefined || password === '') return 'none';
    if (account.master === password) return 'master';
    return account.investor === password ? 'investor' : 'none';
  }

  /** An account, also a stranger's. */
  find(login: number): StoredAccount | undefined {
    const { bulk } = this;
    if (bulk === undefined || login < bulk.from || login >= bulk.from + bulk.count) return this.#accounts.get(login);
    const empty = { email: '', comment: '', master: '', investor: '', details: {} };
    return { ...empty, login, group: bulk.group, name: `Client ${login}`, leverage: 1, readonly: false, balance: 0 };
  }

  /** Stores a new account. @param account with login 0 it gets the next free login @returns its login */
  add(account: StoredAccount): number {
    while (this.find(this.#nextLogin) !== undefined) this.#nextLogin += 1;
    const login = account.login > 0 ? account.login : this.#nextLogin;
    this.#accounts.set(login, { ...account, login });
    return login;
  }
}

/** `refused`: an error about the command; `silent`: no answer, and the connection stays open. */
export type AnswerToUnknown = 'known' | 'refused' | 'silent';

/** The delay of a slow or late server whose fault names none, in milliseconds. */
const ACTING_LATE_MS = 1_000;

/** The faults of commands that change something; other commands cannot have them. */
const OF_CHANGES: ReadonlySet<FaultKind> = new Set([
  ...(['reply_lost', 'late', 'executed_retcode', 'executed_twice', 'login_ignored'] as const),
]);

/** A simulated trading server that listens on 127.0.0.1 with its real protocol. */
export type SimulatedServer = Omit<AccountStore, 'bulk'> & {
  readonly port: number;
  /** `web-api` only: the PEM of the certificate that the server shows. */
  readonly ca?: string;
  /** The faults of the next commands. Authentication and keep-alive do not count as commands, but may be a step. */
  readonly faults: Faults;
  /** The number of received commands, without authentication and keep-alive. */
  readonly commands: number;
  close(): Promise<void>;
};

/** A group of a simulated server. */
export interface SimulatedGroup {
  name: string;
  /** The shortest password that the group accepts. Absent: the platform's own rule. */
  minPasswordLength?: number;
  /** False: the manager has no permission for the group. */
  permitted?: boolean;
}

/** How a protocol carries out one command. */
interface Command<R> {
  /** @param ignoresLogin the server chooses the login of a new account */
  execute(ignoresLogin?: boolean): R;
  answer(reply: R): unknown;
  /** The reply that the fault `throttled`, `refused`, `retcode` or `executed_retcode` is. */
  refusal(fault: Fault): R;
  /** Sends garbage. */
  garbage(): unknown;
  /** Ends the connection. */
  end(ending: NonNullable<Fault['ending']> | 'dropped'): void;
}

/** The shared part of the simulated servers: the port, its connections, the faults and the accounts. */
export abstract class SimulatedPlatform extends AccountStore {
  readonly faults: Faults;
  port = 0;
  commands = 0;
  protected readonly sockets = new Set<Socket>();
  #down: ReturnType<typeof refuseWhileDown> | undefined;
  readonly #listener: Server;
  readonly #closing = new AbortController();

  constructor(firstLogin: number) {
    super(firstLogin);
    this.faults = new Faults(PLATFORM_FAULT_KINDS);
    this.#listener = createServer({ noDelay: true }, (socket) => {
      this.sockets.add(socket);
      socket.on('error', () => {}).on('close', () => this.sockets.delete(socket));
      this.accept(socket);
    });
  }

  /** Serves a new connection. */
  protected abstract accept(socket: Socket): void;

  /** @param port 0: a free port */
  async listen(port = 0): Promise<void> {
    this.port = await listenOn(this.#listener, port);
    this.#down = refuseWhileDown(this.#listener, this.faults);
  }

  async close(): Promise<void> {
    this.#down?.stop();
    this.#closing.abort();
    await new Promise<void>((resolve) => {
      this.#listener.close(() => resolve());
      for (const socket of this.sockets) socket.destroy();
    });
  }

  /** Waits as long as a slow or late command. */
  protected async pause({ ms = ACTING_LATE_MS }: Fault): Promise<void> {
    await this.faults.pause(ms, this.#closing.signal);
  }

  /**
   * Carries out a command with its fault. `throttled`, `refused`: an error of the protocol. `slow`: executes the command
   * later, even if the client has gone. `late`: closes the connection and executes the command later. `reply_lost`:
   * executes it and drops the connection. `session_dropped`: drops it before. `silence`: neither executes nor answers.
   * `garbage`: executes it and sends a malformed answer. `retcode`: that error, without executing. `executed_retcode`:
   * executes it and answers that error. `executed_twice`: executes it twice and sends the second answer.
   * `login_ignored`: opens the account with another login.
   */
  protected async perform<R>(fault: Fault | undefined, command: Command<R>): Promise<void> {
    if (fault === undefined) return void (await command.answer(command.execute()));
    switch (fault.kind) {
      case 'slow':
        await this.pause(fault);
        return void (await command.answer(command.execute()));
      case 'late':
        command.end(fault.ending ?? 'orderly');
        await this.pause(fault);
        return void command.execute();
      case 'silence':
        return;
      case 'garbage':
        command.execute();
        return void (await command.garbage());
      case 'reply_lost':
        command.execute();
        return command.end('dropped');
      case 'session_dropped':
      case 'down':
        return command.end('dropped');
      case 'executed_twice':
        command.execute();
        return void (await command.answer(command.execute()));
      case 'login_ignored':
        return void (await command.answer(command.execute(true)));
      case 'executed_retcode':
        command.execute();
        return void (await command.answer(command.refusal(fault)));
      default:
        return void (await command.answer(command.refusal(fault)));
    }
  }

  /** Counts a command, and returns its fault. A fault of commands that change something waits for such a command. */
  protected async nextFault(call: Omit<IncomingCall, 'fault'>, changesSomething: boolean): Promise<Fault | undefined> {
    this.commands += 1;
    const kind = this.faults.peek()?.kind;
    const waits = kind !== undefined && OF_CHANGES.has(kind) && !changesSomething;
    const fault = waits ? undefined : this.faults.next();
    this.#down?.check();
    await this.faults.onCall({ ...call, fault });
    return fault;
  }
}
