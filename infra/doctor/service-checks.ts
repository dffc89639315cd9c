import * as v from 'valibot';
import { type ClosedGroups, PlatformFailure, type ServerRights } from '../../lib/platform/platform.ts';
import {
  type Connection,
  loginRanges,
  maySend,
  platformSecretSchema,
  serverAddress,
} from '../../lib/records/crm-records.ts';
import { countOf } from '../ops/command.ts';
import type { ServiceSecret } from '../ops/service-secrets.ts';
import { opsCommand, shellCommand } from '../ops/terminal.ts';
import {
  type CheckOutcome,
  type CheckResult,
  type DoctorCheck,
  type DoctorQuestion,
  makeCheck,
  missingOutcome,
  runChecks,
  warningOutcome,
  workingOutcome,
} from './checks.ts';
import type { ServerProbes } from './probes.ts';
import { serverFailure } from './server-failures.ts';
import type { RangeReport, ServerReport } from './server-report.ts';

/** Checks the service’s own secrets, each by its name and its shape. */
export function secretChecks(secrets: readonly ServiceSecret[]): DoctorCheck<ServerProbes>[] {
  return secrets.map(({ purpose, name, shape, parse, signs }) =>
    makeCheck(secretQuestion(purpose), `secret ${purpose}`, async (probes) => {
      // Operators may not read a key that events or messages are signed with.
      const text = signs ? undefined : await probes.secret(name);
      const isThere = text !== undefined || (signs && (await probes.describedSecret(name)) !== undefined);
      const fix = signs
        ? `${opsCommand(probes.place, ['secret', 'rotate', purpose])}, and give its key to the receiver`
        : `${opsCommand(probes.place, ['secret', 'put', name])} (its value: ${shape})`;
      if (!isThere) return missingOutcome('does not exist', fix);
      if (text === undefined) return workingOutcome('exists');
      try {
        parse(text);
      } catch {
        // The parser's message may quote the secret.
        return missingOutcome('has another shape', fix);
      }
      return workingOutcome('exists, in the right shape');
    }),
  );
}

/** The question that fails without the secret. */
function secretQuestion(purpose: string): DoctorQuestion {
  if (purpose === 'crmWebhook') return 'client';
  return purpose === 'provider' ? 'code' : 'register';
}

const importRecords = ({ place }: ServerProbes) => opsCommand(place, ['import', 'crm.json']);

/** Checks the CRM records: whether the service can read each, and whether there is a form to register with. */
export const recordChecks: DoctorCheck<ServerProbes>[] = [
  makeCheck('register', 'forms', async (probes) => {
    const { forms } = await probes.records();
    return forms > 0 ? workingOutcome(countOf(forms, 'form')) : missingOutcome('there is none', importRecords(probes));
  }),
  makeCheck('client', 'records', async (probes) => {
    const { items, fixed, errors } = await probes.records();
    if (errors.length === 0)
      return workingOutcome(`${countOf(items, 'item')}${fixed === 0 ? '' : `, ${fixed} of them fixed`}`);
    const write = shellCommand('npm', 'run', 'doctor', '--', '--fix', ...probes.place);
    return errors.map(({ path, rule, derived }) => ({
      subject: path,
      ...missingOutcome(rule, derived ? write : 'correct it in the CRM'),
    }));
  }),
];

/**
 * Checks the trading servers: for each connection its secret, the login, the rights, its groups, and its range of
 * logins.
 * @param ids of the connections; empty: all
 */
export function connectionCheck(ids: readonly string[] = []): DoctorCheck<ServerProbes> {
  return makeCheck('server', 'connections', async (probes) => {
    const { connections } = await probes.records();
    if (connections.length === 0) return missingOutcome('there are none', importRecords(probes));
    const chosen = connections.filter(({ id }) => ids.length === 0 || ids.includes(id));
    const absent = ids.filter((id) => !connections.some((one) => one.id === id));
    return [
      ...(await runChecks(chosen.map(serverCheck), probes)),
      ...absent.map((id) => ({ subject: id, ...missingOutcome('there is no such connection', importRecords(probes)) })),
    ] satisfies (CheckResult | CheckOutcome)[];
  });
}

function serverCheck(connection: Connection): DoctorCheck<ServerProbes> {
  const { id } = connection;
  return makeCheck('server', id, async (probes) => {
    const put = opsCommand(probes.place, ['secret', 'put', id]);
    const text = await probes.secret(connection.secret);
    if (text === undefined) return missingOutcome(`there is no secret ${connection.secret}`, put);
    const secret = v.safeParse(v.pipe(v.string(), v.parseJson(), platformSecretSchema(connection)), text);
    if (!secret.success) return missingOutcome(`the secret ${connection.secret} has another shape`, put);
    if (!maySend(secret.output, connection)) {
      const servers = secret.output.hosts?.join(', ') || 'no server';
      const detail = `leads to ${serverAddress(connection)}, and its secret is for ${servers}`;
      return missingOutcome(detail, `if that server is yours: ${put}. Else look who wrote the connection`);
    }
    const warnings = await connectionWarnings(probes, connection, secret.output, put);
    try {
      const outcomes = reportOutcomes(connection, await probes.report(connection), await probes.usedConnections());
      const entered = workingOutcome(knowsPassword(connection.protocol) ? 'accepts our login' : 'can be reached');
      return [entered, ...warnings, ...outcomes];
    } catch (error) {
      if (!(error instanceof PlatformFailure)) throw error;
      const { detail, fix, unseen = false } = serverFailure(error);
      return [{ state: unseen ? 'unknown' : 'missing', detail, fix }, ...warnings];
    }
  });
}

/** What is missing on a connection that works. @param put the command that stores its secret again */
async function connectionWarnings(
  probes: ServerProbes,
  { id, protocol, host, secret }: Connection,
  { hosts }: { hosts?: string[] },
  put: string,
): Promise<CheckOutcome[]> {
  // The simulated servers of the local service have other ports after each start.
  if (probes.place[0]?.startsWith('--local')) return [];
  const prefix = await probes.secretPrefix();
  const isInTheClear = protocol !== 'web-api' && (await probes.isPublic(host));
  const hasVersion = (await probes.describedSecret(secret))?.versions !== undefined;
  const rows: [isLacking: boolean, about: string, detail: string, fix: string][] = [
    [
      !secret.startsWith(prefix),
      'secret',
      `no function can read ${secret}: its name must begin with ${prefix}`,
      `name another one in \`secret\` of ${id}, or change the setting platformSecrets`,
    ],
    [
      isInTheClear,
      'network',
      `${host} has a public address, and ${protocol} has no encryption: passwords and clients' names go there in the clear`,
      'put the server into a private network (setting vpc)',
    ],
    [
      hosts === undefined,
      'secret',
      `${secret} names no server: whoever writes connections can have it sent elsewhere`,
      put,
    ],
    [!hasVersion, 'secret', `${secret} names no platform version: the functions of both read it`, put],
  ];
  return rows
    .filter(([isLacking]) => isLacking)
    .map(([, about, detail, fix]) => ({ subject: `${id} ${about}`, ...warningOutcome(detail, fix) }));
}

/** True: a look shows that our password is right; the web-registration plug-in is only seen to be reached. */
function knowsPassword(protocol: Connection['protocol']): boolean {
  return protocol !== 'web-registration';
}

/** The results of an inspection, each about one aspect of the server. */
function reportOutcomes(connection: Connection, report: ServerReport, used: ReadonlySet<string>): CheckOutcome[] {
  const { rights, groups, ranges, isGateway } = report;
  const aspects: Record<string, CheckOutcome[]> = {
    rights: [onRights(connection, rights, used.has(connection.id))],
    groups: onGroups(connection, groups),
    logins: ranges === undefined ? [] : onLogins(connection, ranges),
    protocol: isGateway
      ? [warningOutcome('the server knows CHKACCOUNT, as an interface-gateway does', BE_GATEWAY)]
      : [],
  };
  return Object.entries(aspects).flatMap(([about, outcomes]) =>
    outcomes.map((one) => ({ subject: `${connection.id} ${about}`, ...one })),
  );
}

const BE_GATEWAY =
  'name the protocol interface-gateway, and `logins`, in the connection: then a lost answer can be looked up';

/** The name of each right, and its place in the settings of a version 5 server. */
const RIGHTS: Record<keyof ServerRights, { words: string; given: string }> = {
  openAccounts: { words: 'open accounts', given: 'Edit accounts (RIGHT_ACC_MANAGER)' },
  seePersonalData: {
    words: 'see personal data',
    given:
      'Access accounts, with all their personal details (RIGHT_ACC_READ, RIGHT_ACC_DETAILS; of newer servers _GENERAL)',
  },
  changeBalances: { words: 'change balances', given: 'Work with funds (RIGHT_ACCOUNTANT)' },
};
const TRY_ONE = 'open one account in a demo group there: infra/docs/deploying.md, section 9';

/** @param isUsed whether an account was opened on the connection */
function onRights({ protocol, demo }: Connection, rights: ServerRights, isUsed: boolean): CheckOutcome {
  if (protocol !== 'web-api') {
    if (isUsed) return workingOutcome('an account was opened here');
    const says = knowsPassword(protocol)
      ? 'cannot be seen: the protocol has no command for them'
      : 'cannot be seen, nor whether our password is right: the protocol has no command but the one that opens accounts';
    return warningOutcome(says, TRY_ONE);
  }
  const names = Object.keys(RIGHTS) as (keyof ServerRights)[];
  const those = (permission: ServerRights[keyof ServerRights]) => names.filter((name) => rights[name] === permission);
  const words = (some: (keyof ServerRights)[]) => some.map((name) => RIGHTS[name].words).join(', ');
  const may = those('granted').length === 0 ? '' : `may ${words(those('granted'))}; `;
  // Deposits are paid on demo connections alone.
  const lacking = those('denied').filter((name) => name !== 'changeBalances' || demo);
  if (lacking.length > 0) {
    const fix = `in the server's Administrator, for the manager in the secret: ${lacking.map((name) => RIGHTS[name].given).join('; ')}`;
    return missingOutcome(`${may}may not ${words(lacking)}`, fix);
  }
  if (those('unknown').length > 0 && isUsed) return workingOutcome(`${may}an account was opened here`);
  if (those('unknown').length > 0)
    return warningOutcome(`${may}cannot be seen: whether it may ${words(those('unknown'))}`, TRY_ONE);
  const unneeded = rights.changeBalances === 'denied' ? 'may not change balances, and need not' : '';
  return workingOutcome(`${may}${unneeded}`.replace(/; $/, ''));
}

function onGroups(connection: Connection, { unknown, notShown }: ClosedGroups): CheckOutcome[] {
  const put = `name others in \`groups\` of ${connection.id}, or have them opened to the manager on the server`;
  if (unknown.length > 0) return [missingOutcome(`the server has no ${unknown.join(', ')}`, put)];
  if (notShown.length > 0) return [warningOutcome(`the server does not show us ${notShown.join(', ')}`, put)];
  const groups = connection.protocol === 'web-api' ? (connection.groups ?? []) : [];
  return groups.length > 0 ? [workingOutcome(groups.join(', '))] : [];
}

function onLogins(connection: Connection, { asked, sampled, taken, strangers }: RangeReport): CheckOutcome[] {
  const name = loginRanges(connection)
    .map(({ from, to }) => `${from} to ${to}`)
    .join(', ');
  if (asked === 0) {
    const fix = 'have the gateway answer WCHKACCOUNT, or count the accounts of the range on the server';
    return [warningOutcome(`${name}: the server cannot show which of them exist`, fix)];
  }
  const says = `${name}: ${taken === 0 ? 'none' : taken} of ${asked} ${sampled ? 'samples' : 'logins'} ${taken > 1 ? 'are' : 'is'} taken`;
  const widen = `reserve a wider range on the server, and name it first in \`logins\` of ${connection.id}`;
  const isScarce = taken * 2 > asked;
  const filling =
    taken === asked ? missingOutcome(says, widen) : isScarce ? warningOutcome(says, widen) : workingOutcome(says);
  if (strangers.length === 0) return [filling];
  const shown = strangers.slice(0, MAX_SHOWN).join(', ');
  const more = strangers.length > MAX_SHOWN ? ' and more' : '';
  const protect = 'let only this service open accounts there, or give the connection a fresh range';
  return [
    filling,
    warningOutcome(`the ledger does not know ${strangers.length} accounts in the range: ${shown}${more}`, protect),
  ];
}

const MAX_SHOWN = 10;
