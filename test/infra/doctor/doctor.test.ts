import { describe, expect, it } from 'vitest';
import { examine, exitCode } from '../../../infra/doctor/checks.ts';
import { checksOf, table } from '../../../infra/doctor/doctor.ts';
import type { AwsLooks, Finding } from '../../../infra/doctor/looks.ts';
import { messageChecks } from '../../../infra/doctor/message-checks.ts';
import { secretChecks } from '../../../infra/doctor/secret-checks.ts';
import { settlementCheck } from '../../../infra/doctor/stack-checks.ts';
import { readSettings } from '../../../infra/settings.ts';
import { NEVER } from '../../../lib/records/due.ts';
import { HEALTHY } from '../../support/doctor-looks.ts';

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

async function findings(looks: Partial<AwsLooks>, context: Record<string, unknown> = MAIL, deployed = true) {
  const checks = await checksOf(readSettings(context), 'broker-api-prod', deployed);
  return examine(checks, { ...HEALTHY, approvedLanguages: async () => (await allLanguages()) ?? [], ...looks });
}

async function allLanguages() {
  const { LANGUAGES, wordsFor } = await import('../../../lib/messages/translations/languages.ts');
  return Promise.all(LANGUAGES.map(async (language) => (await wordsFor(language)).whatsapp));
}

const troubles = (all: readonly Finding[]) => all.filter(({ state }) => state !== 'works');

describe('The doctor', () => {
  it('finds everything well where it is, and ends with 0', async () => {
    const all = await findings({}, EVERYTHING);
    expect(troubles(all)).toEqual([]);
    expect(all.length).toBeGreaterThan(14);
    expect(exitCode(all)).toBe(0);
    expect(table(all)).toMatch(/Everything works\.\n$/);
  });

  const CASES: [string, Partial<AwsLooks>, Partial<Finding>][] = [
    [
      'an account that CDK has not prepared',
      { bootstrapVersion: async () => undefined },
      { mend: 'npx cdk bootstrap' },
    ],
    ['a new account’s ten executions', { concurrentExecutions: async () => 10 }, { state: 'warning' }],
    [
      'the sandbox of mails',
      {
        mailAccount: async () => ({ production: false, sending: true, perSecond: 1, perDay: 200, sentToday: 0 }),
      },
      { state: 'missing', what: 'account' },
    ],
    [
      'a domain that is not verified',
      { mailIdentity: async () => ({ verified: false, dkim: 'PENDING' }) },
      { area: 'mail' },
    ],
    [
      'a domain without a DMARC policy',
      { txtRecords: async () => [] },
      { state: 'warning', what: 'DMARC of acme.example' },
    ],
    ['the sandbox of texts', { messagingSandbox: async () => true }, { what: 'sandbox' }],
    [
      'a protect configuration that SNS does not obey',
      { defaultProtectConfiguration: async () => undefined },
      { state: 'warning' },
    ],
    ['alarms that nobody hears', { subscriptions: async () => ({ confirmed: 0, pending: 1 }) }, { what: 'receivers' }],
    ['an alarm that rings', { ringing: async () => ['broker-api-prod-Flood'] }, { what: 'broker-api-prod-Flood' }],
    ['a stack that is not there', { stack: async () => undefined }, { mend: 'npm run deploy' }],
    ['a certificate that is not issued', { certificate: async () => undefined }, { area: 'domain', state: 'missing' }],
    ['a name that leads elsewhere', { cnames: async () => [] }, { area: 'domain', state: 'warning' }],
  ];
  it.each(CASES)('tells of %s, and what mends it', async (_, looks, finding) => {
    const found = troubles(await findings(looks, EVERYTHING));
    expect(found).toContainEqual(expect.objectContaining({ ...finding, mend: expect.stringMatching(/.{10}/) }));
  });

  it('tells, before the first deployment, of an identity that would make it fail', async () => {
    const [there] = troubles(await findings({ stack: async () => undefined }, MAIL, false)).filter(
      ({ area }) => area === 'mail',
    );
    expect(there).toMatchObject({ state: 'missing', mend: 'npm run setting -- senderIdentity=existing-domain' });
    const existing = { ...MAIL, senderIdentity: 'existing-domain' };
    const without = await findings({ mailIdentity: async () => undefined }, existing, false);
    expect(without).toContainEqual(expect.objectContaining({ mend: 'npm run setting -- senderIdentity=domain' }));
  });

  it('asks nothing of a stack that is not deployed yet', async () => {
    const notYet = { stack: async () => undefined, mailIdentity: async () => undefined };
    const all = await findings(notYet, { ...MAIL, ...EVERYTHING }, false);
    expect(troubles(all)).toMatchObject([{ area: 'stack', state: 'missing', mend: 'npm run deploy' }]);
    expect(all).toContainEqual({
      area: 'domain',
      what: 'api.acme.example',
      state: 'works',
      says: expect.stringContaining('its certificate'),
    });
  });

  it('counts what every function reserves, also the one that confirms', async () => {
    const concurrency = { 'concurrency.registration': 300, 'concurrency.accounts': 20 };
    const executions = async () => 450;
    expect(troubles(await findings({ concurrentExecutions: executions }, { ...MAIL, ...concurrency }))).toEqual([]);
    const confirming = { ...MAIL, ...concurrency, confirmation: 'true' };
    expect(troubles(await findings({ concurrentExecutions: executions }, confirming))).toMatchObject([
      { what: 'concurrent executions', says: '450 in all; AWS keeps 100 unreserved, and 640 are to be reserved' },
    ]);
  });

  it('says what it cannot look at, and goes on', async () => {
    const denied = Object.assign(new Error('no'), { name: 'AccessDeniedException' });
    const all = await findings({ bootstrapVersion: () => Promise.reject(denied) });
    expect(troubles(all)).toEqual([
      {
        area: 'account',
        what: 'bootstrap',
        state: 'unknown',
        says: 'cannot be looked at (AccessDeniedException)',
        mend: 'give these credentials the right to read it',
      },
    ]);
    expect(exitCode(all)).toBe(1);
  });

  it('names the languages in which a template of WhatsApp is not approved', async () => {
    const checks = messageChecks(readSettings(EVERYTHING), ['en_US', 'de', 'pt_BR']);
    const found = troubles(await examine(checks, HEALTHY));
    expect(found.map(({ what, says }) => `${what} ${says}`)).toEqual([
      'template code is not approved in pt_BR',
      'template notice is not approved in pt_BR',
    ]);
  });
});

it('The service’s own secrets are looked at for their shape', async () => {
  const settings = readSettings({ ...MAIL, 'front.header': 'cf-connecting-ip', 'front.secret': 'front/x' });
  const checks = secretChecks(settings, { PepperSecretArn: 'arn:pepper' });
  const found = (texts: Record<string, string>) =>
    examine(checks, { ...HEALTHY, secret: async (name: string) => texts[name] });
  const key = 'k'.repeat(64);
  expect(
    await found({ 'arn:pepper': `{"current":"1","1":"${key}"}`, 'front/x': `{"current":"${key}"}` }),
  ).toMatchObject([
    { what: 'pepper', state: 'works' },
    { what: 'front', state: 'works' },
  ]);
  expect(await found({ 'arn:pepper': '{}', 'front/x': '{"current":"short"}' })).toMatchObject([
    { state: 'missing', mend: expect.stringContaining('secret put arn:pepper --stack broker-api-prod') },
    { state: 'missing', mend: expect.stringContaining('secret put front/x --stack broker-api-prod') },
  ]);
});

describe('What became of accounts whose callers did not come back', () => {
  const NOW = 1_800_000_000_000;
  const found = (...dueAt: number[]) =>
    examine([settlementCheck(NOW)], { ...HEALTHY, openOperations: async () => dueAt.map((at) => ({ dueAt: at })) });

  it.each<[string, number[], Partial<Finding>]>([
    ['nothing is open', [], { state: 'works', says: 'none' }],
    ['something is seen to', [NOW - 60_000, NOW + 60_000], { state: 'works', says: '2, which are seen to' }],
    [
      'an operator has to settle one',
      [NEVER],
      { state: 'warning', mend: 'npm run crm -- operations --open --stack broker-api-prod' },
    ],
    ['nobody takes them up', [NOW - 11 * 60_000, NEVER], { state: 'missing' }],
  ])('is told where %s', async (_, dueAt, finding) => {
    expect(await found(...dueAt)).toMatchObject([finding]);
  });
});
