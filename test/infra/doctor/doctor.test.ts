import { describe, expect, it } from 'vitest';
import {
  type CheckResult,
  DOCTOR_QUESTIONS,
  exitCode,
  messageChecks,
  runChecks,
} from '../../../infra/doctor/checks.ts';
import { awsChecks, formatReport } from '../../../infra/doctor/doctor.ts';
import type { AwsProbes } from '../../../infra/doctor/probes.ts';
import { recordChecks, secretChecks, tableChecks } from '../../../infra/doctor/service-checks.ts';
import { serviceSecrets } from '../../../infra/ops/service-secrets.ts';
import { readSettings } from '../../../infra/settings.ts';
import { findTranslation, LANGUAGES } from '../../../lib/messages/translations/languages.ts';
import { HEALTHY_PROBES } from '../../support/doctor-probes.ts';

const MAIL = { senderAddress: 'no-reply@acme.example' };
const EVERYTHING = {
  ...MAIL,
  channels: 'email,sms,call,whatsapp',
  'phone.countries': 'GB',
  'call.originationIdentity': 'phone-1',
  'whatsapp.phoneNumberId': 'phone-number-id-1',
  'whatsapp.codeTemplate': 'code',
  'whatsapp.noticeTemplate': 'notice',
  confirmation: true,
  crmWebhook: 'https://crm.acme.example/events',
};

/** What probes answer; a function answers by its arguments. */
type Answers = { [Name in keyof AwsProbes]?: AwsProbes[Name] | Awaited<ReturnType<AwsProbes[Name]>> };

async function results(answers: Answers, context: Record<string, unknown> = MAIL, deployed = true) {
  const probes = Object.fromEntries(
    Object.entries(answers).map(([name, one]) => [name, typeof one === 'function' ? one : async () => one]),
  );
  const checks = await awsChecks(readSettings(context), 'broker-api-prod', deployed);
  return runChecks(checks, { ...HEALTHY_PROBES, approvedLanguages: allLanguages, ...probes } as typeof HEALTHY_PROBES);
}

async function allLanguages() {
  return Promise.all(LANGUAGES.map(async (language) => (await findTranslation(language)).whatsapp ?? language));
}

/** The stack of a healthy account, without these outputs. */
async function stackWithout(...names: string[]) {
  const stack = await HEALTHY_PROBES.stack('broker-api-prod');
  const kept = Object.entries(stack?.outputs ?? {}).filter(([name]) => !names.includes(name));
  return { status: 'UPDATE_COMPLETE', protected: true, outputs: Object.fromEntries(kept) };
}

const problems = (all: readonly CheckResult[]) => all.filter(({ state }) => state !== 'works');

describe('The doctor', () => {
  it('finds no problem in a healthy account, and ends with 0', async () => {
    const all = await results({}, EVERYTHING);
    expect(problems(all)).toEqual([]);
    expect(all.length).toBeGreaterThan(15);
    expect(exitCode(all)).toBe(0);
    expect(formatReport(all)).toMatch(/Everything works\.\n$/);
  });

  const CASES: [string, Answers, Partial<CheckResult>][] = [
    ['a new account’s ten executions', { concurrentExecutions: 10 }, { state: 'warning' }],
    [
      'the sandbox of mails',
      {
        mailAccount: { production: false, sending: true, perSecond: 1, perDay: 200, sentToday: 0 },
      },
      { state: 'missing', question: 'code', subject: 'mail account' },
    ],
    [
      'a new sender, which a deployment would use at once',
      { mailIdentity: undefined },
      {
        question: 'code',
        state: 'missing',
        fix: expect.stringMatching(/^aws sesv2 create-email-identity .* acme\.example/),
      },
    ],
    ['a domain that is not verified', { mailIdentity: { verified: false, dkim: 'PENDING' } }, { question: 'code' }],
    [
      'a domain without a DMARC policy',
      { txtRecords: [] },
      { state: 'warning', subject: 'DMARC of acme.example', fix: expect.stringContaining('"v=DMARC1; p=none; rua=') },
    ],
    ['a DMARC policy that asks for nothing', { txtRecords: ['v=DMARC1; p=none'] }, { state: 'warning' }],
    ['the sandbox of texts', { messagingSandbox: true }, { subject: 'message sandbox' }],
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
    ['a stack that is not deployed', { stack: undefined }, { fix: 'npm run deploy' }],
    [
      'a first deployment that failed',
      { stack: { status: 'ROLLBACK_COMPLETE', outputs: {}, protected: false } },
      { question: 'deployed', state: 'missing', fix: expect.stringMatching(/, fix the cause, then: npm run deploy$/) },
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
      { question: 'deployed', state: 'warning', fix: 'npm run deploy' },
    ],
    [
      'a route of confirmation that is not deployed',
      { stack: () => stackWithout('ConfirmRegistrationLogGroup') },
      { question: 'confirm', state: 'missing', fix: 'npm run deploy' },
    ],
    [
      'a webhook that is not deployed',
      { stack: () => stackWithout('NotifyCrmLogGroup') },
      { question: 'client', state: 'missing', fix: 'npm run deploy' },
    ],
    ['a CRM without an address', { addresses: [] }, { question: 'client', subject: 'crmWebhook', state: 'missing' }],
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
    const all = await results(probes, EVERYTHING);
    const found = problems(all);
    expect(found).toContainEqual(expect.objectContaining({ fix: expect.stringMatching(/.{10}/), ...expected }));
    expect(formatReport(all)).toMatch(/need attention\. Next step: .+\n→ .{10,}\n$/);
    expect(exitCode(all)).toBe(found.some(({ state }) => state === 'missing') ? 1 : 0);
  });

  const SLOW_SES = { mailAccount: { production: true, sending: true, perSecond: 14, perDay: 50_000, sentToday: 0 } };
  const PACES: [string, Answers, Record<string, unknown>, RegExp, RegExp][] = [
    [
      'email',
      {},
      {},
      /^20 .*: the throttle of the gateway \(Amazon SES 50, .* 1200\); to raise it: npm run setting/,
      /^$/,
    ],
    [
      'email',
      SLOW_SES,
      {},
      /^14 .*: Amazon SES \(the throttle of the gateway 20, /,
      /Sending rate, or npm run setting -- throttle.registrationPerSecond=14$/,
    ],
    [
      'email',
      SLOW_SES,
      { 'concurrency.registration': 3 },
      /^12 .*: executions of the function \(Amazon SES 14, /,
      /^npm run setting -- concurrency.registration=…, or/,
    ],
    ['email', { concurrentExecutions: 4 }, {}, /^16 .*: executions/, /Concurrent executions, or/],
    [
      'sms',
      {},
      { 'throttle.registrationPerSecond': 50 },
      /^20 .*: Amazon SNS .*; 5000 a day: limits.channelPerDay; 500 an hour to one country: limits.countryPerHour/,
      /Service Quotas, Amazon SNS, or/,
    ],
    [
      'sms',
      {},
      { provider: { sms: 'https://sms.acme.example/send' }, 'limits.channelPerDay': 'none' },
      /^20 .*: the throttle of the gateway \(executions of the function 1200\); 500 an hour/,
      /^$/,
    ],
  ];
  it.each(PACES)(
    'names the smallest quota on the way of a registration by %s: %j with %j',
    async (channel, ...given) => {
      const [answers, settings, detail, fix] = given;
      const all = await results(answers, { ...EVERYTHING, ...settings });
      const pace = all.find(({ subject }) => subject === `pace of ${channel}`);
      expect(pace?.detail).toMatch(detail);
      expect(pace?.fix ?? '').toMatch(fix);
      expect(pace?.state).toBe(pace?.fix === undefined ? 'works' : 'warning');
    },
  );

  it('reports a service that sends codes without a route to confirm them, and without a CRM', async () => {
    const stack = () => stackWithout('ConfirmRegistrationLogGroup', 'NotifyCrmLogGroup');
    const found = problems(await results({ stack }, MAIL));
    expect(found).toMatchObject([
      { question: 'confirm', state: 'warning', fix: 'npm run setting -- confirmation=true && npm run deploy' },
      { question: 'client', state: 'warning', fix: expect.stringContaining('crmWebhook=https://… && npm run deploy') },
    ]);
    const writes = await results({ stack }, { ...MAIL, crmWriter: 'clients' });
    expect(writes.filter(({ question }) => question === 'client')).toMatchObject([{ state: 'works' }]);
  });

  it('asks its questions in order, and ends with the first thing that is missing', () => {
    const text = formatReport([
      { question: 'alarm', subject: 'receivers of pages', state: 'works', detail: '1 confirmed' },
      { question: 'confirm', subject: 'route', state: 'warning', detail: 'none', fix: 'set it' },
      { question: 'code', subject: 'mail account', state: 'missing', detail: 'in the sandbox', fix: 'ask AWS' },
    ]);
    expect(text.split('\n')).toEqual([
      ...[DOCTOR_QUESTIONS.code, '  MISSING  mail account        in the sandbox', '           → ask AWS', ''],
      ...[DOCTOR_QUESTIONS.confirm, '  warning  route               none', '           → set it', ''],
      ...[DOCTOR_QUESTIONS.alarm, '  ok       receivers of pages  1 confirmed', ''],
      ...['2 of 3 need attention. Next step: mail account', '→ ask AWS', ''],
    ]);
  });

  it('reports, before the first deployment, an identity that would make it fail', async () => {
    const [there] = problems(await results({ stack: undefined }, MAIL, false)).filter(
      ({ question }) => question === 'code',
    );
    expect(there).toMatchObject({ state: 'missing', fix: 'npm run setting -- senderIdentity=existing-domain' });
    const existing = { ...MAIL, senderIdentity: 'existing-domain' };
    const without = await results({ mailIdentity: undefined }, existing, false);
    expect(without).toContainEqual(expect.objectContaining({ fix: 'npm run setting -- senderIdentity=domain' }));
  });

  it('expects nothing of a stack that is not deployed yet', async () => {
    const notYet = { stack: undefined, mailIdentity: undefined };
    const all = await results(notYet, { ...MAIL, ...EVERYTHING }, false);
    const fixes = problems(all).map(({ question, fix }) => `${question}: ${fix}`);
    expect(fixes).toEqual(['deployed: npm run deploy', 'confirm: npm run deploy', 'client: npm run deploy']);
  });

  it.each<[string, AwsProbes['txtRecords']]>([
    ['reports only', async () => ['v=DMARC1; p=none; rua=mailto:dmarc@acme.example']],
    [
      'the policy of the registrable domain',
      async (name) => (name === '_dmarc.acme.example' ? ['v=DMARC1; p=reject'] : []),
    ],
  ])('accepts a sender whose DMARC record asks for %s', async (_, txtRecords) => {
    const all = await results({ txtRecords }, { senderAddress: 'no-reply@mail.acme.example' });
    expect(all.find(({ subject }) => subject.startsWith('DMARC'))).toMatchObject({ state: 'works' });
  });

  it('counts the reserved executions of every function, also of the one that confirms', async () => {
    const concurrency = { 'concurrency.registration': 300, 'concurrency.accounts': 20 };
    const quota = async (settings: object) =>
      problems(await results({ concurrentExecutions: async () => 450 }, { ...settings })).filter(
        ({ subject }) => subject === 'concurrent executions',
      );
    expect(await quota({ ...MAIL, ...concurrency })).toEqual([]);
    const confirming = { ...MAIL, ...concurrency, confirmation: 'true' };
    expect(await quota(confirming)).toMatchObject([
      {
        subject: 'concurrent executions',
        detail: '450 in all; AWS keeps 100 unreserved, and the settings reserve 640',
      },
    ]);
  });

  it.each([
    [1_000, {}, 'npm run setting -- concurrency.accounts=100'],
    [1_000, { 'concurrency.accounts': 100 }, undefined],
    // A reservation could fail the deployment.
    [300, {}, undefined],
    [10, {}, 'ask for more: Service Quotas, AWS Lambda, Concurrent executions'],
  ])('advises to limit the executions that a hanging trading server can take of %i: %j', async (max, settings, fix) => {
    const all = await results({ concurrentExecutions: async () => max }, { ...MAIL, ...settings });
    expect(all.find(({ subject }) => subject === 'concurrent executions')?.fix).toBe(fix);
  });

  it.each([
    [{}, ['de', 'en_US'], ['de', 'en_US', 'pt_BR'], 'are not both approved in pt_BR', 'en,de'],
    [{}, ['en_US', 'pt_BR'], ['en_US', 'de'], 'are not both approved in de, pt_BR', 'en'],
    [{ 'whatsapp.languages': 'en,pt' }, ['en_US', 'de'], ['en_US', 'de'], 'are not both approved in pt_BR', 'en,de'],
    [{ 'whatsapp.languages': 'en,de' }, ['en_US', 'de'], ['en_US', 'de'], undefined, undefined],
  ])('proposes the languages with both templates of WhatsApp: %j, %j, %j', async (given, code, notice, detail, fix) => {
    const languages = [
      { language: 'en', code: 'en_US' },
      { language: 'de', code: 'de' },
      { language: 'pt', code: 'pt_BR' },
    ];
    const checks = messageChecks(readSettings({ ...EVERYTHING, ...given }), languages);
    const approvedLanguages = async (template: string) => (template === 'code' ? code : notice);
    const found = problems(await runChecks(checks, { ...HEALTHY_PROBES, approvedLanguages }));
    expect(found.map((one) => [one.detail, one.fix])).toEqual(
      detail === undefined ? [] : [[detail, `npm run setting -- whatsapp.languages=${fix}`]],
    );
  });
});

it('The doctor checks the shape of the service’s own secrets', async () => {
  const secrets = serviceSecrets({ front: { secret: 'front/x' } });
  const found = (texts: Record<string, string>) =>
    runChecks(secretChecks(secrets), { ...HEALTHY_PROBES, secret: async (name: string) => texts[name] });
  const key = 'k'.repeat(64);
  expect(await found({ 'front/x': `{"current":"${key}"}` })).toMatchObject([
    { subject: 'secret front.secret', state: 'works' },
  ]);
  expect(await found({ 'front/x': '{"current":"short"}' })).toMatchObject([
    { state: 'missing', fix: expect.stringContaining('secret put front/x --stack broker-api-prod') },
  ]);
});

it('The doctor checks the CRM records: without a form no person can register, and it names a fix if there is one', async () => {
  const errors = [
    { path: 'client#CLIENT50.name', rule: 'is required' },
    { path: 'form#FORM0001', rule: 'has attributes that do not follow from its record', derived: true as const },
  ];
  const records = async () => ({ items: 3, fixed: 0, errors, more: 4, shared: [], forms: 0, connections: [] });
  expect(await runChecks(recordChecks, { ...HEALTHY_PROBES, records })).toMatchObject([
    { question: 'register', subject: 'forms', state: 'missing', fix: expect.stringContaining('import crm.json') },
    { question: 'client', subject: 'client#CLIENT50.name', detail: 'is required', fix: 'correct it in the CRM' },
    { subject: 'form#FORM0001', fix: 'npm run doctor -- --fix --stack broker-api-prod' },
    { subject: 'records', detail: '4 more errors' },
  ]);
  expect(problems(await runChecks(recordChecks, HEALTHY_PROBES))).toEqual([]);
});

it.each([
  [{ recoveryDays: 0, expires: true }, 6, /^aws dynamodb update-continuous-backups --table-name table-of-\w+ /],
  [{ recoveryDays: 35, expires: false }, 3, /^aws dynamodb update-time-to-live --table-name table-of-\w+ /],
])('The doctor reports a restored table with %j', async (state, count, fix) => {
  const probes = { ...HEALTHY_PROBES, table: async (name: string) => ({ name: `table-of-${name}`, ...state }) };
  const found = problems(await runChecks(tableChecks, probes));
  expect(found.length).toBeGreaterThanOrEqual(count - 1);
  for (const one of found) expect(one).toMatchObject({ state: 'missing', fix: expect.stringMatching(fix) });
  expect(problems(await runChecks(tableChecks, HEALTHY_PROBES))).toEqual([]);
});
