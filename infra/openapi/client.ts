// SPDX-License-Identifier: 0BSD
import type { operations } from './openapi-types.js';

/**
 * A client of the service, for integrators. Copy this file, and generate the types next to it:
 *
 *     npx openapi-typescript openapi.json --output openapi-types.ts
 *
 *     const service = { baseUrl: 'https://api.broker.example', token };
 *     const order = { connection_id: 'tp5-live-1', group: 'real\\standard', leverage: 100 };
 *     const { login, master_password } = await openAccount(service, 'tp5', 'CLIENT01', order, randomUUID());
 *
 * It needs nothing else: Node.js 20 or later, or a browser.
 */
export interface Service {
  /** The base URL, without a slash at its end. */
  baseUrl: string;
  /** A JWT with the scope `accounts:create`, for the account operations. The local service needs none. */
  token?: string;
  /**
   * Sends the requests. If the deployment uses IAM, it signs them (AWS Signature Version 4), for example with
   * aws4fetch: `(url, init) => new AwsClient({ …, service: 'execute-api', retries: 0 }).fetch(url, init)`.
   */
  fetch?: (url: string, init: RequestInit) => Promise<Response>;
}

export interface Options {
  /** Ends the request and its retries; the promise is then rejected with the signal's reason. */
  signal?: AbortSignal;
}

/** The request body of an operation. */
export type Body<Name extends keyof operations> = operations[Name]['requestBody']['content']['application/json'];

/** The account that was opened: login and passwords. */
export type Account = operations['createTp5Account']['responses'][200]['content']['application/json'];

type ValueOf<Type> = Type extends unknown ? Type[keyof Type] : never;
type Responses = ValueOf<operations[keyof operations]['responses']>;
type ProblemResponse = Extract<Responses, { content: { 'application/problem+json': unknown } }>;

/** An error of the service. Its `type` decides which members it has. */
export type Problem = ProblemResponse['content']['application/problem+json'];

/** A failed request, for any reason. */
export class RequestError extends Error {
  override readonly name = 'RequestError';
  /** The HTTP status; 0 if no answer arrived. */
  readonly status: number;
  /** The problem of the service; undefined if the gateway refused the request or no answer arrived. */
  readonly problem: Problem | undefined;
  /** The seconds to wait before the next try, if the answer names them. */
  readonly retryAfter: number | undefined;

  constructor(status: number, { problem, retryAfter, cause }: Pick<RequestError, 'problem' | 'retryAfter' | 'cause'>) {
    const reason = status === 0 ? 'No answer arrived.' : `${status}: refused by the gateway.`;
    super(problem === undefined ? reason : `${status} ${problem.type}: ${problem.title}`, { cause });
    this.status = status;
    this.problem = problem;
    this.retryAfter = retryAfter;
  }
}

/**
 * Requests a registration; the person then gets a one-time password.
 * @param key a UUID, one for each form that is filled in: the same key sends the code once
 * @param captchaToken from the widget on the page, if the deployment requires a captcha
 * @throws RequestError
 */
export async function register(
  service: Service,
  person: Body<'requestRegistration'>,
  key: string,
  { captchaToken, ...options }: Options & { captchaToken?: string } = {},
): Promise<void> {
  const headers: Record<string, string> = { 'idempotency-key': key };
  if (captchaToken !== undefined) headers['captcha-token'] = captchaToken;
  await post(service, '/public/v1/account/register/request', person, headers, options);
}

/**
 * Confirms a registration by its one-time password. The same body may be sent again.
 * Only deployments with the setting `confirmation` have this operation.
 * @throws RequestError
 */
export async function confirm(
  service: Service,
  confirmation: Body<'confirmRegistration'>,
  options: Options = {},
): Promise<void> {
  await post(service, '/public/v1/account/register/confirm', confirmation, {}, options);
}

interface AccountOperations {
  tp5: 'createTp5Account';
  tp4: 'createTp4Account';
}

/**
 * Opens a trading account for an existing client.
 * @param key a UUID, one for each order: the same key never opens a second account
 * @throws RequestError
 */
export async function openAccount<Version extends keyof AccountOperations>(
  service: Service,
  version: Version,
  userId: string,
  order: Body<AccountOperations[Version]>,
  key: string,
  options: Options = {},
): Promise<Account> {
  const path = `/public/v1/users/${encodeURIComponent(userId)}/${version}/accounts`;
  return (await post(service, path, order, { 'idempotency-key': key }, options)) as Account;
}

const MAX_SENDS = 5;
const FIRST_WAIT_MS = 500;
/** The client does not wait longer than this; then it throws. */
const MAX_WAIT_MS = 30_000;
/** The time for one answer: longer than the service's own limit of 29 seconds. */
const ANSWER_MS = 35_000;

/** @returns the body of the answer, if it has one */
async function post(
  service: Service,
  path: string,
  body: object,
  headers: Record<string, string>,
  { signal }: Options,
): Promise<unknown> {
  for (let sends = 1; ; sends += 1) {
    const answer = await send(service, path, body, headers, signal);
    if (!(answer instanceof RequestError)) return answer.body;
    const wait = retryDelay(sends, answer);
    if (sends === MAX_SENDS || wait === undefined || wait > MAX_WAIT_MS) throw answer;
    await pause(wait, signal);
  }
}

/** Sends one request. Without an answer it is unknown whether the request arrived. */
async function send(
  { baseUrl, token, fetch: sendRequest = fetch }: Service,
  path: string,
  body: object,
  more: Record<string, string>,
  signal: AbortSignal | undefined,
): Promise<{ body: unknown } | RequestError> {
  signal?.throwIfAborted();
  const headers: Record<string, string> = { 'content-type': 'application/json', ...more };
  if (token !== undefined) headers.authorization = `Bearer ${token}`;
  const timeout = AbortSignal.timeout(ANSWER_MS);
  const either = signal === undefined ? timeout : AbortSignal.any([signal, timeout]);
  try {
    const init = { method: 'POST', headers, body: JSON.stringify(body), signal: either };
    const answer = await sendRequest(`${baseUrl}${path}`, init);
    const text = await answer.text();
    if (answer.ok) return { body: text === '' ? undefined : JSON.parse(text) };
    const retryAfter = Number(answer.headers.get('retry-after')) || undefined;
    return new RequestError(answer.status, { problem: parseProblem(answer, text), retryAfter, cause: undefined });
  } catch (cause) {
    signal?.throwIfAborted();
    return new RequestError(0, { problem: undefined, retryAfter: undefined, cause });
  }
}

function parseProblem({ headers }: Response, text: string): Problem | undefined {
  const isProblem = /^application\/problem\+json\s*(;|$)/i.test(headers.get('content-type') ?? '');
  return isProblem ? (JSON.parse(text) as Problem) : undefined;
}

/** How many milliseconds to wait before the same request is sent again; undefined: a retry cannot succeed. */
function retryDelay(sends: number, { status, problem, retryAfter }: RequestError): number | undefined {
  // Random, so that clients that failed together do not retry together.
  const jitter = 0.5 + Math.random() / 2;
  if (retryAfter !== undefined) return retryAfter * 1_000 + FIRST_WAIT_MS * jitter;
  // The gateway throttles or fails, or the service has an error of its own.
  const isPassing = problem === undefined ? [0, 429].includes(status) || status >= 500 : status === 500;
  return isPassing ? FIRST_WAIT_MS * 2 ** sends * jitter : undefined;
}

/** Waits, but not longer than until the signal. */
async function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  await new Promise<void>((resolve) => {
    const timer = setTimeout(end, ms);
    signal?.addEventListener('abort', end, { once: true });
    function end(): void {
      clearTimeout(timer);
      signal?.removeEventListener('abort', end);
      resolve();
    }
  });
  signal?.throwIfAborted();
}
