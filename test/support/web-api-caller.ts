import { createHash } from 'node:crypto';
import { Agent, request } from 'node:https';
import { text } from 'node:stream/consumers';
import { onTestFinished } from 'vitest';
import type { WebApiServer } from '../../infra/local/platforms/web-api-server.ts';
import { MANAGER, testServer } from './web-api.ts';

interface Answer {
  status: number;
  text: string;
  json: Record<string, unknown>;
}

/** A client of its own, with one connection, that knows the protocol by its document alone. */
export function client(server: WebApiServer) {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  onTestFinished(() => agent.destroy());

  function call(path: string, body?: unknown): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const { port, ca } = server;
      const options = { host: '127.0.0.1', port, ca, agent, path, method: body === undefined ? 'GET' : 'POST' };
      const sent = request({ ...options, headers: { Connection: 'keep-alive' } }, async (response) => {
        const content = await text(response);
        const json = content.startsWith('{') ? JSON.parse(content) : {};
        resolve({ status: response.statusCode ?? 0, text: content, json });
      });
      sent.on('error', reject);
      sent.end(body === undefined ? undefined : JSON.stringify(body));
    });
  }

  const md5 = (...parts: Buffer[]) => createHash('md5').update(Buffer.concat(parts)).digest();

  /** @param beforeProof awaited between the two steps */
  async function logIn(
    password = MANAGER.password,
    login = MANAGER.login,
    version = 484,
    beforeProof = async () => {},
  ): Promise<Answer> {
    const start = await call(`/api/auth/start?version=${version}&agent=Test&login=${login}&type=manager`);
    if (start.json.retcode !== '0 Done') return start;
    await beforeProof();
    const hash = md5(md5(Buffer.from(password, 'utf16le')), Buffer.from('WebAPI'));
    const proof = md5(hash, Buffer.from(String(start.json.srv_rand), 'hex')).toString('hex');
    return call(`/api/auth/answer?srv_rand_answer=${proof}&cli_rand=4db98fec17aab4dc5a240bdc659e8395`);
  }

  const isConnected = () => Object.keys({ ...agent.sockets, ...agent.freeSockets }).length > 0;

  return { call, logIn, isConnected, leave: () => agent.destroy() };
}

/** The least that `user/add` needs. */
export const USER = {
  PassMain: 'Ma5ter#word',
  PassInvestor: 'Inve5tor#wd',
  Group: 'real\\standard',
  Name: 'Ann Lee',
  Leverage: 100,
};

/** A simulated server, and a client that has a session with it. */
export async function loggedIn(options: Parameters<typeof testServer>[0] = {}) {
  const server = await testServer(options);
  const { call, logIn, leave } = client(server);
  await logIn();
  return {
    server,
    call,
    leave,
    retcode: async (path: string, body?: unknown) => (await call(path, body)).json.retcode,
  };
}
