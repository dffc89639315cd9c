import { setTimeout as sleep } from 'node:timers/promises';
import type { Operations, Problem } from '../../../infra/openapi/openapi-types.ts';

/** A request that the service refused: `problem.type` says why. */
export class Refused extends Error {
  override readonly name = 'Refused';
  readonly problem: Problem;

  constructor(problem: Problem) {
    super(problem.title);
    this.problem = problem;
  }
}

const MOST_TRIES = 5;
/** Asked to wait longer than this, in seconds, the client gives up. */
const LONGEST_WAIT = 30;
/** How long one try may take, in milliseconds: longer than the service's own limit of 29 seconds. */
const PATIENCE_MS = 35_000;

/** One try. Where there is no answer, nobody knows whether the request arrived. */
async function attempt(url: string, init: RequestInit) {
  try {
    const answer = await fetch(url, { ...init, signal: AbortSignal.timeout(PATIENCE_MS) });
    return { answer, text: await answer.text() };
  } catch (error) {
    return { error };
  }
}

/**
 * Sends a request, and repeats it with the same key when its answer is lost and when the service asks for that.
 * @returns the body of the answer
 */
async function post(url: string, body: object, key: string, token?: string): Promise<string> {
  const headers = {
    'content-type': 'application/json',
    'idempotency-key': key,
    ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
  };
  for (let tries = 1; ; tries += 1) {
    const { answer, text = '', error } = await attempt(url, { method: 'POST', headers, body: JSON.stringify(body) });
    if (answer?.ok) return text;
    let wait = 1;
    if (answer?.headers.get('content-type') === 'application/problem+json') {
      wait = Number(answer.headers.get('retry-after'));
      if (wait === 0 || wait > LONGEST_WAIT || tries === MOST_TRIES) throw new Refused(JSON.parse(text) as Problem);
    } else if (tries === MOST_TRIES || (answer !== undefined && answer.status < 500)) {
      throw error ?? new Error(`The gateway answered ${answer?.status}.`);
    }
    await sleep(wait * 1_000);
  }
}

/** @param key yours, such as the number of the form that was filled in: with the same key the code is sent once */
export async function register(
  baseUrl: string,
  person: Operations['requestRegistration']['body'],
  key: string,
): Promise<void> {
  await post(`${baseUrl}/public/v1/account/register/request`, person, key);
}

type Tp5 = Operations['createTp5Account'];

/**
 * @param key yours, such as the number of the order: with the same key never a second account is opened
 * @param token a JWT with the scope `accounts:create`; the local service asks for none
 */
export async function openAccount(
  baseUrl: string,
  userId: string,
  order: Tp5['body'],
  key: string,
  token?: string,
): Promise<Tp5['answer']> {
  const url = `${baseUrl}/public/v1/users/${encodeURIComponent(userId)}/tp5/accounts`;
  return JSON.parse(await post(url, order, key, token)) as Tp5['answer'];
}
