import { getDomain } from 'tldts-icann';
import { PHONE_CHANNELS, type PhoneChannel } from '../../lib/validators/otp-types.ts';
import { PHONE_CHANNEL_ROWS } from '../channels.ts';
import { explainFailure, missingRight, missingRightFix } from '../ops/command.ts';
import { isPublic } from '../ops/connections.ts';
import { type Settings, sendsThroughAws } from '../settings.ts';
import type { AwsProbes } from './probes.ts';

/** The questions of the doctor, in the order in which a deployment answers them: one for each arrow of README.md's picture. */
export const DOCTOR_QUESTIONS = {
  deployed: 'Is the service deployed?',
  register: 'Can a person register?',
  code: 'Does a code arrive?',
  confirm: 'Can a code be confirmed?',
  client: 'Who creates the client?',
  server: 'Does every connection open accounts?',
  alarm: 'Who hears of a failure?',
} as const;
export type DoctorQuestion = keyof typeof DOCTOR_QUESTIONS;

/** One line of the doctor's answer. */
export interface CheckResult {
  question: DoctorQuestion;
  /** The checked thing, such as `tp5-live-1`. */
  subject: string;
  /** `unknown`: the probe failed, mostly because a right is missing. */
  state: 'works' | 'missing' | 'warning' | 'unknown';
  detail: string;
  /** The command, or the step of a person, that fixes the problem. Every state but `works` has one. */
  fix?: string;
}

/** The outcome of a check, to which the check adds its question and subject. */
export type CheckOutcome = Omit<CheckResult, 'question' | 'subject'> &
  Partial<Pick<CheckResult, 'question' | 'subject'>>;

/** Checks one subject with its probes. */
export interface DoctorCheck<Probes = AwsProbes> {
  question: DoctorQuestion;
  subject: string;
  run(probes: Probes): Promise<CheckOutcome | CheckOutcome[]>;
}

/** Makes a check of one subject. */
export function makeCheck<Probes = AwsProbes>(
  question: DoctorQuestion,
  subject: string,
  run: DoctorCheck<Probes>['run'],
): DoctorCheck<Probes> {
  return { question, subject, run };
}

export const workingOutcome = (detail: string): CheckOutcome => ({ state: 'works', detail });
export const missingOutcome = (detail: string, fix: string): CheckOutcome => ({ state: 'missing', detail, fix });
export const warningOutcome = (detail: string, fix: string): CheckOutcome => ({ state: 'warning', detail, fix });

/** Runs the checks in parallel. @returns their results, in the order of the checks */
export async function runChecks<Probes>(
  checks: readonly DoctorCheck<Probes>[],
  probes: Probes,
): Promise<CheckResult[]> {
  const results = await Promise.all(
    checks.map(async ({ question, subject, run }) => {
      const outcome = await run(probes).catch(unknownOutcome);
      return [outcome].flat().map((one) => ({ question, subject, ...one }));
    }),
  );
  return results.flat();
}

/** The outcome of a check whose probe failed. */
export function unknownOutcome(error: unknown): CheckOutcome {
  const right = missingRight(error);
  return {
    state: 'unknown',
    detail: right === undefined ? explainFailure(error).message : 'cannot be read (access denied)',
    fix:
      right === undefined
        ? 'check the credentials, the region and the network, and run it again'
        : `give these credentials the right ${right}: ${missingRightFix(right, error)}`,
  };
}

/** Whether anything keeps the service from working: a warning does not, an unknown state may. */
export function exitCode(results: readonly CheckResult[]): 0 | 1 {
  return results.some(({ state }) => state === 'missing' || state === 'unknown') ? 1 : 0;
}

/** From this number of executions on, the account functions can have a tenth each, and AWS keeps its 100 unreserved. */
const ROOMY = 400;

/** The account's requirements, with or without settings and a deployed stack. */
export function quotaChecks(settings?: Pick<Settings, 'concurrency' | 'confirmation'>): DoctorCheck[] {
  const { concurrency: { registration = 0, accounts = 0 } = {}, confirmation } = settings ?? {};
  const reserved = registration * (confirmation ? 2 : 1) + accounts * 2;
  return [
    makeCheck('deployed', 'concurrent executions', async (probes) => {
      const max = await probes.concurrentExecutions();
      const quota = 'ask for more: Service Quotas, AWS Lambda, Concurrent executions';
      if (reserved > 0 && max - reserved < 100) {
        return missingOutcome(`${max} in all; AWS keeps 100 unreserved, and the settings reserve ${reserved}`, quota);
      }
      if (max < 100) return warningOutcome(`${max} in all: a flood stops every function`, quota);
      if (settings === undefined || accounts > 0 || max < ROOMY) return workingOutcome(`${max} in all`);
      // Two functions, each up to 25 seconds at the gateway's rate.
      const advice = `npm run setting -- concurrency.accounts=${Math.floor(max / 10)}`;
      return warningOutcome(`${max} in all: a trading server that does not answer can take them`, advice);
    }),
  ];
}

/** The mail account, the identity, and the DNS records of the sender's domain. */
export function mailChecks(settings: Settings, deployed: boolean): DoctorCheck[] {
  const { senderAddress, senderDomain, senderIdentity } = settings;
  const byDomain = senderIdentity.endsWith('domain');
  const [kind, name] = byDomain ? ['domain', senderDomain] : ['address', senderAddress];
  return [
    makeCheck('code', 'mail account', async (probes) => {
      const { production, sending, perSecond, perDay, sentToday } = await probes.mailAccount();
      if (!sending)
        return missingOutcome('AWS has stopped this account from sending', 'answer AWS in the Support Center');
      const rate = `${perSecond} a second, ${perDay} a day, ${sentToday} sent in the last 24 hours`;
      if (production) return workingOutcome(rate);
      const request = 'aws sesv2 put-account-details --production-access-enabled …, infra/docs/deploying.md, section 3';
      return missingOutcome(`in the sandbox: mails reach verified addresses only; ${rate}`, request);
    }),
    makeCheck('code', `mail identity ${name}`, async (probes) => {
      const identity = await probes.mailIdentity(name);
      if (!deployed) return identityBeforeDeployment(identity !== undefined, senderIdentity);
      // The sender has changed since the deployment, or the identity was deleted by hand, which CloudFormation ignores.
      if (identity === undefined) {
        const verify = `aws sesv2 create-email-identity --email-identity ${name}`;
        return missingOutcome(
          'does not exist',
          `${verify}, set its records, then deploy with senderIdentity=existing-${kind}`,
        );
      }
      if (identity.verified) return workingOutcome(`verified, DKIM ${identity.dkim.toLowerCase()}`);
      return missingOutcome(
        'is not verified yet',
        'set the DNS records of the outputs MailDnsRecord1 to 3, or follow the link in the mail',
      );
    }),
    ...(byDomain ? [dmarc(senderDomain), mailFromCheck(senderDomain)] : []),
  ];
}

function identityBeforeDeployment(exists: boolean, senderIdentity: string): CheckOutcome {
  const expected = senderIdentity.startsWith('existing');
  if (exists === expected)
    return workingOutcome(exists ? 'exists already, and is used unchanged' : 'the deployment creates it');
  return exists
    ? missingOutcome(
        'exists already: the first deployment would fail',
        `npm run setting -- senderIdentity=existing-${senderIdentity}`,
      )
    : missingOutcome(
        `does not exist, but senderIdentity is ${senderIdentity}`,
        `npm run setting -- senderIdentity=${senderIdentity.slice('existing-'.length)}`,
      );
}

function dmarc(domain: string): DoctorCheck {
  return makeCheck('code', `DMARC of ${domain}`, async (probes) => {
    // A domain without a policy follows the policy of its registrable domain.
    const names = [...new Set([domain, getDomain(domain) ?? domain])];
    const records = await Promise.all(names.map((name) => probes.txtRecords(`_dmarc.${name}`)));
    const policy = records.flat().find((record) => /^v=DMARC1/i.test(record));
    const reports = `_dmarc.${domain} TXT "v=DMARC1; p=none; rua=mailto:…"`;
    if (policy === undefined)
      return warningOutcome(
        'there is no policy',
        `set ${reports}, for every mail of ${domain}; p=quarantine once the reports are clean`,
      );
    if (!/\bp=none\b/i.test(policy)) return workingOutcome('there is a policy');
    return /\brua=/i.test(policy)
      ? workingOutcome('reports only (p=none): p=quarantine once the reports are clean')
      : warningOutcome('the policy asks for nothing, and for no reports (p=none)', `set ${reports}`);
  });
}

function mailFromCheck(domain: string): DoctorCheck {
  return makeCheck('code', 'MAIL FROM', async (probes) => {
    const from = (await probes.mailIdentity(domain))?.mailFrom;
    if (from === undefined) return workingOutcome('AWS’s own domain');
    const spf = (await probes.txtRecords(from.domain)).some((record) => /^v=spf1 .*amazonses\.com/i.test(record));
    if (from.status === 'SUCCESS' && spf) return workingOutcome(`${from.domain}, with SPF`);
    return missingOutcome(
      `${from.domain} is not set up`,
      `set ${from.domain} TXT "v=spf1 include:amazonses.com ~all" and ${from.domain} MX 10 feedback-smtp.<region>.amazonses.com`,
    );
  });
}

/** The next steps that the settings and the stack show: the route that confirms, and the CRM. */
export function nextStepChecks(settings: Settings, stack: string): DoctorCheck[] {
  const { crmWebhook } = settings;
  return [
    makeCheck('confirm', 'route', (probes) => confirmRoute(probes, stack, settings.confirmation === true)),
    ...(crmWebhook === undefined ? [] : [receiver('client', 'crmWebhook', crmWebhook)]),
    makeCheck('client', 'events', (probes) => clientMaker(probes, stack, settings)),
  ];
}

/** Whether the stack has the output that comes only with this function. */
async function hasFunction(probes: AwsProbes, stack: string, name: string): Promise<boolean> {
  return (await probes.stack(stack))?.outputs[`${name}LogGroup`] !== undefined;
}

const DEPLOY = 'npm run deploy';

async function confirmRoute(probes: AwsProbes, stack: string, confirmation: boolean): Promise<CheckOutcome> {
  if (await hasFunction(probes, stack, 'ConfirmRegistration'))
    return workingOutcome('POST /public/v1/account/register/confirm');
  if (confirmation) return missingOutcome('the setting confirmation is not deployed yet', DEPLOY);
  const detail = 'nobody can enter a code here: only a service of your own can confirm (lib/README.md)';
  return warningOutcome(detail, `npm run setting -- confirmation=true && ${DEPLOY}`);
}

async function clientMaker(
  probes: AwsProbes,
  stack: string,
  { crmWebhook, crmWriter }: Pick<Settings, 'crmWebhook' | 'crmWriter'>,
): Promise<CheckOutcome> {
  if (await hasFunction(probes, stack, 'NotifyCrm'))
    return workingOutcome('the CRM hears of them, and answers with its client');
  if (crmWebhook !== undefined) return missingOutcome('the setting crmWebhook is not deployed yet', DEPLOY);
  if (crmWriter !== undefined)
    return workingOutcome('on the bus (output EventBusName); the CRM writes its clients itself');
  const detail = 'no CRM hears of a person: an operator imports each client';
  return warningOutcome(detail, `npm run setting -- crmWebhook=https://… && ${DEPLOY} (or crmWriter=clients)`);
}

/** Texts, calls and WhatsApp messages, for the channels of the settings. */
export function messageChecks(settings: Settings, languages: readonly TemplateLanguage[]): DoctorCheck[] {
  const limited = PHONE_CHANNELS.filter((channel) => sendsThroughAws(settings, channel)).flatMap((channel) => {
    const { limit, setting } = PHONE_CHANNEL_ROWS[channel].spend;
    return limit === undefined ? [] : [spendCheck(channel, settings.spend[setting], limit)];
  });
  return [
    ...(limited.length > 0 ? [sandbox, ...limited] : []),
    ...templates(settings, languages),
    ...Object.entries(settings.provider ?? {}).map(([channel, url]) =>
      receiver('code', `provider of ${channel}`, url ?? ''),
    ),
  ];
}

const sandbox: DoctorCheck = makeCheck('code', 'message sandbox', async (probes) =>
  (await probes.messagingSandbox())
    ? missingOutcome(
        'texts and calls reach verified numbers only',
        'leave the sandbox: console, AWS End User Messaging, Overview',
      )
    : workingOutcome('production access'),
);

/** Checks the spend limit of a channel at AWS. @param alarmAt US dollars a month */
function spendCheck(
  channel: PhoneChannel,
  alarmAt: number,
  { name, kind }: { name: string; kind: string },
): DoctorCheck {
  return makeCheck('code', `spend of ${channel}`, async (probes) => {
    const limit = (await probes.spendLimits()).find((one) => one.name === name);
    const enforced = limit?.enforced ?? 0;
    const fix = `aws pinpoint-sms-voice-v2 set-${kind}-message-spend-limit-override --monthly-limit ${Math.ceil(alarmAt * 2)}`;
    if (enforced >= alarmAt) return workingOutcome(`${enforced} USD a month`);
    const detail = `${enforced} USD a month, below the alarm at ${alarmAt}: at the limit AWS sends no more messages`;
    return warningOutcome(detail, `${fix} (at most ${limit?.max ?? 0}; more by Service Quotas)`);
  });
}

/**
 * Checks a system of the broker that the service posts to. Its host name must have a public address: AWS reaches no
 * other.
 */
function receiver(question: DoctorQuestion, subject: string, url: string): DoctorCheck {
  const { hostname } = new URL(url);
  return makeCheck(question, subject, async (probes) => {
    const addresses = await probes.addresses(hostname);
    if (addresses.length === 0) return missingOutcome(`${hostname} has no address`, 'set its DNS record');
    if (!addresses.every(isPublic))
      return missingOutcome(`${hostname} has a private address`, `set a public address for ${hostname}`);
    return workingOutcome(hostname);
  });
}

/**
 * Checks that both templates are approved in every language in use. Otherwise messages in a language fail, and callers
 * choose the language.
 */
function templates(settings: Settings, translations: readonly TemplateLanguage[]): DoctorCheck[] {
  const { whatsapp } = settings;
  if (!sendsThroughAws(settings, 'whatsapp') || whatsapp === undefined) return [];
  const { codeTemplate, noticeTemplate, languages: offered } = whatsapp;
  return [
    makeCheck('code', `templates ${codeTemplate}, ${noticeTemplate}`, async (probes) => {
      const approved = await Promise.all([codeTemplate, noticeTemplate].map((one) => probes.approvedLanguages(one)));
      const both = translations.filter(({ code }) => approved.every((codes) => codes.includes(code)));
      const lacking = translations.filter((one) => (offered?.includes(one.language) ?? true) && !both.includes(one));
      if (lacking.length === 0) return workingOutcome(`approved in ${both.length} of ${translations.length} languages`);
      const usable = both.map(({ language }) => language);
      return missingOutcome(
        `are not both approved in ${lacking.map(({ code }) => code).join(', ')}`,
        usable.includes('en')
          ? `npm run setting -- whatsapp.languages=${usable.join(',')}`
          : 'have Meta approve both in English: console, AWS End User Messaging Social',
      );
    }),
  ];
}

/** A language of messages, and the code under which Meta approves its templates. */
export interface TemplateLanguage {
  language: string;
  code: string;
}

/**
 * The checks of a stack: its state, and the receivers of its alarms.
 * @param isDeployed false: only the checks that make sense before the first deployment
 */
export function stackChecks(
  stack: string,
  { retainData }: Pick<Settings, 'retainData'>,
  isDeployed: boolean,
): DoctorCheck[] {
  return [
    makeCheck('deployed', stack, (probes) => stackState(probes, stack, retainData)),
    ...(isDeployed ? receiverChecks(stack) : []),
  ];
}

async function stackState(probes: AwsProbes, stack: string, retainData: boolean): Promise<CheckOutcome> {
  const found = await probes.stack(stack);
  if (found === undefined) return missingOutcome('is not deployed', 'npm run deploy');
  const { status } = found;
  const unprotect = `aws cloudformation update-termination-protection --no-enable-termination-protection --stack-name ${stack}`;
  const events = `aws cloudformation describe-stack-events --stack-name ${stack}`;
  if (/^(ROLLBACK|CREATE)_(COMPLETE|FAILED)$/.test(status) && status !== 'CREATE_COMPLETE') {
    // The next deployment deletes the resources of a first deployment that failed. Protection would prevent that.
    const again = found.protected ? `${unprotect} && npm run deploy` : 'npm run deploy';
    return missingOutcome(`${status}: the first deployment failed`, `${events}, fix the cause, then: ${again}`);
  }
  if (status === 'UPDATE_ROLLBACK_FAILED')
    return missingOutcome(status, `${events}, then: aws cloudformation continue-update-rollback --stack-name ${stack}`);
  if (/FAILED$/.test(status)) return missingOutcome(status, events);
  if (retainData && !found.protected) return warningOutcome(`${status}, not protected from deletion`, 'npm run deploy');
  return workingOutcome(status);
}

function receiverChecks(stack: string): DoctorCheck[] {
  return [
    receivers(stack, 'pages', 'AlarmTopicArn', missingOutcome),
    receivers(stack, 'notices', 'NoticeTopicArn', warningOutcome),
  ];
}

/**
 * Checks that the alarms of a topic have a confirmed receiver. @param output the output of the stack that has the
 * topic's ARN
 */
function receivers(stack: string, kind: string, output: string, absent: typeof missingOutcome): DoctorCheck {
  return makeCheck('alarm', `receivers of ${kind}`, async (probes) => {
    const topic = (await probes.stack(stack))?.outputs[output];
    if (topic === undefined) return missingOutcome(`the stack has no output ${output}`, 'npm run deploy');
    const { confirmed, pending } = await probes.subscriptions(topic);
    if (confirmed > 0) return workingOutcome(`${confirmed} confirmed${pending > 0 ? `, ${pending} pending` : ''}`);
    if (pending > 0) return absent('no receiver has confirmed yet', 'follow the link in the mail from AWS');
    const subscribe = `aws sns subscribe --topic-arn ${topic} --protocol email --notification-endpoint …`;
    return absent('there are none', `${subscribe}, or: npm run setting -- alarmEmail=… && npm run deploy`);
  });
}
