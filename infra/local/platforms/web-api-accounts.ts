import { type BulkAccounts, isBulkAccount, type SimulatedAccount, type SimulatedGroup } from './simulated-server.ts';

/** The rights of the manager of a simulated tp5 server; default: all. */
export interface ManagerRights {
  openAccounts?: boolean;
  changeBalances?: boolean;
  /** `names`: of an account's personal data the name is shown, and nothing else, its comment neither. */
  personalData?: boolean | 'names';
  /** False: it may not read its own record with its rights. */
  ownRecord?: boolean;
  /** Older servers know one right to all personal data, whose place is that of the name on newer ones. */
  older?: boolean;
}

export interface WebApiAccountsOptions {
  groups: SimulatedGroup[];
  firstLogin?: number;
  /** Where the answer to `user/add` names the new login: `answer` is older servers, `root` is to test tolerance. */
  loginPlacement?: 'answer' | 'root' | 'both';
  rights?: ManagerRights;
  now?: () => number;
}

/** A command's answer as JSON. */
export interface Reply {
  retcode: string;
  [member: string]: unknown;
}

interface User {
  record: Record<string, string>;
  main: string;
  investor: string;
}

/** Parameters of a command, by their names in JSON. */
export type Parameters = Record<string, string>;

/** Without the terminator; longer values are cut silently. */
const LIMITS: Record<string, number> = { Name: 127, Company: 63, Address: 127, Comment: 63 };
const TEXTS = ['Name', 'Company', 'Country', 'City', 'State', 'ZIPCode', 'Address', 'Phone', 'Email', 'ID', 'Comment'];
const HIDDEN = {
  names: TEXTS.filter((name) => name !== 'Company' && name !== 'Name'),
  all: TEXTS.filter((name) => name !== 'Company'),
};
/** What `user/add` acts on or keeps. Other members are refused, so that a test cannot pass without their effect. */
const ADDED = new Set([
  ...['PassMain', 'PassInvestor', 'Group', 'Leverage', 'Rights', 'Login', 'Language', 'Agent'],
  ...TEXTS,
]);
const SHORTEST_PASSWORD = 8;
const LONGEST_PASSWORD = 16;
const TRADE_DISABLED = 0x4;
const MAX_DEPOSIT = 1_000_000_000;

/** The accounts of a simulated tp5 server and the commands on them. Everything is a string, as on the wire. */
export class WebApiAccounts {
  readonly #options: WebApiAccountsOptions;
  readonly #users = new Map<number, User>();
  /** Accounts of strangers, with only a login and a group. */
  bulk: BulkAccounts | undefined;
  #nextLogin: number;
  #nextTicket = 1;

  constructor(options: WebApiAccountsOptions) {
    this.#options = options;
    this.#nextLogin = options.firstLogin ?? 1_000_001;
  }

  /** @returns undefined if the command does not exist */
  work(path: string, parameters: Parameters): Reply | undefined {
    switch (path) {
      case '/api/user/add':
        return this.#add(parameters);
      case '/api/user/get':
        return this.#requireUser(parameters, (user) => reply(0, { answer: this.#shown(user) }));
      case '/api/user/logins':
        return this.#logins(parameters);
      case '/api/user/check_password':
        return this.#requireUser(parameters, (user) => this.#checkPassword(user, parameters));
      case '/api/group/get':
        return this.#group(parameters);
      case '/api/trade/balance':
        return this.#requireUser(parameters, (user) => this.#changeBalance(user, parameters));
      default:
        return undefined;
    }
  }

  list(): SimulatedAccount[] {
    return [...this.#users.values()].map(({ record }) => ({
      login: Number(record.Login),
      group: record.Group ?? '',
      leverage: Number(record.Leverage),
      name: record.Name ?? '',
      email: record.Email ?? '',
      readonly: (Number(record.Rights) & TRADE_DISABLED) !== 0,
      balance: Number(record.Balance),
      comment: record.Comment ?? '',
    }));
  }

  details(login: number): Record<string, string> | undefined {
    const user = this.#users.get(login);
    const kept = Object.entries(user?.record ?? {}).map(([name, value]) => [name.toLowerCase(), value]);
    return user && Object.fromEntries(kept);
  }

  edit(login: number, { comment, group }: { comment?: string; group?: string }): void {
    const user = this.#users.get(login);
    if (user === undefined) return;
    if (comment !== undefined) user.record.Comment = comment;
    if (group !== undefined) user.record.Group = group;
  }

  remove(login: number): void {
    this.#users.delete(login);
  }

  access(login: number, password: string): 'master' | 'investor' | 'none' {
    const user = this.#users.get(login);
    if (user?.main === password) return 'master';
    return user?.investor === password ? 'investor' : 'none';
  }

  #add(parameters: Parameters): Reply {
    const { PassMain, PassInvestor, Group, Name, Leverage, Rights = '483', Login = '0' } = parameters;
    if (this.#options.rights?.openAccounts === false) return reply(8);
    const group = this.#options.groups.find(({ name }) => name === Group);
    if (Object.keys(parameters).some((name) => !ADDED.has(name))) return reply(3);
    if (!PassMain || !PassInvestor || !Group || !Name || !/^[1-9]\d{0,4}$/.test(Leverage ?? '')) return reply(3);
    if (!/^\d{1,15}$/.test(Rights) || !/^\d{1,16}$/.test(Login)) return reply(3);
    if (group === undefined || group.permitted === false) return reply(8);
    if (!isComplex(PassMain, group) || !isComplex(PassInvestor, group)) return reply(3006);
    if (this.#user(Number(Login)) !== undefined) return reply(3004);
    const login = Number(Login) === 0 ? this.#freeLogin() : Number(Login);

    const record = { ...this.#record(parameters), Login: String(login), Rights };
    const user = { record, main: PassMain, investor: PassInvestor };
    this.#users.set(login, user);
    const placement = this.#options.loginPlacement ?? 'both';
    return reply(0, {
      ...(placement === 'answer' ? {} : { login: String(login) }),
      ...(placement === 'root' ? {} : { answer: this.#shown(user) }),
    });
  }

  #record(parameters: Parameters): Record<string, string> {
    const time = String(Math.floor((this.#options.now ?? Date.now)() / 1_000));
    const texts = TEXTS.map((name) => [name, (parameters[name] ?? '').slice(0, LIMITS[name])]);
    return {
      Group: parameters.Group ?? '',
      CertSerialNumber: '0',
      Registration: time,
      LastAccess: time,
      LastPassChange: time,
      ...Object.fromEntries(texts),
      Language: parameters.Language ?? '0',
      Leverage: parameters.Leverage ?? '',
      Agent: parameters.Agent ?? '0',
      Balance: '0.00',
      Credit: '0.00',
    };
  }

  #freeLogin(): number {
    while (this.#user(this.#nextLogin) !== undefined) this.#nextLogin += 1;
    return this.#nextLogin++;
  }

  #logins({ Group = '' }: Parameters): Reply {
    const { from = 0, count = 0 } = this.bulk !== undefined && isMasked(Group, this.bulk.group) ? this.bulk : {};
    const others = Array.from({ length: count }, (_, index) => String(from + index));
    return reply(0, { answer: [...others, ...this.#listGroups(Group).map(({ record }) => record.Login)] });
  }

  #listGroups(groups: string): User[] {
    return [...this.#users.values()].filter(({ record: { Group = '' } }) => isMasked(groups, Group));
  }

  #user(login: number): User | undefined {
    const { bulk } = this;
    if (bulk === undefined || !isBulkAccount(bulk, login)) return this.#users.get(login);
    const record = { Login: String(login), Group: bulk.group, Name: `Client ${login}`, Comment: '', Balance: '0.00' };
    return { record, main: '', investor: '' };
  }

  #checkPassword({ main, investor }: User, { Type, Password }: Parameters): Reply {
    if (Type !== 'main' && Type !== 'investor') return reply(3);
    return reply(Password === (Type === 'main' ? main : investor) ? 0 : 3006);
  }

  #group({ Group }: Parameters): Reply {
    const group = this.#options.groups.find(({ name }) => name === Group);
    if (group === undefined) return reply(13);
    if (group.permitted === false) return reply(8);
    const shortest = String(group.minPasswordLength ?? SHORTEST_PASSWORD);
    return reply(0, { answer: { Group: group.name, Server: '1', AuthPasswordMin: shortest, Currency: 'USD' } });
  }

  #changeBalance({ record }: User, { Type, Balance = '' }: Parameters): Reply {
    if (this.#options.rights?.changeBalances === false) return reply(8);
    const amount = Number(Balance);
    if (!['2', '3', '4', '5', '6'].includes(Type ?? '') || Balance === '' || !Number.isFinite(amount)) return reply(3);
    if (Math.abs(amount) > MAX_DEPOSIT) return reply(4005);
    const balance = Number(record.Balance) + amount;
    if (balance < 0) return reply(10_019);
    record.Balance = balance.toFixed(2);
    return reply(0, { answer: { Ticket: String(this.#nextTicket++) } });
  }

  #requireUser({ Login }: Parameters, work: (user: User) => Reply): Reply {
    const user = this.#user(Number(Login));
    return user === undefined ? reply(13) : work(user);
  }

  #shown({ record }: User): Record<string, string> {
    const { personalData = true } = this.#options.rights ?? {};
    if (personalData === true) return { ...record };
    const hidden = HIDDEN[personalData === false ? 'all' : personalData];
    return { ...record, ...Object.fromEntries(hidden.map((name) => [name, ''])) };
  }
}

/** The texts of the return codes that this server has. Others are asked for as a fault. */
const RETCODES: Record<number, string> = {
  0: 'Done',
  3: 'Invalid parameters',
  8: 'Not enough permissions',
  12: 'Too frequent requests',
  13: 'Not found',
  1001: 'Invalid account',
  1010: 'Old client version',
  1017: 'Invalid connection type',
  3004: 'Account already exists',
  3006: 'Invalid account password',
  4005: 'Money limit reached',
  10019: 'Not enough money',
};

export function reply(code: number, members: Record<string, unknown> = {}): Reply {
  return { retcode: `${code} ${RETCODES[code] ?? 'Error'}`, ...members };
}

/** Names separated by commas; a star at the end matches anything. */
function isMasked(groups: string, group: string): boolean {
  const masks = groups.split(',').map((mask) => mask.trim());
  return masks.some((mask) => (mask.endsWith('*') ? group.startsWith(mask.slice(0, -1)) : group === mask));
}

/** Four kinds of characters, and as long as the group asks. */
function isComplex(password: string, { minPasswordLength = SHORTEST_PASSWORD }: SimulatedGroup): boolean {
  return (
    password.length >= minPasswordLength &&
    password.length <= LONGEST_PASSWORD &&
    [/[a-z]/, /[A-Z]/, /\d/, /[^A-Za-z0-9]/].every((kind) => kind.test(password))
  );
}
