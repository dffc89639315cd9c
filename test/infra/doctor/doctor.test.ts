import { describe, expect, it } from 'vitest';
import { serviceSecrets } from '../../../infra/crm/service-secrets.ts';
import {
  type CheckResult,
  examine,
  exitCode,
  messageChecks,
  secretChecks,
  settlementCheck,
  tableChecks,
} from '../../../infra/doctor/checks.ts';
import { awsChecks, table } from '../../../infra/doctor/doctor.ts';
import type { AwsProbes } from '../../../infra/doctor/probes.ts';
import { readSettings } from '../../../infra/settings.ts';
import { findTranslation, LANGUAGES } from '../../../lib/messages/translations/languages.ts';
import { OPERATOR_ONLY } from '../../../lib/records/due.ts';
import { HEALTHY } from '../../support/doctor-probes.ts';

const MAIL = { senderAddress: 'no-reply@acme.example' };
const EVERYTHING = {
  ...MAIL,
  channels: 'email,sms,call,whatsapp',
  'phone.countries': 'GB',
  'call.originationIdentity': 'phone-1',
  'whatsapp.phoneNumberId': 'phone-number-id-1',
  'whatsapp.codeTemplate': 'code',
  'whatsapp.noticeTemplate': 'notice',
  'customDomain.name': 'api.acme.example',
  'customDomain.certificateArn': 'arn:aws:acm:eu-west-1:111122223333:certificate/1',
};

/** What probes answer; a function answers by its arguments. */
type Answers = { [Name in keyof AwsProbes]?: AwsProbes[Name] | Awaited<ReturnType<AwsProbes[Name]>> };

async function results(answers: Answers, context: Record<string, unknown> = MAIL, deployed = true) {
  const probes = Object.fromEntries(
    Object.entries(answers).map(([name, one]) => [name, typeof one === 'function' ? one : async () => one]),
  );
  const checks = await awsChecks(readSettings(context), 'broker-api-prod', deployed);
  return examine(checks, { ...HEALTHY, approvedLanguages: allLanguages, ...probes } as typeof HEALTHY);
}

async function allLanguages() {
  return Promise.all(LANGUAGES.map(async (language) => (await findTranslation(language)).whatsapp ?? language));
}

const problems = (all: readonly CheckResult[]) => all.filter(({ state }) => state !== 'works');

describe('The doctor', () => {
  it('finds no problem in a healthy account, and ends with 0', async () => {
    const all = await results({}, EVERYTHING);
    expect(problems(all)).toEqual([]);
    expect(all.length).toBeGreaterThan(14);
    expect(exitCode(all)).toBe(0);
    expect(table(all)).toMatch(/Everything works\.\n$/);
  });

  const CASES: [string, Answers, Partial<CheckResult>][] = [
    ['an account that CDK has not prepared', { bootstrapVersion: undefined }, { fix: 'npx cdk bootstrap' }],
    ['a new account’s ten executions', { concurrentExecutions: 10 }, { state: 'warning' }],
    [
      'the sandbox of mails',
      {
        mailAccount: { production: false, sending: true, perSecond: 1, perDay: 200, sentToday: 0 },
      },
      { state: 'missing', subject: 'account' },
    ],
    ['a domain that is not verified', { mailIdentity: { verified: false, dkim: 'PENDING' } }, { area: 'mail' }],
    ['a domain without a DMARC policy', { txtRecords: [] }, { state: 'warning', subject: 'DMARC of acme.example' }],
    ['the sandbox of texts', { messagingSandbox: true }, { subject: 'sandbox' }],
    [
      'a protect configuration that SNS does not obey',
      { defaultProtectConfiguration: undefined },
      { state: 'warning' },
    ],
    [
      'pages without a receiver',
      { subscriptions: { confirmed: 0, pending: 1 } },
      { subject: 'receivers of pages', state: 'missing' },
    ],
    [
      'notices without a receiver',
      { subscriptions: async (topic) => ({ confirmed: topic.endsWith('notices') ? 0 : 1, pending: 0 }) },
      { subject: 'receivers of notices', state: 'warning', fix: expect.stringContaining('topic-arn arn:aws:sns:') },
    ],
    ['an alarm that rings', { activeAlarms: ['broker-api-prod-Flood'] }, { subject: 'broker-api-prod-Flood' }],
    ['a stack that is not deployed', { stack: undefined }, { fix: 'npm run deploy' }],
    ['a certificate that does not exist', { certificate: undefined }, { area: 'domain', state: 'missing' }],
    [
      'a first deployment that failed',
      { stack: { status: 'ROLLBACK_COMPLETE', outputs: {}, protected: false } },
      { area: 'stack', state: 'missing', fix: expect.stringMatching(/, fix the cause, then: npm run deploy$/) },
    ],
    [
      'a first deployment that failed under protection',
      { stack: { status: 'ROLLBACK_COMPLETE', outputs: {}, protected: true } },
      { fix: expect.stringContaining('--no-enable-termination-protection --stack-name broker-api-prod && npm run') },
    ],
    [
      'a rollback that failed',
      { stack: { status: 'UPDATE_ROLLBACK_FAILED', outputs: {}, protected: true } },
      { fix: expect.stringContaining('continue-update-rollback --stack-name broker-api-prod') },
    ],
    [
      'a stack without protection',
      { stack: { status: 'CREATE_COMPLETE', outputs: {}, protected: false } },
      { area: 'stack', state: 'warning', fix: 'npm run deploy' },
    ],
    ['a domain whose DNS names another target', { cnames: [] }, { area: 'domain', state: 'warning' }],
  ];
  const PROVIDER = { ...EVERYTHING, provider: { sms: 'https://sms.acme.example/send' } };
  it.each([
    ['works', ['203.0.113.7']],
    ['missing', []],
    ['missing', ['203.0.113.7', '10.0.0.7']],
  ])('says that a provider of the broker %s by its addresses %j', async (state, addresses) => {
    const all = await results({ addresses: addresses }, PROVIDER);
    expect(all.find(({ subject }) => subject === 'provider of sms')).toMatchObject({ state });
    expect(all.map(({ subject }) => subject)).not.toContain('spend of sms');
  });

  it.each(CASES)('reports %s, and how to fix it', async (_, probes, expected) => {
    const found = problems(await results(probes, EVERYTHING));
    expect(found).toContainEqual(expect.objectContaining({ fix: expect.stringMatching(/.{10}/), ...expected }));
  });

  it('reports, before the first deployment, an identity that would make it fail', async () => {
    const [there] = problems(await results({ stack: undefined }, MAIL, false)).filter(({ area }) => area === 'mail');
    expect(there).toMatchObject({ state: 'missing', fix: 'npm run setting -- senderIdentity=existing-domain' });
    const existing = { ...MAIL, senderIdentity: 'existing-domain' };
    const without = await results({ mailIdentity: undefined }, existing, false);
    expect(without).toContainEqual(expect.objectContaining({ fix: 'npm run setting -- senderIdentity=domain' }));
  });

  it('expects nothing of a stack that is not deployed yet', async () => {
    const notYet = { stack: undefined, mailIdentity: undefined };
    const all = await results(notYet, { ...MAIL, ...EVERYTHING }, false);
    expect(problems(all)).toMatchObject([{ area: 'stack', state: 'missing', fix: 'npm run deploy' }]);
    expect(all).toContainEqual({
      area: 'domain',
      subject: 'api.acme.example',
      state: 'works',
      detail: expect.stringContaining('its certificate'),
    });
  });

  it('counts the reservations of every function, with the one that confirms', async () => {
    const concurrency = { 'concurrency.registration': 300, 'concurrency.accounts': 20 };
    const executions = async () => 450;
    expect(problems(await results({ concurrentExecutions: executions }, { ...MAIL, ...concurrency }))).toEqual([]);
    const confirming = { ...MAIL, ...concurrency, confirmation: 'true' };
    expect(problems(await results({ concurrentExecutions: executions }, confirming))).toMatchObject([
      {
        subject: 'concurrent executions',
        detail: '450 in all; AWS keeps 100 unreserved, and the settings reserve 640',
      },
    ]);
  });

  it('names the languages in which a template of WhatsApp is not approved', async () => {
    const checks = messageChecks(readSettings(EVERYTHING), ['en_US', 'de', 'pt_BR']);
    const found = problems(await examine(checks, HEALTHY));
    expect(found.map(({ subject, detail }) => `${subject} ${detail}`)).toEqual([
      'template code is not approved in pt_BR',
      'template notice is not approved in pt_BR',
    ]);
  });
});

it('The service’s own secrets are checked for their shape', async () => {
  const secrets = serviceSecrets({ 'front.header': 'cf-connecting-ip', 'front.secret': 'front/x' }, 'arn:pepper');
  const found = (texts: Record<string, string>) =>
    examine(secretChecks(secrets), { ...HEALTHY, secret: async (name: string) => texts[name] });
  const key = 'k'.repeat(64);
  expect(
    await found({ 'arn:pepper': `{"current":"1","1":"${key}"}`, 'front/x': `{"current":"${key}"}` }),
  ).toMatchObject([
    { subject: 'pepper', state: 'works' },
    { subject: 'front.secret', state: 'works' },
  ]);
  expect(await found({ 'arn:pepper': '{}', 'front/x': '{"current":"short"}' })).toMatchObject([
    { state: 'missing', fix: expect.stringContaining('secret put arn:pepper --stack broker-api-prod') },
    { state: 'missing', fix: expect.stringContaining('secret put front/x --stack broker-api-prod') },
  ]);
});

it.each([
  ['broker-api-test', 'test/crm-webhook'],
  ['broker-api-prod', 'prod/crm-webhook'],
  [undefined, 'dev/crm-webhook'],
])('The key for the CRM of the stack %s is %s, whatever stage the settings name', (stack, name) => {
  const context = { stage: 'dev', crmWebhook: 'https://crm.acme.example/hook' };
  expect(serviceSecrets(context, undefined, stack)).toMatchObject([{ purpose: 'crmWebhook', name }]);
});

it.each([
  [{ recoveryDays: 0, expires: true }, 6, /^aws dynamodb update-continuous-backups --table-name table-of-\w+ /],
  [{ recoveryDays: 35, expires: false }, 3, /^aws dynamodb update-time-to-live --table-name table-of-\w+ /],
])('A table that was restored, with %j, is reported', async (state, count, fix) => {
  const probes = { ...HEALTHY, table: async (name: string) => ({ name: `table-of-${name}`, ...state }) };
  const found = problems(await examine(tableChecks, probes));
  expect(found.length).toBeGreaterThanOrEqual(count - 1);
  for (const one of found) expect(one).toMatchObject({ state: 'missing', fix: expect.stringMatching(fix) });
  expect(problems(await examine(tableChecks, HEALTHY))).toEqual([]);
});

describe('The operations whose callers did not retry', () => {
  const NOW = 1_800_000_000_000;
  const found = (...dueAt: number[]) =>
    examine([settlementCheck(NOW)], { ...HEALTHY, openOperations: async () => dueAt.map((at) => ({ dueAt: at })) });

  it.each<[string, number[], Partial<CheckResult>]>([
    ['nothing is open', [], { state: 'works', detail: 'none' }],
    [
      'the settler finishes them',
      [NOW - 60_000, NOW + 60_000],
      { state: 'works', detail: '2, which the settler finishes' },
    ],
    [
      'one needs an operator',
      [OPERATOR_ONLY],
      { state: 'warning', fix: 'npm run crm -- operations --open --stack broker-api-prod' },
    ],
    ['the settler does not run', [NOW - 11 * 60_000, OPERATOR_ONLY], { state: 'missing' }],
  ])('is reported when %s', async (_, dueAt, expected) => {
    expect(await found(...dueAt)).toMatchObject([expected]);
  });
});
