import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { Faults } from '../../../infra/local/faults.ts';
import { startSecretsManager } from '../../../infra/local/stand-ins/secrets.ts';
import { AwsFailure } from '../../../lib/aws/failure.ts';
import { parsedSecret, type ReadSecret, secretReader } from '../../../lib/aws/secrets.ts';
import { NEVER_ABORTED } from '../../support/outcomes.ts';
import { clientSettings } from '../../support/servers.ts';

const MINUTE = 60_000;

let faults: Faults;
let secrets: Map<string, string>;
let now: number;
let read: ReadSecret;
let requests: () => number;
let url: string;

beforeEach(async () => {
  faults = new Faults();
  secrets = new Map([['platform/x', '{"password":"first"}']]);
  now = Date.UTC(2026, 0, 1);
  const manager = await startSecretsManager({ faults, secrets });
  onTestFinished(() => manager.close());
  requests = () => manager.requests;
  url = manager.url;
  read = secretReader(clientSettings(url), () => now);
});

describe('A secret', () => {
  it('is read by name, once in five minutes', async () => {
    expect(await read('platform/x', NEVER_ABORTED)).toBe('{"password":"first"}');
    secrets.set('platform/x', '{"password":"second"}');
    now += 5 * MINUTE - 1;
    expect(await read('platform/x', NEVER_ABORTED)).toBe('{"password":"first"}');
    expect(requests()).toBe(1);
    now += 1;
    expect(await read('platform/x', NEVER_ABORTED)).toBe('{"password":"second"}');
    expect(requests()).toBe(2);
  });

  it('is read past the cache if the caller wants a fresh value, and then cached', async () => {
    await read('platform/x', NEVER_ABORTED);
    secrets.set('platform/x', '{"password":"second"}');
    expect(await read('platform/x', NEVER_ABORTED, { fresh: true })).toBe('{"password":"second"}');
    expect(await read('platform/x', NEVER_ABORTED)).toBe('{"password":"second"}');
    expect(requests()).toBe(2);
  });

  it('that the caller wants fresh is not taken from the cache when it cannot be read', async () => {
    await read('platform/x', NEVER_ABORTED);
    faults.set({ kind: 'refused', times: 1 });
    await expect(read('platform/x', NEVER_ABORTED, { fresh: true })).rejects.toBeInstanceOf(AwsFailure);
    expect(await read('platform/x', NEVER_ABORTED)).toBe('{"password":"first"}');
  });

  it('that every request needs is read at the start, once', async () => {
    const readAhead = secretReader({ ...clientSettings(url), first: 'platform/x' }, () => now);
    expect(await Promise.all([1, 2].map(() => readAhead('platform/x', NEVER_ABORTED)))).toEqual(
      Array(2).fill('{"password":"first"}'),
    );
    expect(requests()).toBe(1);
    secrets.set('platform/x', '{"password":"second"}');
    now += 5 * MINUTE;
    expect(await readAhead('platform/x', NEVER_ABORTED)).toBe('{"password":"second"}');
  });

  it('that could not be read at the start is read again by the first request', async () => {
    faults.set({ kind: 'refused', times: 1 });
    const readAhead = secretReader({ ...clientSettings(url), first: 'platform/x' }, () => now);
    expect(await readAhead('platform/x', NEVER_ABORTED)).toBe('{"password":"first"}');
    expect(requests()).toBe(2);
  });

  it('is parsed again only when it has changed', async () => {
    const parsed: string[] = [];
    const secret = parsedSecret(read, 'platform/x', (text) => {
      parsed.push(text);
      return JSON.parse(text) as unknown;
    });
    expect(await secret(NEVER_ABORTED)).toEqual({ password: 'first' });
    expect(await secret(NEVER_ABORTED)).toEqual({ password: 'first' });
    secrets.set('platform/x', '{"password":"second"}');
    now += 5 * MINUTE;
    expect(await secret(NEVER_ABORTED)).toEqual({ password: 'second' });
    expect(parsed).toEqual(['{"password":"first"}', '{"password":"second"}']);
  });

  it('that is cached is used while it cannot be refreshed, and is read again half a minute later', async () => {
    await read('platform/x', NEVER_ABORTED);
    secrets.set('platform/x', '{"password":"second"}');
    now += 5 * MINUTE;
    faults.set({ kind: 'refused', times: 1 });
    expect(await read('platform/x', NEVER_ABORTED)).toBe('{"password":"first"}');
    now += 30_000 - 1;
    expect(await read('platform/x', NEVER_ABORTED)).toBe('{"password":"first"}');
    expect(requests()).toBe(2);
    now += 1;
    expect(await read('platform/x', NEVER_ABORTED)).toBe('{"password":"second"}');
  });

  it('that was deleted is not used for more than an hour', async () => {
    await read('platform/x', NEVER_ABORTED);
    secrets.delete('platform/x');
    now += 60 * MINUTE - 1;
    expect(await read('platform/x', NEVER_ABORTED)).toBe('{"password":"first"}');
    now += 30_000;
    await expect(read('platform/x', NEVER_ABORTED)).rejects.toMatchObject({ reason: 'ResourceNotFoundException' });
  });

  it('that does not exist fails the call, and is read once it exists', async () => {
    await expect(read('platform/y', NEVER_ABORTED)).rejects.toMatchObject({ reason: 'ResourceNotFoundException' });
    secrets.set('platform/y', 'new');
    expect(await read('platform/y', NEVER_ABORTED)).toBe('new');
  });
});
