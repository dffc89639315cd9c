import { describe, expect, it, onTestFinished } from 'vitest';
import type { CrmFile } from '../../../infra/crm/crm-file.ts';
import { DEMO_RECORDS } from '../../../infra/local/demo-records.ts';
import { startTextServer } from '../../../infra/local/platforms/text-server.ts';
import { type LocalService, type ServiceOptions, startService } from '../../../infra/local/service.ts';
import { ONE_COUNTRY } from '../../support/front.ts';
import { get, openAccount, PHONE, put, register } from '../../support/local-service.ts';

describe('a local service of other records', () => {
  async function during(options: ServiceOptions, work: (service: LocalService) => Promise<void>): Promise<void> {
    const service = await startService(options);
    try {
      await work(service);
    } finally {
      await service.close();
    }
  }

  it('comes after another one in the same process, with functions of its own', async () => {
    for (const name of ['Broker One', 'Broker Two']) {
      await during({ environment: { BRAND: JSON.stringify({ name }) } }, async (service) => {
        await register(service);
        expect(service.outbox.list().map(({ text }) => text)).toEqual([expect.stringContaining(name)]);
      });
    }
  });

  it('uses the country rules of the stack for calls, if it serves some countries', async () => {
    await during({ environment: ONE_COUNTRY }, async (service) => {
      expect((await register(service, { otp_type: 'call', phone: PHONE })).status).toBe(204);
      const { ProtectConfigurationId } = JSON.parse(service.standIns.voice.lastBody) as Record<string, unknown>;
      expect(ProtectConfigurationId).toBe(ONE_COUNTRY.PROTECT_CONFIGURATION);
    });
  });

  it('calls a server that is not simulated as in production, with its local secret', async () => {
    const { connections, ...rest } = DEMO_RECORDS;
    const live = connections.filter(({ id }) => id === 'tp4-gw-2');
    const real = await startTextServer({
      dialect: 'interface-gateway',
      master: 'real-master',
      groups: [{ name: 'raw' }],
    });
    const records: CrmFile = {
      ...rest,
      connections: live.map((connection) => ({
        ...connection,
        host: '127.0.0.1',
        port: real.port,
        secret: 'platform/real',
      })),
      local_secrets: { 'platform/real': { master: 'real-master' } },
    };
    await during({ records }, async (service) => {
      expect((await openAccount(service, 'tp4', { connection_id: 'tp4-gw-2', group: 'raw' })).status).toBe(200);
      expect(real.accounts()).toHaveLength(1);
      expect((await get(service, '/_local/platforms/tp4-gw-2/accounts')).status).toBe(404);
      expect((await put(service, '/_local/faults/tp4-gw-2', { kind: 'down' })).status).toBe(404);
    });
    await real.close();
  });

  it('reports an invalid setting, and leaves nothing running', async () => {
    await expect(startService({ environment: { BRAND: '{"color":"blue"}' } })).rejects.toThrow('BRAND.color');
    await during({}, async (service) => expect((await register(service)).status).toBe(204));
  });

  it('never reads the machine’s AWS configuration, restores the environment, and leaves nothing listening', async () => {
    const machine = { AWS_PROFILE: 'production', AWS_ENDPOINT_URL: 'https://example.com' };
    Object.assign(process.env, machine);
    onTestFinished(() => {
      for (const name of Object.keys(machine)) delete process.env[name];
    });
    const before = { ...process.env };
    let url = '';
    await during({}, async (service) => {
      url = service.url;
      expect([process.env.CRM_TABLE, process.env.AWS_PROFILE]).toEqual(['crm', undefined]);
      expect((await register(service)).status).toBe(204);
    });
    expect({ ...process.env }).toEqual(before);
    await expect(fetch(url)).rejects.toThrow();
  });
});
