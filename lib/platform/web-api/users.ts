import * as v from 'valibot';
import { type Finding, type OrderTrace, PlatformFailure } from '../platform.ts';
import { commandFailure, isDone, LoginSchema, NOT_FOUND, parseMember, WRONG_PASSWORD } from './answers.ts';
import type { WebApiClient } from './client.ts';
import { withQuery } from './query.ts';

const text = v.optional(v.string(), '');
const number = v.pipe(v.union([v.string(), v.number()]), v.transform(Number));
export const UserSchema = v.object({
  Login: LoginSchema,
  Name: text,
  FirstName: text,
  LastName: text,
  Comment: text,
});
export type User = v.InferOutput<typeof UserSchema>;
const BalanceSchema = v.object({ Balance: v.pipe(number, v.finite()) });

/** @returns undefined when there is no such account; @throws PlatformFailure */
export async function readUser(client: WebApiClient, login: number, signal: AbortSignal): Promise<User | undefined> {
  const answer = await client.ask({ path: withQuery('/api/user/get', { login }) }, signal);
  if (answer.retcode === NOT_FOUND) return undefined;
  if (!isDone(answer)) throw commandFailure(answer.retcode);
  const user = parseMember(UserSchema, answer.answer);
  if (user.Login !== login) throw new PlatformFailure('platform_unavailable', { reason: 'malformed_answer' });
  return user;
}

/** The account's balance, in units of its currency. */
export async function readBalance(client: WebApiClient, login: number, signal: AbortSignal): Promise<number> {
  const answer = await client.ask({ path: withQuery('/api/user/get', { login }) }, signal);
  if (!isDone(answer)) throw commandFailure(answer.retcode);
  return parseMember(BalanceSchema, answer.answer).Balance;
}

/**
 * Whose account stands at the order's own login: one command, and one more where only the password can tell.
 * @throws PlatformFailure
 */
export async function findLogin(
  client: WebApiClient,
  login: number,
  trace: OrderTrace,
  signal: AbortSignal,
): Promise<Finding> {
  const user = await readUser(client, login, signal);
  if (user === undefined) return { kind: 'absent' };
  // A comment that somebody changed says as little as one that is hidden; ours are ids.
  const whose = whoseIs(OPERATION_ID.test(user.Comment) ? user : { ...user, Comment: '' }, trace);
  if (whose !== 'unsaid') return whose === 'ours' ? { kind: 'found', login } : { kind: 'another' };
  const isHidden = user.Comment === '' && shownNames(user).length === 0;
  if (trace.reserved === true && isHidden) return { kind: 'found', login };
  return tryPassword(client, login, trace.masterPassword, signal);
}

/**
 * By what the server shows of an account. An empty comment may be one that is hidden from us, also where names are shown;
 * a name is shown as it was sent, or hidden too.
 */
export function whoseIs(user: User, { operationId, name }: OrderTrace): 'ours' | 'others' | 'unsaid' {
  if (isIdOf(user.Comment, operationId)) return 'ours';
  if (user.Comment !== '') return 'others';
  return mayBeNamed(name, shownNames(user)) ? 'unsaid' : 'others';
}

const OPERATION_ID = /^[\da-f]{8}-[\da-f]{4}-[\da-f-]{2,}$/;

/** Also where the server cut it: nobody else's begins in this way. */
function isIdOf(comment: string, operationId: string): boolean {
  return OPERATION_ID.test(comment) && operationId.startsWith(comment);
}

/** @param shown of an account, or how they begin: a server may cut the name, or keep a part of it only */
export function mayBeNamed(name: string | undefined, shown: readonly string[]): boolean {
  if (name === undefined || shown.length === 0) return true;
  const own = plain(name);
  return shown.some((part) => own.includes(part));
}

/** As they are compared. */
export function shownNames({ Name, FirstName, LastName }: User): string[] {
  return [Name, FirstName, LastName].map(plain).filter((name) => name !== '');
}

function plain(name: string): string {
  return name
    .normalize('NFKC')
    .toLowerCase()
    .replaceAll(/[\p{Cc}\s]+/gu, ' ')
    .trim();
}

/** Whether our password opens it. @throws PlatformFailure */
export async function tryPassword(
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
