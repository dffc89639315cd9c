import { secretReader } from '../../lib/aws/secrets.ts';
import { platformConnections } from '../../lib/platform/connections.ts';
import type { ClosedGroups, RangeInspection, Rights, TradingPlatform } from '../../lib/platform/platform.ts';
import { type Connection, loginRangeOf } from '../../lib/records/crm-records.ts';
import type { Target } from './target.ts';

/** What one look at a trading server found; nothing was changed there. */
export interface ServerReport {
  rights: Rights;
  groups: ClosedGroups;
  /** Of a connection that has a range of logins. */
  range?: RangeInspection;
}

/** How long one trading server may take to log us in and to answer all questions, in milliseconds. */
const LOOK_MS = 20_000;

/** Looks at trading servers. The look ends with a PlatformFailure where the server does not let us in. */
export function serverReporter(client: Target['client']): (connection: Connection) => Promise<ServerReport> {
  const platforms = platformConnections({ readSecret: secretReader(client) });
  return async (connection) => {
    const signal = AbortSignal.timeout(LOOK_MS);
    const server = await platforms(connection, signal);
    return await look(server, connection, signal).finally(() => server.close().catch(() => {}));
  };
}

async function look(server: TradingPlatform, connection: Connection, signal: AbortSignal): Promise<ServerReport> {
  await server.check(signal);
  const rights = await server.rights(signal);
  const groups = await server.closedGroups(signal);
  const range = loginRangeOf(connection);
  return {
    rights,
    groups,
    ...(range === undefined ? {} : { range: await server.inspectRange(range, signal) }),
  };
}

/** A sentence on one side of a trading server. */
export interface Remark {
  about: 'rights' | 'groups' | 'logins';
  state: 'works' | 'missing' | 'warning';
  says: string;
  /** What mends it; with every state but `works`. */
  mend?: string;
}

/** True: a look shows that our password is right; the web-registration plug-in is only seen to be reached. */
export function knowsPassword(protocol: Connection['protocol']): boolean {
  return protocol !== 'web-registration';
}

/** What was found, in sentences. */
export function remarks(connection: Connection, { rights, groups, range }: ServerReport): Remark[] {
  return [onRights(connection, rights), ...onGroups(connection, groups), ...onLogins(connection, range)];
}

/** Each right in words, and where it is given on a version 5 server. */
const RIGHTS: Record<keyof Rights, { words: string; given: string }> = {
  openAccounts: { words: 'open accounts', given: 'Edit accounts (RIGHT_ACC_MANAGER)' },
  seePersonalData: {
    words: 'see personal data',
    given:
      'Access accounts, with all their personal details (RIGHT_ACC_READ, RIGHT_ACC_DETAILS; of newer servers _GENERAL)',
  },
  changeBalances: { words: 'change balances', given: 'Work with funds (RIGHT_ACCOUNTANT)' },
};
const TRY_ONE = 'open one account in a demo group there: npm run crm -- call …, infra/docs/deploying.md, step 8';

function onRights({ protocol, demo }: Connection, rights: Rights): Remark {
  const about = 'rights';
  if (protocol !== 'web-api') {
    const says = knowsPassword(protocol)
      ? 'cannot be seen: the protocol has no word for them'
      : 'cannot be seen, nor whether our password is right: the protocol has no command but the one that opens accounts';
    return { about, state: 'warning', says, mend: TRY_ONE };
  }
  const names = Object.keys(RIGHTS) as (keyof Rights)[];
  const those = (permission: Rights[keyof Rights]) => names.filter((name) => rights[name] === permission);
  const words = (some: (keyof Rights)[]) => some.map((name) => RIGHTS[name].words).join(', ');
  const may = those('granted').length === 0 ? '' : `may ${words(those('granted'))}; `;
  // Deposits are paid on demo connections alone.
  const lacking = those('denied').filter((name) => name !== 'changeBalances' || demo);
  if (lacking.length > 0) {
    const mend = `in the server's Administrator, for the manager in the secret: ${lacking.map((name) => RIGHTS[name].given).join('; ')}`;
    return { about, state: 'missing', says: `${may}may not ${words(lacking)}`, mend };
  }
  if (those('unsaid').length > 0) {
    return {
      about,
      state: 'warning',
      says: `${may}cannot be seen: whether it may ${words(those('unsaid'))}`,
      mend: TRY_ONE,
    };
  }
  const unneeded = rights.changeBalances === 'denied' ? 'may not change balances, and need not' : '';
  return { about, state: 'works', says: `${may}${unneeded}`.replace(/; $/, '') };
}

function onGroups(connection: Connection, { unknown, notShown }: ClosedGroups): Remark[] {
  const about = 'groups';
  const put = `name others in \`groups\` of ${connection.id}, or have them opened to the manager on the server`;
  if (unknown.length > 0)
    return [{ about, state: 'missing', says: `the server has no ${unknown.join(', ')}`, mend: put }];
  if (notShown.length > 0) {
    return [{ about, state: 'warning', says: `the server does not show us ${notShown.join(', ')}`, mend: put }];
  }
  const groups = connection.protocol === 'web-api' ? (connection.groups ?? []) : [];
  return groups.length > 0 ? [{ about, state: 'works', says: groups.join(', ') }] : [];
}

function onLogins(connection: Connection, range: RangeInspection | undefined): Remark[] {
  const about = 'logins';
  const logins = loginRangeOf(connection);
  if (logins === undefined || range === undefined) {
    if (connection.protocol === 'web-registration') return [];
    const mend = 'reserve one on the server, and name it in `logins`';
    return [{ about, state: 'warning', says: 'it has no range of its own', mend }];
  }
  const { looked, taken } = range;
  const name = `${logins.from} to ${logins.to}`;
  const wider = 'reserve a wider range on the server, and name it in `logins`';
  if (looked === 0) {
    const mend = 'have the gateway answer WCHKACCOUNT, or count the accounts of the range on the server';
    return [{ about, state: 'warning', says: `${name}: the server cannot say which of them exist`, mend }];
  }
  const says = `${name}: ${taken} of ${looked} looked at are taken`;
  if (taken === looked) return [{ about, state: 'missing', says, mend: wider }];
  return [taken * 2 > looked ? { about, state: 'warning', says, mend: wider } : { about, state: 'works', says }];
}
