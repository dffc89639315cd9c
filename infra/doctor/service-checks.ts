import * as v from 'valibot';
import { gauge } from '../../lib/openings/login-gauge.ts';
import { PlatformFailure } from '../../lib/platform/platform.ts';
import { type Connection, loginRanges, platformSecretSchema } from '../../lib/records/crm-records.ts';
import { OPERATOR_ONLY } from '../../lib/records/due.ts';
import { counted } from '../crm/command.ts';
import type { Remark } from '../crm/connections.ts';
import { knowsPassword, remarks } from '../crm/server-report.ts';
import type { ServiceSecret } from '../crm/service-secrets.ts';
import { EXPIRY_ATTRIBUTE, stackTable, TABLE_NAMES } from '../tables.ts';
import {
  type Check,
  type CheckOutcome,
  type CheckResult,
  check,
  examine,
  missing,
  type Question,
  warning,
  works,
} from './checks.ts';
import type { ServerProbes } from './probes.ts';

/** Recovery and expiry, which AWS does not switch on in a table that it restores. */
export const tableChecks: Check<ServerProbes>[] = TABLE_NAMES.map((name) =>
  check('deployed', `table ${name}`, async (probes) => {
    const { expires = false, recoveryDays } = stackTable(name);
    const found = await probes.table(name);
    if (expires && !found.expires) {
      const fix = `aws dynamodb update-time-to-live --table-name ${found.name} --time-to-live-specification Enabled=true,AttributeName=${EXPIRY_ATTRIBUTE}`;
      return missing('its items do not expire', fix);
    }
    if (found.recoveryDays < recoveryDays) {
      const fix = `aws dynamodb update-continuous-backups --table-name ${found.name} --point-in-time-recovery-specification PointInTimeRecoveryEnabled=true,RecoveryPeriodInDays=${recoveryDays}`;
      return missing(`can be restored for ${found.recoveryDays} days, not ${recoveryDays}`, fix);
    }
    return works(`can be restored for ${found.recoveryDays} days`);
  }),
);

/** The service’s own secrets, each by its name and its shape. */
export function secretChecks(secrets: readonly ServiceSecret[]): Check<ServerProbes>[] {
  return secrets.map(({ purpose, name, shape, parse, signs }) =>
    check(secretQuestion(purpose), `secret ${purpose}`, async (probes) => {
      const text = await probes.secret(name);
      const fix = signs
        ? `npm run crm -- secret rotate ${purpose} ${probes.place}, and give its key to the receiver`
        : `npm run crm -- secret put ${name} ${probes.place} (its value: ${shape})`;
      if (text === undefined) return missing('does not exist', fix);
      try {
        parse(text);
      } catch {
        // The parser's message may quote the secret.
        return missing('has another shape', fix);
      }
      return works('exists, in the right shape');
    }),
  );
}

/** The question that fails without the secret. */
function secretQuestion(purpose: string): Question {
  if (purpose === 'crmWebhook') return 'client';
  return purpose === 'provider' ? 'code' : 'register';
}

const MAY_SHARE = 'look whether they are one person; two may share an address';

/** The CRM records: whether the service can read each, and whether there is a form to register with. */
export const recordChecks: Check<ServerProbes>[] = [
  check('register', 'forms', async (probes) => {
    const { forms } = await probes.records();
    return forms > 0 ? works(counted(forms, 'form')) : missing('there is none', importRecords(probes));
  }),
  check('client', 'records', async (probes) => {
    const { items, fixed, errors, more, shared } = await probes.records();
    const found = `${counted(items, 'item')}${fixed === 0 ? '' : `, ${fixed} of them fixed`}`;
    const listed = errors.map(({ path, rule, derived }) => ({
      subject: path,
      ...missing(rule, derived ? `npm run doctor -- --fix ${probes.place}` : 'correct it in the CRM'),
    }));
    const notes = shared.map(({ path, rule }) => ({ subject: path, ...warning(rule, MAY_SHARE) }));
    if (more > 0) listed.push({ subject: 'records', ...missing(`${more} more errors`, 'correct those above first') });
    return [...(listed.length === 0 ? [works(found)] : listed), ...notes];
  }),
];

const importRecords = ({ place }: ServerProbes) => `npm run crm -- import crm.json ${place}`;

/** How long after its time an unfinished operation counts as forgotten, in milliseconds. */
const OVERDUE_MS = 10 * 60_000;

/** The operations whose callers did not retry. */
export function settlementCheck(now: number = Date.now()): Check<ServerProbes> {
  return check('server', 'unfinished openings', async (probes) => {
    const open = await probes.openOperations();
    const overdue = open.filter(({ dueAt }) => dueAt < now - OVERDUE_MS);
    if (overdue.length > 0) {
      const since = new Date(Math.min(...overdue.map(({ dueAt }) => dueAt))).toISOString();
      const log = 'read the log of settle-operations (output SettleOperationsLogGroup)';
      return missing(`the settler has left ${overdue.length} of them since ${since}`, log);
    }
    const forOperators = open.filter(({ dueAt }) => dueAt === OPERATOR_ONLY).length;
    if (forOperators === 0) return works(open.length === 0 ? 'none' : `${open.length}, which the settler finishes`);
    return warning(`${forOperators} wait for an operator`, `npm run crm -- operations --open ${probes.place}`);
  });
}

/**
 * The trading servers: for each connection its secret, the login, the rights, its groups, and its range of logins.
 * @param ids of the connections; none: all
 */
export function connectionCheck(ids: readonly string[] = []): Check<ServerProbes> {
  return check('server', 'connections', async (probes) => {
    const { connections } = await probes.records();
    if (connections.length === 0) return missing('there are none', importRecords(probes));
    const chosen = connections.filter(({ id }) => ids.length === 0 || ids.includes(id));
    const absent = ids.filter((id) => !connections.some((one) => one.id === id));
    return [
      ...(await examine(chosen.map(serverCheck), probes)),
      ...absent.map((id) => ({ subject: id, ...missing('there is no such connection', importRecords(probes)) })),
    ] satisfies (CheckResult | CheckOutcome)[];
  });
}

/** The gauge of logins is a warning from this many days on, and from this share of used logins on. */
const FEW_DAYS = 60;
const MUCH_USED = 0.9;

/** How many logins of each connection's ranges are used, and how long the others last. */
export const loginCheck: Check<ServerProbes> = check('server', 'logins used', async (probes) => {
  const { connections } = await probes.records();
  const ranged = connections.filter((one) => loginRanges(one).length > 0);
  if (ranged.length === 0) return works('no connection has ranges');
  const gauges = await probes.loginGauges(ranged);
  return ranged.map((one) => {
    const { used, free, lastMonth, daysLeft } = gauges.get(one.id) ?? gauge(loginRanges(one));
    const pace = daysLeft === undefined ? '' : `; ${lastMonth} in the last 30 days: enough for ${daysLeft} days`;
    const detail = `${used} used, ${free} free${pace}`;
    const isShort = daysLeft !== undefined && daysLeft < FEW_DAYS;
    const fix = `append a range to logins of ${one.id}`;
    const isFull = free <= 0;
    const isScarce = isShort || used > MUCH_USED * (used + free);
    const outcome = isFull ? missing(detail, fix) : isScarce ? warning(detail, fix) : works(detail);
    return { subject: `${one.id} logins used`, ...outcome };
  });
});

function serverCheck(connection: Connection): Check<ServerProbes> {
  const { id } = connection;
  const named = ({ about, says, ...rest }: Remark) => ({ subject: `${id} ${about}`, detail: says, ...rest });
  return check('server', id, async (probes) => {
    const put = `npm run crm -- secret put ${id} ${probes.place}`;
    const text = await probes.secret(connection.secret);
    if (text === undefined) return missing(`there is no secret ${connection.secret}`, put);
    if (!v.safeParse(v.pipe(v.string(), v.parseJson(), platformSecretSchema(connection)), text).success) {
      return missing(`the secret ${connection.secret} has another shape`, put);
    }
    const warnings = (await probes.warnings(connection)).map(named);
    try {
      const found = remarks(connection, await probes.report(connection));
      const entered = works(knowsPassword(connection.protocol) ? 'accepts our login' : 'can be reached');
      return [entered, ...warnings, ...found.map(named)];
    } catch (error) {
      if (!(error instanceof PlatformFailure)) throw error;
      return [
        missing(`${error.kind} (${error.reason})`, HINTS[error.reason] ?? HINTS[error.kind] ?? 'ask its administrator'),
        ...warnings,
      ];
    }
  });
}

/** By the reason of a failure, else by its kind. */
const HINTS: Readonly<Record<string, string>> = {
  wants_prefix_z: 'the server answers to commands that begin with Z: add "prefix": "Z" to the connection',
  wants_prefix_w: 'the server answers to commands that begin with W: remove "prefix" from the connection',
  platform_refused:
    'the server answers, and refuses the secret, the certificate or this address: ask its administrator',
  platform_unavailable: 'it cannot be reached from here: start it, or look again from its own network',
};
