import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import * as v from 'valibot';
import type { WebApiSecret } from '../../records/crm-records.ts';
import { PlatformFailure } from '../platform.ts';
import { type AnswerKind, provenBy, statusKind } from '../proof.ts';
import { codeKind, parseAnswer, parseMember } from './answers.ts';
import { type HttpAnswer, LostAnswer, type WebApiRequest } from './exchange.ts';

/** The login to a version 5 server, which proves both sides, at the paths of either family of builds. */

/** Servers of older builds have the same commands at other paths: `/user_add` instead of `/api/user/add`. */
export type PathFamily = 'api' | 'older';
export const otherFamily = (family: PathFamily): PathFamily => (family === 'api' ? 'older' : 'api');

/** A request as servers of the family want it: the only difference between the two, but for the query of `user_add`. */
export function requestForFamily(family: PathFamily, request: WebApiRequest): WebApiRequest {
  if (family === 'api') return request;
  const [path = '', ...query] = request.path.split('?');
  return { ...request, path: [`/${path.replace('/api/', '').replaceAll('/', '_')}`, ...query].join('?') };
}

/** The lowest version of the protocol that servers accept. */
const PROTOCOL_VERSION = 484;
const AGENT = 'BrokerApi';

const random = v.pipe(v.string(), v.regex(/^[0-9a-fA-F]{32}$/));
const AuthStartSchema = v.object({ srv_rand: random });
const AuthAnswerSchema = v.object({ cli_rand_answer: random });

/**
 * @param known the family that is asked first
 * @param isLast no other family is asked
 * @returns the family whose paths the server has; undefined if it ended the connection instead of saying so
 */
export async function authenticate(
  ask: (path: string) => Promise<HttpAnswer>,
  { login, password }: WebApiSecret,
  known: PathFamily,
  isLast: boolean,
): Promise<PathFamily | undefined> {
  const hash = passwordHash(password);
  const get = (family: PathFamily, path: string) => ask(requestForFamily(family, { path }).path);
  const query = `version=${PROTOCOL_VERSION}&agent=${AGENT}&login=${login}&type=manager`;
  const other = otherFamily(known);
  const first = await get(known, `/api/auth/start?${query}`);
  const asksOther = !isLast && provenBy('signIn', answerKind(first)) === 'other_paths';
  const second = asksOther ? await get(other, `/api/auth/start?${query}`).catch(unlessClosed) : undefined;
  // Web servers may end a connection after 404.
  if (asksOther && second === undefined) return undefined;
  // Of two answers the one that says more counts: 404 says only that there is no such path.
  const isOther = second !== undefined && provenBy('signIn', answerKind(second)) !== 'other_paths';
  const family = isOther ? other : known;
  const start = isOther ? second : first;
  const { srv_rand } = parseMember(AuthStartSchema, authenticationStep(start));

  const clientRandom = randomBytes(16).toString('hex');
  const proof = randomAnswer(hash, srv_rand);
  const end = await get(family, `/api/auth/answer?srv_rand_answer=${proof}&cli_rand=${clientRandom}`);
  const { cli_rand_answer } = parseMember(AuthAnswerSchema, authenticationStep(end));

  const expected = Buffer.from(randomAnswer(hash, clientRandom));
  if (!timingSafeEqual(expected, Buffer.from(cli_rand_answer.toLowerCase()))) {
    throw new PlatformFailure('platform_refused', { reason: 'server_not_authentic' });
  }
  return family;
}

/** Ignores the end of the connection. @throws every other error */
function unlessClosed(error: unknown): undefined {
  if (!(error instanceof LostAnswer) || error.kind !== 'closed') throw error;
}

/** `MD5( MD5( UTF16LE(password) ) || "WebAPI" )`, 16 raw bytes: the only form of the password that both proofs need. */
export function passwordHash(password: string): Buffer {
  return md5(md5(Buffer.from(password, 'utf16le')), Buffer.from('WebAPI', 'ascii'));
}

/** The answer to the other side's random number: `hex( MD5( hash || unhex(random) ) )`. */
export function randomAnswer(hash: Buffer, randomHex: string): string {
  return md5(hash, Buffer.from(randomHex, 'hex')).toString('hex');
}

function md5(...parts: Buffer[]): Buffer {
  const digest = createHash('md5');
  for (const part of parts) digest.update(part);
  return digest.digest();
}

export function answerKind({ status, text }: HttpAnswer): AnswerKind {
  if (status !== 200) return statusKind(status);
  const answer = parseAnswer(text);
  return answer === undefined ? 'page' : codeKind(answer.retcode);
}

/** 401 and 403. */
export function isDenied({ status }: HttpAnswer): boolean {
  return status !== 200 && statusKind(status) === 'status_denied';
}

/**
 * Parses one step's answer. A status or a page is an answer too: a server is there, and it does not let us in. 403
 * means a wrong password.
 */
function authenticationStep(answer: HttpAnswer): unknown {
  const kind = answerKind(answer);
  const proven = provenBy('signIn', kind);
  const parsed = answer.status === 200 ? parseAnswer(answer.text) : undefined;
  if (proven === 'accepted') return parsed;
  const other =
    answer.status === 200 ? 'auth_page' : answer.status === 403 ? 'auth_forbidden' : `auth_http_${answer.status}`;
  const reason = parsed === undefined ? other : `retcode_${parsed.retcode}`;
  if (proven === 'outage') throw new PlatformFailure('platform_unavailable', { reason, retryAfterSeconds: 10 });
  throw new PlatformFailure('platform_refused', { reason });
}

/**
 * Whether the server has refused our login or its proof. An answer of something else than a Web API is no such refusal.
 */
export function isLoginRefused(error: unknown): boolean {
  return (
    error instanceof PlatformFailure &&
    error.kind === 'platform_refused' &&
    /^(retcode_\d+|auth_forbidden|auth_http_401)$/.test(error.reason)
  );
}
