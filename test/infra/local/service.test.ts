import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { DEMO_RECORDS } from '../../../infra/local/demo-records.ts';
import { startTextServer } from '../../../infra/local/platforms/text-server.ts';
import { type LocalService, type ServiceOptions, startService } from '../../../infra/local/service.ts';
import { SENDING_SERVICES } from '../../../infra/local/stand-ins/senders.ts';
import type { CrmFile } from '../../../infra/ops/crm-file.ts';
import { ONE_COUNTRY } from '../../support/front.ts';
import { getText, openAccount, PHONE, postJson, putJson, register } from '../../support/local-service.ts';

describe('the local service', () => {
  let service: LocalService;
  beforeAll(async () => {
    service = await startService();
  });
  afterAll(() => service.close());
  beforeEach(async () => {
    await fetch(`${service.url}/_local/outbox`, { method: 'DELETE' });
    await fetch(`${service.url}/_local/faults`, { method: 'DELETE' });
  });

  it('shows its outbox oldest first', async () => {
    await register(service, { email: 'first@example.com' });
    await register(service, { email: 'second@example.com' });
    const message = { kind: 'email', id: expect.any(String), at: expect.stringMatching(/^\d{4}-.*Z$/) };
    expect((await getText(service, '/_local/outbox')).json()).toMatchObject([
      { ...message, to: 'first@example.com' },
      { ...message, to: 'second@example.com' },
    ]);
  });

  it.each([
    ['tp5', 'tp5-live-1', 'real\\standard', {}],
    ['tp5', 'tp5-demo-1', 'demo\\forex', { account_type_id: 'ATDEMO01' }],
    ['tp4', 'tp4-live-1', 'standard', {}],
    ['tp4', 'tp4-demo-1', 'demoforex', { account_type_id: 'ATDEMO04' }],
    ['tp4', 'tp4-gw-1', 'demoforex', { account_type_id: 'ATDEMO04' }],
    ['tp4', 'tp4-gw-2', 'raw', {}],
  ] as const)(
    'opens a %s account on the simulated server %s, and both its passwords log in',
    async (version, connection_id, group, more) => {
      const { status, body } = await openAccount(service, version, { connection_id, group, ...more });
      expect([status, Object.keys(body).sort()]).toEqual([200, ['investor_password', 'login', 'master_password']]);
      const accounts = (await getText(service, `/_local/platforms/${connection_id}/accounts`)).json();
      const deposit = 'account_type_id' in more ? { ATDEMO01: 10_000, ATDEMO04: 5_000 }[more.account_type_id] : 0;
      expect(accounts).toContainEqual({
        login: body.login,
        group,
        leverage: 100,
        name: 'Ann Lee',
        email: 'ann@example.com',
        readonly: false,
        balance: deposit,
        comment: expect.any(String),
      });
      for (const [password, access] of [
        [body.master_password, 'master'],
        [body.investor_password, 'investor'],
        ['wrong', 'none'],
      ]) {
        const login = await postJson(service, `/_local/platforms/${connection_id}/login`, {
          login: body.login,
          password,
        });
        expect(await login.json()).toEqual({ access });
      }
    },
  );

  describe('faults', () => {
    it('are listed with their kinds, for every embedded service and every simulated server', async () => {
      const faults = (await getText(service, '/_local/faults')).json() as Record<
        string,
        { kinds: string[]; waiting: unknown[] }
      >;
      const services = [...Object.values(SENDING_SERVICES), 'dynamodb', 's3', 'secrets', 'events', 'sqs', 'crm'];
      expect(Object.keys(faults)).toEqual([...services, ...DEMO_RECORDS.connections.map(({ id }) => id)]);
      expect(faults.ses).toMatchObject({
        kinds: ['refused', 'refused_recipient', 'throttled', 'down', 'slow'],
        waiting: [],
      });
      expect(faults['tp5-live-1']?.kinds).toEqual(
        expect.arrayContaining(['reply_lost', 'session_dropped', 'retcode', 'silence', 'garbage']),
      );
    });

    it('happen once by default, after the given number of good calls, and then end', async () => {
      expect(await putJson(service, '/_local/faults/ses', { kind: 'refused', after: 1 })).toMatchObject({
        status: 200,
        body: { waiting: [{ kind: 'refused', times: 1, after: 1 }] },
      });
      const statuses = [];
      for (const n of [1, 2, 3]) statuses.push((await register(service, { email: `after${n}@example.com` })).status);
      expect(statuses).toEqual([204, 502, 204]);
      expect((await getText(service, '/_local/faults/ses')).json()).toMatchObject({ waiting: [] });
    });

    it('are cleared by `times: 0`, for one target, or all at once', async () => {
      const waiting = async () => {
        const all = (await getText(service, '/_local/faults')).json() as Record<string, { waiting: unknown[] }>;
        return Object.entries(all).flatMap(([name, entry]) => (entry.waiting.length > 0 ? [name] : []));
      };
      for (const target of ['ses', 'sns', 's3', 'tp4-gw-1'])
        await putJson(service, `/_local/faults/${target}`, { kind: 'down', times: 3 });
      await putJson(service, '/_local/faults/ses', { kind: 'down', times: 0 });
      expect(await waiting()).toEqual(['sns', 's3', 'tp4-gw-1']);
      await fetch(`${service.url}/_local/faults/sns`, { method: 'DELETE' });
      expect(await waiting()).toEqual(['s3', 'tp4-gw-1']);
      const headers = { 'content-type': 'application/json' };
      const cleared = await fetch(`${service.url}/_local/faults`, { method: 'DELETE', headers });
      expect(cleared.status).toBe(204);
      expect(await waiting()).toEqual([]);
    });

    it.each([
      ['/_local/faults/nothing', { kind: 'down' }, 404, 'targets'],
      ['/_local/faults/ses', { kind: 'reply_lost' }, 400, 'kinds'],
      ['/_local/faults/ses', { kind: 'explode' }, 400, 'kinds'],
      ['/_local/faults/ses', {}, 400, 'title'],
      ['/_local/faults/ses', { kind: 'down', times: -1 }, 400, 'title'],
      ['/_local/faults/ses', { kind: 'down', times: 1.5 }, 400, 'title'],
      ['/_local/faults/ses', { kind: 'down', often: 1 }, 400, 'title'],
      ['/_local/faults/tp5-live-1', { kind: 'retcode' }, 400, 'title'],
      ['/_local/faults/ses', '{', 400, 'title'],
    ])('at %s that are %j are refused with %i, which lists the valid ones', async (path, body, status, member) => {
      const answer = await putJson(service, path, body);
      expect([answer.status, answer.type]).toEqual([status, 'application/problem+json']);
      expect(answer.body).toHaveProperty(member);
    });
  });
});

describe('a local service with other records', () => {
  async function during(options: ServiceOptions, work: (service: LocalService) => Promise<void>): Promise<void> {
    const service = await startService(options);
    try {
      await work(service);
    } finally {
      await service.close();
    }
  }

  it('uses the country rules of the stack for calls, if it serves some countries', async () => {
    await during({ settings: ONE_COUNTRY }, async (service) => {
      expect((await register(service, { otp_type: 'call', phone: PHONE })).status).toBe(204);
      const { ProtectConfigurationId } = JSON.parse(service.standIns.voice.lastBody) as Record<string, unknown>;
      expect(ProtectConfigurationId).toBe(service.environment.PROTECT_CONFIGURATION_ID);
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
      expect((await getText(service, '/_local/platforms/tp4-gw-2/accounts')).status).toBe(404);
      expect((await putJson(service, '/_local/faults/tp4-gw-2', { kind: 'down' })).status).toBe(404);
    });
    await real.close();
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
