import { connect } from 'node:net';
import { onTestFinished } from 'vitest';
import type { SimulatedServer } from '../../infra/local/platforms/simulated-server.ts';
import type { TextServerOptions } from '../../infra/local/platforms/text-accounts.ts';
import { startTextServer } from '../../infra/local/platforms/text-server.ts';

const GROUPS = [{ name: 'standard' }, { name: 'demoforex' }, { name: 'secret', permitted: false }];

/** A simulated plug-in (or gateway) that ends with the test. */
export async function start(options: Partial<TextServerOptions> = {}): Promise<SimulatedServer> {
  const server = await startTextServer({ dialect: 'web-registration', master: 'm4ster', groups: GROUPS, ...options });
  onTestFinished(() => server.close());
  return server;
}

/** Sends raw bytes and reads until the server closes; `packets` has the received chunks. */
export async function talk(
  port: number,
  text: string | Buffer,
): Promise<{ text: string; packets: number; failed: boolean }> {
  return new Promise((resolve) => {
    const socket = connect({ host: '127.0.0.1', port, noDelay: true });
    const answer = { text: '', packets: 0, failed: false };
    socket.on('data', (bytes) => {
      answer.text += bytes.toString('latin1');
      answer.packets += 1;
    });
    socket.on('error', () => {
      answer.failed = true;
    });
    socket.on('close', () => resolve(answer));
    socket.write(typeof text === 'string' ? Buffer.from(text, 'latin1') : text);
  });
}

/** Parameters of an opening that every server carries out. */
export const BASIC = {
  MASTER: 'm4ster',
  IP: '10.0.0.1',
  GROUP: '2',
  NAME: 'Ann Lee',
  PASSWORD: 'Master77',
  INVESTOR: 'Inv88x',
};

/** A line that opens an account, but for these changes; `undefined` leaves a parameter out. */
export function command(changes: Record<string, string | undefined> = {}, verb = 'NEWACCOUNT'): string {
  const parameters = Object.entries({ ...BASIC, LEVERAGE: '100', ...changes });
  const text = parameters.filter(([, value]) => value !== undefined).map(([key, value]) => `${key}=${value}`);
  return `W${verb} ${text.join('|')}\nQUIT\n`;
}
