import { Agent as PlainAgent, request as plainRequest } from 'node:http';
import { Agent, type RequestOptions, request } from 'node:https';
import { awsSettings } from '../config.ts';
import { type Credentials, withSignature } from './signature.ts';

/** Where a service is called, and as whom; what is absent is told by the environment, as Lambda gives it. */
export interface ServiceSettings {
  region?: string | (() => Promise<string>);
  /** In place of the region's own address. */
  endpoint?: string;
  credentials?: Credentials | (() => Promise<Credentials>);
  /** How long a connection may take to stand, in milliseconds. */
  connectionMs?: number;
  /** How long one answer may take from its request on, in milliseconds. */
  answerMs?: number;
}

/** A service of AWS, of every region but those of China. */
export interface Service {
  /** In its addresses: `<host>.<region>.amazonaws.com`. */
  host: string;
  /** In signatures. */
  signingName: string;
  /** In the variable that holds another address: `AWS_ENDPOINT_URL_<variable>`. */
  variable: string;
}

interface Answer {
  status: number;
  text: string;
}

export interface SignedService {
  /**
   * One signed request, sent once.
   * @throws Stopped, and the errors of Node's sockets and of whoever gives the credentials
   */
  post(headers: Readonly<Record<string, string>>, body: string, signal: AbortSignal): Promise<Answer>;
  destroy(): void;
}

/** No connection came about or no answer came in time, or the caller had no more time. */
class Stopped extends Error {
  override readonly name: string;

  constructor(name: 'TimeoutError' | 'AbortError') {
    super(name);
    this.name = name;
  }
}

/** What a client of the AWS SDK does between a command and its answer, as far as the functions need it. */
export function signedService(service: Service, settings: ServiceSettings = {}): SignedService {
  const told = { ...awsSettings(service.variable), connectionMs: 1_000, answerMs: 3_000, ...settings };
  const plain = told.endpoint?.startsWith('http:') === true;
  const agent = new (plain ? PlainAgent : Agent)({ keepAlive: true });
  return {
    async post(headers, body, signal) {
      const [region, credentials] = await Promise.all([given(told.region), given(told.credentials)]);
      const { hostname, port, host } = new URL(told.endpoint ?? `https://${service.host}.${region}.amazonaws.com`);
      const signedFor = { service: service.signingName, region, credentials, now: new Date() };
      const signed = withSignature({ ...headers, host }, body, signedFor);
      const options = { agent, method: 'POST', hostname, port, headers: signed };
      return exchange(plain ? plainRequest : request, options, body, told, signal);
    },
    destroy: () => agent.destroy(),
  };
}

function given<T extends string | Credentials>(value: T | (() => Promise<T>)): T | Promise<T> {
  return typeof value === 'function' ? value() : value;
}

function exchange(
  open: typeof request,
  options: RequestOptions,
  body: string,
  { connectionMs, answerMs }: { connectionMs: number; answerMs: number },
  signal: AbortSignal,
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const stop = (name: 'TimeoutError' | 'AbortError') => {
      // First, because the request fails with its connection, for another reason.
      reject(new Stopped(name));
      outgoing.destroy();
    };
    const onAbort = () => stop('AbortError');
    const connecting = setTimeout(stop, connectionMs, 'TimeoutError');
    const answering = setTimeout(stop, answerMs, 'TimeoutError');
    const outgoing = open(options, (response) => {
      const chunks: Buffer[] = [];
      response.on('error', reject);
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('end', () => resolve({ status: response.statusCode ?? 0, text: String(Buffer.concat(chunks)) }));
    });
    outgoing.on('error', reject);
    outgoing.on('socket', (socket) => {
      if (socket.connecting) socket.once('connect', () => clearTimeout(connecting));
      else clearTimeout(connecting);
    });
    outgoing.on('close', () => {
      clearTimeout(connecting);
      clearTimeout(answering);
      signal.removeEventListener('abort', onAbort);
    });
    signal.addEventListener('abort', onAbort, { once: true });
    outgoing.end(body);
  });
}
