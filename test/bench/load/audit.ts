import { localClient } from '../../../infra/local/aws.ts';
import type { SentMessage } from '../../../infra/local/outbox.ts';
import { databaseClient, type Table, table } from '../../../lib/aws/dynamodb.ts';
import { attempt, type Operation } from './callers.ts';
import { DEPOSIT, PLACES } from './records.ts';
import type { ServiceProcess } from './service.ts';

/** One promise, how often it was looked at, and where it was broken. */
export interface Finding {
  promise: string;
  looked: number;
  broken: string[];
  /** What is worth knowing beside it. */
  note?: string;
}

const LOGINS_SAMPLED = 300;
const REPLAYS_SAMPLED = 200;

/** Looks at everything that was sent and opened, once all is quiet. */
export async function audit(service: ServiceProcess, operations: readonly Operation[]): Promise<Finding[]> {
  // First, so that a message sent by a replay is noticed.
  const replayed = await replays(service, operations);
  const recorded = await records(service, operations);
  const outbox = await service.outbox();
  return [
    ...(await messages(service, operations, outbox)),
    ...(await accounts(service, operations)),
    recorded,
    notices(operations, outbox),
    await passwords(service, operations),
    replayed,
    ends(operations),
  ];
}

async function messages(service: ServiceProcess, operations: readonly Operation[], outbox: readonly SentMessage[]) {
  const counts = new Map<string, number>();
  for (const { kind, to } of outbox) counts.set(`${kind} ${to}`, (counts.get(`${kind} ${to}`) ?? 0) + 1);
  const registrations = operations.filter(({ route }) => route === 'registration');
  const countOf = ({ channel, to }: Operation) => counts.get(`${channel} ${to}`) ?? 0;

  const done = registrations.filter(({ end }) => end === 'done');
  const without = done.filter((operation) => countOf(operation) === 0);
  const unknown = await unknownDeliveries(service, without);
  return [
    {
      promise: 'every 204 has its message',
      looked: done.length,
      broken: without.filter((operation) => !unknown.has(operation)).map(inWords),
      note: `${unknown.size} broke off while they were sent, are recorded so, and are never sent again`,
    },
    {
      promise: 'no message twice',
      looked: registrations.length,
      broken: registrations.filter((operation) => countOf(operation) > 1).map(inWords),
    },
  ];
}

/** Those whose record says that nobody can tell whether the message left. */
async function unknownDeliveries(service: ServiceProcess, operations: readonly Operation[]): Promise<Set<Operation>> {
  return withTable(service, 'registrations', async (registrations) => {
    const found = new Set<Operation>();
    for (const operation of operations) {
      const pk = `${operation.channel}#${operation.to}`;
      const item = await registrations.get({ pk }, AbortSignal.timeout(10_000));
      if ((item?.delivery as { outcome?: string } | undefined)?.outcome === 'unknown') found.add(operation);
    }
    return found;
  });
}

async function withTable<T>(service: ServiceProcess, name: string, work: (table: Table) => Promise<T>): Promise<T> {
  const client = databaseClient(localClient(await service.environment(), 'AWS_ENDPOINT_URL_DYNAMODB'));
  try {
    return await work(table(client, name));
  } finally {
    client.destroy();
  }
}

/** The leverage is an operation's mark on its connection. */
async function accounts(service: ServiceProcess, operations: readonly Operation[]): Promise<Finding[]> {
  const missing: Finding = { promise: 'every 200 has its account, as it was asked for', looked: 0, broken: [] };
  const twice: Finding = { promise: 'no account twice', looked: 0, broken: [] };
  const orphans: Finding = { promise: 'no account of a request that was told there is none', looked: 0, broken: [] };
  const deposits: Finding = { promise: 'no deposit twice', looked: 0, broken: [] };
  let unfunded = 0;
  for (const place of PLACES) {
    const open = await service.accounts(place.id);
    for (const operation of operations.filter((one) => one.place === place)) {
      const own = open.filter(({ leverage }) => leverage === operation.body.leverage);
      const answer = operation.answer;
      twice.looked += 1;
      if (own.length > 1) twice.broken.push(inWords(operation));
      if (answer !== undefined) {
        missing.looked += 1;
        const account = own.find(({ login }) => login === answer.login);
        const wanted = operation.body.login ?? answer.login;
        const email = `${operation.userId?.toLowerCase()}@clients.example`;
        if (account?.email !== email || account.login !== wanted) missing.broken.push(inWords(operation));
      } else if (operation.end !== 'for the operator') {
        orphans.looked += 1;
        if (own.length > 0 && operation.attempts.at(-1)?.type !== 'account_outcome_unknown') {
          orphans.broken.push(inWords(operation));
        }
      }
      if (place.accountTypeId === undefined) continue;
      deposits.looked += own.length;
      if (own.some(({ balance }) => balance > DEPOSIT)) deposits.broken.push(inWords(operation));
      unfunded += own.filter(({ balance }) => balance === 0).length;
    }
  }
  return [missing, twice, orphans, { ...deposits, note: `${unfunded} demo accounts await theirs, after a fault` }];
}

/**
 * What the broker knows of its accounts. A record may be missing only where the service said that it could not write it;
 * it is made up for by the next replay, so these are replayed here. To be called before the outbox is looked at, which
 * would show a notice that such a replay sent again.
 */
function records(service: ServiceProcess, operations: readonly Operation[]): Promise<Finding> {
  return withTable(service, 'accounts', async (accounts) => {
    const opened = operations.filter(({ place, answer }) => place !== undefined && answer !== undefined);
    const finding: Finding = { promise: 'every 200 has its record', looked: opened.length, broken: [] };
    const saidSo = ({ userId, answer }: Operation) => service.notRecorded.has(`${userId} ${String(answer?.login)}`);
    for (const operation of opened) {
      if (await isRecorded(accounts, operation)) continue;
      const replayed = saidSo(operation) ? await attempt(service.url, { ...operation, attempts: [] }) : undefined;
      // A connection that cannot be asked may leave it to the operator: then no record is promised.
      if (replayed?.type === 'account_outcome_unknown') continue;
      if (replayed === undefined || !(await isRecorded(accounts, operation))) finding.broken.push(inWords(operation));
    }
    return { ...finding, note: `${opened.filter(saidSo).length} could not be written at first, which was logged` };
  });
}

async function isRecorded(accounts: Table, { place, userId = '', answer, body }: Operation): Promise<boolean> {
  const { id = '', version = '', accountTypeId } = place ?? {};
  const key = { pk: userId, sk: `${version}#${id}#${String(answer?.login)}` };
  const item = await accounts.get(key, AbortSignal.timeout(10_000));
  return (
    item?.login === answer?.login &&
    item?.group === body.group &&
    item?.leverage === body.leverage &&
    item?.account_type_id === accountTypeId
  );
}

/** At most one mail and one popup for each account; that one fails changes nothing, so none may be there. */
function notices(operations: readonly Operation[], outbox: readonly SentMessage[]): Finding {
  const finding: Finding = { promise: 'no notice twice', looked: 0, broken: [] };
  for (const { answer, userId, body } of operations) {
    if (answer === undefined || userId === undefined) continue;
    const login = new RegExp(`\\b${String(answer.login)}\\b`);
    for (const [flag, kind, to] of [
      [body.send_email, 'email', `${userId.toLowerCase()}@clients.example`],
      [body.send_pop_up, 'popup', userId],
    ]) {
      if (flag !== true) continue;
      finding.looked += 1;
      const own = outbox.filter((message) => message.kind === kind && message.to === to && login.test(message.text));
      if (own.length > 1) finding.broken.push(`${own.length} of kind ${kind} for the login ${String(answer.login)}`);
    }
  }
  return finding;
}

async function passwords(service: ServiceProcess, operations: readonly Operation[]): Promise<Finding> {
  const finding: Finding = { promise: 'both passwords of an account log in', looked: 0, broken: [] };
  const opened = operations.filter(({ place }) => place !== undefined);
  for (const { place, answer, ...rest } of sample(opened, LOGINS_SAMPLED)) {
    if (place === undefined || answer === undefined) continue;
    finding.looked += 1;
    const login = Number(answer.login);
    const master = await service.access(place.id, login, String(answer.master_password));
    const investor = await service.access(place.id, login, String(answer.investor_password));
    if (master !== 'master' || investor !== 'investor') finding.broken.push(inWords({ place, answer, ...rest }));
  }
  return finding;
}

async function replays(service: ServiceProcess, operations: readonly Operation[]): Promise<Finding> {
  const finding: Finding = { promise: 'the same key is answered the same again', looked: 0, broken: [] };
  for (const operation of sample(operations, REPLAYS_SAMPLED)) {
    finding.looked += 1;
    const { body } = await attempt(service.url, { ...operation, attempts: [] });
    if (JSON.stringify(body) !== JSON.stringify(operation.answer)) finding.broken.push(inWords(operation));
  }
  return finding;
}

function ends(operations: readonly Operation[]): Finding {
  const inVain = operations.filter(({ end }) => end === 'refused' || end === 'given up' || end === 'running');
  const left = operations.filter(({ end }) => end === 'for the operator').length;
  return {
    promise: 'repeating leads to an end',
    looked: operations.length,
    broken: inVain.map((operation) => `${operation.end}: ${inWords(operation)}`),
    note: `${left} on connections that cannot be asked are for the operator`,
  };
}

/** Some of those that were done, from all over the run. */
function sample(operations: readonly Operation[], most: number): Operation[] {
  const done = operations.filter(({ end }) => end === 'done');
  const step = Math.max(1, Math.floor(done.length / most));
  return done.filter((_, index) => index % step === 0);
}

function inWords({ path, body, to, key, attempts }: Operation): string {
  const tries = attempts.map(
    ({ status, type, ms }) => `${status}${type === undefined ? '' : ` ${type}`} (${ms.toFixed(0)} ms)`,
  );
  return `${path} ${to ?? `${String(body.connection_id)} 1:${String(body.leverage)}`} ${key}: ${tries.join(', ')}`;
}
