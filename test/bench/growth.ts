import { parseCrmFile } from '../../infra/crm/crm-file.ts';
import { serializeItems } from '../../infra/crm/crm-items.ts';
import { crmTable } from '../../infra/crm/crm-table.ts';
import { startDatabase, TABLES } from '../../infra/local/database.ts';
import { startService } from '../../infra/local/service.ts';
import { databaseClient, dynamoTable, transactions } from '../../lib/aws/dynamodb.ts';
import type { AccountDependencies } from '../../lib/openings/dependencies.ts';
import { deriveIdentity, findSeed, loginSequence } from '../../lib/openings/derivation.ts';
import { dynamoLedger, type Held } from '../../lib/openings/ledger.ts';
import type { Life } from '../../lib/openings/life.ts';
import { LoginSearch } from '../../lib/openings/login-search.ts';
import { settleOperations } from '../../lib/openings/settler.ts';
import { keyItem } from '../../lib/records/idempotency-keys.ts';
import { openAccount } from '../support/local-service.ts';
import { derivationKeys, planFor, recordingTelemetry } from '../support/openings.ts';
import { type Benchmark, type BenchmarkRun, comparison, type Figure, figure } from './figures.ts';

export const growth: Benchmark = {
  name: 'growth',
  about:
    'What each part costs when a broker grows, as counts of calls, which do not depend on the machine. A ratio compares the ' +
    'calls for each item among many with those among few: 1 is a cost that does not grow. infra/docs/growth.md has the laws.',
  run,
};

async function run({ quick, progress }: BenchmarkRun): Promise<Figure[]> {
  progress('login ranges');
  const ranges = await searches(quick ? 20 : 500);
  const [few, many] = quick ? [10, 40] : [100, 1_000];
  progress('settler');
  const settled = [await settling(few), await settling(many)] as const;
  progress('import');
  const imported = [await importing(few), await importing(many)] as const;
  progress('webhook');
  const posted = [await posting(Math.ceil(few / 10)), await posting(Math.ceil(many / 10))] as const;
  const grown = (what: string, [before, after]: readonly [number, number]) =>
    comparison(what, 'calls', [after], `${few} of them`, [before], { of: 'ratio', most: 1 });
  return [
    ...ranges,
    grown(`settler: an operation of ${many}`, settled),
    grown(`import: a client of ${many}`, imported),
    comparison(`webhook: an event of ${Math.ceil(many / 10)}`, 'calls', [posted[1]], 'one at a time', [posted[0]], {
      of: 'ratio',
      most: 1,
    }),
  ];
}

const USED = [50, 80, 90, 95, 99];
const SIZE = 10_000;
/** With the five calls for the states and the record of an account, ten. */
const MOST_READS = 5;

/** How many calls read the reservations of a new account, in a range that is used so far. */
async function searches(samples: number): Promise<Figure[]> {
  const figures: Figure[] = [];
  for (const used of USED) {
    const reads: number[] = [];
    for (let sample = 0; sample < samples; sample += 1) {
      const keys = derivationKeys(`sample ${sample}`);
      const identity = deriveIdentity(keys[0], 'key', 'body');
      const logins = loginSequence(findSeed(keys, identity) ?? '', [{ from: 1, to: SIZE }]);
      let calls = 0;
      const holders = async (asked: readonly number[]) => {
        calls += 1;
        return new Map(asked.filter((login) => login % 100 < used).map((login) => [login, 'another'] as const));
      };
      await new LoginSearch([{ identity, logins }], { holders, reserved: async () => [] }, () => true).start();
      reads.push(calls);
    }
    figures.push(figure(`reads of an account, ${used} % used`, 'calls', reads, { of: 'ours', most: MOST_READS }));
  }
  return figures;
}

async function emptyDatabase() {
  const database = await startDatabase();
  await database.createTables();
  const config = {
    endpoint: database.url,
    region: 'eu-west-1',
    credentials: { accessKeyId: 'local', secretAccessKey: 'local' },
  };
  return { database, config };
}

const LEASE_MS = 30_000;

/** The calls to the database for each operation that a run of the settler publishes. */
async function settling(count: number): Promise<number> {
  const { database, config } = await emptyDatabase();
  const client = databaseClient(config);
  let now = Date.now();
  const names = { operations: TABLES.operations, logins: TABLES.logins };
  const tables = { operations: dynamoTable(client, names.operations), logins: dynamoTable(client, names.logins) };
  const ledger = dynamoLedger({ ...tables, names, transact: transactions(client) }, () => now);
  const signal = AbortSignal.timeout(600_000);
  const [key] = derivationKeys('1');
  for (let login = 1; login <= count; login += 1) {
    const identity = deriveIdentity(key, keyItem(['growth', String(login)]), 'body');
    const { held } = (await ledger.claim([identity], LEASE_MS, signal)) as { held: Held };
    held.plan = planFor(held.operationId);
    await ledger.write(held, { at: 'sent', login, commands: 'one' }, signal);
    const open: Life = {
      ...{ at: 'open', login, opened_at: new Date(now).toISOString() },
      ...{ recorded: true, deposit: 'none', published: false },
    };
    await ledger.write(held, open, signal);
  }
  now += 2 * LEASE_MS;
  database.calls.length = 0;
  let published = 0;
  const publish = async () => {
    published += 1;
  };
  const dependencies = { ledger, events: { publish }, now: Date.now } as unknown as AccountDependencies;
  await settleOperations(dependencies, recordingTelemetry([]), Date.now() + 600_000);
  const calls = database.calls.length;
  client.destroy();
  await database.close();
  if (published !== count) throw new Error(`${published} of ${count} operations were published.`);
  return calls / count;
}

/** The calls to the database for each client of a file that is imported. */
async function importing(count: number): Promise<number> {
  const { database, config } = await emptyDatabase();
  const clients = Array.from({ length: count }, (_, index) => {
    const id = `C${String(index).padStart(7, '0')}`;
    return { id, email: `${id}@example.com`, name: 'Ann Lee', country: 'GB' };
  });
  const table = crmTable(TABLES.crm, config);
  const items = await serializeItems(await parseCrmFile(JSON.stringify({ clients })));
  await table.write(items.map((put) => ({ put })));
  const calls = database.calls.length;
  table.close();
  await database.close();
  return calls / count;
}

/** The posts for each event of accounts that were opened at once. */
async function posting(count: number): Promise<number> {
  const service = await startService();
  const body = { connection_id: 'tp5-live-1', group: 'real\\standard' };
  const answers = await Promise.all(Array.from({ length: count }, () => openAccount(service, 'tp5', body)));
  await service.deliveries.settled();
  const posts = service.deliveries.list().reduce((sum, { deliveries }) => sum + deliveries, 0);
  const received = service.crm?.received().length;
  await service.close();
  const opened = answers.filter(({ status }) => status === 200).length;
  if (opened !== count || received !== count) throw new Error(`${opened} were opened, ${received} received.`);
  return posts / count;
}
