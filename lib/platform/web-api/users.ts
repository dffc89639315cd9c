import * as v from 'valibot';
import type { Finding, OrderTrace } from '../platform.ts';
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
  Email: text,
  Comment: text,
});
export type User = v.InferOutput<typeof UserSchema>;
const BalanceSchema = v.object({ Balance: v.pipe(number, v.finite()) });

/** @returns undefined when there is no such account; @throws PlatformFailure */
export async function readUser(client: WebApiClient, login: number, signal: AbortSignal): Promise<User | undefined> {
  const answer = await client.ask({ path: withQuery('/api/user/get', { login }) }, signal);
  if (answer.retcode === NOT_FOUND) return undefined;
  if (!isDone(answer)) throw commandFailure(answer.retcode);
  return parseMember(UserSchema, answer.answer);
}

/** The account's balance, in units of its currency. */
export async function readBalance(client: WebApiClient, login: number, signal: AbortSignal): Promise<number> {
  const answer = await client.ask({ path: withQuery('/api/user/get', { login }) }, signal);
  if (!isDone(answer)) throw commandFailure(answer.retcode);
  return parseMember(BalanceSchema, answer.answer).Balance;
}

/** Every account has a name; none to be seen means that all personal data is hidden from us. */
function isUnreadable({ Name, FirstName, LastName, Email, Comment }: User): boolean {
  return Name + FirstName + LastName + Email + Comment === '';
}

/**
 * Whose account stands at the order's own login: one command, and one more where its comment is empty. That may be one
 * that is hidden from us, also where the name is shown, so it never says that the account is another's.
 */
export async function findLogin(
  client: WebApiClient,
  login: number,
  { operationId, reserved, masterPassword }: OrderTrace,
  signal: AbortSignal,
): Promise<Finding> {
  const user = await readUser(client, login, signal);
  if (user === undefined) return { kind: 'absent' };
  if (user.Comment === operationId) return { kind: 'found', login };
  if (user.Comment !== '') return { kind: 'another' };
  if (reserved === true && isUnreadable(user)) return { kind: 'found', login };
  if (masterPassword === undefined) return { kind: 'cannot_tell' };
  return tryPassword(client, login, masterPassword, signal);
}

async function tryPassword(
  client: WebApiClient,
  login: number,
  password: string,
  signal: AbortSignal,
): Promise<Finding> {
  const body = { Login: String(login), Type: 'main', Password: password };
  const answer = await client.ask({ path: '/api/user/check_password', body }, signal);
  if (isDone(answer)) return { kind: 'found', login };
  return { kind: answer.retcode === WRONG_PASSWORD ? 'another' : 'cannot_tell' };
}
