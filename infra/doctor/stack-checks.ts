import * as v from 'valibot';
import { PlatformFailure } from '../../lib/platform/platform.ts';
import { type Connection, platformSecretSchema } from '../../lib/records/crm-records.ts';
import { NEVER } from '../../lib/records/due.ts';
import { knowsPassword, remarks } from '../crm/server-report.ts';
import type { Settings } from '../settings.ts';
import { type Check, type Found, missing, warning, works } from './checks.ts';
import type { AwsLooks, ServerLooks } from './looks.ts';

/**
 * The stack by its name: its state, who hears of its alarms, which ring, and its domain.
 * @param isDeployed false: only what can be there before the first deployment
 */
export function stackChecks(
  stack: string,
  { retainData, customDomain }: Pick<Settings, 'retainData' | 'customDomain'>,
  isDeployed: boolean,
): Check[] {
  return [
    { area: 'stack', what: stack, look: (looks) => stackFound(looks, stack, retainData) },
    ...(isDeployed ? alarmChecks(stack) : []),
    ...(customDomain === undefined ? [] : [domain(stack, customDomain)]),
  ];
}

function alarmChecks(stack: string): Check[] {
  return [
    {
      area: 'alarms',
      what: 'receivers',
      look: async (looks) => {
        const topic = (await looks.stack(stack))?.outputs.AlarmTopicArn;
        if (topic === undefined) return missing('the stack names no topic of alarms', 'npm run deploy');
        const { confirmed, pending } = await looks.subscriptions(topic);
        if (confirmed > 0) return works(`${confirmed} confirmed${pending > 0 ? `, ${pending} pending` : ''}`);
        return pending > 0
          ? missing('nobody has confirmed yet', 'follow the link in the mail from AWS Notifications')
          : missing('nobody hears them', 'npm run setting -- alarmEmail=oncall@…, npm run deploy');
      },
    },
    {
      area: 'alarms',
      what: 'now',
      look: async (looks) => {
        const names = await looks.ringing(stack);
        return names.length === 0
          ? works('none rings')
          : names.map((name) => ({ ...warning('rings', 'infra/README.md, Alarms, says what to do'), what: name }));
      },
    },
  ];
}

async function stackFound(looks: AwsLooks, stack: string, retainData: boolean): Promise<Found> {
  const found = await looks.stack(stack);
  if (found === undefined) return missing('is not deployed', 'npm run deploy');
  if (/ROLLBACK_COMPLETE|FAILED/.test(found.status) && !/^UPDATE_ROLLBACK_COMPLETE$/.test(found.status)) {
    return missing(found.status, `aws cloudformation describe-stack-events --stack-name ${stack}`);
  }
  if (retainData && !found.protected) {
    return warning(`${found.status}, not protected from deletion`, 'npm run deploy');
  }
  return works(found.status);
}

function domain(stack: string, { name, certificateArn }: NonNullable<Settings['customDomain']>): Check {
  return {
    area: 'domain',
    what: name,
    look: async (looks) => {
      const certificate = await looks.certificate(certificateArn);
      if (certificate?.status !== 'ISSUED') {
        return missing(`its certificate is ${certificate?.status ?? 'not there'}`, 'set the record that ACM names');
      }
      const target = (await looks.stack(stack))?.outputs.ApiDomainTarget;
      if (target === undefined) return works('its certificate; the deployment says what its DNS must name');
      const leads = (await looks.cnames(name)).includes(target);
      return leads
        ? works('certificate and DNS')
        : warning('has no CNAME to the API (an alias is fine too)', `set ${name} CNAME ${target}`);
    },
  };
}

/** So long after its time an operation waits because nobody takes it up, in milliseconds. */
const WAITS_MS = 10 * 60_000;

/** What became of accounts whose callers did not come back. */
export function settlementCheck(now: number = Date.now()): Check<ServerLooks> {
  return {
    area: 'accounts',
    what: 'not at their end',
    look: async (looks) => {
      const open = await looks.openOperations();
      const waiting = open.filter(({ dueAt }) => dueAt < now - WAITS_MS);
      if (waiting.length > 0) {
        const since = new Date(Math.min(...waiting.map(({ dueAt }) => dueAt))).toISOString();
        const log = 'look at the log of settle-operations (output SettleOperationsLogGroup)';
        return missing(`${waiting.length} of them are not taken up since ${since}`, log);
      }
      const forOperators = open.filter(({ dueAt }) => dueAt === NEVER).length;
      if (forOperators === 0) return works(open.length === 0 ? 'none' : `${open.length}, which are seen to`);
      return warning(`${forOperators} wait for an operator`, `npm run crm -- operations --open ${looks.place}`);
    },
  };
}

/** The trading servers: the secret of each connection, whether it lets us in, our rights, its groups, and its range of logins. */
export async function connectionChecks(looks: ServerLooks): Promise<Check<ServerLooks>[]> {
  const connections = await looks.connections();
  if (connections.length === 0) {
    const mend = `npm run crm -- import crm.json ${looks.place}`;
    return [{ area: 'crm', what: 'connections', look: async () => missing('there are none', mend) }];
  }
  return connections.map((connection) => ({
    area: 'trading server',
    what: connection.id,
    look: (looks) => connectionFound(looks, connection),
  }));
}

async function connectionFound(looks: ServerLooks, connection: Connection): Promise<Found | Found[]> {
  const put = `npm run crm -- secret put ${connection.id} ${looks.place}`;
  const text = await looks.secret(connection.secret);
  if (text === undefined) return missing(`there is no secret ${connection.secret}`, put);
  if (!v.safeParse(v.pipe(v.string(), v.parseJson(), platformSecretSchema(connection)), text).success) {
    return missing(`the secret ${connection.secret} has another shape`, put);
  }
  try {
    const found = remarks(connection, await looks.report(connection));
    const entered = works(knowsPassword(connection.protocol) ? 'lets us in' : 'can be reached');
    return [entered, ...found.map(({ about, ...rest }) => ({ what: `${connection.id} ${about}`, ...rest }))];
  } catch (error) {
    if (!(error instanceof PlatformFailure)) throw error;
    return missing(`${error.kind} (${error.reason})`, `npm run crm -- check ${connection.id} ${looks.place}`);
  }
}
