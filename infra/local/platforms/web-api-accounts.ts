import type { IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import type { WebApiSecret } from '../../../lib/records/crm-records.ts';
import type { AccountStore, SimulatedGroup, StoredAccount } from './simulated-server.ts';

/** The rights of the manager of a simulated tp5 server; default: all. */
export interface ManagerRights {
  openAccounts?: boolean;
  changeBalances?: boolean;
  /** `names`: of an account's personal data only the name is shown, and no comment. */
  personalData?: boolean | 'names';
  /** False: the manager may not read its own record with its rights. */
  ownRecord?: boolean;
  /** True: the server knows one right to all personal data. Newer servers use its place for the name. */
  older?: boolean;
}

export interface WebApiAccountsOptions {
  /** The manager that may log in, with its API password. */
  manager: WebApiSecret;
  groups: SimulatedGroup[];
  firstLogin?: number;
  /** Where the answer to `user/add` names the new login: `answer` is older servers, `root` is to test tolerance. */
  loginPlacement?: 'answer' | 'root' | 'both';
  rights?: ManagerRights;
  /** How countries are written; another form is refused. Default: any text. */
  countries?: RegExp;
}

/** A command's answer as JSON. */
export interface WebApiReply {
  retcode: string;
  /** The status of a page of HTML, which is the answer instead. */
  http_status?: number;
  [member: string]: unknown;
}

/** Parameters of a command, by their names in JSON. */
export type CommandParameters = Record<string, string>;

/** The longest values without the terminator. The server cuts longer ones silently. */
const LIMITS: Record<string, number> = { Name: 127, Company: 63, Address: 127, Comment: 63 };
const TEXTS = ['Name', 'Company', 'Country', 'City', 'State', 'ZIPCode', 'Address', 'Phone', 'Email', 'ID', 'Comment'];
const HIDDEN = {
  names: TEXTS.filter((name) => name !== 'Company' && name !== 'Name'),
  all: TEXTS.filter((name) => name !== 'Company'),
};
/**
 * The members that `user/add` acts on or stores. The server refuses other members, so that a test cannot pass without
 * their effect.
 */
const ADDED = new Set([
  ...['PassMain', 'PassInvestor', 'Group', 'Leverage', 'Rights', 'Login', 'Language', 'Agent'],
  ...TEXTS,
]);
const SHORTEST_PASSWORD = 8;
const LONGEST_PASSWORD = 16;
const TRADE_DISABLED = 0x4;
const MAX_DEPOSIT = 1_000_000_000;

/** Places in the list of a manager's rights. */
const RIGHTS = { count: 128, balances: 24, names: 26, accounts: 27, details: [76, 77, 78, 79, 80, 81] };

/** The accounts of a simulated tp5 server and the commands on them. Everything is a string, as on the wire. */
export class WebApiAccounts {
  readonly #options: WebApiAccountsOptions;
  readonly #accounts: AccountStore;
  #nextTicket = 1;

  constructor(options: WebApiAccountsOptions, accounts: AccountStore) {
    this.#options = options;
    this.#accounts = accounts;
  }

  /** @returns undefined if the command does not exist */
  work(path: string, parameters: CommandParameters): WebApiReply | undefined {
    switch (path) {
      case '/api/manager/get':
        return this.#managerRecord(parameters);
      case '/api/user/add':
        return this.#add(parameters);
      case '/api/user/get':
        return this.#requireUser(parameters, ({ login }) => retcodeReply(0, { answer: this.#shown(login) }));
      case '/api/user/logins':
        return this.#logins(parameters);
      case '/api/group/get':
        return this.#group(parameters);
      case '/api/trade/balance':
        return this.#requireUser(parameters, (user) => this.#changeBalance(user, parameters));
      default:
        return undefined;
    }
  }

  #add(parameters: CommandParameters): WebApiReply {
    const { PassMain, PassInvestor, Group, Name, Leverage, Rights = '483', Login = '0' } = parameters;
    if (this.#options.rights?.openAccounts === false) return retcodeReply(8);
    const group = this.#options.groups.find(({ name }) => name === Group);
    if (Object.keys(parameters).some((name) => !ADDED.has(name))) return retcodeReply(3);
    if (!PassMain || !PassInvestor || !Group || !Name || !/^[1-9]\d{0,4}$/.test(Leverage ?? '')) return retcodeReply(3);
    if (!/^\d{1,15}$/.test(Rights) || !/^\d{1,16}$/.test(Login)) return retcodeReply(3);
    if (this.#options.countries?.test(parameters.Country ?? '') === false) return retcodeReply(3);
    if (group === undefined || group.permitted === false) return retcodeReply(8);
    if (!isComplex(PassMain, group) || !isComplex(PassInvestor, group)) return retcodeReply(3006);
    if (this.#accounts.find(Number(Login)) !== undefined) return retcodeReply(3004);

    const text = (name: string) => (parameters[name] ?? '').slice(0, LIMITS[name]);
    const { Language = '0', Agent = '0' } = parameters;
    const login = this.#accounts.add({
      login: Number(Login),
      group: Group,
      leverage: Number(Leverage),
      name: text('Name'),
      email: text('Email'),
      readonly: (Number(Rights) & TRADE_DISABLED) !== 0,
      balance: 0,
      comment: text('Comment'),
      master: PassMain,
      investor: PassInvestor,
      details: {
        ...Object.fromEntries(TEXTS.map((name) => [name.toLowerCase(), text(name)])),
        language: Language,
        agent: Agent,
        rights: Rights,
      },
    });
    const { loginPlacement: placement = 'both' } = this.#options;
    return retcodeReply(0, {
      ...(placement === 'answer' ? {} : { login: String(login) }),
      ...(placement === 'root' ? {} : { answer: this.#shown(login) }),
    });
  }

  #managerRecord({ Login }: CommandParameters): WebApiReply {
    const { manager, rights = {} } = this.#options;
    const { openAccounts = true, changeBalances = true, personalData = true, older = false } = rights;
    if (rights.ownRecord === false) return retcodeReply(8);
    if (Number(Login) !== manager.login) return retcodeReply(13);
    const denied = [
      ...(openAccounts ? [] : [RIGHTS.accounts]),
      ...(changeBalances ? [] : [RIGHTS.balances]),
      ...(personalData === false ? [RIGHTS.names] : []),
      ...(personalData === true && !older ? [] : RIGHTS.details),
    ];
    const list = Array.from({ length: RIGHTS.count }, (_, place) => (denied.includes(place) ? '0' : '1'));
    return retcodeReply(0, { answer: { Login, Name: 'API', Server: '1', Rights: list, Groups: [{ Group: '*' }] } });
  }

  #logins({ Group = '' }: CommandParameters): WebApiReply {
    const { group = '', from = 0, count = 0 } = this.#accounts.bulk ?? {};
    const others = Array.from({ length: isMasked(Group, group) ? count : 0 }, (_, index) => from + index);
    const ours = this.#accounts.accounts().filter((account) => isMasked(Group, account.group));
    return retcodeReply(0, { answer: [...others, ...ours.map(({ login }) => login)].map(String) });
  }

  #group({ Group }: CommandParameters): WebApiReply {
    const group = this.#options.groups.find(({ name }) => name === Group);
    if (group === undefined) return retcodeReply(13);
    if (group.permitted === false) return retcodeReply(8);
    const shortest = String(group.minPasswordLength ?? SHORTEST_PASSWORD);
    return retcodeReply(0, { answer: { Group: group.name, Server: '1', AuthPasswordMin: shortest, Currency: 'USD' } });
  }

  #changeBalance(account: StoredAccount, { Type, Balance = '' }: CommandParameters): WebApiReply {
    if (this.#options.rights?.changeBalances === false) return retcodeReply(8);
    const amount = Number(Balance);
    if (!['2', '3', '4', '5', '6'].includes(Type ?? '') || Balance === '' || !Number.isFinite(amount))
      return retcodeReply(3);
    if (Math.abs(amount) > MAX_DEPOSIT) return retcodeReply(4005);
    const balance = account.balance + amount;
    if (balance < 0) return retcodeReply(10_019);
    account.balance = balance;
    return retcodeReply(0, { answer: { Ticket: String(this.#nextTicket++) } });
  }

  #requireUser({ Login }: CommandParameters, work: (account: StoredAccount) => WebApiReply): WebApiReply {
    const account = this.#accounts.find(Number(Login));
    return account === undefined ? retcodeReply(13) : work(account);
  }

  /** The record of an account, in strings, without what the manager may not see. */
  #shown(login: number): Record<string, string> {
    const account = this.#accounts.find(login);
    if (account === undefined) return {};
    const { name, email, comment, details } = account;
    const texts: Record<string, string> = { ...details, name, email, comment };
    const { personalData = true } = this.#options.rights ?? {};
    const hidden: string[] = personalData === true ? [] : HIDDEN[personalData === false ? 'all' : personalData];
    return {
      Login: String(login),
      Group: account.group,
      ...Object.fromEntries(TEXTS.map((one) => [one, hidden.includes(one) ? '' : (texts[one.toLowerCase()] ?? '')])),
      Language: details.language ?? '0',
      Leverage: String(account.leverage),
      Agent: details.agent ?? '0',
      Rights: details.rights ?? '0',
      Balance: account.balance.toFixed(2),
    };
  }
}

/** The texts of the return codes that this server has. A fault can name other codes. */
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

export function retcodeReply(code: number, members: Record<string, unknown> = {}): WebApiReply {
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

/** Names in a query whose names in JSON are not just capitalised. */
const JSON_NAMES: Record<string, string> = {
  pass_main: 'PassMain',
  pass_investor: 'PassInvestor',
  zipcode: 'ZIPCode',
  id: 'ID',
};

/**
 * Reads a command: its path, and its parameters by their names in JSON. A flat JSON body overrides the query; its keys
 * are case-sensitive, its values may be numbers. Other bodies are ignored.
 */
export async function readParameters(
  request: IncomingMessage,
): Promise<{ path: string; query: URLSearchParams; parameters: CommandParameters }> {
  const [path = '', search = ''] = (request.url ?? '').split('?', 2);
  // A plus sign does not mean a space.
  const query = new URLSearchParams(search.replaceAll('+', '%2B'));
  const parameters: CommandParameters = {};
  for (const [name, value] of query) {
    // A backslash before `=`, `|`, linefeed or itself is removed; before anything else it is kept.
    const unescaped = value.replace(/\\([\\=|\n])/g, '$1');
    parameters[JSON_NAMES[name] ?? name.charAt(0).toUpperCase() + name.slice(1)] = unescaped;
  }
  return { path, query, parameters: { ...parameters, ...flat(await text(request)) } };
}

function flat(body: string): CommandParameters {
  let content: unknown;
  try {
    content = JSON.parse(body);
  } catch {
    return {};
  }
  if (typeof content !== 'object' || content === null || Array.isArray(content)) return {};
  return Object.fromEntries(
    Object.entries(content).flatMap(([name, value]) =>
      value === null ? [] : [[name, typeof value === 'string' ? value : JSON.stringify(value)]],
    ),
  );
}
