import * as v from 'valibot';
import type { Finding, OrderTrace } from '../platform.ts';
import { commandFailure, isDone, LoginSchema, NOT_FOUND, parseMember, WRONG_PASSWORD } from './answers.ts';
import type { WebApiClient } from './client.ts';
import { withQuery } from './query.ts';

const text = v.optional(v.string(), '');
const UserSchema = v.object({
  Login: LoginSchema,
  Name: text,
  FirstName: text,
  LastName: text,
  Email: text,
  Comment: text,
  /** Epoch seconds, in the server's own time zone. */
  Registration: v.optional(v.pipe(v.union([v.string(), v.number()]), v.transform(Number))),
});
type User = v.InferOutput<typeof UserSchema>;

const LoginsSchema = v.array(LoginSchema);
const UsersSchema = v.array(UserSchema);

const BATCH = 200;
/**
 * An account of ours that is still looked for is at most 24 hours old; the rest is for the server's time zone and clock.
 */
const OLD_MS = 48 * 60 * 60 * 1_000;
/** How long an account is known to be old, in milliseconds: a login may be deleted and given to a new account. */
const KNOWN_MS = 10 * 60 * 1_000;
/** Room for more than a million logins. */
const MAX_LOGINS_BYTES = 16 * 1_024 * 1_024;
const MAX_BATCH_BYTES = 4 * 1_024 * 1_024;

/**
 * Which logins cannot be the account that is looked for, so that a look-up whose time ends goes on where the one before
 * stood: a group may be larger than can be read at once.
 */
export interface PassedOver {
  /** Accounts that are too old for every operation, and since when that is being noted, in epoch milliseconds. */
  old: Set<number>;
  oldSince: number;
  /** The other accounts that were read for this operation: a login that was taken does not become ours. */
  operationId: string;
  read: Set<number>;
}

export function nothingPassedOver(): PassedOver {
  return { old: new Set(), oldSince: 0, operationId: '', read: new Set() };
}

/**
 * Looks for the account that carries the operation in its comment: at its own login, or in the group, from the highest
 * login down. Absent is only what stands at none of the group's logins: new ones may be counted below others that were
 * chosen by hand. Where the manager may not read personal data, comments are empty: that is never taken for absence.
 * @param passedOver of this server; changed
 */
export async function findAccount(
  client: WebApiClient,
  { operationId, group, login, masterPassword }: OrderTrace,
  passedOver: PassedOver,
  now: () => number,
  signal: AbortSignal,
): Promise<Finding> {
  if (login !== undefined) {
    const user = await readUser(client, login, signal);
    if (user === undefined) return { kind: 'absent' };
    if (user.Comment === operationId) return { kind: 'found', login };
    if (!isUnreadable(user)) return { kind: 'another' };
    return opens(client, login, masterPassword, signal);
  }

  if (passedOver.oldSince < now() - KNOWN_MS) Object.assign(passedOver, { old: new Set(), oldSince: now() });
  if (passedOver.operationId !== operationId) Object.assign(passedOver, { operationId, read: new Set() });
  const { old, read } = passedOver;
  let unreadable = false;
  const logins = (await loginsOf(client, group, signal)).filter((one) => !old.has(one) && !read.has(one));
  for (let at = 0; at < logins.length; at += BATCH) {
    for (const user of await readUsers(client, logins.slice(at, at + BATCH), signal)) {
      const { Login, Comment, Registration = Number.NaN } = user;
      if (Comment === operationId) return { kind: 'found', login: Login };
      if (Registration * 1_000 < now() - OLD_MS) old.add(Login);
      else if (isUnreadable(user)) unreadable = true;
      else read.add(Login);
    }
  }
  return { kind: unreadable ? 'cannot_tell' : 'absent' };
}

/** The account's balance, in units of its currency. */
export async function readBalance(client: WebApiClient, login: number, signal: AbortSignal): Promise<number> {
  const answer = await client.ask({ path: withQuery('/api/user/get', { login }) }, signal);
  if (!isDone(answer)) throw commandFailure(answer.retcode);
  const amount = v.pipe(v.union([v.string(), v.number()]), v.transform(Number), v.finite());
  return parseMember(v.object({ Balance: amount }), answer.answer).Balance;
}

export async function readUser(client: WebApiClient, login: number, signal: AbortSignal): Promise<User | undefined> {
  const answer = await client.ask({ path: withQuery('/api/user/get', { login }) }, signal);
  if (answer.retcode === NOT_FOUND) return undefined;
  if (!isDone(answer)) throw commandFailure(answer.retcode);
  return parseMember(UserSchema, answer.answer);
}

/** Highest first: the server counts upwards. */
async function loginsOf(client: WebApiClient, group: string, signal: AbortSignal): Promise<number[]> {
  const path = withQuery('/api/user/logins', { group });
  const answer = await client.ask({ path, maxBytes: MAX_LOGINS_BYTES }, signal);
  if (answer.retcode === NOT_FOUND) return [];
  if (!isDone(answer)) throw commandFailure(answer.retcode);
  return parseMember(LoginsSchema, answer.answer).sort((one, other) => other - one);
}

/** Those of these accounts that there are. One that the answer leaves out is asked for by itself: it may be there all the same. */
async function readUsers(client: WebApiClient, logins: number[], signal: AbortSignal): Promise<User[]> {
  // The commas divide the list, so they are not encoded.
  const path = `/api/user/get_batch?login=${logins.join(',')}`;
  const answer = await client.ask({ path, maxBytes: MAX_BATCH_BYTES }, signal);
  if (!isDone(answer) && answer.retcode !== NOT_FOUND) throw commandFailure(answer.retcode);
  const users = isDone(answer) ? parseMember(UsersSchema, answer.answer) : [];
  const answered = new Set(users.map(({ Login }) => Login));
  for (const login of logins) {
    if (answered.has(login)) continue;
    const user = await readUser(client, login, signal);
    if (user !== undefined) users.push(user);
  }
  return users;
}

/** Every account has a name; none to be seen means that personal data, the comment with it, is hidden from us. */
function isUnreadable({ Name, FirstName, LastName, Email, Comment }: User): boolean {
  return Name + FirstName + LastName + Email + Comment === '';
}

/** The second sign that an account is ours: our password opens it. */
async function opens(
  client: WebApiClient,
  login: number,
  password: string | undefined,
  signal: AbortSignal,
): Promise<Finding> {
  if (password === undefined) return { kind: 'cannot_tell' };
  const body = { Login: String(login), Type: 'main', Password: password };
  const answer = await client.ask({ path: '/api/user/check_password', body }, signal);
  if (isDone(answer)) return { kind: 'found', login };
  return { kind: answer.retcode === WRONG_PASSWORD ? 'another' : 'cannot_tell' };
}
