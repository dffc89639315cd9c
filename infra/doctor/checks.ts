import { findTranslation, LANGUAGES } from '../../lib/messages/translations/languages.ts';
import type { Translation } from '../../lib/messages/translations/translation.ts';
import { PHONE_CHANNELS } from '../../lib/validators/otp-types.ts';
import { explainFailure, missingRight, missingRightFix } from '../ops/command.ts';
import { shellCommand } from '../ops/terminal.ts';
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
  /** `unknown`: the doctor cannot see it, mostly because a right is missing. */
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
  if (right === undefined)
    return { state: 'unknown', detail: 'cannot be seen from here', fix: explainFailure(error).lines.join(' ') };
  const fix = `give these credentials the right ${right}: ${missingRightFix(right, error)}`;
  return { state: 'unknown', detail: 'cannot be read (access denied)', fix };
}

/** Whether anything keeps the service from working: a warning does not, an unknown state may. */
export function exitCode(results: readonly CheckResult[]): 0 | 1 {
  return results.some(({ state }) => state === 'missing' || state === 'unknown') ? 1 : 0;
}

const DEPLOY = 'npm run deploy';

/** The state of the stack. */
export async function stackOutcome(probes: AwsProbes, stack: string, retainData: boolean): Promise<CheckOutcome> {
  const found = await probes.stack(stack);
  if (found === undefined) return missingOutcome('is not deployed', DEPLOY);
  const { status } = found;
  const cloudFormation = (command: string, ...options: string[]) =>
    shellCommand('aws', 'cloudformation', command, ...options, '--stack-name', stack);
  const events = cloudFormation('describe-stack-events');
  if (/^(ROLLBACK|CREATE)_(COMPLETE|FAILED)$/.test(status) && status !== 'CREATE_COMPLETE') {
    // The next deployment deletes the resources of a first deployment that failed. Protection would prevent that.
    const unprotect = cloudFormation('update-termination-protection', '--no-enable-termination-protection');
    const again = found.protected ? `${unprotect} && ${DEPLOY}` : DEPLOY;
    return missingOutcome(`${status}: the first deployment failed`, `${events}, fix the cause, then: ${again}`);
  }
  if (status === 'UPDATE_ROLLBACK_FAILED')
    return missingOutcome(status, `${events}, then: ${cloudFormation('continue-update-rollback')}`);
  if (/FAILED$/.test(status)) return missingOutcome(status, events);
  if (retainData && !found.protected) return warningOutcome(`${status}, not protected from deletion`, DEPLOY);
  return workingOutcome(status);
}

/** The mail account and the identity. @param deployed false: before the first deployment */
export function mailChecks(settings: Settings, deployed: boolean): DoctorCheck[] {
  const { senderAddress, senderDomain, senderIdentity } = settings;
  const [kind, name] = senderIdentity.endsWith('domain') ? ['domain', senderDomain] : ['address', senderAddress];
  return [
    makeCheck('code', 'mail account', async (probes) => {
      const { production, sending } = await probes.mailAccount();
      if (!sending)
        return missingOutcome('AWS has stopped this account from sending', 'answer AWS in the Support Center');
      if (production) return workingOutcome('production access');
      const request = 'aws sesv2 put-account-details --production-access-enabled …, infra/docs/deploying.md, section 3';
      return missingOutcome('in the sandbox: mails reach verified addresses only', request);
    }),
    makeCheck('code', `mail identity ${name}`, async (probes) => {
      const identity = await probes.mailIdentity(name);
      if (!deployed) return identityBeforeDeployment(identity !== undefined, senderIdentity);
      // The sender has changed since the deployment, or the identity was deleted by hand, which CloudFormation ignores.
      if (identity === undefined) {
        const verify = shellCommand('aws', 'sesv2', 'create-email-identity', '--email-identity', name);
        const fix = `${verify}, set its records, then deploy with senderIdentity=existing-${kind}`;
        return missingOutcome('does not exist', fix);
      }
      if (identity.verified) return workingOutcome(`verified, DKIM ${identity.dkim.toLowerCase()}`);
      const fix = 'set the DNS records of the outputs MailDnsRecord1 to 3, or follow the link in the mail';
      return missingOutcome('is not verified yet', fix);
    }),
  ];
}

function identityBeforeDeployment(exists: boolean, senderIdentity: string): CheckOutcome {
  const expected = senderIdentity.startsWith('existing');
  if (exists === expected)
    return workingOutcome(exists ? 'exists already, and is used unchanged' : 'the deployment creates it');
  const set = (value: string) => `npm run setting -- senderIdentity=${value}`;
  return exists
    ? missingOutcome('exists already: the first deployment would fail', set(`existing-${senderIdentity}`))
    : missingOutcome(`does not exist, but senderIdentity is ${senderIdentity}`, set(senderIdentity.slice(9)));
}

/** Texts, calls and WhatsApp messages that AWS sends. */
export function messageChecks(settings: Settings): DoctorCheck[] {
  const byAws = PHONE_CHANNELS.filter((channel) => sendsThroughAws(settings, channel));
  return [
    ...(byAws.some((channel) => channel !== 'whatsapp') ? [messageSandbox] : []),
    ...(byAws.includes('whatsapp') ? [template(settings)] : []),
  ];
}

const messageSandbox: DoctorCheck = makeCheck('code', 'message sandbox', async (probes) =>
  (await probes.messagingSandbox())
    ? missingOutcome(
        'texts and calls reach verified numbers only',
        'leave the sandbox: console, AWS End User Messaging, Overview',
      )
    : workingOutcome('production access'),
);

/** The template of WhatsApp must be approved in each language in use: a person chooses the language. */
function template({ whatsapp }: Pick<Settings, 'whatsapp'>): DoctorCheck {
  const { codeTemplate = '', languages: offered } = whatsapp ?? {};
  return makeCheck('code', `template ${codeTemplate}`, async (probes) => {
    const approved = await probes.approvedLanguages(codeTemplate);
    const all = await Promise.all(LANGUAGES.map((language) => findTranslation(language)));
    const isApproved = ({ language, whatsapp: code = language }: Translation) => approved.includes(code);
    const usable = all.filter(isApproved).map(({ language }) => language);
    const lacking = all.filter((one) => (offered?.includes(one.language) ?? true) && !isApproved(one));
    if (lacking.length === 0) return workingOutcome(`approved in ${usable.join(', ')}`);
    return missingOutcome(
      `is not approved in ${lacking.map(({ language }) => language).join(', ')}`,
      usable.includes('en')
        ? `npm run setting -- whatsapp.languages=${usable.join(',')}`
        : 'have Meta approve it in English: console, AWS End User Messaging Social',
    );
  });
}

/** The next steps that the settings and the stack show: the route that confirms, the CRM, the receivers of alarms. */
export function nextStepChecks(settings: Settings, stack: string): DoctorCheck[] {
  return [
    makeCheck('confirm', 'route', (probes) => confirmRoute(probes, stack, settings.confirmation === true)),
    makeCheck('client', 'events', (probes) => clientMaker(probes, stack, settings)),
    receivers(stack, 'pages', 'AlarmTopicArn', missingOutcome),
    receivers(stack, 'notices', 'NoticeTopicArn', warningOutcome),
  ];
}

/** Whether the stack has the output that comes only with this function. */
async function hasFunction(probes: AwsProbes, stack: string, name: string): Promise<boolean> {
  return (await probes.stack(stack))?.outputs[`${name}LogGroup`] !== undefined;
}

async function confirmRoute(probes: AwsProbes, stack: string, confirmation: boolean): Promise<CheckOutcome> {
  if (await hasFunction(probes, stack, 'ConfirmRegistration'))
    return workingOutcome('POST /public/v1/account/register/confirm');
  if (confirmation) return missingOutcome('the setting confirmation is not deployed yet', DEPLOY);
  const detail = 'nobody can enter a code here: only a service of your own can confirm (infra/docs/crm.md)';
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

/**
 * Checks that the alarms of a topic have a confirmed receiver. @param output the output of the stack that has the
 * topic's ARN
 */
function receivers(stack: string, kind: string, output: string, absent: typeof missingOutcome): DoctorCheck {
  return makeCheck('alarm', `receivers of ${kind}`, async (probes) => {
    const topic = (await probes.stack(stack))?.outputs[output];
    if (topic === undefined) return missingOutcome(`the stack has no output ${output}`, DEPLOY);
    const { confirmed, pending } = await probes.subscriptions(topic);
    if (confirmed > 0) return workingOutcome(`${confirmed} confirmed${pending > 0 ? `, ${pending} pending` : ''}`);
    if (pending > 0) return absent('no receiver has confirmed yet', 'follow the link in the mail from AWS');
    const subscribe = `${shellCommand('aws', 'sns', 'subscribe', '--topic-arn', topic)} --protocol email --notification-endpoint …`;
    return absent('there are none', `${subscribe}, or: npm run setting -- alarmEmail=… && ${DEPLOY}`);
  });
}
