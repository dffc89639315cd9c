import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { ALL_FUNCTIONS, constructName, type FunctionName } from '../../infra/functions.ts';
import { readSettings } from '../../infra/settings.ts';
import { PHONE_CHANNELS } from '../../lib/validators/otp-types.ts';
import {
  allResources,
  EVERYTHING,
  type RoleRight,
  resourcesOfType,
  rightsOfRole,
  roleOf,
  SENDER,
  synthesize,
} from '../support/stack.ts';

/**
 * The table of `.github/SECURITY.md`: what each role could do if its code were taken over. A right that the table does
 * not have fails here. Words for it come first; then `npx vitest run --config test/vitest.config.ts
 * test/infra/rights-table.test.ts -u` writes the page.
 */

const FUNCTIONS: Readonly<Record<FunctionName, string>> = {
  'request-registration': 'registers',
  'confirm-registration': 'confirms',
  'create-tp5-account': 'opens tp5',
  'create-tp4-account': 'opens tp4',
  'settle-operations': 'settler',
  'notify-crm': 'notifies the CRM',
};
const NAMES = Object.keys(FUNCTIONS) as FunctionName[];

/** Every setting that gives a right: the channels by AWS, and by the broker's own provider. */
const URL_OF_RECEIVER = 'https://messages.acme.example/send';
const SETTINGS: Record<string, unknown>[] = [
  EVERYTHING,
  {
    ...EVERYTHING,
    scanDocuments: false,
    provider: Object.fromEntries(PHONE_CHANNELS.map((name) => [name, URL_OF_RECEIVER])),
  },
];

/** What an action does with a thing. */
const VERBS: Readonly<Record<string, string>> = {
  'dynamodb:GetItem': 'read',
  'dynamodb:BatchGetItem': 'read',
  'dynamodb:Query': 'find',
  'dynamodb:Scan': 'list',
  'dynamodb:PutItem': 'write',
  'dynamodb:UpdateItem': 'change',
  'dynamodb:DeleteItem': 'delete',
  's3:GetObject': 'read',
  's3:GetObjectTagging': 'read tags',
  's3:PutObject': 'write',
  's3:PutObjectTagging': 'write tags',
  's3:DeleteObject': 'delete',
  's3:DeleteObjectTagging': 'delete tags',
  'secretsmanager:GetSecretValue': 'read',
  'sqs:GetQueueAttributes': 'count',
  'sqs:ReceiveMessage': 'read',
  'sqs:DeleteMessage': 'delete',
  'sqs:ChangeMessageVisibility': 'delay',
  'sqs:SendMessage': 'put',
  'events:PutEvents': 'publish',
  'ses:SendEmail': 'send',
  'sns:Publish': 'send',
  'sms-voice:SendVoiceMessage': 'send',
  'social-messaging:SendWhatsAppMessage': 'send',
  'logs:CreateLogStream': 'write',
  'logs:PutLogEvents': 'write',
  'xray:PutTelemetryRecords': 'write',
  'xray:PutTraceSegments': 'write',
};

/** The verbs in the order of a cell. */
const WORDS = [...new Set(Object.values(VERBS))];

/** The rows of the table, with the resources of each as a policy names them, and the conditions. */
const THINGS: Readonly<Record<string, readonly string[]>> = {
  forms: ['<CrmTable.Arn> if ForAllValues:StringLike dynamodb:LeadingKeys form#*'],
  'clients, by a proven email address': ['<CrmTable.Arn>/index/proven_email'],
  'clients, by a proven phone': ['<CrmTable.Arn>/index/proven_phone'],
  'clients, by their referral code': ['<CrmTable.Arn>/index/referral_code'],
  'clients, by their id': ['<CrmTable.Arn> if ForAllValues:StringLike dynamodb:LeadingKeys client#*'],
  'clients, forms, connections and account types, by their id': ['<CrmTable.Arn>'],
  'registrations and their keys, by their id': ['<RegistrationsTable.Arn>'],
  'registrations that are due': ['<RegistrationsTable.Arn>/index/due'],
  'documents, by their registration': ['<DocumentsBucket.Arn>/registrations/*'],
  'documents of confirmed registrations; with `scanDocuments` those without malware': [
    '<DocumentsBucket.Arn>/registrations/* if StringNotEquals s3:ExistingObjectTag/registration pending',
    '<DocumentsBucket.Arn>/registrations/* if StringNotEquals s3:ExistingObjectTag/registration pending' +
      ' and StringEquals s3:ExistingObjectTag/GuardDutyMalwareScanStatus NO_THREATS_FOUND',
  ],
  'counters of limits': ['<LimitsTable.Arn>'],
  "what version 1.0.0 kept of a registration's key, by the key": [
    '<OperationsTable.Arn> if ForAllValues:StringEquals dynamodb:Attributes' +
      ' pk,fingerprint,state,lease,lease_until,revision,expires_at,registration_id' +
      ' and StringEqualsIfExists dynamodb:Select SPECIFIC_ATTRIBUTES',
  ],
  'operations, by their key': ['<OperationsTable.Arn>'],
  'operations that are due': ['<OperationsTable.Arn>/index/due'],
  'reserved logins': ['<LoginsTable.Arn>'],
  'reserved logins, by their operation': ['<LoginsTable.Arn>/index/operation_id'],
  'records of accounts': ['<AccountsTable.Arn>'],
  'passwords of tp5 servers, and those without a tag of a version': [
    'secretsmanager:secret:full/platform/* if StringLikeIfExists secretsmanager:ResourceTag/broker-api-versions *tp5*',
  ],
  'passwords of tp4 servers, and those without a tag of a version': [
    'secretsmanager:secret:full/platform/* if StringLikeIfExists secretsmanager:ResourceTag/broker-api-versions *tp4*',
  ],
  'passwords of all trading servers': ['secretsmanager:secret:full/platform/*'],
  'the key of derived passwords': ['<PasswordSecret>'],
  'the pepper': ['<PepperSecret>'],
  "the key of the captcha's provider": ['secretsmanager:secret:captcha-??????'],
  'the secret of the front': ['secretsmanager:secret:front-??????'],
  'the key that signs messages to your provider': ['secretsmanager:secret:broker-api/full/provider-??????'],
  'the key that signs events': ['secretsmanager:secret:broker-api/full/crm-webhook-??????'],
  'events of confirmed registrations': ['<EventBus.Arn> if StringEquals events:detail-type RegistrationConfirmed'],
  'events of opened accounts': ['<EventBus.Arn> if StringEquals events:detail-type AccountOpened'],
  'events that wait for the CRM: registrations': ['<CrmQueue.Arn>'],
  'events that wait for the CRM: accounts': ['<CrmAccountsQueue.Arn>'],
  'events that the CRM did not accept': ['<CrmUndeliveredQueue.Arn>'],
  "emails from the sender's address, to anybody": [
    'ses:configuration-set/<MailConfigurationSet> if StringEquals ses:FromAddress no-reply@acme.example',
    'ses:identity/acme.example if StringEquals ses:FromAddress no-reply@acme.example',
    'ses:identity/no-reply@acme.example if StringEquals ses:FromAddress no-reply@acme.example',
  ],
  'texts to any number': ['not arn:<AWS::Partition>:sns:*:*:*'],
  'calls from your number': [
    'sms-voice:phone-number/phone-0a1b',
    'sms-voice:protect-configuration/<ProtectConfiguration.ProtectConfigurationId>',
  ],
  'WhatsApp messages from your number': ['social-messaging:phone-number-id/0a1b'],
  popups: ['<ClientNotificationsTopic>'],
  'its own log': ['its own log'],
  'its own traces': ['* of xray'],
};

const ROW_OF = new Map(
  Object.entries(THINGS).flatMap(([name, resources]) => resources.map((resource) => [resource, name] as const)),
);

/** The condition of a denial: each call of a function's code has the key, and no call that Lambda makes itself. */
const DENIED_TO_CODE = { Null: { 'lambda:SourceFunctionArn': 'false' } };

/** A resource of a right, with the conditions, as `THINGS` names it. */
function resourcesOf({ may, on, notOn, if: conditions = {} }: Omit<RoleRight, 'sid'>, construct: string): string[] {
  const tests = Object.entries(conditions).flatMap(([operator, keys]) =>
    Object.entries(keys).map(([key, values]) => `${operator} ${key} ${[values].flat().join(',')}`),
  );
  const suffix = tests.length === 0 ? '' : ` if ${tests.join(' and ')}`;
  const named = (on ?? []).map((arn) => {
    if (arn === '*') return `* of ${may?.[0]?.split(':')[0]}`;
    if (new RegExp(`^<${construct}Log\\w{8}\\.Arn>$`).test(arn)) return 'its own log';
    return arn.replace(/^arn:<AWS::Partition>:([\w-]+):<AWS::Region>:<AWS::AccountId>:/, '$1:');
  });
  return [...named, ...(notOn ?? []).map((arn) => `not ${arn}`)].map((name) => name + suffix);
}

/**
 * The verbs of the code of a role by the rows of the table: some rights are Lambda's alone.
 * @throws Error for a right without words
 */
function verbsOf(role: string, construct: string): Map<string, Set<string>> {
  const verbs = new Map<string, Set<string>>();
  for (const template of SETTINGS.map(synthesize)) {
    // Every right is a statement of the stack's own policies.
    const properties = Object.keys(allResources(template)[role]?.Properties ?? {});
    expect(properties.filter((name) => !['AssumeRolePolicyDocument', 'Description', 'Tags'].includes(name))).toEqual(
      [],
    );
    const rights = rightsOfRole(template, role);
    const denials = rights.filter(({ Deny }) => Deny !== undefined);
    for (const denial of denials) expect(denial).toMatchObject({ on: ['*'], if: DENIED_TO_CODE });
    const denied = new Set(denials.flatMap(({ Deny = [] }) => Deny));
    for (const { sid, ...right } of rights) {
      const actions = (right.may ?? []).filter((action) => !denied.has(action));
      for (const resource of actions.length === 0 ? [] : resourcesOf(right, construct)) {
        const row = ROW_OF.get(resource);
        if (row === undefined) throw new Error(`${construct} ${sid}: THINGS has no row for "${resource}".`);
        const known = verbs.get(row) ?? new Set();
        for (const action of actions) {
          if (VERBS[action] === undefined) throw new Error(`${construct} ${sid}: VERBS has no word for ${action}.`);
          verbs.set(row, known.add(VERBS[action]));
        }
      }
    }
  }
  return verbs;
}

/** The roles of functions, with the function of each. The code of 1.0.0 runs until the update ends, and after a roll-back. */
function columns() {
  const template = synthesize(EVERYTHING);
  const roles = Object.keys(resourcesOfType(template, 'AWS::IAM::Role'));
  return NAMES.flatMap((name) => {
    const construct = constructName({ name });
    const own = roleOf(template, construct);
    return roles
      .filter((id) => id === own || id.startsWith(`${construct}Role`))
      .map((id) => ({
        heading: `${FUNCTIONS[name]}${id === own ? '' : ' (1.0.0)'}`,
        verbs: verbsOf(id, construct),
      }));
  });
}

function rightsTable(): string {
  const all = columns();
  const lines = Object.keys(THINGS).map((row) => {
    const cells = all.map(({ verbs }) => WORDS.filter((verb) => verbs.get(row)?.has(verb)).join(', '));
    if (cells.every((cell) => cell === '')) throw new Error(`No function has a right on "${row}".`);
    return `| ${[row, ...cells].join(' | ')} |`;
  });
  const head = ['', ...all.map(({ heading }) => heading)];
  return [`| ${head.join(' | ')} |`, `|${head.map(() => '---|').join('')}`, ...lines].join('\n');
}

const PAGE = new URL('../../.github/SECURITY.md', import.meta.url).pathname;
const TABLE = /(<!-- rights -->\n)[\s\S]*?(<!-- \/rights -->)/;

it('The page on security has every right of every function, and no other', async () => {
  const page = readFileSync(PAGE, 'utf8');
  const table = rightsTable();
  await expect(page.replace(TABLE, (_, before, after) => `${before}${table}\n${after}`)).toMatchFileSnapshot(PAGE);
});

it('The table of rights is made with every setting on which a right depends', () => {
  const settings: Record<string, unknown> = Object.assign(
    {},
    ...SETTINGS.map((one) => readSettings({ ...SENDER, ...one })),
  );
  const needed = ALL_FUNCTIONS.flatMap(({ uses, setting }) => [...uses.flatMap(({ needs = [] }) => needs), setting]);
  const missing = needed.filter((name) => name !== undefined && !settings[name]);
  expect(missing).toEqual([]);
});
