import { randomUUID } from 'node:crypto';
import { beforeAll, describe, expect, it, vi } from 'vitest';
import { DEMO_RECORDS } from '../../infra/local/demo-records.ts';
import { allowingRights, parseRights, type Right, type Statement } from '../../infra/local/rights/policy.ts';
import { settingSecrets } from '../../infra/settings.ts';
import type { Item } from '../../lib/aws/dynamodb.ts';
import { openAccount, register, suppressAddress } from '../support/local-service.ts';
import { cdkJsonOf, Operators, type Person, runOperatorsCommand, unknownOperation } from '../support/operators.ts';
import {
  type AwsCall,
  OperatorsAccount,
  RESOURCES,
  SETTINGS,
  STACK,
  undeliveredEvent,
} from '../support/operators-account.ts';
import { KEY_ATTRIBUTES, removeItems, restoredTable, writeItems } from '../support/restored-tables.ts';
import { plainValue, resourcesOfType, synthesize } from '../support/stack.ts';

const operators = new Operators();
const account = new OperatorsAccount(operators);

const SECRET = '{"login":1000,"password":"x"}';
/**
 * Every command, as an operator calls it; `FILE` has records, `OPERATION` waits for an operator, `ENDED` is on no list,
 * `LOST` was restored without its login, `OWN` asks for a login of the caller that is still free after a day, `TAKEN` has
 * an account whose login another operation has reserved.
 */
const COMMANDS: readonly [command: string, person?: Person][] = [
  ['import FILE'],
  ['export'],
  ['list clients'],
  ['form FORM0001'],
  ['delete clients CLIENT99'],
  ['secret put tp5-demo-1', { input: SECRET }],
  ['secret put platform/new', { input: SECRET }],
  ['secret put captcha', { input: 'key' }],
  ['secret put front', { input: `{"current":"${'k'.repeat(32)}"}` }],
  ['redeliver'],
  ['operations --open'],
  ['operation OPERATION'],
  ['operation ENDED'],
  ['settle OPERATION --login 7000001'],
  ['settle OPERATION --none'],
  ['settle OWN --none'],
  ['operation LOST'],
  ['settle TAKEN'],
  ['rebuild-logins'],
  ...Object.keys(KEY_ATTRIBUTES)
    .filter((table) => table !== 'registrations')
    .map((table): [string] => [`restore ${table} --from ${table}-restored`]),
  ['registration asks@example.com'],
  ['registration asks@example.com --unsuppress'],
  ['client CLIENT01'],
  ['forget --client CLIENT01'],
];

async function openDemoAccount(): Promise<void> {
  const order = { connection_id: 'tp5-demo-1', group: 'demo\\standard', leverage: 100, account_type_id: 'ATDEMO01' };
  expect((await openAccount(operators.service, 'tp5', order)).status).toBe(200);
}

async function endedOperation(): Promise<string> {
  await openDemoAccount();
  const isEnded = ({ life }: Item) => (life as { at?: string } | undefined)?.at === 'done';
  return String((await operators.items('operations')).find(isEnded)?.operation_id);
}

/** An operation that a restore has left without its login and its plan. */
async function lostOperation(): Promise<string> {
  const operation_id = randomUUID();
  const item = { pk: `operation#${operation_id}`, operation_id, life: { at: 'undecided' } };
  const sample = (await operators.items('operations')).find(({ life }) => life !== undefined) ?? {};
  const { plan: _, ...rest } = sample;
  await writeItems(operators, 'operations', [{ ...rest, ...item }]);
  return operation_id;
}

/** After the reservations were lost, another operation has reserved the login of an account. */
async function takenOperation(): Promise<{ id: string; login: string }> {
  const id = await endedOperation();
  const item = (await operators.items('operations')).find(({ operation_id }) => operation_id === id) ?? {};
  const { login } = item.life as { login: number };
  await writeItems(operators, 'operations', [{ ...item, life: { at: 'undecided', login } }]);
  const reservation = (await operators.items('logins')).find(({ operation_id }) => operation_id === id);
  await writeItems(operators, 'logins', [{ ...reservation, pk: String(reservation?.pk), operation_id: randomUUID() }]);
  return { id, login: String(login) };
}

/** The server was busy when an account was asked for with a login of the caller, a day ago. */
async function oldOperation(): Promise<string> {
  const order = { connection_id: 'tp5-live-1', group: 'real\\standard', leverage: 100, login: 1_234_500 };
  operators.service.faults('tp5-live-1').set({ kind: 'retcode', code: 10, times: 1, after: 1 });
  expect((await openAccount(operators.service, 'tp5', order, randomUUID())).status).toBe(503);
  const isOwn = ({ plan }: Item) => (plan as { login_given?: boolean } | undefined)?.login_given === true;
  const item = (await operators.items('operations')).find(isOwn) ?? {};
  await removeItems(operators, 'operations', [item]);
  await writeItems(operators, 'operations', [{ ...item, sent_at: Date.now() - 25 * 60 * 60_000 }]);
  return String(item.operation_id);
}

async function run(command: string, person: Person = {}) {
  const words: Record<string, string> = {};
  if (command.includes('FILE')) words.FILE = await operators.fileOf({ clients: [DEMO_RECORDS.clients[0]] });
  if (command.includes('ENDED')) words.ENDED = await endedOperation();
  if (command.includes('OPERATION')) words.OPERATION = (await unknownOperation(operators)).id;
  if (command.includes('LOST')) words.LOST = await lostOperation();
  if (command.includes('OWN')) words.OWN = await oldOperation();
  if (command.includes('TAKEN')) {
    const { id, login } = await takenOperation();
    words.TAKEN = `${id} --login ${login}`;
  }
  if (command === 'redeliver') await undeliveredEvent(operators);
  if (command.startsWith('delete'))
    await operators.local('import', { clients: [{ id: 'CLIENT99', email: 'new@example.com', name: 'New' }] });
  if (command.startsWith('restore')) await lossOf(command.split(' ')[1] ?? '');
  if (command.startsWith('forget')) await registerAnn();
  if (command === 'registration asks@example.com') await register(operators.service, { email: 'asks@example.com' });
  if (command.endsWith('--unsuppress')) await suppressAddress('asks@example.com');
  if (command.includes('platform/new')) {
    const stored = await operators.table.read('connection#tp5-demo-1');
    const record = {
      ...(stored?.record as object),
      id: 'tp5-new-1',
      secret: 'platform/new',
      logins: { from: 800_000, to: 899_999 },
    };
    await operators.local('import', { connections: [record] });
  }
  // The operator's finding comes after the last moment at which the command could open an account.
  if (command.includes('--none')) vi.setSystemTime(Date.now() + 5 * 60_000);
  const args = [...command.split(' ').flatMap((word) => (words[word] ?? word).split(' ')), '--stack', STACK];
  return account
    .run(() => runOperatorsCommand(args, { cdkJson: account.cdkJson, ...person }))
    .finally(() => vi.useRealTimers());
}

/** One item of the table is in its backup alone. */
async function lossOf(table: string): Promise<void> {
  const record = { id: 'LOST0001', name: 'Lost' };
  const lost = { pk: table === 'crm' ? 'client#LOST0001' : 'lost', sk: 'lost', confirmation: {}, record };
  await writeItems(operators, table, [lost]);
  await restoredTable(operators, table, `${table}-restored`);
  await removeItems(operators, table, [lost]);
}

/** Ann registers again, with a document, and another client and another registration have her address as typed. */
async function registerAnn(): Promise<void> {
  const email = 'ann@example.com';
  expect((await register(operators.service, { email, ...DOCUMENT })).status).toBe(204);
  const phone = { country_code: '44', number: '7400123499' };
  expect((await register(operators.service, { email, otp_type: 'sms', phone })).status).toBe(204);
  await operators.local('import', { clients: [{ id: 'CLIENT98', name: 'Mallory', email, unproven: ['email'] }] });
}

/** A registration with a document. */
const DOCUMENT = {
  form_id: 'FORM0001',
  k3J9xQ: 'some',
  d0cUpl: [{ id: '1', name: 'passport.pdf', doc: Buffer.from('%PDF-1.4\n').toString('base64') }],
};

/** Each right of a managed policy: one action on one resource. */
function rightsOf(
  policyId: 'OperatorsPolicy' | 'KeyRotationPolicy' | 'RestorePolicy',
  settings: object = SETTINGS,
): Right[] {
  const policies = Object.entries(resourcesOfType(synthesize({ ...settings }), 'AWS::IAM::ManagedPolicy'));
  const [, policy] = policies.find(([id]) => id.startsWith(policyId)) ?? [];
  const { Statement } = plainValue(policy?.Properties.PolicyDocument) as { Statement: Statement[] };
  const statements = Statement.map((one) => ({ ...one, Resource: [one.Resource ?? []].flat().map(named) }));
  return parseRights('ann', statements);
}

function named(resource: string): string {
  return resource.replaceAll(/<([^>]+)>/g, (_, name: string) => RESOURCES[name] ?? `<${name}>`);
}

/** The commands that need another policy. */
const ROTATIONS = ['pepper rotate', 'secret rotate passwords', 'secret rotate crmWebhook'];
const RESTORATION = 'restore registrations --from registrations-restored';

const rotate = (command: string) => run(command, { waits: async () => {} });

/** Of the AWS commands of the pages; aws-commands.test.ts shows that they are needed. */
const ON_CALL = [
  'logs:FilterLogEvents',
  'lambda:ListVersionsByFunction',
  'lambda:UpdateAlias',
  'lambda:PutFunctionConcurrency',
  'lambda:DeleteFunctionConcurrency',
  'ssm:GetParameterHistory',
  'xray:BatchGetTraces',
];

/** The next test needs those on secrets of settings. All are in one statement, because a policy has a maximum size. */
const BY_SETTINGS = /:secret:broker-api\/test\/\*$|(DescribeSecret|TagResource) \S+:secret:(captcha|front)/;

describe('The policy of operators', () => {
  it('allows every call of crm and doctor, and nothing else but the commands of the runbook', {
    timeout: 300_000,
  }, async () => {
    const calls: AwsCall[] = [];
    // With an account in the range, which the ledger is asked about.
    await openDemoAccount();
    calls.push(...(await account.doctor()).calls);
    for (const [command, person] of COMMANDS) {
      const { result, calls: made } = await run(command, person);
      expect({ command, ...result }).toEqual({ command, code: 0, out: expect.anything(), reported: expect.anything() });
      calls.push(...made);
    }
    const granted = rightsOf('OperatorsPolicy');
    expect(calls.filter((call) => allowingRights(granted, call).length === 0)).toEqual([]);
    const unused = granted.filter(
      (right) => !calls.some((call) => right.concerns(call)) && !BY_SETTINGS.test(right.id),
    );
    expect(unused.filter(({ id, denies }) => !denies && !ON_CALL.some((action) => id.includes(` ${action} `)))).toEqual(
      [],
    );
  });

  it.each([
    ['captcha.secret', 'key'],
    ['front.secret', `{"current":"${'k'.repeat(32)}"}`],
  ])('allows to store the secret of a setting that is not deployed yet: %s', async (setting, input) => {
    const name = `${settingSecrets('test')}${setting.replace('.secret', '')}`;
    const cdkJson = cdkJsonOf({ ...SETTINGS, [setting]: name });
    const { captcha: _, front: __, ...deployed } = SETTINGS;
    account.settings = deployed;
    const { result, calls } = await run(`secret put ${setting}`, { input, cdkJson });
    account.settings = SETTINGS;
    expect(result).toMatchObject({ code: 0, out: expect.stringContaining(`The secret ${name} is made`) });
    const granted = rightsOf('OperatorsPolicy', deployed);
    expect(calls.filter((call) => allowingRights(granted, call).length === 0)).toEqual([]);
  });

  it('denies the keys of the service, whatever another policy allows', async () => {
    const both = [...rightsOf('OperatorsPolicy'), ...rightsOf('KeyRotationPolicy')];
    const made = [];
    for (const command of ROTATIONS) made.push(...(await rotate(command)).calls);
    const secrets = made.filter(({ action }) => action.startsWith('secretsmanager:'));
    for (const call of secrets) expect(allowingRights(rightsOf('KeyRotationPolicy'), call)).not.toEqual([]);
    const actions = ['GetSecretValue', 'PutSecretValue', 'UpdateSecret', 'DeleteSecret', 'PutResourcePolicy'];
    const keys = [RESOURCES.PepperSecret, RESOURCES.PasswordSecret];
    const tries = keys.flatMap((resource = '') =>
      actions.map((one) => ({ action: `secretsmanager:${one}`, resource })),
    );
    expect([...secrets, ...tries].filter((call) => allowingRights(both, call).length > 0)).toEqual([]);
  });

  it('is tested with every command', async () => {
    const { out } = await runOperatorsCommand(['--help']);
    const [, list = ''] = /\nCommands:\n(.*?)\n\n/s.exec(out) ?? [];
    const names = [...list.matchAll(/^ {2}(\S+)/gm)].map(([, name = '']) => name);
    const proven = new Set([
      'help',
      ...[...COMMANDS.map(([command]) => command), ...ROTATIONS].map((one) => one.split(' ')[0]),
    ]);
    expect(names.length).toBeGreaterThan(8);
    expect(names.filter((name) => !proven.has(name))).toEqual([]);
  });

  it.each([
    ['dynamodb:Scan', 'export'],
    ['cloudformation:DescribeStacks', 'list clients'],
    ['secretsmanager:PutSecretValue', 'secret put captcha'],
    ['dynamodb:Query', 'operations --open'],
  ])('is named if the right %s is missing', async (action, command) => {
    account.denied.add(action);
    const { result } = await run(command, { input: 'key' });
    account.denied.clear();
    expect(result.reported).toMatch(
      new RegExp(
        `^These AWS credentials lack the right ${action} on arn:aws:\\S+: attach the policy that the output OperatorsPolicy names${action.startsWith('secrets') ? '; if it is attached, the setting that names this secret is not deployed: npm run deploy' : ''}\\.$`,
        'm',
      ),
    );
    expect(result.code).toBe(1);
  });
});

it('An operator who redelivers events without a webhook hears which setting is missing', async () => {
  account.absent.add('CrmUndeliveredQueue');
  const { result } = await account.run(() =>
    runOperatorsCommand(['redeliver', '--stack', STACK], { cdkJson: account.cdkJson }),
  );
  account.absent.clear();
  const reported = `The stack ${STACK} has no CrmUndeliveredQueue: the setting crmWebhook is not deployed.\n`;
  expect(result).toMatchObject({ code: 1, reported });
});

const arnOf = (secret: string) => `arn:aws:secretsmanager:eu-west-1:111122223333:secret:${secret}`;

describe('The policy for a restore of registrations', () => {
  const restore = () =>
    account.run(() => runOperatorsCommand([...RESTORATION.split(' '), '--stack', STACK], { cdkJson: account.cdkJson }));

  it('allows that command alone, which the policy of operators does not allow, and is named if it is missing', async () => {
    await lossOf('registrations');
    account.denied.add('dynamodb:PutItem');
    const denied = await restore();
    account.denied.clear();
    expect(denied.result.reported).toMatch(/: use a role that has the policy of the output RestorePolicy\.$/m);
    const { result, calls } = await restore();
    expect(result.code).toBe(0);
    const granted = rightsOf('RestorePolicy');
    expect(calls.filter((call) => allowingRights(granted, call).length === 0)).toEqual([]);
    expect(granted.filter((right) => !calls.some((call) => right.concerns(call))).map(({ id }) => id)).toEqual([]);
    const refused = calls.filter((call) => allowingRights(rightsOf('OperatorsPolicy'), call).length === 0);
    expect(refused.map(({ action }) => action)).toContain('dynamodb:PutItem');
  });
});

describe('The policy of operators, about registrations', () => {
  const update = (...names: string[]) => ({
    action: 'dynamodb:UpdateItem',
    resource: RESOURCES['RegistrationsTable.Arn'] ?? '',
    context: { 'dynamodb:Attributes': ['pk', ...names] },
  });
  const may = (call: AwsCall) => allowingRights(rightsOf('OperatorsPolicy'), call).length > 0;

  it('allows to remove an address that was only typed, and to confirm no registration', () => {
    expect(may(update('email', 'email_key', 'phone', 'phone_valid'))).toBe(true);
    for (const name of ['confirmation', 'due_at', 'due_shard', 'password_hash', 'verified', 'address'])
      expect({ name, may: may(update('email', name)) }).toEqual({ name, may: false });
    expect(may({ ...update(), action: 'dynamodb:PutItem' })).toBe(false);
  });

  it('shows that a key which signs events exists, and not the key', () => {
    for (const name of ['crm-webhook', 'provider']) {
      const resource = arnOf(`broker-api/test/${name}-AbCdEf`);
      expect(may({ action: 'secretsmanager:DescribeSecret', resource })).toBe(true);
      for (const action of [
        'GetSecretValue',
        'PutSecretValue',
        'UpdateSecret',
        'UpdateSecretVersionStage',
        'CreateSecret',
      ])
        expect(may({ action: `secretsmanager:${action}`, resource })).toBe(false);
    }
  });
});

describe('The policy of key rotation', () => {
  it('allows to rotate and to replace the keys, and nothing else', async () => {
    const input = `{"current":"1","1":"${'k'.repeat(64)}"}`;
    const calls: AwsCall[] = [];
    for (const command of [...ROTATIONS, 'secret put pepper', 'secret put passwords']) {
      const { result, calls: made } = await run(command, { waits: async () => {}, input });
      expect(result.code).toBe(0);
      calls.push(...made);
    }
    const granted = rightsOf('KeyRotationPolicy');
    expect(calls.filter((call) => allowingRights(granted, call).length === 0)).toEqual([]);
    const signing = ['crm-webhook', 'provider'].map((name) => arnOf(`broker-api/test/${name}*`));
    const keys = [...['PasswordSecret', 'PepperSecret'].map((key) => RESOURCES[key]), ...signing];
    const expected = [
      ...keys.flatMap((key) =>
        ['GetSecretValue', 'PutSecretValue'].map((action) => `RotateKeys secretsmanager:${action} ${key}`),
      ),
      ...signing.map((key) => `MakeSigningKeys secretsmanager:CreateSecret ${key}`),
      ...['DescribeStacks', 'DescribeStackResource'].map(
        (action) => `ReadStack cloudformation:${action} arn:aws:cloudformation:eu-west-1:111122223333:stack/${STACK}/*`,
      ),
    ];
    expect(granted.map(({ id }) => id.replace(/^ann /, '')).sort()).toEqual(expected.sort());
  });

  it.each(ROTATIONS)('is named, without that of operators, if the right is missing: %s', async (command) => {
    account.denied.add('secretsmanager:GetSecretValue');
    const { result } = await rotate(command);
    account.denied.clear();
    expect(result.reported).toMatch(
      /has the policy of the output KeyRotationPolicy, and not that of the operators\.$/m,
    );
    expect(result.code).toBe(1);
  });
});

describe('The doctor', () => {
  let allowed: Awaited<ReturnType<typeof account.doctor>>;
  beforeAll(async () => {
    allowed = await account.doctor();
  });

  /** The doctor's results while AWS refuses these actions, and the rights that it misses. */
  async function refused(actions: readonly string[]) {
    for (const action of actions) account.denied.add(action);
    const { result } = await account.doctor();
    account.denied.clear();
    const fixes = result.results.filter(({ state }) => state === 'unknown').map(({ fix = '' }) => fix);
    return { ...result, missing: new Set(fixes.map((fix) => /the right (\S+) on /.exec(fix)?.[1])) };
  }

  it.each([
    ['of the account', /^(?!dynamodb|secretsmanager|cloudformation|.*Templates$)/],
    ['of the records and the trading servers', /^(dynamodb:(Scan|Query|DescribeContinuousBackups)|secretsmanager:.*)$/],
    ['that follow another one', /^(cloudformation:DescribeStackResource|.*Templates)$/],
    ['of the expiry of tables', /^dynamodb:DescribeTimeToLive$/],
  ])('continues after refused calls %s, and names each missing right', async (_, kind) => {
    const actions = [...new Set(allowed.calls.map(({ action }) => action))].filter((action) => kind.test(action));
    const { code, missing } = await refused(actions);
    expect([...missing].sort()).toEqual(actions.sort());
    expect(code).toBe(1);
  });

  it('continues when every call is refused', async () => {
    const { code, results } = await refused(allowed.calls.map(({ action }) => action));
    // The settings and the DNS can be asked without a right.
    const asked = results.filter(({ subject }) => !/^(crmWebhook|pace of .*)$/.test(subject));
    expect(asked.filter(({ state }) => state !== 'unknown')).toEqual([]);
    expect(code).toBe(1);
  });
});
