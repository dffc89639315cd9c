import { describe, expect, it } from 'vitest';
import type { ManagerRights } from '../../../../infra/local/platforms/web-api-accounts.ts';
import type { ServerRights } from '../../../../lib/platform/platform.ts';
import { ANY_TIME, failureOf, NEVER_ABORTED } from '../../../support/outcomes.ts';
import { anOrder, platformOn, scriptedServer, testServer } from '../../../support/web-api.ts';

const ALL: ServerRights = { openAccounts: 'granted', seePersonalData: 'granted', changeBalances: 'granted' };
const UNKNOWN: ServerRights = { openAccounts: 'unknown', seePersonalData: 'unknown', changeBalances: 'unknown' };

describe('The rights of the manager', () => {
  it.each<[string, ManagerRights, Partial<ServerRights>]>([
    ['everything', {}, {}],
    ['no accounts', { openAccounts: false }, { openAccounts: 'denied' }],
    ['no balances', { changeBalances: false }, { changeBalances: 'denied' }],
    ['no personal data', { personalData: false }, { seePersonalData: 'denied' }],
    // On an older server that is all personal data: the same list of rights.
    ['names alone', { personalData: 'names' }, { seePersonalData: 'unknown' }],
    ['all of an older server', { older: true }, { seePersonalData: 'unknown' }],
    ['no look at its own record', { ownRecord: false }, UNKNOWN],
  ])('are read from its own record: %s', async (_, rights, expected) => {
    const server = await testServer({ rights });
    expect(await platformOn(server).rights(NEVER_ABORTED)).toEqual({ ...ALL, ...expected });
    expect(server.commands).toBe(1);
  });

  it('on a server that forbids the question are unknown, and its groups not shown; the session continues', async () => {
    const server = await testServer({ forbiddenPaths: ['/api/manager/get', '/api/group/get'] });
    const platform = platformOn(server, {}, { groups: ['real\\standard'] });
    expect(await platform.rights(NEVER_ABORTED)).toEqual(UNKNOWN);
    expect(await platform.closedGroups(NEVER_ABORTED)).toEqual({ unknown: [], notShown: ['real\\standard'] });
    expect(await platform.open(anOrder(), ANY_TIME, NEVER_ABORTED)).toEqual({ login: 5_001 });
  });

  it('on a server that answers 404 are unknown, and its groups not shown: the service is still logged in', async () => {
    const server = await scriptedServer((_, response) => response.writeHead(404).end('Not Found'));
    const platform = platformOn(server, {}, { groups: ['real\\standard'] });
    expect(await platform.rights(NEVER_ABORTED)).toEqual(UNKNOWN);
    expect(await platform.closedGroups(NEVER_ABORTED)).toEqual({ unknown: [], notShown: ['real\\standard'] });
  });

  it.each([
    ['{"Right":[1,1]}', 'denied'],
    ['{"Rights":"all"}', 'unknown'],
    ['{"Login":"1000"}', 'unknown'],
  ])('are read from %s, as far as the record shows them', async (record, openAccounts) => {
    const server = await scriptedServer((_, response) => response.end(`{"retcode":"0 Done","answer":${record}}`));
    expect(await platformOn(server).rights(NEVER_ABORTED)).toMatchObject({ openAccounts });
  });

  it('of a single kind of personal data do not show its comments', async () => {
    const flags = Array.from({ length: 128 }, (_, place) => ([25, 26, 27, 79].includes(place) ? '1' : '0'));
    const record = JSON.stringify({ retcode: '0 Done', answer: { Rights: flags } });
    const server = await scriptedServer((_, response) => response.end(record));
    expect(await platformOn(server).rights(NEVER_ABORTED)).toEqual({
      openAccounts: 'granted',
      seePersonalData: 'denied',
      changeBalances: 'denied',
    });
  });

  it('are not guessed if the server does not answer', async () => {
    const server = await testServer();
    server.faults.set({ kind: 'throttled', times: 1 });
    expect((await failureOf(platformOn(server).rights(NEVER_ABORTED))).kind).toBe('platform_unavailable');
  });
});

describe('The groups of a connection', () => {
  it('that the server does not have, or does not show, are listed', async () => {
    const groups = ['real\\standard', 'real\\closed', 'real\\none'];
    const platform = platformOn(await testServer(), {}, { groups });
    expect(await platform.closedGroups(NEVER_ABORTED)).toEqual({ unknown: ['real\\none'], notShown: ['real\\closed'] });
  });
});
