import { setTimeout as sleep } from 'node:timers/promises';
import type { Operations, Problem } from '../../infra/openapi-types.ts';

/** A request that the service refused: `problem.type` says why. */
export class Refused extends Error {
  override readonly name = 'Refused';
  readonly problem: Problem;

  constructor(problem: Problem) {
    super(problem.title);
    this.problem = problem;
  }
}

/** Sends a request, and repeats it with the same key as long as the service asks for that. */
async function post(url: string, body: object, key: string, token?: string): Promise<Response> {
  for (let tries = 1; ; tries += 1) {
    const answer = await fetch(url, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'idempotency-key': key,
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      },
      body: JSON.stringify(body),
    });
    if (answer.ok) return answer;
    if (answer.headers.get('content-type') !== 'application/problem+json') {
      throw new Error(`The gateway answered ${answer.status}.`);
    }
    const problem = (await answer.json()) as Problem;
    const seconds = Number(answer.headers.get('retry-after'));
    if (seconds === 0 || tries === 5) throw new Refused(problem);
    await sleep(seconds * 1_000);
  }
}

export async function register(baseUrl: string, person: Operations['requestRegistration']['body']): Promise<void> {
  await post(`${baseUrl}/public/v1/account/register/request`, person, crypto.randomUUID());
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
  const answer = await post(url, order, key, token);
  return (await answer.json()) as Tp5['answer'];
}
