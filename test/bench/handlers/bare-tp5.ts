import { createHash, randomBytes } from 'node:crypto';
import { Agent, request } from 'node:https';
import { BARE_PASSWORDS, type BareConnection, bareAccountHandler } from './bare-account.ts';

/** The Web API with Node's own HTTPS client: one kept connection, authenticated with its first use. */

const CLIENT = { Name: 'Ann Lee', Email: 'ann@example.com', Phone: '+447400123456', Country: 'United Kingdom' };
let agent: Agent | undefined;

export const handler = bareAccountHandler('tp5', async (connection, secret) => {
  if (agent === undefined) {
    agent = new Agent({ keepAlive: true, maxSockets: 1, ca: connection.ca });
    await authenticate(connection, JSON.parse(secret) as { login: number; password: string });
  }
  return async ({ group, leverage, operation_id, login }) => {
    const { answer } = (await call(connection, '/api/user/add', {
      PassMain: BARE_PASSWORDS.master_password,
      PassInvestor: BARE_PASSWORDS.investor_password,
      Group: group,
      Leverage: String(leverage),
      Rights: '483',
      Comment: operation_id,
      Login: String(login),
      ...CLIENT,
    })) as { answer: { Login: string } };
    return Number(answer.Login);
  };
});

async function authenticate(connection: BareConnection, { login, password }: { login: number; password: string }) {
  const hash = md5(md5(Buffer.from(password, 'utf16le')), Buffer.from('WebAPI'));
  const start = `/api/auth/start?version=484&agent=Bare&login=${login}&type=manager`;
  const { srv_rand } = (await call(connection, start)) as { srv_rand: string };
  const proof = md5(hash, Buffer.from(srv_rand, 'hex')).toString('hex');
  const random = randomBytes(16).toString('hex');
  await call(connection, `/api/auth/answer?srv_rand_answer=${proof}&cli_rand=${random}`);
}

function call({ host, port }: BareConnection, path: string, body?: object): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const sent = request({ agent, host, port, path, method: body === undefined ? 'GET' : 'POST' }, async (response) => {
      let text = '';
      for await (const chunk of response.setEncoding('utf8')) text += String(chunk);
      resolve(JSON.parse(text));
    });
    sent.on('error', reject).end(body === undefined ? undefined : JSON.stringify(body));
  });
}

function md5(...parts: Buffer[]): Buffer {
  return createHash('md5').update(Buffer.concat(parts)).digest();
}
