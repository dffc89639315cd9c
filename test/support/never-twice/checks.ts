import type { AccountAnswer } from '../account-calls.ts';
import { CONNECTIONS } from '../account-connections.ts';
import type { History, Intent } from './history.ts';

const NOTHING_OPENED = new Set([
  '502 platform_refused',
  '503 platform_unavailable',
  '400 password_rejected',
  '400 group_not_found',
  '409 login_taken',
]);
const ANSWERS = new Set([
  ...NOTHING_OPENED,
  '200',
  '409 request_in_progress',
  '409 account_outcome_unknown',
  '500 internal_error',
  '504 account_outcome_unknown',
]);

export function hasLogin({ shape }: Intent): boolean {
  return shape.login !== 'none';
}

/** One answer: it is one of the contract's, true of the server at this moment, and the same as before. @throws Error */
export function checkAnswer(history: History, intent: Intent, { status, headers, body }: AccountAnswer): void {
  const word = status === 200 ? '200' : `${status} ${body.type}`;
  history.counts.answers[word] = (history.counts.answers[word] ?? 0) + 1;
  const wrong = (what: string) => new Error(`${intent.name}: ${what}`);
  if (!ANSWERS.has(word)) throw wrong(`the contract has no answer ${word}`);
  if (word === '409 login_taken' && intent.shape.login !== 'contested')
    throw wrong('its own login is said to be taken');
  if (status === 504 && !/^[0-9a-f-]{36}$/.test(String(body.operation_id))) throw wrong('504 without operation_id');
  if (status === 503 && headers['retry-after'] === undefined) throw wrong('503 without Retry-After');
  if (NOTHING_OPENED.has(word) && intent.running === 0 && history.accounts(intent).length > 0) {
    throw wrong(`${word}, but there is an account`);
  }
  if (status !== 200) return;
  const [first] = intent.answers;
  if (first !== undefined && JSON.stringify(first.body) !== JSON.stringify(body))
    throw wrong('two answers that differ');
  intent.answers.push({ status, headers, body });
  checkAccess(history, intent, body);
}

/** The passwords open the account, and it is this client's. */
function checkAccess(
  history: History,
  intent: Intent,
  { login, master_password, investor_password }: AccountAnswer['body'],
) {
  const server = history.world.servers[CONNECTIONS[intent.shape.connection].server];
  const access = [master_password, investor_password].map((password) => server.access(Number(login), String(password)));
  if (access.join() !== 'master,investor') throw new Error(`${intent.name}: the passwords open ${access.join()}`);
  const account = server.accounts().find((one) => one.login === Number(login));
  if (account?.email !== intent.email) throw new Error(`${intent.name}: was given a stranger's account`);
}

const DEPOSITS = { tp5: 10_000, gw: 5_000, reg: 5_000 } as const;

/** When all is over: one account with its record and its deposit, or none. @throws Error */
export async function checkEnd(history: History, intent: Intent): Promise<void> {
  const wrong = (what: string) => new Error(`${intent.name}: ${what}`);
  const [account] = history.accounts(intent);
  const [answer] = intent.answers;
  if (account !== undefined) history.counts.accounts += 1;
  if (answer === undefined) return;
  if (account === undefined) throw wrong('answered, but without an account');
  checkAccess(history, intent, answer.body);
  // Nobody has finished what was asked for without a key.
  if (intent.call.key === undefined) return;
  const records = await history.world.records(intent.call.userId ?? '');
  if (records.length !== 1 || records[0]?.login !== answer.body.login)
    throw wrong(`${records.length} records of its account`);
  const due = depositOf(intent);
  if (account.balance !== due && account.balance !== 0) throw wrong(`a balance of ${account.balance}`);
  if (isDepositOpen(history, intent)) throw wrong('the deposit is missing, and nobody was told');
}

function depositOf({ shape }: Intent): number {
  const { server, account_type_id } = CONNECTIONS[shape.connection];
  return account_type_id === undefined ? 0 : DEPOSITS[server];
}

/** True: the account is open without its deposit, and the operators have not been told. */
export function isDepositOpen(history: History, intent: Intent): boolean {
  const [account] = history.accounts(intent);
  if (account === undefined || depositOf(intent) === 0 || account.balance !== 0) return false;
  const told = history.world.environments.log.join('').split('\n');
  return !told.some((line) => line.includes('"DepositFailed"') && line.includes(`"login":${account.login}`));
}
