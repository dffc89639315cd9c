import * as v from 'valibot';
import { PlatformFailure } from '../../lib/platform/platform.ts';
import { type Connection, platformSecretSchema } from '../../lib/records/crm-records.ts';
import { OPERATOR_ONLY } from '../../lib/records/due.ts';
import { knowsPassword, remarks } from '../crm/server-report.ts';
import type { ServiceSecret } from '../crm/service-secrets.ts';
import type { Settings } from '../settings.ts';
import { EXPIRY_ATTRIBUTE, stackTable, TABLE_NAMES } from '../tables.ts';
import { type Check, type CheckOutcome, type CheckResult, check, examine, missing, warning, works } from './checks.ts';
import type { AwsProbes, ServerProbes } from './probes.ts';

/**
 * The stack by its name: its state, the receivers of its alarms, the alarms that ring, and its domain.
 * @param isDeployed false: only the checks that make sense before the first deployment
 */
export function stackChecks(
  stack: string,
  { retainData, customDomain }: Pick<Settings, 'retainData' | 'customDomain'>,
  isDeployed: boolean,
): Check[] {
  return [
    check('stack', stack, (probes) => stackState(probes, stack, retainData)),
    ...(isDeployed ? alarmChecks(stack) : []),
    ...(customDomain === undefined ? [] : [domain(stack, customDomain)]),
  ];
}

async function stackState(probes: AwsProbes, stack: string, retainData: boolean): Promise<CheckOutcome> {
  const found = await probes.stack(stack);
  if (found === undefined) return missing('is not deployed', 'npm run deploy');
  const { status } = found;
  const unprotect = `aws cloudformation update-termination-protection --no-enable-termination-protection --stack-name ${stack}`;
  const events = `aws cloudformation describe-stack-events --stack-name ${stack}`;
  if (/^(ROLLBACK|CREATE)_(COMPLETE|FAILED)$/.test(status) && status !== 'CREATE_COMPLETE') {
    // The next deployment deletes the resources of a failed first one. Protection would prevent that.
    const again = found.protected ? `${unprotect} && npm run deploy` : 'npm run deploy';
    return missing(`${status}: the first deployment failed`, `${events}, fix the cause, then: ${again}`);
  }
  if (status === 'UPDATE_ROLLBACK_FAILED')
    return missing(status, `${events}, then: aws cloudformation continue-update-rollback --stack-name ${stack}`);
  if (/FAILED$/.test(status)) return missing(status, events);
  if (retainData && !found.protected) return warning(`${status}, not protected from deletion`, 'npm run deploy');
  return works(status);
}

function alarmChecks(stack: string): Check[] {
  return [
    receivers(stack, { subject: 'receivers of pages', output: 'AlarmTopicArn', absent: missing }),
    receivers(stack, { subject: 'receivers of notices', output: 'NoticeTopicArn', absent: warning }),
    check('alarms', 'now', async (probes) => {
      const names = await probes.activeAlarms(stack);
      return names.length === 0
        ? works('none rings')
        : names.map((name) => ({ ...warning('rings', 'infra/docs/runbook.md says what to do'), subject: name }));
    }),
  ];
}

interface Receivers {
  subject: string;
  /** The output that names the topic. */
  output: string;
  absent: typeof missing;
}

function receivers(stack: string, { subject, output, absent }: Receivers): Check {
  return check('alarms', subject, async (probes) => {
    const topic = (await probes.stack(stack))?.outputs[output];
    if (topic === undefined) return missing(`the stack has no output ${output}`, 'npm run deploy');
    const { confirmed, pending } = await probes.subscriptions(topic);
    if (confirmed > 0) return works(`${confirmed} confirmed${pending > 0 ? `, ${pending} pending` : ''}`);
    if (pending > 0) return absent('no receiver has confirmed yet', 'follow the link in the mail from AWS');
    const subscribe = `aws sns subscribe --topic-arn ${topic} --protocol email --notification-endpoint …`;
    return absent('there are none', `${subscribe}, or: npm run setting -- alarmEmail=… && npm run deploy`);
  });
}

function domain(stack: string, { name, certificateArn }: NonNullable<Settings['customDomain']>): Check {
  return check('domain', name, async (probes) => {
    const certificate = await probes.certificate(certificateArn);
    if (certificate?.status !== 'ISSUED') {
      const status = certificate === undefined ? 'does not exist' : `is ${certificate.status}`;
      return missing(`its certificate ${status}`, 'set the record that ACM names');
    }
    const target = (await probes.stack(stack))?.outputs.ApiDomainTarget;
    if (target === undefined) return works('its certificate; the deployment names the DNS record');
    const leads = (await probes.cnames(name)).includes(target);
    return leads
      ? works('certificate and DNS')
      : warning('has no CNAME to the API (an alias is fine too)', `set ${name} CNAME ${target}`);
  });
}

/** Recovery and expiry, which AWS does not switch on in a table that it restores. */
export const tableChecks: Check<ServerProbes>[] = TABLE_NAMES.map((name) =>
  check('tables', name, async (probes) => {
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
    check('secrets', purpose, async (probes) => {
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

/** How long after its time an unfinished operation counts as forgotten, in milliseconds. */
const OVERDUE_MS = 10 * 60_000;

/** The operations whose callers did not retry. */
export function settlementCheck(now: number = Date.now()): Check<ServerProbes> {
  return check('accounts', 'unfinished', async (probes) => {
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

/** The trading servers: for each connection its secret, the login, the rights, its groups, and its range of logins. */
export const connectionCheck: Check<ServerProbes> = check('trading server', 'connections', async (probes) => {
  const connections = await probes.connections();
  if (connections.length === 0) return missing('there are none', `npm run crm -- import crm.json ${probes.place}`);
  return examine(connections.map(serverCheck), probes) satisfies Promise<CheckResult[]>;
});

function serverCheck(connection: Connection): Check<ServerProbes> {
  const { id } = connection;
  return check('trading server', id, async (probes) => {
    const put = `npm run crm -- secret put ${id} ${probes.place}`;
    const text = await probes.secret(connection.secret);
    if (text === undefined) return missing(`there is no secret ${connection.secret}`, put);
    if (!v.safeParse(v.pipe(v.string(), v.parseJson(), platformSecretSchema(connection)), text).success) {
      return missing(`the secret ${connection.secret} has another shape`, put);
    }
    try {
      const found = remarks(connection, await probes.report(connection));
      const entered = works(knowsPassword(connection.protocol) ? 'accepts our login' : 'can be reached');
      return [
        entered,
        ...found.map(({ about, says, ...rest }) => ({ subject: `${id} ${about}`, detail: says, ...rest })),
      ];
    } catch (error) {
      if (!(error instanceof PlatformFailure)) throw error;
      return missing(`${error.kind} (${error.reason})`, `npm run crm -- check ${id} ${probes.place}`);
    }
  });
}
