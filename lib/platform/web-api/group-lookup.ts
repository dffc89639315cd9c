import * as v from 'valibot';
import type { Finding, OrderTrace } from '../platform.ts';
import { commandFailure, isDone, LoginSchema, NOT_FOUND, parseMember } from './answers.ts';
import type { WebApiClient } from './client.ts';
import { withQuery } from './query.ts';
import { mayBeNamed, readUser, shownNames, tryPassword, type User, UserSchema, whoseIs } from './users.ts';

const LoginsSchema = v.array(LoginSchema);
const UsersSchema = v.array(UserSchema);

const BATCH = 200;
/** How long it is known whose an account is, in milliseconds: a login may be deleted and given to a new account. */
const KNOWN_MS = 10 * 60 * 1_000;
/** So many characters of a comment or a name are remembered: enough to tell almost all apart. */
const MARK_LENGTH = 8;
const NO_COMMENT = '\n';
/** On so many accounts of the order's name a password is tried, at most. */
const MAX_TRIED = 20;
/** Room for more than a million logins. */
const MAX_LOGINS_BYTES = 16 * 1_024 * 1_024;
const MAX_BATCH_BYTES = 4 * 1_024 * 1_024;

/**
 * Looks for accounts whose login nobody knows, by the operation in their comments. It remembers how the comments begin
 * that it has read, which never change: an account of another operation is not read again, and a look-up whose time ends
 * goes on where the one before stood, for a group may be larger than can be read at once. Nothing depends on a clock of
 * the server.
 */
export class GroupLookup {
  readonly #client: WebApiClient;
  readonly #now: () => number;
  /** The mark of each account, by its login, and since when they are being noted, in epoch milliseconds. */
  #marks = new Map<number, string>();
  #marksSince = 0;
  /** Whether a comment was shown to us in that time: an empty one is empty then. */
  #commentsShown = false;

  constructor(client: WebApiClient, now: () => number) {
    this.#client = client;
    this.#now = now;
  }

  /**
   * Reads the group from the highest login down. Absent is only what stands at none of the group's logins: new ones may
   * be counted below others that were chosen by hand. Where no comment is shown to us, an account that has the order's
   * name, or shows none, may be ours: the password decides.
   */
  async find(trace: OrderTrace, signal: AbortSignal): Promise<Finding> {
    this.#forget();
    const all = await this.#loginsOf(trace.group, signal);
    const logins = all.filter((login) => this.#mayBeOurs(this.#marks.get(login), trace));
    const unsaid: User[] = [];
    for (let at = 0; at < logins.length; at += BATCH) {
      const users = await this.#readUsers(logins.slice(at, at + BATCH), signal);
      this.#commentsShown ||= users.some(({ Comment }) => Comment !== '');
      for (const user of users) {
        const whose = whoseIs(user, trace);
        if (whose === 'ours') return { kind: 'found', login: user.Login };
        if (whose === 'unsaid') unsaid.push(user);
        this.#marks.set(user.Login, markOf(user));
      }
    }
    return this.#commentsShown ? { kind: 'absent' } : this.#amongUnsaid(unsaid, trace, signal);
  }

  /** Of accounts that show their name and no comment: to try a password on each account of a group is no way to look. */
  async #amongUnsaid(users: User[], { masterPassword }: OrderTrace, signal: AbortSignal): Promise<Finding> {
    let finding: Finding = { kind: 'absent' };
    const named = users.filter((user) => shownNames(user).length > 0);
    if (named.length < users.length || named.length > MAX_TRIED) return { kind: 'cannot_tell' };
    for (const { Login } of named) {
      const tried = await tryPassword(this.#client, Login, masterPassword, signal);
      if (tried.kind === 'found') return tried;
      if (tried.kind === 'cannot_tell') finding = tried;
    }
    return finding;
  }

  #mayBeOurs(mark: string | undefined, { operationId, name }: OrderTrace): boolean {
    if (mark === undefined) return true;
    if (!mark.startsWith(NO_COMMENT)) return operationId.startsWith(mark);
    return !this.#commentsShown && mayBeNamed(name, mark.split(NO_COMMENT).slice(1));
  }

  #forget(): void {
    if (this.#marksSince >= this.#now() - KNOWN_MS) return;
    this.#marks = new Map();
    this.#marksSince = this.#now();
    this.#commentsShown = false;
  }

  /** Highest first: the server counts upwards. */
  async #loginsOf(group: string, signal: AbortSignal): Promise<number[]> {
    const path = withQuery('/api/user/logins', { group });
    const answer = await this.#client.ask({ path, maxBytes: MAX_LOGINS_BYTES }, signal);
    if (answer.retcode === NOT_FOUND) return [];
    if (!isDone(answer)) throw commandFailure(answer.retcode);
    return parseMember(LoginsSchema, answer.answer).sort((one, other) => other - one);
  }

  /** Those of these accounts that there are. One that the answer leaves out is asked for by itself: it may be there all the same. */
  async #readUsers(logins: number[], signal: AbortSignal): Promise<User[]> {
    // The commas divide the list, so they are not encoded.
    const path = `/api/user/get_batch?login=${logins.join(',')}`;
    const answer = await this.#client.ask({ path, maxBytes: MAX_BATCH_BYTES }, signal);
    if (!isDone(answer) && answer.retcode !== NOT_FOUND) throw commandFailure(answer.retcode);
    const users = isDone(answer) ? parseMember(UsersSchema, answer.answer) : [];
    const answered = new Set(users.map(({ Login }) => Login));
    for (const login of logins) {
      if (answered.has(login)) continue;
      const user = await readUser(this.#client, login, signal);
      if (user !== undefined) users.push(user);
    }
    return users;
  }
}

/** How an account's comment begins, or its names where there is none. */
function markOf(user: User): string {
  if (user.Comment !== '') return user.Comment.slice(0, MARK_LENGTH);
  return (
    NO_COMMENT +
    shownNames(user)
      .map((name) => name.slice(0, MARK_LENGTH))
      .join(NO_COMMENT)
  );
}
