import { writeFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { afterAll, beforeAll, beforeEach } from 'vitest';
import { exitCode } from '../../infra/doctor/checks.ts';
import { examine, type Look } from '../../infra/doctor/doctor.ts';
import { DEMO_RECORDS } from '../../infra/local/demo-records.ts';
import { type LocalService, type ServiceOptions, startService } from '../../infra/local/service.ts';
import { localClient } from '../../infra/local-client.ts';
import { type CrmItem, serializeItems } from '../../infra/ops/crm-items.ts';
import { type CrmTable, crmTable } from '../../infra/ops/crm-table.ts';
import { runOps } from '../../infra/ops/ops.ts';
import { secretStore } from '../../infra/ops/secrets.ts';
import { CDK_JSON } from '../../infra/ops/service-secrets.ts';
import type { Target } from '../../infra/ops/target.ts';
import { linePrinter } from '../../infra/ops/terminal.ts';
import type { Table } from '../../lib/aws/dynamodb.ts';
import { directClient } from './direct-client.ts';
import { openAccount, tablesOf } from './local-service.ts';
import { temporaryFolder } from './temporary-folder.ts';

/** The result of a call of the operators' command. */
interface Outcome {
  code: number;
  out: string;
  reported: string;
}

/** Who calls the command. */
export interface Person {
  /** The piped input; or a person's answers, in order. */
  input?: string;
  answers?: string[];
  /** Happens while the command waits. */
  waits?: (milliseconds: number) => Promise<void>;
  /** The file that holds the settings. */
  cdkJson?: string;
}

/** Runs the operators' command as a process would. */
export async function runOperatorsCommand(
  args: string[],
  { input = '', answers, waits, cdkJson = CDK_JSON }: Person = {},
): Promise<Outcome> {
  const outcome = { code: 0, out: '', reported: '' };
  outcome.code = await runOps(args, {
    input: (async function* () {
      yield input;
    })(),
    print: linePrinter((text) => {
      outcome.out += text;
    }),
    report: linePrinter((text) => {
      outcome.reported += text;
    }),
    ...(answers === undefined ? {} : { ask: async () => answers.shift() ?? '' }),
    cdkJson,
    wait: async (milliseconds) => waits?.(milliseconds),
  });
  return outcome;
}

/** The results of the doctor. @param cdkJson the file that holds the settings */
export async function doctorResults({ cdkJson = CDK_JSON, fix = false, ids = [], ...where }: Partial<Look>) {
  const results = await examine({ ...where, cdkJson, fix, ids });
  return { code: exitCode(results), results };
}

/**
 * A local service for the tests of one file. Before each test its table holds the demo records, whatever an earlier
 * test has changed.
 */
export class Operators {
  #service: LocalService | undefined;
  #demo: readonly CrmItem[] = [];
  readonly folder = temporaryFolder('crm');

  constructor(options: ServiceOptions = {}) {
    beforeAll(async () => {
      this.#service = await startService(options);
      this.#demo = await this.#demoItems();
    });
    beforeEach(() => this.#fill());
    afterAll(async () => {
      await this.#service?.close();
    });
  }

  get service(): LocalService {
    if (this.#service === undefined) throw new Error('The local service is started before the tests.');
    return this.#service;
  }

  get table(): CrmTable {
    return this.target.table;
  }

  /** The local service, as commands find it, except that a call of its database costs a tenth: it has no HTTP and no fault. */
  get target(): Target {
    const { database: server, environment } = this.service;
    const database = directClient(server);
    return {
      name: 'the local service',
      place: ['--local'],
      database,
      table: crmTable('crm', database),
      clientOf: (service) => localClient(environment, `AWS_ENDPOINT_URL_${service}`),
      resource: async (logicalId) => logicalId.replace(/Table$/, '').toLowerCase(),
    };
  }

  /** Runs a command on the local service. An object is written to a file, whose path becomes the argument. */
  async local(...args: (string | object)[]): Promise<Outcome> {
    const words = await Promise.all(args.map((arg) => (typeof arg === 'string' ? arg : this.fileOf(arg))));
    return runOperatorsCommand([...words, '--local', this.service.url]);
  }

  /** The results of the doctor on the local service. */
  doctor(look: Pick<Partial<Look>, 'fix' | 'ids'> = {}) {
    return doctorResults({ ...look, local: this.service.url });
  }

  async fileOf(content: unknown): Promise<string> {
    const path = join(this.folder, `${Math.random()}.json`);
    await writeFile(path, typeof content === 'string' ? content : JSON.stringify(content));
    return path;
  }

  async keys(): Promise<string[]> {
    return (await this.items('crm')).map(({ pk }) => String(pk));
  }

  /** One table of the service. Its calls get no fault. */
  tableOf(name: string): Table {
    return tablesOf(this.service).table(name);
  }

  /** All items of a table. */
  async items(tableName: string): Promise<Record<string, unknown>[]> {
    return tablesOf(this.service).items(tableName);
  }

  /** The text of a secret. */
  async stored(name: string): Promise<string | undefined> {
    return (await secretStore({}).read(name))?.text;
  }

  async #demoItems(): Promise<CrmItem[]> {
    const connections = DEMO_RECORDS.connections.map((connection) => {
      const server = this.service.platforms.get(connection.id);
      const ca = connection.protocol === 'web-api' && server?.ca !== undefined ? { ca: server.ca } : {};
      return { ...connection, host: '127.0.0.1', port: server?.port ?? 0, ...ca };
    });
    return serializeItems({ ...DEMO_RECORDS, connections });
  }

  /** Writes the records again that the last test has changed. */
  async #fill(): Promise<void> {
    const stored = new Map((await this.items('crm')).map((item) => [String(item.pk), item]));
    const changed = this.#demo.filter((item) => !isDeepStrictEqual(stored.get(item.pk), item));
    for (const { pk } of this.#demo) stored.delete(pk);
    await this.table.write([...changed.map((put) => ({ put })), ...[...stored.keys()].map((pk) => ({ delete: pk }))]);
  }
}

/** A file with these settings. */
export function cdkJsonOf(context: object): string {
  const file = join(temporaryFolder('cdk-json'), 'cdk.json');
  writeFileSync(file, JSON.stringify({ context }));
  return file;
}

/** An opening of an account whose outcome only an operator can decide. */
export async function unknownOperation(operators: Operators, key?: string): Promise<{ id: string; login: number }> {
  operators.service.faults('tp4-live-1').set({ kind: 'reply_lost', times: 1 });
  const order = { connection_id: 'tp4-live-1', group: 'standard', leverage: 100 };
  const { body } = await openAccount(operators.service, 'tp4', order, key);
  const [account] = operators.service.platforms.get('tp4-live-1')?.accounts().slice(-1) ?? [];
  return { id: String(body.operation_id), login: account?.login ?? 0 };
}
