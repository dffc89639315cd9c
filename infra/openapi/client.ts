import { setTimeout as sleep } from 'node:timers/promises';
import type { operations } from './openapi-types.ts';

/**
 * A client of the service, for integrators: this file and `openapi-types.ts` stand alone and may be copied.
 *
 *     const service = { baseUrl: 'https://api.broker.example', token };
 *     const order = { connection_id: 'tp5-live-1', group: 'real\\standard', leverage: 100 };
 *     const { login, master_password } = await openAccount(service, 'tp5', 'CLIENT01', order, randomUUID());
 */
export interface Service {
  /** Where the paths begin, without a slash. */
  baseUrl: string;
  /** A JWT with the scope `accounts:create`, for the account operations. The local service asks for none. */
  token?: string;
  /** Sends the requests; one that signs them (AWS Signature Version 4) where the deployment asks for IAM. */
  fetch?: typeof fetch;
}

/** The body of an operation's request. */
export type Body<Name extends keyof operations> = operations[Name]['requestBody']['content']['application/json'];

/** The account that was opened: login and passwords. */
export type Account = operations['createTp5Account']['responses'][200]['content']['application/json'];

type ValueOf<Type> = Type extends unknown ? Type[keyof Type] : never;
type Responses = ValueOf<operations[keyof operations]['responses']>;
type ProblemResponse = Extract<Responses, { content: { 'application/problem+json': unknown } }>;

/** Every error of the service; `type` tells them apart, and which members each has. */
export type Problem = ProblemResponse['content']['application/problem+json'];

/** A request that the service refused: `problem.type` says why. */
export class Refused extends Error {
  override readonly name = 'Refused';
  readonly problem: Problem;

  constructor(problem: Problem) {
    super(problem.title);
    this.problem = problem;
  }
}

/**
 * Asks for a registration; the person then gets a one-time password.
 * @param key a UUID, one for each form that is filled in: with the same key the code is sent once
 * @param captchaToken what the widget gave the page, where the deployment asks for a captcha
 * @throws Refused
 */
export async function register(
  service: Service,
  person: Body<'requestRegistration'>,
  key: string,
  captchaToken?: string,
): Promise<void> {
  const headers = captchaToken === undefined ? {} : { 'captcha-token': captchaToken };
  await post(service, '/public/v1/account/register/request', person, { 'idempotency-key': key, ...headers });
}

/**
 * Confirms a registration by the one-time password that the person got; the same body may be sent again.
 * Only where the deployment has this extension.
 * @throws Refused
 */
export async function confirm(service: Service, confirmation: Body<'confirmRegistration'>): Promise<void> {
  await post(service, '/public/v1/account/register/confirm', confirmation, {});
}

interface AccountOperations {
  tp5: 'createTp5Account';
  tp4: 'createTp4Account';
}

/**
 * Opens a trading account for an existing client.
 * @param key a UUID, one for each order: with the same key never a second account is opened
 * @throws Refused
 */
export async function openAccount<Version extends keyof AccountOperations>(
  service: Service,
  version: Version,
  userId: string,
  order: Body<AccountOperations[Version]>,
  key: string,
): Promise<Account> {
  const path = `/public/v1/users/${encodeURIComponent(userId)}/${version}/accounts`;
  return JSON.parse(await post(service, path, order, { 'idempotency-key': key })) as Account;
}

const MAX_SENDS = 5;
/** Asked to wait longer than this, in seconds, the client gives up. */
const LONGEST_WAIT = 30;
/** How long one answer may take, in milliseconds: longer than the service's own limit of 29 seconds. */
const PATIENCE_MS = 35_000;

/**
 * Sends a request, and sends the very same again when its answer is lost and when the service asks for that.
 * @returns the body of the answer
 */
async function post(service: Service, path: string, body: object, headers: Record<string, string>): Promise<string> {
  for (let sends = 1; ; sends += 1) {
    const { answer, text, error } = await sendOnce(service, path, body, headers);
    if (answer?.ok) return text;
    let wait = 1;
    if (answer?.headers.get('content-type') === 'application/problem+json') {
      wait = Number(answer.headers.get('retry-after'));
      if (wait === 0 || wait > LONGEST_WAIT || sends === MAX_SENDS) throw new Refused(JSON.parse(text) as Problem);
    } else if (sends === MAX_SENDS || (answer !== undefined && answer.status < 500)) {
      throw error ?? new Error(`The gateway answered ${answer?.status}.`);
    }
    await sleep(wait * 1_000);
  }
}

/** Where there is no answer, nobody knows whether the request arrived. */
async function sendOnce(
  { baseUrl, token, fetch: send = fetch }: Service,
  path: string,
  body: object,
  more: Record<string, string>,
): Promise<{ answer?: Response; text: string; error?: unknown }> {
  const headers = {
    'content-type': 'application/json',
    ...more,
    ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
  };
  const signal = AbortSignal.timeout(PATIENCE_MS);
  try {
    const answer = await send(`${baseUrl}${path}`, { method: 'POST', headers, body: JSON.stringify(body), signal });
    return { answer, text: await answer.text() };
  } catch (error) {
    return { text: '', error };
  }
}
