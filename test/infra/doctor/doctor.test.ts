import { afterEach, describe, expect, it, vi } from 'vitest';
import { type CheckResult, DOCTOR_QUESTIONS, exitCode, runChecks, stackOutcome } from '../../../infra/doctor/checks.ts';
import { awsChecks, examine, formatReport } from '../../../infra/doctor/doctor.ts';
import type { AwsProbes } from '../../../infra/doctor/probes.ts';
import { recordChecks, secretChecks } from '../../../infra/doctor/service-checks.ts';
import { serviceSecrets } from '../../../infra/ops/service-secrets.ts';
import { linePrinter } from '../../../infra/ops/terminal.ts';
import { readSettings } from '../../../infra/settings.ts';
import { HEALTHY_PROBES } from '../../support/doctor-probes.ts';
import { cdkJsonOf } from '../../support/operators.ts';
import { EVERYTHING } from '../../support/stack.ts';

const MAIL = { senderAddress: 'no-reply@acme.example' };
const STACK = 'broker-api-prod';

/** What probes answer; a function answers by its arguments. */
type Answers = { [Name in keyof AwsProbes]?: AwsProbes[Name] | Awaited<ReturnType<AwsProbes[Name]>> };

/** The doctor's answers about a deployed stack. */
async function results(answers: Answers, context: Record<string, unknown> = MAIL, deployed = true) {
  const given = Object.entries(answers).map(([name, one]) => [name, typeof one === 'function' ? one : async () => one]);
  const probes: typeof HEALTHY_PROBES = { ...HEALTHY_PROBES, ...Object.fromEntries(given) };
  const stack: CheckResult = { question: 'deployed', subject: STACK, ...(await stackOutcome(probes, STACK, true)) };
  return [stack, ...(await runChecks(awsChecks(readSettings(context), STACK, deployed), probes))];
}

/** The stack of a healthy account, without these outputs. */
async function stackWithout(...names: string[]) {
  const stack = await HEALTHY_PROBES.stack(STACK);
  const kept = Object.entries(stack?.outputs ?? {}).filter(([name]) => !names.includes(name));
  return { status: 'UPDATE_COMPLETE', protected: true, outputs: Object.fromEntries(kept) };
}

const problems = (all: readonly CheckResult[]) => all.filter(({ state }) => state !== 'works');

describe('The doctor', () => {
  it('finds no problem in a healthy account, and ends with 0', async () => {
    const whatsapp = { ...EVERYTHING.whatsapp, languages: 'en,de' };
    const all = await results({}, { ...MAIL, ...EVERYTHING, whatsapp });
    expect(problems(all)).toEqual([]);
    expect(all.map(({ subject }) => subject)).toEqual([
      ...[STACK, 'mail account', 'mail identity acme.example', 'message sandbox', 'template code'],
      ...['route', 'events', 'receivers of pages', 'receivers of notices'],
    ]);
    expect(exitCode(all)).toBe(0);
    expect(formatReport(all).at(-1)).toBe('Everything works.');
  });

  it.each<[string, Answers, Partial<CheckResult>]>([
    [
      'the sandbox of mails',
      { mailAccount: { production: false, sending: true } },
      { state: 'missing', question: 'code', subject: 'mail account' },
    ],
    ['an account that may not send', { mailAccount: { production: true, sending: false } }, { state: 'missing' }],
    [
      'a new sender, which a deployment would use at once',
      { mailIdentity: undefined },
      { state: 'missing', fix: expect.stringMatching(/^aws sesv2 create-email-identity .* acme\.example/) },
    ],
    ['a domain that is not verified', { mailIdentity: { verified: false, dkim: 'PENDING' } }, { question: 'code' }],
    ['the sandbox of texts', { messagingSandbox: true }, { subject: 'message sandbox' }],
    [
      'a template that is not approved in English',
      { approvedLanguages: ['de'] },
      { subject: 'template code', state: 'missing', fix: expect.stringMatching(/^have Meta approve it in English/) },
    ],
    [
      'a template that is not approved in every language in use',
      { approvedLanguages: ['en_US', 'de', 'pt_BR'] },
      { subject: 'template code', state: 'missing', fix: 'npm run setting -- whatsapp.languages=en,pt,de' },
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
  ])('reports %s, and how to fix it', async (_, probes, expected) => {
    const all = await results(probes, { ...MAIL, ...EVERYTHING });
    const found = problems(all);
    expect(found).toContainEqual(expect.objectContaining({ fix: expect.stringMatching(/.{10}/), ...expected }));
    expect(exitCode(all)).toBe(found.some(({ state }) => state === 'missing') ? 1 : 0);
  });

  it('reports a service that sends codes without a route to confirm them, and without a CRM', async () => {
    const stack = () => stackWithout('ConfirmRegistrationLogGroup', 'NotifyCrmLogGroup');
    expect(problems(await results({ stack }, MAIL))).toMatchObject([
      { question: 'confirm', state: 'warning', fix: 'npm run setting -- confirmation=true && npm run deploy' },
      { question: 'client', state: 'warning', fix: expect.stringContaining('crmWebhook=https://… && npm run deploy') },
    ]);
    const writes = await results({ stack }, { ...MAIL, crmWriter: 'clients' });
    expect(writes.filter(({ question }) => question === 'client')).toMatchObject([{ state: 'works' }]);
  });

  it('asks its questions in order, and ends with the first thing that is missing', () => {
    const lines = formatReport([
      { question: 'alarm', subject: 'receivers of pages', state: 'works', detail: '1 confirmed' },
      { question: 'confirm', subject: 'route', state: 'warning', detail: 'none', fix: 'set it' },
      { question: 'code', subject: 'mail account', state: 'missing', detail: 'in the sandbox', fix: 'ask AWS' },
    ]);
    expect(lines).toEqual([
      ...[DOCTOR_QUESTIONS.code, '  MISSING  mail account        in the sandbox', '           → ask AWS', ''],
      ...[DOCTOR_QUESTIONS.confirm, '  warning  route               none', '           → set it', ''],
      ...[DOCTOR_QUESTIONS.alarm, '  ok       receivers of pages  1 confirmed', ''],
      ...['2 of 3 need attention. Next step: mail account', '→ ask AWS'],
    ]);
  });

  it('prints no line that a stored item forges', () => {
    const forged = 'x\n  ok       secrets\u001b[2K\u202e';
    let out = '';
    const print = linePrinter((text) => {
      out += text;
    });
    print(formatReport([{ question: 'client', subject: forged, state: 'missing', detail: forged, fix: forged }]));
    expect(out.split('\n')).toHaveLength(7);
    expect(out).not.toMatch(/[^\P{C}\n]/u);
  });

  it('reports, before the first deployment, an identity that would make it fail', async () => {
    const notYet = { stack: undefined };
    expect(problems(await results(notYet, MAIL, false))).toMatchObject([
      { fix: 'npm run deploy' },
      { state: 'missing', fix: 'npm run setting -- senderIdentity=existing-domain' },
    ]);
    const existing = { ...MAIL, senderIdentity: 'existing-domain' };
    const without = await results({ ...notYet, mailIdentity: undefined }, existing, false);
    expect(without).toContainEqual(expect.objectContaining({ fix: 'npm run setting -- senderIdentity=domain' }));
  });

  it('expects nothing else of a stack that is not deployed yet', async () => {
    const notYet = { stack: undefined, mailIdentity: undefined };
    const all = await results(notYet, { ...MAIL, confirmation: true }, false);
    expect(problems(all)).toMatchObject([{ subject: STACK, fix: 'npm run deploy' }]);
  });
});

describe('The doctor without', () => {
  afterEach(() => vi.unstubAllEnvs());
  const look = (context: object, stack?: string) =>
    examine({ cdkJson: cdkJsonOf(context), stack, fix: false, ids: [] });
  const nowhere = () => {
    for (const name of ['AWS_REGION', 'AWS_PROFILE', 'AWS_ACCESS_KEY_ID', 'AWS_SECRET_ACCESS_KEY'])
      vi.stubEnv(name, undefined);
    for (const name of ['AWS_CONFIG_FILE', 'AWS_SHARED_CREDENTIALS_FILE']) vi.stubEnv(name, '/nowhere');
    vi.stubEnv('AWS_EC2_METADATA_DISABLED', 'true');
  };

  it('a region or credentials names those as the next step, and calls nothing missing', async () => {
    nowhere();
    expect(await look(MAIL)).toMatchObject([
      { subject: STACK, state: 'unknown', fix: expect.stringContaining('set AWS_REGION') },
    ]);
    vi.stubEnv('AWS_REGION', 'eu-west-1');
    expect(await look(MAIL)).toMatchObject([
      { subject: STACK, state: 'unknown', fix: expect.stringContaining('There are no AWS credentials') },
    ]);
  });

  it('a complete cdk.json names the first missing setting, and looks at a stack that was asked for all the same', async () => {
    nowhere();
    const first = { subject: 'cdk.json', state: 'missing', fix: 'npm run setting -- senderAddress=…' };
    expect(await look({ channels: 'sms' })).toMatchObject([first]);
    expect(await look({}, STACK)).toMatchObject([{ subject: STACK, state: 'unknown' }]);
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
  const records = async () => ({ items: 3, fixed: 0, errors, forms: 0, connections: [] });
  expect(await runChecks(recordChecks, { ...HEALTHY_PROBES, records })).toMatchObject([
    { question: 'register', subject: 'forms', state: 'missing', fix: expect.stringContaining('import crm.json') },
    { question: 'client', subject: 'client#CLIENT50.name', detail: 'is required', fix: 'correct it in the CRM' },
    { subject: 'form#FORM0001', fix: 'npm run doctor -- --fix --stack broker-api-prod' },
  ]);
  expect(problems(await runChecks(recordChecks, HEALTHY_PROBES))).toEqual([]);
});
