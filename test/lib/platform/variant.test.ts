import { describe, expect, it } from 'vitest';
import type { TextServerOptions } from '../../../infra/local/platforms/text-server.ts';
import type { WebApiServerOptions } from '../../../infra/local/platforms/web-api-server.ts';
import { ANY_TIME, NEVER_ABORTED } from '../../support/outcomes.ts';
import { aServer, textPlatform } from '../../support/text-protocol.ts';
import { anOrder, platformOn, testServer } from '../../support/web-api.ts';

const LOGIN = 71;

describe('The variant of a version 5 server is seen without changing anything', () => {
  it.each<[string, Partial<WebApiServerOptions>, object]>([
    ['everything', {}, { speaks: [], comments: 'shown' }],
    ['hidden comments', { rights: { personalData: 'names' } }, { comments: 'unknown' }],
  ])('%s', async (_, options, expected) => {
    const server = await testServer(options);
    const platform = platformOn(server);
    await platform.open(anOrder({ login: LOGIN }), ANY_TIME, NEVER_ABORTED);
    const before = server.accounts();
    expect(await platformOn(server).variant(LOGIN, NEVER_ABORTED)).toMatchObject(expected);
    expect(server.accounts()).toEqual(before);
  });

  it('also where no account is known, as far as possible', async () => {
    const server = await testServer();
    const seen = { speaks: [], comments: 'unknown' };
    expect(await platformOn(server).variant(undefined, NEVER_ABORTED)).toEqual(seen);
  });
});

describe('The variant of a version 4 server is seen without changing anything', () => {
  const comments = 'hidden';
  it.each<[Partial<TextServerOptions>, object]>([
    [{}, { speaks: ['WCHKACCOUNT'], comments }],
    [{ accountCheck: 'refused' }, { speaks: [], comments }],
  ])('of a gateway: %j', async (options, expected) => {
    const server = await aServer({ dialect: 'interface-gateway', ...options });
    expect(await textPlatform('interface-gateway', server.port).variant(undefined, NEVER_ABORTED)).toEqual(expected);
    expect(server.accounts()).toEqual([]);
  });

  it.each([
    ['the plug-in', 'web-registration', {}, []],
    ['a gateway', 'interface-gateway', {}, ['WCHKACCOUNT, as an interface-gateway does']],
    [
      'a gateway that refuses us',
      'interface-gateway',
      { master: 'another' },
      ['WCHKACCOUNT, as an interface-gateway does'],
    ],
  ] as const)('of a connection to %s with the protocol of the plug-in', async (_, dialect, changes, speaks) => {
    const server = await aServer({ dialect });
    const seen = { speaks, comments };
    expect(await textPlatform('web-registration', server.port, changes).variant(undefined, NEVER_ABORTED)).toEqual(
      seen,
    );
    expect(server.accounts()).toEqual([]);
  });
});
