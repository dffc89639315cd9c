import type { ClosedGroups, PlatformInspector, Rights, Variant } from '../../lib/platform/platform.ts';
import { type Connection, type LoginRange, loginRanges } from '../../lib/records/crm-records.ts';
import type { Remark } from './connections.ts';
import { askServer, openLedger } from './operations.ts';
import type { Target } from './target.ts';

/** The accounts in the login ranges of a connection. */
interface RangeReport {
  /** The number of checked logins: all of the ranges, or a sample; 0 if the server has no such command. */
  asked: number;
  taken: number;
  /** Accounts in the ranges that the ledger does not know. Empty if there is no ledger to compare with. */
  strangers: number[];
}

/** The result of an inspection of a trading server, which changes nothing there. */
export interface ServerReport {
  rights: Rights;
  groups: ClosedGroups;
  /** Present for a connection with ranges. */
  ranges?: RangeReport;
  variant: Variant;
}

/** How many logins of a range are checked if the server cannot list its accounts. */
const SAMPLES = 20;

/** Inspects a trading server. @throws PlatformFailure if the server does not accept our login */
export function reportServer(target: Target, connection: Connection): Promise<ServerReport> {
  return askServer(target, connection, async (server, signal) => {
    await server.check(signal);
    const rights = await server.rights(signal);
    const groups = await server.closedGroups(signal);
    const ranges = loginRanges(connection);
    if (ranges.length === 0) return { rights, groups, variant: await server.variant(undefined, signal) };
    const { taken, ...report } = await inspectRanges(target, server, connection, ranges, signal);
    const variant = await server.variant(taken[0], signal);
    return { rights, groups, ranges: { ...report, taken: taken.length }, variant };
  });
}

async function inspectRanges(
  target: Target,
  server: PlatformInspector,
  { platform }: Connection,
  ranges: LoginRange[],
  signal: AbortSignal,
): Promise<Omit<RangeReport, 'taken'> & { taken: number[] }> {
  const { asked, taken } = await takenLogins(server, ranges, signal);
  if (target.isTable || taken.length === 0) return { asked, taken, strangers: [] };
  const holders = await (await openLedger(target)).ledger.holders(platform, taken, signal);
  return { asked, taken, strangers: taken.filter((login) => !holders.has(login)) };
}

async function takenLogins(
  server: PlatformInspector,
  ranges: LoginRange[],
  signal: AbortSignal,
): Promise<{ asked: number; taken: number[] }> {
  const all = await server.logins(signal);
  if (all !== undefined) {
    const asked = ranges.reduce((size, { from, to }) => size + to - from + 1, 0);
    return { asked, taken: all.filter((login) => ranges.some(({ from, to }) => from <= login && login <= to)) };
  }
  const taken: number[] = [];
  const samples = ranges.flatMap(sampleLogins);
  for (const login of samples) {
    const exists = await server.exists(login, signal);
    if (exists === undefined) return { asked: 0, taken: [] };
    if (exists) taken.push(login);
  }
  return { asked: samples.length, taken };
}

/** Logins that are spread evenly over a range, both ends included. */
function sampleLogins({ from, to }: LoginRange): number[] {
  const step = (to - from) / (SAMPLES - 1);
  return Array.from({ length: SAMPLES }, (_, index) => Math.round(from + index * step));
}

/** True: a look shows that our password is right; the web-registration plug-in is only seen to be reached. */
export function knowsPassword(protocol: Connection['protocol']): boolean {
  return protocol !== 'web-registration';
}

/** The results as sentences. */
export function remarks(connection: Connection, report: ServerReport): Remark[] {
  const { rights, groups, ranges } = report;
  return [
    onRights(connection, rights),
    ...onGroups(connection, groups),
    ...(ranges === undefined ? [] : onLogins(connection, ranges)),
    ...onVariant(connection, report),
  ];
}

/** The name of each right, and its place in the settings of a version 5 server. */
const RIGHTS: Record<keyof Rights, { words: string; given: string }> = {
  openAccounts: { words: 'open accounts', given: 'Edit accounts (RIGHT_ACC_MANAGER)' },
  seePersonalData: {
    words: 'see personal data',
    given:
      'Access accounts, with all their personal details (RIGHT_ACC_READ, RIGHT_ACC_DETAILS; of newer servers _GENERAL)',
  },
  changeBalances: { words: 'change balances', given: 'Work with funds (RIGHT_ACCOUNTANT)' },
};
const TRY_ONE = 'open one account in a demo group there: infra/docs/deploying.md, section 9';

function onRights({ protocol, demo }: Connection, rights: Rights): Remark {
  const about = 'rights';
  if (protocol !== 'web-api') {
    const says = knowsPassword(protocol)
      ? 'cannot be seen: the protocol has no command for them'
      : 'cannot be seen, nor whether our password is right: the protocol has no command but the one that opens accounts';
    return { about, state: 'warning', says, fix: TRY_ONE };
  }
  const names = Object.keys(RIGHTS) as (keyof Rights)[];
  const those = (permission: Rights[keyof Rights]) => names.filter((name) => rights[name] === permission);
  const words = (some: (keyof Rights)[]) => some.map((name) => RIGHTS[name].words).join(', ');
  const may = those('granted').length === 0 ? '' : `may ${words(those('granted'))}; `;
  // Deposits are paid on demo connections alone.
  const lacking = those('denied').filter((name) => name !== 'changeBalances' || demo);
  if (lacking.length > 0) {
    const fix = `in the server's Administrator, for the manager in the secret: ${lacking.map((name) => RIGHTS[name].given).join('; ')}`;
    return { about, state: 'missing', says: `${may}may not ${words(lacking)}`, fix };
  }
  if (those('unknown').length > 0) {
    return {
      about,
      state: 'warning',
      says: `${may}cannot be seen: whether it may ${words(those('unknown'))}`,
      fix: TRY_ONE,
    };
  }
  const unneeded = rights.changeBalances === 'denied' ? 'may not change balances, and need not' : '';
  return { about, state: 'works', says: `${may}${unneeded}`.replace(/; $/, '') };
}

function onGroups(connection: Connection, { unknown, notShown }: ClosedGroups): Remark[] {
  const about = 'groups';
  const put = `name others in \`groups\` of ${connection.id}, or have them opened to the manager on the server`;
  if (unknown.length > 0)
    return [{ about, state: 'missing', says: `the server has no ${unknown.join(', ')}`, fix: put }];
  if (notShown.length > 0) {
    return [{ about, state: 'warning', says: `the server does not show us ${notShown.join(', ')}`, fix: put }];
  }
  const groups = connection.protocol === 'web-api' ? (connection.groups ?? []) : [];
  return groups.length > 0 ? [{ about, state: 'works', says: groups.join(', ') }] : [];
}

function onLogins(connection: Connection, { asked, taken, strangers }: RangeReport): Remark[] {
  const about = 'logins';
  const name = loginRanges(connection)
    .map(({ from, to }) => `${from} to ${to}`)
    .join(', ');
  if (asked === 0) {
    const fix = 'have the gateway answer WCHKACCOUNT, or count the accounts of the range on the server';
    return [{ about, state: 'warning', says: `${name}: the server cannot show which of them exist`, fix }];
  }
  const says = `${name}: ${taken} of ${asked} logins are taken`;
  const fix = `reserve a wider range on the server, and name it first in \`logins\` of ${connection.id}`;
  const filling: Remark =
    taken * 2 > asked
      ? { about, state: taken === asked ? 'missing' : 'warning', says, fix }
      : { about, state: 'works', says };
  if (strangers.length === 0) return [filling];
  const some = strangers.slice(0, MAX_SHOWN).join(', ');
  const more = strangers.length > MAX_SHOWN ? ' and more' : '';
  return [
    filling,
    {
      about,
      state: 'warning',
      says: `the ledger does not know ${strangers.length} accounts in the range: ${some}${more}`,
      fix: 'let only this service open accounts there, or give the connection a fresh range',
    },
  ];
}

const MAX_SHOWN = 10;

const COMMENTS = { shown: 'shows comments', hidden: 'shows no comments', unknown: 'may hide comments' };
const PASSWORDS = {
  checked: 'checks passwords',
  unchecked: 'does not check passwords',
  unknown: 'may not check passwords',
};

/** The dialect, and what can show whose account is at a login, next to the ledger. */
function onVariant({ id, protocol }: Connection, { rights, variant }: ServerReport): Remark[] {
  const { speaks, passwords } = variant;
  if (protocol === 'web-registration') {
    if (speaks.length === 0) return [];
    const fix = `name the protocol interface-gateway, and \`logins\`, in ${id}: then a lost answer can be looked up`;
    return [{ about: 'second lock', state: 'warning', says: `the server knows ${speaks.join(', ')}`, fix }];
  }
  const byRights = { granted: 'shown', denied: 'hidden', unknown: variant.comments } as const;
  const comments = protocol === 'web-api' ? byRights[rights.seePersonalData] : 'hidden';
  const knows = speaks.length === 0 ? [] : [`${protocol === 'web-api' ? '' : 'knows '}${speaks.join(' and ')}`];
  const says = `the server ${[COMMENTS[comments], PASSWORDS[passwords], ...knows].join(', ')}`;
  if (comments === 'shown' || passwords === 'checked') return [{ about: 'second lock', state: 'works', says }];
  const fix = `let only this service open accounts in the ranges of ${id}: nothing on the server shows whose an account is`;
  return [{ about: 'second lock', state: 'warning', says, fix }];
}
