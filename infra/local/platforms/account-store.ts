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

  /** What this password opens. */
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

  /** Keeps a new account. @param account with login 0 it gets the next free one @returns its login */
  add(account: StoredAccount): number {
    while (this.find(this.#nextLogin) !== undefined) this.#nextLogin += 1;
    const login = account.login > 0 ? account.login : this.#nextLogin;
    this.#accounts.set(login, { ...account, login });
    return login;
  }
}
