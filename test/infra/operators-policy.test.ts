import { beforeAll, describe, expect, it } from 'vitest';
import { DEMO_RECORDS } from '../../infra/local/demo-records.ts';
import { secretArn, tableArn } from '../../infra/local/rights/arn.ts';
import { allowingRights, type NeededRight, observedCalls, type Right } from '../../infra/local/rights/policy.ts';
import { settingSecrets } from '../../infra/settings.ts';
import { openAccount, register, suppressAddress } from '../support/local-service.ts';
import { cdkJsonOf, type Person, runOperatorsCommand, unknownOperation } from '../support/operators.ts';
import { OperatorsStack, policyRights, SETTINGS, STACK } from '../support/operators-stack.ts';
import { KEY_ATTRIBUTES, removeItems, restoredTable, writeItems } from '../support/restored-tables.ts';

const { captcha: _, front: __, ...WITHOUT_SECRETS } = SETTINGS;

/** The callers, with the rights of the policies that are attached to their roles. */
const RIGHTS = {
  operators: policyRights('operators', 'OperatorsPolicy'),
  doctor: policyRights('doctor', 'OperatorsPolicy'),
  /** Operators of a stack without captcha and front. */
  early: policyRights('early', 'OperatorsPolicy', WITHOUT_SECRETS),
  rotators: policyRights('rotators', 'KeyRotationPolicy'),
  /** Operators to whose role somebody has attached the other policy too. */
  both: [...policyRights('both', 'OperatorsPolicy'), ...policyRights('both', 'KeyRotationPolicy')],
  restorers: policyRights('restorers', 'RestorePolicy'),
} satisfies Record<string, readonly Right[]>;
type CallerName = keyof typeof RIGHTS;

const stack = new OperatorsStack(RIGHTS);
const { operators } = stack;

/** The calls of a caller in this file: one for each set of rights that allows some. */
const callsOf = (caller: CallerName) => [...observedCalls.values()].filter((call) => call.caller === caller);

/** The rights of a caller that no call has needed: each was allowed by another right too, or nothing was asked. */
function superfluousRights(caller: CallerName): string[] {
  const needed = new Set(callsOf(caller).flatMap(({ by }) => (by.length === 1 ? by : [])));
  return RIGHTS[caller].filter(({ id, denies }) => !denies && !needed.has(id)).map(({ id }) => id);
}

async function openDemoAccount(): Promise<void> {
  const order = { connection_id: 'tp5-demo-1', group: 'demo\\standard', leverage: 100, account_type_id: 'ATDEMO01' };
  expect((await openAccount(operators.service, 'tp5', order)).status).toBe(200);
}

/** An operation of which an operator has named the account. */
async function saidOperation(): Promise<string> {
  const { id, login } = await unknownOperation(operators);
  await operators.local('settle', id, '--login', String(login), '--confirm', String(login));
  return id;
}

/** The operations and reservations are lost, and every server lists its accounts. */
async function lostTables(): Promise<void> {
  await openDemoAccount();
  for (const table of ['operations', 'logins']) await removeItems(operators, table, await operators.items(table));
  for (const id of ['tp4-gw-1', 'tp4-gw-2']) await operators.local('delete', 'connections', id);
}

/** An event that the CRM did not accept for a day. */
async function undeliveredEvent(): Promise<void> {
  const { service } = operators;
  service.faults('crm').set({ kind: 'refused', times: 1_000 });
  await openDemoAccount();
  const waits = () => service.deliveries.list().some(({ state }) => state === 'waiting' || state === 'delivering');
  while (waits()) await service.deliveries.deliverNow();
  service.faults('crm').clear();
}

/** A connection whose secret is absent. */
async function newConnection(): Promise<void> {
  const stored = await operators.table.read('connection#tp5-demo-1');
  const change = { id: 'tp5-new-1', secret: 'platform/new', logins: { from: 800_000, to: 899_999 } };
  await operators.local('import', { connections: [{ ...(stored?.record as object), ...change }] });
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
  const d0cUpl = [{ id: '1', name: 'passport.pdf', doc: Buffer.from('%PDF-1.4\n').toString('base64') }];
  const form = { form_id: 'FORM0001', k3J9xQ: 'some', d0cUpl };
  expect((await register(operators.service, { email, ...form })).status).toBe(204);
  const phone = { country_code: '44', number: '7400123499' };
  expect((await register(operators.service, { email, otp_type: 'sms', phone })).status).toBe(204);
  await operators.local('import', { clients: [{ id: 'CLIENT98', name: 'Mallory', email, unproven: ['email'] }] });
}

/** A command of operators. */
interface Row extends Person {
  command: string;
  /** What has happened before. A text that it returns is the value of `X` in the command. */
  before?: () => Promise<unknown>;
}

const RESTORED_BY_OPERATORS = Object.keys(KEY_ATTRIBUTES).filter((table) => table !== 'registrations');
const NEW_CLIENT = { clients: [{ id: 'CLIENT99', email: 'new@example.com', name: 'New' }] };
const asks = () => register(operators.service, { email: 'asks@example.com' });
const serverSecret = { input: '{"login":1000,"password":"x"}' };

const COMMANDS: readonly Row[] = [
  { command: 'rebuild', before: lostTables },
  { command: 'import X', before: () => operators.fileOf({ clients: [DEMO_RECORDS.clients[0]] }) },
  { command: 'export' },
  { command: 'list clients' },
  { command: 'form FORM0001' },
  { command: 'delete clients CLIENT99', before: () => operators.local('import', NEW_CLIENT) },
  { command: 'secret put tp5-demo-1 --yes', ...serverSecret },
  { command: 'secret put tp5-new-1 --yes', ...serverSecret, before: newConnection },
  { command: 'secret put captcha', input: 'key' },
  { command: 'secret put front', input: `{"current":"${'k'.repeat(32)}"}` },
  { command: 'redeliver', before: undeliveredEvent },
  { command: 'operations' },
  { command: 'operation X', before: async () => (await unknownOperation(operators)).id },
  { command: 'settle X --login 7000001 --confirm 7000001', before: async () => (await unknownOperation(operators)).id },
  { command: 'settle X --none --confirm none', before: async () => (await unknownOperation(operators)).id },
  { command: 'settle X --undecided --confirm undecided', before: saidOperation },
  ...RESTORED_BY_OPERATORS.map((table) => ({
    command: `restore ${table} --from ${table}-restored`,
    before: () => lossOf(table),
  })),
  { command: 'registration asks@example.com', before: asks },
  { command: 'registration asks@example.com --unsuppress', before: () => suppressAddress('asks@example.com') },
  { command: 'client CLIENT01' },
  { command: 'forget --client CLIENT01', before: registerAnn },
];
/** The commands that need another policy. */
const ROTATIONS = ['pepper rotate', 'secret rotate passwords', 'secret rotate crmWebhook'];
const RESTORATION = 'restore registrations --from registrations-restored';

async function run(caller: CallerName, { command, before, ...person }: Row) {
  const value = await before?.();
  return stack.crm(command.replace('X', String(value)), { caller, waits: async () => {}, ...person });
}

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
/** One statement has all actions on the secrets of settings and of servers, because a policy has a maximum size. */
const SECRETS_OF_SETTINGS = /:secret:(broker-api\/test\/\*|captcha|captcha-\?{6}|front|front-\?{6})$/;

describe('The policy of operators', () => {
  it('allows every call of crm and doctor, and nothing else but the commands of the runbook', {
    timeout: 300_000,
  }, async () => {
    // With an account in the range, which the ledger is asked about.
    await openDemoAccount();
    await operators.table.write([{ put: { pk: 'client#CLIENT01', record: DEMO_RECORDS.clients[0] } }]);
    const { results } = await stack.doctor({ caller: 'operators', fix: true });
    expect(results.filter(({ state }) => state === 'unknown')).toEqual([]);
    for (const row of COMMANDS) {
      const result = await run('operators', row);
      const { command } = row;
      expect({ command, ...result }).toEqual({ command, code: 0, out: expect.anything(), reported: expect.anything() });
    }
    const superfluous = superfluousRights('operators').filter(
      (right) => !ON_CALL.some((action) => right.includes(` ${action} `)) && !SECRETS_OF_SETTINGS.test(right),
    );
    expect(superfluous).toEqual([]);
  });

  it.each([
    ['captcha.secret', 'key'],
    ['front.secret', `{"current":"${'k'.repeat(32)}"}`],
  ])('allows to store the secret of a setting that is not deployed yet: %s', async (setting, input) => {
    const name = `${settingSecrets('test')}${setting.replace('.secret', '')}`;
    const cdkJson = cdkJsonOf({ ...SETTINGS, [setting]: name });
    stack.settings = WITHOUT_SECRETS;
    const result = await stack.crm(`secret put ${setting}`, { caller: 'early', input, cdkJson });
    stack.settings = SETTINGS;
    expect(result).toMatchObject({ code: 0, out: expect.stringContaining(`The secret ${name} is made`) });
  });

  it('is tested with every command', async () => {
    const { out } = await runOperatorsCommand(['--help']);
    const [, list = ''] = /\nCommands:\n(.*?)\n\n/s.exec(out) ?? [];
    const names = [...list.matchAll(/^ {2}(\S+)/gm)].map(([, name = '']) => name);
    const tested = [...COMMANDS.map(({ command }) => command), ...ROTATIONS].map((one) => one.split(' ')[0]);
    expect(names.length).toBeGreaterThan(8);
    expect(names.filter((name) => name !== 'help' && !tested.includes(name))).toEqual([]);
  });

  it.each([
    ['dynamodb:Scan', 'export'],
    ['cloudformation:DescribeStacks', 'list clients'],
    ['secretsmanager:PutSecretValue', 'secret put captcha'],
    ['dynamodb:Query', 'operations'],
  ])('is named if the right %s is missing', async (action, command) => {
    stack.denied.add(action);
    const result = await run('operators', { command, input: 'key' });
    stack.denied.clear();
    const undeployed = 'if it is attached, the setting that names this secret is not deployed: npm run deploy';
    const more = action.startsWith('secrets') ? `; ${undeployed}` : '';
    const fix = `attach the policy that the output OperatorsPolicy names${more}`;
    const sentence = `^These AWS credentials lack the right ${action} on arn:aws:\\S+: ${fix}\\.$`;
    expect(result.reported).toMatch(new RegExp(sentence, 'm'));
    expect(result.code).toBe(1);
  });
});

it('An operator who redelivers events without a webhook is told which setting is missing', async () => {
  stack.absent.add('CrmUndeliveredQueue');
  const result = await run('operators', { command: 'redeliver' });
  stack.absent.clear();
  const reported = `The stack ${STACK} has no CrmUndeliveredQueue: the setting crmWebhook is not deployed.\n`;
  expect(result).toMatchObject({ code: 1, reported });
});

it('The policy for a restore of registrations allows that command alone, and is named to operators, who lack it', async () => {
  await lossOf('registrations');
  const refused = await run('operators', { command: RESTORATION });
  expect(refused.reported).toMatch(/: use a role that has the policy of the output RestorePolicy\.$/m);
  expect((await run('restorers', { command: RESTORATION })).code).toBe(0);
  expect(superfluousRights('restorers')).toEqual([]);
});

const may = (call: NeededRight, rights: readonly Right[] = RIGHTS.operators) => allowingRights(rights, call).length > 0;

describe('The policy of operators', () => {
  it('allows to change no registration', () => {
    for (const action of ['PutItem', 'UpdateItem', 'BatchWriteItem'])
      expect(may({ action: `dynamodb:${action}`, resource: tableArn('registrations') })).toBe(false);
  });

  it('shows that a key which signs events exists, and not the key', () => {
    for (const name of ['crm-webhook', 'provider']) {
      const resource = secretArn(`broker-api/test/${name}`);
      expect(may({ action: 'secretsmanager:DescribeSecret', resource })).toBe(true);
      const writes = ['PutSecretValue', 'UpdateSecret', 'UpdateSecretVersionStage', 'CreateSecret'];
      for (const action of ['GetSecretValue', ...writes])
        expect(may({ action: `secretsmanager:${action}`, resource })).toBe(false);
    }
  });
});

const KEY_ROTATION_POLICY = /has the policy of the output KeyRotationPolicy, and not that of the operators\.$/m;

describe('The policy of key rotation', () => {
  it('allows to rotate and to replace the keys, and nothing else', async () => {
    stack.settings = { ...SETTINGS, provider: { sms: 'https://sms.acme.example/send' } };
    const signing = ['secret rotate crmWebhook', 'secret rotate provider'];
    const keys = ['pepper rotate', 'secret rotate passwords', 'secret put pepper', 'secret put passwords'];
    // A key that signs is made first, and replaced then.
    for (const command of [...keys, ...signing, ...signing]) {
      const input = (await stack.operators.stored(`broker-api-keys/local/${command.split(' ').at(-1)}`)) ?? '';
      expect({ command, ...(await run('rotators', { command, input })) }).toMatchObject({ command, code: 0 });
    }
    stack.settings = SETTINGS;
    expect(superfluousRights('rotators')).toEqual([]);
    const others = ['platform/new', 'broker-api/test/captcha', 'broker-api/prod/provider', 'broker-api/test/front'];
    const calls = others.flatMap((name) =>
      ['GetSecretValue', 'PutSecretValue', 'CreateSecret', 'DeleteSecret', 'PutResourcePolicy'].map((action) => ({
        action: `secretsmanager:${action}`,
        resource: secretArn(name),
      })),
    );
    expect(calls.filter((call) => may(call, RIGHTS.rotators))).toEqual([]);
    // A right to every action on a key would be needed too.
    for (const name of ['broker-api-keys/local/pepper', 'broker-api/test/provider'])
      for (const action of ['secretsmanager:DeleteSecret', 'secretsmanager:PutResourcePolicy'])
        expect(may({ action, resource: secretArn(name) }, RIGHTS.rotators)).toBe(false);
  });

  it.each(ROTATIONS)('is named to operators, also to those who have both policies: %s', async (command) => {
    for (const caller of ['operators', 'both'] as const) {
      const result = await run(caller, { command });
      expect(result.reported).toMatch(KEY_ROTATION_POLICY);
      expect(result.code).toBe(1);
    }
  });

  it('is denied by that of operators for every action on a key', () => {
    const actions = ['GetSecretValue', 'PutSecretValue', 'UpdateSecret', 'DeleteSecret', 'PutResourcePolicy'];
    const keys = ['broker-api-keys/local/pepper', 'broker-api-keys/local/passwords', 'broker-api/test/crm-webhook'];
    const calls = keys.flatMap((key) =>
      actions.map((one) => ({ action: `secretsmanager:${one}`, resource: secretArn(key) })),
    );
    expect(calls.filter((call) => may(call, RIGHTS.both))).toEqual([]);
  });
});

describe('The doctor', () => {
  let actions: readonly string[];
  beforeAll(async () => {
    await stack.doctor({ caller: 'doctor' });
    actions = [...new Set(callsOf('doctor').map(({ need }) => need.action))];
  });

  /** The doctor's results while AWS refuses these actions, and the rights that it misses. */
  async function refused(denied: readonly string[]) {
    for (const action of denied) stack.denied.add(action);
    const { code, results } = await stack.doctor({ caller: 'doctor' });
    stack.denied.clear();
    const fixes = results.filter(({ state }) => state === 'unknown').map(({ fix = '' }) => fix);
    return { code, results, missing: new Set(fixes.map((fix) => /the right (\S+) on /.exec(fix)?.[1])) };
  }

  it.each([
    ['of the account', /^(?!dynamodb|secretsmanager|cloudformation|.*Templates$)/],
    ['of the records and the trading servers', /^(dynamodb:(Scan|Query)|secretsmanager:.*)$/],
    ['about the settings of the stack', /^cloudformation:DescribeStackResource$/],
    ['that follow another one', /Templates$/],
  ])('continues after refused calls %s, and names each missing right', async (_, kind) => {
    const denied = actions.filter((action) => kind.test(action));
    const { code, missing } = await refused(denied);
    expect([...missing].sort()).toEqual(denied.sort());
    expect(code).toBe(1);
  });

  it('continues when every call is refused', async () => {
    const { code, results } = await refused(actions);
    expect(results.filter(({ state }) => state !== 'unknown')).toEqual([]);
    expect(code).toBe(1);
  });
});
