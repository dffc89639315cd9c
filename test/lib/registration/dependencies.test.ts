import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import { registrationDependencies } from '../../../lib/registration/dependencies.ts';
import { DEPLOYED } from '../../support/registration-fakes.ts';

it('a write that releases a count is sent once: a repeat of it could release the count of another request', async () => {
  let writes = 0;
  const server = createServer((request, response) => {
    writes += 1;
    request.resume();
    response.writeHead(500, { 'content-type': 'application/x-amz-json-1.0' });
    response.end('{"__type":"InternalServerError"}');
  }).listen(0);
  await once(server, 'listening');
  const before = process.env;
  onTestFinished(() => {
    process.env = before;
    server.closeAllConnections();
    server.close();
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  process.env = { ...before, ...clientVariables(url) };
  const { limits } = registrationDependencies(DEPLOYED, async () => '');
  const counter = { kind: 'source', pk: 'source#1', windows: [['hour', 20]] } as const;
  const counted = { counter, id: 'request-1', item: { n_hour: 1, from_hour: Date.now(), counted_by: 'request-1' } };
  await expect(limits.release([counted], AbortSignal.timeout(20_000))).rejects.toThrow();
  expect(writes).toBe(1);
});

function clientVariables(url: string): Record<string, string> {
  const key = 'none';
  return {
    AWS_ENDPOINT_URL_DYNAMODB: url,
    AWS_REGION: 'eu-west-1',
    AWS_ACCESS_KEY_ID: key,
    AWS_SECRET_ACCESS_KEY: key,
  };
}
