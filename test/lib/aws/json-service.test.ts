import type { IncomingHttpHeaders } from 'node:http';
import { describe, expect, it } from 'vitest';
import { jsonService } from '../../../lib/aws/json-service.ts';
import type { ServiceSettings } from '../../../lib/aws/signed-service.ts';
import { answering, clientOf, patient } from '../../support/senders.ts';

const SERVICE = {
  host: 'things',
  signingName: 'things',
  variable: 'THINGS',
  version: '1.1',
  target: 'Things',
} as const;

async function failureOf(work: Promise<unknown>): Promise<unknown> {
  return work.then(
    () => undefined,
    (error: unknown) => error,
  );
}

const serviceAt = (server: { url: string }, settings: ServiceSettings = {}) =>
  jsonService(SERVICE, { ...clientOf(server), ...settings });

describe('A call of a service that speaks JSON', () => {
  it('names its operation, and is signed with the credentials that are given at that time', async () => {
    const seen: IncomingHttpHeaders[] = [];
    const server = await answering((request, response) => {
      seen.push(request.headers);
      response.end('{"Count":2}');
    });
    const given = ['first', 'second'];
    const credentials = async () => ({ accessKeyId: given.shift() ?? '', secretAccessKey: 'x', sessionToken: 'token' });
    const service = serviceAt(server, { credentials, region: async () => 'eu-west-3' });
    expect(await service.call('CountThings', {}, patient())).toEqual({ Count: 2 });
    expect(await service.call('CountThings', {}, patient())).toEqual({ Count: 2 });
    for (const headers of seen) {
      expect(headers['content-type']).toBe('application/x-amz-json-1.1');
      expect(headers['x-amz-target']).toBe('Things.CountThings');
      expect(headers['x-amz-security-token']).toBe('token');
    }
    expect(seen.map(({ authorization }) => authorization)).toEqual([
      expect.stringMatching(/ Credential=first\/\d{8}\/eu-west-3\/things\/aws4_request, /),
      expect.stringMatching(/ Credential=second\//),
    ]);
    expect(server.seen.connections).toBe(1);
  });

  it.each([
    ['that the service itself spoiled', 500, '{"__type":"InternalServerError"}', 'InternalServerError', 3],
    ['that came too often', 400, '{"__type":"x.y#ThrottlingException:http://z"}', 'ThrottlingException', 3],
    ['that a proxy answered', 502, '<html>Bad gateway</html>', 'Http502', 3],
    [
      'that is refused',
      400,
      '{"__type":"com.amazon#AccessDeniedException","message":"Ann"}',
      'AccessDeniedException',
      1,
    ],
  ])('%s is made so often as it may help', async (_, status, text, name, times) => {
    const server = await answering((_request, response) => response.writeHead(status).end(text));
    const error = await failureOf(serviceAt(server).call('CountThings', {}, patient()));
    expect(error).toMatchObject({ name, message: name, status });
    expect(server.seen.requests).toBe(times);
  });

  it.each([
    ['no answer', () => {}],
    ['half an answer', (response: { write(text: string): unknown }) => response.write('{"Cou')],
  ])('with %s in time is repeated on another connection', async (_, begin) => {
    const server = await answering((_request, response) => {
      if (server.seen.requests === 1) begin(response);
      else response.end('{"Count":2}');
    });
    expect(await serviceAt(server, { answerMs: 1_000 }).call('CountThings', {}, patient())).toEqual({ Count: 2 });
    expect(server.seen).toEqual({ requests: 2, connections: 2 });
  });

  it('whose answer breaks off is repeated, and the repeat is told to be one', async () => {
    const told: unknown[] = [];
    const server = await answering((request, response) => {
      told.push(request.headers['amz-sdk-request']);
      if (server.seen.requests > 1) return void response.end('{"Count":2}');
      response.writeHead(200, { 'content-length': 100 }).write('{"Cou', () => request.socket.destroy());
    });
    expect(await serviceAt(server).call('CountThings', {}, patient())).toEqual({ Count: 2 });
    expect(told).toEqual(['attempt=1; max=3', 'attempt=2; max=3']);
  });

  it('ends with the time of its caller, and is not repeated then', async () => {
    const caller = new AbortController();
    const server = await answering(() => caller.abort());
    const error = await failureOf(serviceAt(server).call('CountThings', {}, caller.signal));
    expect(error).toMatchObject({ name: 'AbortError' });
    expect(server.seen.requests).toBe(1);
    expect(await failureOf(serviceAt(server).call('CountThings', {}, caller.signal))).toMatchObject({
      name: 'AbortError',
    });
    expect(server.seen.requests).toBe(1);
  });
});
