import { Duplex } from 'node:stream';
import { expect, it } from 'vitest';
import { exchangeWebApi, type WebApiLine } from '../../../../lib/platform/tp5/exchange.ts';

const SERVER = { host: 'trade.example.com', port: 443 };
const TIMEOUT_MS = 2_000;

/**
 * A connection whose server answers with the number of the request: the first before its sender knows that it is sent,
 * a later one afterwards. @param sent gets the callback that reports it
 */
function earlyAnswerLine(sent: (report: () => void) => void, written: Buffer[] = []): WebApiLine {
  let requests = 0;
  const tls = new Duplex({
    read() {},
    write(chunk: Buffer, _encoding, callback) {
      written.push(chunk);
      requests += 1;
      const answer = () =>
        this.push(`HTTP/1.1 200 OK\r\ncontent-length: 1\r\nconnection: keep-alive\r\n\r\n${requests}`);
      if (requests === 1) answer();
      sent(() => {
        callback();
        if (requests > 1) answer();
      });
    },
  });
  return { tls, tcp: { awaitingAnswer: false } } as unknown as WebApiLine;
}

it('A Web API exchange returns an answer that arrives before Node reports that the command was sent, and the next command gets its own answer', async () => {
  const line = earlyAnswerLine((report) => setImmediate(() => setImmediate(report)));
  expect(await exchangeWebApi(line, SERVER, { path: '/first' }, TIMEOUT_MS)).toMatchObject({ status: 200, text: '1' });
  expect(await exchangeWebApi(line, SERVER, { path: '/second' }, TIMEOUT_MS)).toMatchObject({ status: 200, text: '2' });
});

it('A Web API exchange returns an answer even if Node never reports that the command was sent, and then the connection is not used again', async () => {
  const line = earlyAnswerLine(() => {});
  expect(await exchangeWebApi(line, SERVER, { path: '/first' }, 20)).toMatchObject({ status: 200, text: '1' });
  expect(line.tls.destroyed).toBe(true);
});

it.each([
  [SERVER, 'trade.example.com'],
  [{ ...SERVER, port: 1950 }, 'trade.example.com:1950'],
  [{ host: '2001:db8::1', port: 443 }, '[2001:db8::1]'],
])('A Web API request names the host, and its port unless it is 443: %j', async (server, host) => {
  const written: Buffer[] = [];
  await exchangeWebApi(earlyAnswerLine(setImmediate, written), server, { path: '/' }, TIMEOUT_MS);
  expect(Buffer.concat(written).toString().toLowerCase()).toContain(`\r\nhost: ${host}\r\n`);
});
