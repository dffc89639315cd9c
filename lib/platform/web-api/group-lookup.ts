import * as v from 'valibot';
import type { Finding, OrderTrace, Rights } from '../platform.ts';
import { commandFailure, isDone, LoginSchema, NOT_FOUND, parseMember } from './answers.ts';
import type { WebApiClient } from './client.ts';
import { withQuery } from './query.ts';
import { readUser, type User, UserSchema } from './users.ts';

const LoginsSchema = v.array(LoginSchema);
const UsersSchema = v.array(UserSchema);

const BATCH = 200;
/** How long it is known whose an account is, in milliseconds: a login may be deleted and given to a new account. */
const KNOWN_MS = 10 * 60 * 1_000;
/** So many characters of a comment are remembered: enough to tell almost all operations apart. */
const MARK_LENGTH = 8;
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
  readonly #rights: (signal: AbortSignal) => Promise<Rights>;
  readonly #now: () => number;
  /** How the comment of each account begins, by its login, and since when that is being noted, in epoch milliseconds. */
  #marks = new Map<number, string>();
  #marksSince = 0;

  /** @param rights what the manager may do */
  constructor(client: WebApiClient, rights: (signal: AbortSignal) => Promise<Rights>, now: () => number) {
    this.#client = client;
    this.#rights = rights;
    this.#now = now;
  }

  /**
   * Reads the group from the highest login down. Absent is only what stands at none of the group's logins: new ones may
   * be counted below others that were chosen by hand. An empty comment may be one that is hidden from us, also where names
   * are shown: unless another one is read, or the server says that we may read them, it is not taken for absence.
   */
  async find({ operationId, group }: OrderTrace, signal: AbortSignal): Promise<Finding> {
    this.#forget();
    /** Whether comments are shown to us; undefined as long as it is not known. */
    let shown: boolean | undefined;
    const mark = markOf(operationId);
    const all = await this.#loginsOf(group, signal);
    const logins = all.filter((login) => (this.#marks.get(login) ?? mark) === mark);
    for (let at = 0; at < logins.length; at += BATCH) {
      const users = await this.#readUsers(logins.slice(at, at + BATCH), signal);
      const own = users.find(({ Comment }) => Comment === operationId);
      if (own !== undefined) return { kind: 'found', login: own.Login };
      if (users.length === 0) continue;
      shown = users.some(({ Comment }) => Comment !== '') || (shown ?? (await this.#mayRead(signal)));
      if (shown) for (const { Login, Comment } of users) this.#marks.set(Login, markOf(Comment));
    }
    return { kind: shown === false ? 'cannot_tell' : 'absent' };
  }

  async #mayRead(signal: AbortSignal): Promise<boolean> {
    return (await this.#rights(signal)).seePersonalData === 'granted';
  }

  #forget(): void {
    if (this.#marksSince >= this.#now() - KNOWN_MS) return;
    this.#marks = new Map();
    this.#marksSince = this.#now();
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

function markOf(comment: string): string {
  return comment.slice(0, MARK_LENGTH);
}
