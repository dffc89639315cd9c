import { describe, expect, it } from 'vitest';
import { AwsFailure } from '../../../lib/aws/failure.ts';
import type { ReadSecret } from '../../../lib/aws/secrets.ts';
import { platformConnections } from '../../../lib/platform/connections.ts';
import type { AccountOrder, TradingPlatform } from '../../../lib/platform/platform.ts';
import type { Connection } from '../../../lib/records/crm-records.ts';
import { ANY_TIME, failureOf, NEVER_ABORTED, outcomeOf } from '../../support/outcomes.ts';
import { tcpRelay } from '../../support/tcp-relay.ts';
import { aServer, anOrder as aTextOrder, MASTER_PASSWORD } from '../../support/text-protocol.ts';
import { anOrder, connectionTo, MANAGER, testServer } from '../../support/web-api.ts';

const gateway: Connection = {
  id: 'tp4-gw-1',
  platform: 'tp4',
  protocol: 'interface-gateway',
  host: '127.0.0.1',
  port: 1,
  demo: false,
  logins: { from: 500_000, to: 599_999 },
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
    const platform = await connect(connectionTo(server), NEVER_ABORTED);
    await platform.open(anOrder(), ANY_TIME, NEVER_ABORTED);
    const again = await connect(connectionTo(server), NEVER_ABORTED);
    await again.open(anOrder(), ANY_TIME, NEVER_ABORTED);
    expect(again).toBe(platform);
    expect(server.sessions).toBe(1);
    await platform.close();
  });

  it('a rotated secret replaces a platform; commands that still run end on the old one', async () => {
    const server = await testServer();
    const secrets = { 'platform/tp5-test': JSON.stringify(MANAGER) };
    const connect = platformConnections({ readSecret: reading(secrets) });
    const before = await connect(connectionTo(server), NEVER_ABORTED);
    await before.check(NEVER_ABORTED);
    server.faults.set({ kind: 'slow', times: 1, ms: 50 });
    const running = before.open(anOrder(), ANY_TIME, NEVER_ABORTED);

    secrets['platform/tp5-test'] = JSON.stringify({ ...MANAGER, note: 'rotated' });
    const after = await connect(connectionTo(server), NEVER_ABORTED);
    expect(after).not.toBe(before);
    expect(await running).toEqual({ login: 5_001 });
    await after.check(NEVER_ABORTED);
    await after.close();
  });

  it('a changed record replaces a platform', async () => {
    const connect = platformConnections({ readSecret: reading({ 'platform/tp4-gw-1': '{"master":"m"}' }) });
    const before = await connect(gateway, NEVER_ABORTED);
    expect(await connect({ ...gateway, port: 2 }, NEVER_ABORTED)).not.toBe(before);
    expect(await connect({ ...gateway, port: 2 }, NEVER_ABORTED)).not.toBe(before);
  });

  it.each(['', 'not JSON', '{}', '[]', '{"login":1000}', '{"login":"1000","password":"p"}', '{"master":"m"}'])(
    'the secret %s is refused for a web-api connection',
    async (secret) => {
      const connect = platformConnections({ readSecret: async () => secret });
      expect(await outcomeOf(connect(connectionTo({ port: 1 }), NEVER_ABORTED))).toBe(
        'platform_refused secret_malformed',
      );
    },
  );

  it.each<[string, object, Partial<Connection>, boolean]>([
    ['without hosts, as version 1.0.0 stored it, is for any server', {}, { host: 'mt.example.com' }, true],
    ['is for a server that it names', { hosts: ['mt.example.com:443'] }, { host: 'mt.example.com' }, true],
    [
      'is for a server that it names in another case',
      { hosts: ['MT.example.com:443'] },
      { host: 'mt.Example.com' },
      true,
    ],
    ['is for one of several servers', { hosts: ['a:1', 'mt.example.com:443'] }, { host: 'mt.example.com' }, true],
    ['is for an IPv6 address in brackets', { hosts: ['[2001:db8::1]:443'] }, { host: '2001:DB8::1' }, true],
    ['is not for another host', { hosts: ['mt.example.com:443'] }, { host: 'mt.evil.example' }, false],
    ['is not for another port', { hosts: ['mt.example.com:443'] }, { host: 'mt.example.com', port: 444 }, false],
    ['is not for a host that only begins so', { hosts: ['mt.example.com:443'] }, { host: 'mt.example.com:443' }, false],
    ['is for no server, if its list is empty', { hosts: [] }, { host: 'mt.example.com' }, false],
  ])('a secret %s, in every protocol', async (_, hosts, change, may) => {
    const { platform: _platform, protocol: _protocol, logins: _logins, ...common } = gateway;
    const plugIn = { ...common, platform: 'tp4', protocol: 'web-registration', groups: {}, code_page: 'windows-1252' };
    for (const connection of [connectionTo({ port: 1 }), gateway, plugIn as Connection]) {
      const secret = JSON.stringify({ login: 1, password: 'p', master: 'm', ...hosts });
      const connect = platformConnections({ readSecret: async () => secret });
      const outcome = await connect({ ...connection, port: 443, ...change } as Connection, NEVER_ABORTED).then(
        () => 'a platform',
        ({ kind, reason, proof }) => `${kind} ${reason} ${proof}`,
      );
      expect(outcome).toBe(may ? 'a platform' : 'platform_refused host_not_listed unsent');
    }
  });

  it('a server that a secret does not name gets nothing of it', async () => {
    const server = await testServer();
    const secret = JSON.stringify({ ...MANAGER, hosts: ['mt5.example.com:443'] });
    const connect = platformConnections({ readSecret: async () => secret });
    expect(await outcomeOf(connect(connectionTo(server), NEVER_ABORTED))).toBe('platform_refused host_not_listed');
    expect(server.sessions).toBe(0);
  });

  it('a malformed secret is not quoted in the failure', async () => {
    const connect = platformConnections({ readSecret: async () => 'S3cret-not-JSON' });
    const failed = await failureOf(connect(gateway, NEVER_ABORTED));
    expect(`${failed.message} ${failed.cause} ${failed.stack}`).not.toContain('S3cret');
  });

  it('a secret that cannot be read makes the platform unavailable, until it is readable again', async () => {
    let readable = false;
    const connect = platformConnections({
      readSecret: async () => {
        if (!readable) throw new AwsFailure('ThrottlingException');
        return '{"master":"m"}';
      },
    });
    expect(await outcomeOf(connect(gateway, NEVER_ABORTED))).toBe('platform_unavailable secret_unreadable');
    readable = true;
    await connect(gateway, NEVER_ABORTED);
  });
});

describe('a changed password of our manager', () => {
  const [LOGIN, ID] = [500_000, '6f1d8a52-5c1c-8f0e-9d3e-000000000009'];

  /** Each protocol's server, whose password is in the second secret, and its connection. */
  const PROTOCOLS = {
    'web-api': async () => ({
      server: await testServer(),
      secrets: [{ ...MANAGER, password: 'old' }, MANAGER],
      connect: (server: { port: number }) => connectionTo(server),
      order: () => anOrder(),
    }),
    'interface-gateway': async () => ({
      server: await aServer({ dialect: 'interface-gateway' }),
      secrets: [{ master: 'old' }, { master: MASTER_PASSWORD }],
      connect: ({ port }: { port: number }): Connection => ({ ...gateway, port }),
      order: () => aTextOrder({ login: 500_000 }),
    }),
    'web-registration': async () => ({
      server: await aServer({ dialect: 'web-registration' }),
      secrets: [{ master: 'old' }, { master: MASTER_PASSWORD }],
      connect: ({ port }: { port: number }): Connection => {
        const { logins: _, ...common } = gateway as Extract<Connection, { protocol: 'interface-gateway' }>;
        return { ...common, port, protocol: 'web-registration', groups: { standard: 1, demoforex: 2 } };
      },
      order: () => aTextOrder(),
    }),
  };

  /** A cache that has the first secret, and the store behind it. */
  function cachedSecret(secrets: object[], stored = 1) {
    const [old, changed] = secrets.map((secret) => JSON.stringify(secret));
    let cached = old ?? '';
    let reads = 0;
    const readSecret: ReadSecret = async (_, __, { fresh = false } = {}) => {
      if (fresh) {
        reads += 1;
        cached = (stored === 1 ? changed : old) ?? '';
      }
      return cached;
    };
    return { readSecret, reads: () => reads };
  }

  const USES = {
    'an opening': (platform: TradingPlatform, order: AccountOrder) => platform.open(order, ANY_TIME, NEVER_ABORTED),
    'a look of the settler': (platform: TradingPlatform) => platform.look(LOGIN, ID, NEVER_ABORTED),
  };
  const CASES = Object.keys(PROTOCOLS).flatMap((protocol) =>
    Object.keys(USES)
      // The plug-in can look nothing up.
      .filter((use) => protocol !== 'web-registration' || use === 'an opening')
      .map((use) => [protocol, use] as [keyof typeof PROTOCOLS, keyof typeof USES]),
  );

  it.each(CASES)('on %s is read when the server refuses the cached one: %s succeeds', async (protocol, use) => {
    const { server, secrets, connect, order } = await PROTOCOLS[protocol]();
    const { readSecret, reads } = cachedSecret(secrets);
    const connected = platformConnections({ readSecret });
    const to = connect(server);
    const platform = await connected(to, NEVER_ABORTED);
    await USES[use](platform, order());
    expect(server.accounts()).toHaveLength(use === 'an opening' ? 1 : 0);
    expect(reads()).toBe(1);

    const next = await connected(to, NEVER_ABORTED);
    expect(next).toBe(platform);
    await next.check(NEVER_ABORTED);
    expect(reads()).toBe(1);
    await platform.close();
  });

  it.each(CASES)('on %s that is not stored yet is refused after one look: %s', async (protocol, use) => {
    const { server, secrets, connect, order } = await PROTOCOLS[protocol]();
    const { readSecret, reads } = cachedSecret(secrets, 0);
    const platform = await platformConnections({ readSecret })(connect(server), NEVER_ABORTED);
    expect((await failureOf(USES[use](platform, order()))).kind).toBe('platform_refused');
    expect(reads()).toBe(1);
    expect(server.accounts()).toHaveLength(0);
  });

  it.each(CASES)('on %s that cannot be read leaves the refusal: %s', async (protocol, use) => {
    const { server, secrets, connect, order } = await PROTOCOLS[protocol]();
    const readSecret: ReadSecret = async (_, __, { fresh = false } = {}) => {
      if (fresh) throw new AwsFailure('ThrottlingException');
      return JSON.stringify(secrets[0]);
    };
    const platform = await platformConnections({ readSecret })(connect(server), NEVER_ABORTED);
    expect((await failureOf(USES[use](platform, order()))).kind).toBe('platform_refused');
  });
});

describe('the server of a Web API connection that this process has not used yet', () => {
  /** A secret whose reading the test completes. */
  function slowly() {
    const secret = Promise.withResolvers<string>();
    return { connect: platformConnections({ readSecret: () => secret.promise }), secret };
  }

  async function relayed() {
    const server = await testServer();
    const relay = await tcpRelay(server.port);
    return { server, relay, to: { port: relay.port, ca: server.ca } };
  }

  it('is connected to while the secret is read, and its platform uses that connection', async () => {
    const { server, relay, to } = await relayed();
    const { connect, secret } = slowly();
    const connecting = connect(connectionTo(to), NEVER_ABORTED);
    await expect.poll(() => relay.connections).toBe(1);
    expect(server.sessions).toBe(0);
    secret.resolve(JSON.stringify(MANAGER));
    const platform = await connecting;
    await platform.open(anOrder(), ANY_TIME, NEVER_ABORTED);
    expect(await connect(connectionTo(to), NEVER_ABORTED)).toBe(platform);
    await platform.check(NEVER_ABORTED);
    expect(relay.connections).toBe(1);
    await platform.close();
  });

  it.each([
    ['cannot be read', ({ reject }: PromiseWithResolvers<string>) => reject(new AwsFailure('ThrottlingException'))],
    ['is none', ({ resolve }: PromiseWithResolvers<string>) => resolve('{}')],
  ])('is closed if the secret %s', async (_, end) => {
    const { relay, to } = await relayed();
    const { connect, secret } = slowly();
    const connecting = failureOf(connect(connectionTo(to), NEVER_ABORTED));
    await expect.poll(() => relay.connections).toBe(1);
    end(secret);
    await connecting;
    await expect.poll(() => relay.endings).toEqual(['orderly']);
  });

  it('is closed if the time is up before a command, and opened again by the next one', async () => {
    const { server, relay, to } = await relayed();
    const { connect, secret } = slowly();
    const caller = new AbortController();
    const connecting = connect(connectionTo(to), caller.signal);
    await expect.poll(() => relay.connections).toBe(1);
    secret.resolve(JSON.stringify(MANAGER));
    const platform = await connecting;
    caller.abort();
    // Reset, if a part of the handshake was not read yet; else orderly.
    await expect.poll(() => relay.endings).toHaveLength(1);
    await platform.check(NEVER_ABORTED);
    expect([relay.connections, server.sessions]).toEqual([2, 1]);
    await platform.close();
  });

  it('gets two TCP connections from two simultaneous calls, and one of them is kept', async () => {
    const { relay, to } = await relayed();
    const { connect, secret } = slowly();
    const both = Promise.all([connect(connectionTo(to), NEVER_ABORTED), connect(connectionTo(to), NEVER_ABORTED)]);
    await expect.poll(() => relay.connections).toBe(2);
    secret.resolve(JSON.stringify(MANAGER));
    const [one, other] = await both;
    expect(one).toBe(other);
    await expect.poll(() => relay.endings).toEqual(['orderly']);
    await one.check(NEVER_ABORTED);
    expect(relay.connections).toBe(2);
    await one.close();
  });

  it('that cannot be reached fails the command that needs it, not the platform', async () => {
    const connect = platformConnections({ readSecret: async () => JSON.stringify(MANAGER) });
    const platform = await connect(connectionTo({ port: 1 }), NEVER_ABORTED);
    expect(await outcomeOf(platform.check(NEVER_ABORTED))).toBe('platform_unavailable connect_econnrefused');
  });
});
