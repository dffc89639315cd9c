import { readFileSync } from 'node:fs';
import type { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import { expect } from 'vitest';
import type { CrmItem } from '../../infra/crm/crm-items.ts';
import { crmTable } from '../../infra/crm/crm-table.ts';
import { LOCAL_HOST } from '../../infra/crm/record-rules.ts';
import { secretStore } from '../../infra/crm/secrets.ts';
import { runDoctor } from '../../infra/doctor/doctor.ts';
import { ALL_FUNCTIONS, constructName } from '../../infra/functions.ts';
import type { Fault } from '../../infra/local/faults.ts';
import { localClient } from '../../infra/local-client.ts';
import { databaseClient, dynamoTable, type Item } from '../../lib/aws/dynamodb.ts';
import type { Channel } from '../../lib/validators/otp-types.ts';
import type { AlarmText } from './alarms.ts';
import { scanItems } from './database.ts';
import { FRONT_SETTINGS } from './front.ts';
import { openAccount, postJson, register } from './local-service.ts';
import { loudService } from './loud-service.ts';
import { cdkJsonOf, runOperatorsCommand } from './operators.ts';
import { NEVER_ABORTED } from './outcomes.ts';

const page = (name: string) => readFileSync(new URL(`../../infra/docs/${name}`, import.meta.url), 'utf8');
const RUNBOOK = page('runbook.md');
/** The service of the construct names that `events` takes. */
const SERVICES = new Map(ALL_FUNCTIONS.map((declared) => [constructName(declared), declared.name]));

type LogLine = Record<string, unknown> & { message?: string };

interface Person {
  email: string;
  phone: { country_code: string; number: string };
}

/** A section of the runbook, or a row of its table, with the sections that it links to. */
export function runbookSection(kind: string): string {
  const section = (heading: string) =>
    new RegExp(`^##+ ${heading}\\n[^]*?(?=\\n##+ |$(?![^]))`, 'm').exec(RUNBOOK)?.[0];
  const row = RUNBOOK.split('\n').find(
    (line) => line.startsWith('| ') && line.split(' | ')[0]?.includes(`\`${kind}\``),
  );
  const found = [section(kind), row].filter((text) => text !== undefined).join('\n');
  const linked = [...found.matchAll(/\]\(([\w.]*)#([\w-]+)\)/g)].map(([, file = '', anchor = '']) =>
    (file === '' ? RUNBOOK : page(file)).split(/^(?=##+ )/m).find((text) => anchorOf(text) === anchor),
  );
  return [found, ...linked].join('\n');
}

function anchorOf(section: string): string {
  const [, heading = ''] = /^##+ (.+)/.exec(section) ?? [];
  return heading
    .toLowerCase()
    .replaceAll(/[^\w -]/g, '')
    .replaceAll(' ', '-');
}

interface Left {
  key: string;
  person: Person;
  item: Record<string, unknown>;
  id: string;
  secret: string;
}

interface Running {
  loud: Awaited<ReturnType<typeof loudService>>;
  environment: Record<string, string>;
  database: DynamoDBDocumentClient;
}

/** An alarm that rings on the local service, and ends by the text of its page. */
export interface AlarmRow {
  alarms: readonly string[];
  /** Makes the alarm ring. @returns the values that `end` needs */
  provoke: () => Promise<unknown>;
  /** The first command of the page. Absent: the page has no command. */
  show?: string;
  /** The fields of the shown lines that the page names. Absent: the command shows no line. */
  names?: readonly string[];
  /** The steps of the page, after which the same request succeeds. */
  end: () => Promise<unknown>;
}

/** An operator in front of a local service that logs, as CloudWatch gets it. */
class Walk {
  readonly #cdkJson = cdkJsonOf({ senderAddress: 'a@acme.example', ...FRONT_SETTINGS });
  #people = 0;
  #mark = 0;
  /** The text of the page that is followed. */
  #page = '';

  /** The values that `provoke` has left for `end`. */
  left: Left = { key: '', person: this.newPerson(), item: {}, id: '', secret: '' };
  #running: Running | undefined;

  async start(stage: string): Promise<void> {
    const loud = await loudService({ stage, ...FRONT_SETTINGS, provider: { call: LOCAL_HOST } }, true);
    const answer = await fetch(`${loud.url}/_local/environment`);
    const environment = (await answer.json()) as Record<string, string>;
    const database = databaseClient(localClient(environment, 'AWS_ENDPOINT_URL_DYNAMODB'));
    this.#running = { loud, environment, database };
  }

  get #service(): Running {
    return this.#running ?? expect.fail('The walk is started before the tests.');
  }

  get url(): string {
    return this.#service.loud.url;
  }

  async close(): Promise<void> {
    this.#service.database.destroy();
    await this.#service.loud.stop();
  }

  /** Begins with the next alarm. */
  async begin(text: string): Promise<void> {
    await this.repair();
    await this.refuse(undefined);
    this.#mark = this.#service.loud.lines.length;
    this.#page = text;
  }

  /** Asserts that the page has this step, which a person does by hand. */
  says(step: string): void {
    expect(this.#page).toContain(step);
  }

  /** The lines that the functions have logged since the last mark. */
  lines(): LogLine[] {
    return this.#service.loud.lines
      .slice(this.#mark)
      .flatMap((line) => (line.startsWith('{') ? [JSON.parse(line)] : []));
  }

  /**
   * The lines that the command `events` shows, as the page names it. @param command such as `events NotifyCrm
   * CrmNotNotified`
   */
  shown(command: string): LogLine[] {
    const [, name = '', event] = command.split(' ');
    return this.lines().filter(({ service, message }) => service === SERVICES.get(name) && message === event);
  }

  /** Moves the clock of the service. */
  wait = (minutes: number) => this.#service.loud.wait(minutes * 60_000);
  /** Calls the settler, which may act on operations that it left a minute ago. @returns whether it succeeded */
  settler = async (minutes = 2) => {
    await this.wait(minutes);
    return this.#service.loud.tick();
  };
  /** Makes the database refuse every call to this table. Undefined: no call. */
  refuse = (table: string | undefined) => this.#service.loud.refuse(table);

  async local<T>(method: 'GET' | 'PUT' | 'POST' | 'DELETE', path: string, body?: object): Promise<T> {
    const answer = await fetch(`${this.url}/_local/${path}`, { method, ...(body && { body: JSON.stringify(body) }) });
    expect(answer.ok, `${method} ${path}`).toBe(true);
    return (answer.status === 204 ? undefined : await answer.json()) as T;
  }

  fault = (target: string, fault: Fault) => this.local('PUT', `faults/${target}`, fault);
  repair = () => this.local('DELETE', 'faults');

  newPerson(): Person {
    this.#people += 1;
    const number = `7400${String(100_000 + this.#people * 10_001).slice(-6)}`;
    return { email: `person${this.#people}@company${this.#people}.example`, phone: { country_code: '44', number } };
  }

  /** A person's request for a code. @returns the status */
  async ask(channel: Channel = 'email', change: object = {}, headers: Record<string, string> = {}): Promise<number> {
    const { token } = await this.local<{ token: string }>('POST', 'captcha');
    const body = { otp_type: channel, ...this.newPerson(), ...change };
    return (await register(this.#service.loud, body, { 'captcha-token': token, ...headers })).status;
  }

  /** The confirmation with the code that the person got. @returns the status */
  async confirm({ email }: Pick<Person, 'email'>): Promise<number> {
    const sent = await this.local<{ to: string; text: string }[]>('GET', 'outbox');
    const code = /^\d{6}$/m.exec(sent.findLast(({ to }) => to === email)?.text ?? '')?.[0] ?? '000000';
    const body = { otp_type: 'email', email, code, password: 'correct horse battery' };
    return (await postJson(this.#service.loud, '/public/v1/account/register/confirm', body)).status;
  }

  /** A new registration, with the status of its confirmation. */
  async join(person = this.newPerson()): Promise<[asked: number, confirmed: number]> {
    return [await this.ask('email', person), await this.confirm(person)];
  }

  open = (version: 'tp5' | 'tp4', order: object, key: string) => openAccount(this.#service.loud, version, order, key);

  table = (name: string) => dynamoTable(this.#service.database, name);
  items = (name: string) => scanItems(this.#service.database, name);
  put = async (name: string, item: Item) => void (await this.table(name).put(item, NEVER_ABORTED));
  /** Many items of a table with the key `pk`. */
  async putAll(name: string, items: readonly (Item & { pk: string })[]): Promise<void> {
    await crmTable(name, this.#service.database).write(items.map((put) => ({ put }) as { put: CrmItem }));
  }

  remove = (name: string, { pk, sk }: Item) =>
    this.table(name).delete(sk === undefined ? { pk: String(pk) } : { pk: String(pk), sk: String(sk) }, NEVER_ABORTED);

  /** The newest item that a request makes. */
  async madeBy(name: string, work: () => Promise<unknown>): Promise<Item> {
    const before = new Set((await this.items(name)).map(({ pk }) => pk));
    await work();
    return (await this.items(name)).find(({ pk }) => !before.has(pk)) ?? expect.fail(`Nothing new in ${name}.`);
  }

  secret = async (name: string) =>
    (await secretStore(localClient(this.#service.environment, 'AWS_ENDPOINT_URL_SECRETS_MANAGER')).read(name))?.text ??
    '';

  /**
   * Runs a command of the page. @param command as the page has it @param words replace the names in the command
   * @returns the printed text
   */
  async run(command: string, words: Record<string, string> = {}, input = ''): Promise<string> {
    expect(this.#page).toContain(command);
    const args = command
      .replace(/^npm run (crm|doctor) -- /, '')
      .replace(' --stack $STACK', '')
      .split(' ')
      .map((word) => words[word] ?? word);
    if (command.startsWith('npm run doctor')) return this.doctor(...args.filter((word) => !word.startsWith('npm')));
    const person = { input, cdkJson: this.#cdkJson };
    const { code, out, reported } = await runOperatorsCommand([...args, '--local', this.url], person);
    expect({ command, code, reported }).toEqual({ command, code: 0, reported: expect.anything() });
    return out;
  }

  async doctor(...args: string[]): Promise<string> {
    let out = '';
    const print = (text: string) => {
      out += text;
    };
    await runDoctor([...args, '--local', this.url], print, this.#cdkJson, () => {});
    return out;
  }
}

/** The walk of this process. */
export const walk = new Walk();

export const ORDERS = {
  tp5: { connection_id: 'tp5-live-1', group: 'real\\standard' },
  tp4: { connection_id: 'tp4-gw-2', group: 'standard' },
};

/** A request for an account. */
export async function requestAccount(version: 'tp5' | 'tp4', order: object = ORDERS[version], key = walk.left.key) {
  const { status, body } = await walk.open(version, order, key);
  return { status, login: Number(body.login), id: String(body.operation_id) };
}

interface Metric {
  Namespace: string;
  MetricName: string;
  Dimensions?: { Name: string; Value: string }[];
}

/** The metrics of an alarm. */
export function metricsOf({ properties }: AlarmText): Metric[] {
  const { Metrics = [], ...single } = properties as Metric & { Metrics?: { MetricStat?: { Metric: Metric } }[] };
  const parts = Metrics.flatMap(({ MetricStat }) => MetricStat?.Metric ?? []);
  return 'MetricName' in single ? [single as Metric, ...parts] : parts;
}

interface Counted {
  Namespace: string;
  Dimensions: string[][];
  Metrics: { Name: string }[];
}

/** Whether CloudWatch counts a log line in one of these metrics: embedded metric format. */
export function isCounted(metrics: readonly Metric[], line: LogLine): boolean {
  const { CloudWatchMetrics = [] } = (line._aws ?? {}) as { CloudWatchMetrics?: Counted[] };
  return metrics.some(({ Namespace, MetricName, Dimensions = [] }) =>
    CloudWatchMetrics.some(
      (one) =>
        one.Namespace === Namespace &&
        one.Metrics.some(({ Name }) => Name === MetricName && typeof line[Name] === 'number') &&
        one.Dimensions.some(
          (names) =>
            names.toSorted().join() ===
            Dimensions.map(({ Name }) => Name)
              .toSorted()
              .join(),
        ) &&
        Dimensions.every(({ Name, Value }) => line[Name] === Value),
    ),
  );
}
