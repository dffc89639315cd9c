import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import { describe, expect, it, onTestFinished } from 'vitest';
import { localSettings } from '../../../infra/local/local-settings.ts';
import { deployedChannels, registrationDependencies } from '../../../lib/registration/dependencies.ts';
import { OTP_TYPES } from '../../../lib/validators/otp-types.ts';
import { DEPLOYED } from '../../support/function-environment.ts';

const CONFIG = { ...DEPLOYED, ...localSettings(), brand: DEPLOYED.brand };

describe('The channels of a deployment', () => {
  it.each(OTP_TYPES)('are opened once: %s', async (name) => {
    const channel = deployedChannels(CONFIG, async () => '');
    expect(await channel(name)).toHaveProperty('send');
    expect(channel(name)).toBe(channel(name));
  });

  it('load at start no SDK client', () => {
    const script = `
      import { registerHooks } from 'node:module';
      const loaded = new Set();
      registerHooks({ load(url, context, next) {
        const client = /@aws-sdk\\/(client-(?!dynamodb|secrets)[a-z0-9-]+)\\//.exec(url)?.[1];
        if (client !== undefined) loaded.add(client);
        return next(url, context);
      } });
      const { deployedChannels } = await import('./lib/registration/dependencies.ts');
      const channel = deployedChannels(${JSON.stringify(CONFIG)});
      const atStart = [...loaded];
      await channel('call');
      console.log(JSON.stringify({ atStart, afterCall: [...loaded] }));`;
    const root = fileURLToPath(new URL('../../..', import.meta.url));
    const output = execFileSync(process.execPath, ['--input-type=module', '-e', script], {
      cwd: root,
      encoding: 'utf8',
    });
    expect(JSON.parse(output)).toEqual({
      atStart: [],
      afterCall: ['client-pinpoint-sms-voice-v2'],
    });
  });
});

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
  const counter = { kind: 'source', step: 'request', pk: 'source#1', windows: [['hour', 20]] } as const;
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
