import { describe, expect, it } from 'vitest';
import { SecretFailure } from '../../../lib/aws/secrets.ts';
import { platformConnections } from '../../../lib/platform/connections.ts';
import type { Connection } from '../../../lib/records/crm-records.ts';
import { atOnce } from '../../support/departures.ts';
import { anOrder, connectionTo, failure, MANAGER, noSignal, testServer } from '../../support/web-api.ts';

const gateway: Connection = {
  id: 'tp4-gw-1',
  platform: 'tp4',
  protocol: 'interface-gateway',
  host: '127.0.0.1',
  port: 1,
  demo: false,
  secret: 'platform/tp4-gw-1',
  code_page: 'windows-1252',
};

function reading(secrets: Record<string, string>) {
  return async (name: string) => secrets[name] ?? '';
}

describe('the platforms of the connections', () => {
  it('a platform and its session are kept from invocation to invocation', async () => {
    const server = await testServer();
    const connect = platformConnections({ readSecret: reading({ 'platform/tp5-test': JSON.stringify(MANAGER) }) });
    const platform = await connect(connectionTo(server), noSignal);
    await platform.open(anOrder(), atOnce, noSignal);
    const again = await connect(connectionTo(server), noSignal);
    await again.open(anOrder(), atOnce, noSignal);
    expect(again).toBe(platform);
    expect(server.sessions).toBe(1);
    await platform.close();
  });

  it('a rotated secret replaces it; what still runs on the old one ends there', async () => {
    const server = await testServer();
    const secrets = { 'platform/tp5-test': JSON.stringify(MANAGER) };
    const connect = platformConnections({ readSecret: reading(secrets) });
    const before = await connect(connectionTo(server), noSignal);
    await before.check(noSignal);
    server.faults.set({ kind: 'slow', times: 1, ms: 50 });
    const running = before.open(anOrder(), atOnce, noSignal);

    secrets['platform/tp5-test'] = JSON.stringify({ ...MANAGER, note: 'rotated' });
    const after = await connect(connectionTo(server), noSignal);
    expect(after).not.toBe(before);
    expect(await running).toEqual({ login: 5_001 });
    await after.check(noSignal);
    await after.close();
  });

  it('a changed record replaces it', async () => {
    const connect = platformConnections({ readSecret: reading({ 'platform/tp4-gw-1': '{"master":"m"}' }) });
    const before = await connect(gateway, noSignal);
    expect(await connect({ ...gateway, port: 2 }, noSignal)).not.toBe(before);
    expect(await connect({ ...gateway, port: 2 }, noSignal)).not.toBe(before);
  });

  it.each(['', 'not JSON', '{}', '[]', '{"login":1000}', '{"login":"1000","password":"p"}', '{"master":"m"}'])(
    'the secret %s is none of a web-api connection',
    async (secret) => {
      const connect = platformConnections({ readSecret: async () => secret });
      expect(await failure(connect(connectionTo({ port: 1 }), noSignal))).toMatchObject({
        kind: 'platform_refused',
        options: { reason: 'secret_malformed' },
      });
    },
  );

  it('a malformed secret is no part of the failure', async () => {
    const connect = platformConnections({ readSecret: async () => 'S3cret-not-JSON' });
    const failed = await failure(connect(gateway, noSignal));
    expect(`${failed.message} ${failed.cause} ${failed.stack}`).not.toContain('S3cret');
  });

  it('a secret that cannot be read makes the platform unavailable, until it can', async () => {
    let readable = false;
    const connect = platformConnections({
      readSecret: async () => {
        if (!readable) throw new SecretFailure('ThrottlingException');
        return '{"master":"m"}';
      },
    });
    expect(await failure(connect(gateway, noSignal))).toMatchObject({
      kind: 'platform_unavailable',
      options: { reason: 'secret_unreadable' },
    });
    readable = true;
    await connect(gateway, noSignal);
  });
});
