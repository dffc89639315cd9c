import { isPublic } from '../crm/public-address.ts';
import { type Settings, usesAws } from '../settings.ts';
import { type Check, type CheckOutcome, check, missing, warning, works } from './checks.ts';

/** The account's requirements for these settings, with or without a deployed stack. */
export function accountChecks(settings: Settings, languages: readonly string[], deployed: boolean): Check[] {
  return [...quotaChecks(settings), ...mailChecks(settings, deployed), ...messageChecks(settings, languages)];
}

interface ReservingSettings {
  concurrency: Settings['concurrency'];
  confirmation?: Settings['confirmation'];
}

export function quotaChecks({ concurrency, confirmation }: ReservingSettings = { concurrency: {} }): Check[] {
  const { registration = 0, accounts = 0 } = concurrency;
  const reserved = registration * (confirmation ? 2 : 1) + accounts * 2;
  return [
    check('account', 'credentials', async (probes) => {
      const { account, region } = await probes.caller();
      return works(`account ${account}, region ${region}`);
    }),
    check('account', 'bootstrap', async (probes) => {
      const version = await probes.bootstrapVersion();
      return version === undefined
        ? missing('CDK has not prepared this account and region', 'npx cdk bootstrap')
        : works(`version ${version}`);
    }),
    check('account', 'concurrent executions', async (probes) => {
      const max = await probes.concurrentExecutions();
      const quota = 'ask for more: Service Quotas, AWS Lambda, Concurrent executions';
      if (reserved > 0 && max - reserved < 100) {
        return missing(`${max} in all; AWS keeps 100 unreserved, and the settings reserve ${reserved}`, quota);
      }
      return max < 100 ? warning(`${max} in all: a flood stops every function`, quota) : works(`${max} in all`);
    }),
  ];
}

/** The mail account, the identity, and the DNS records of the sender's domain. */
function mailChecks({ senderAddress, senderDomain, senderIdentity }: Settings, deployed: boolean): Check[] {
  const byDomain = senderIdentity.endsWith('domain');
  const name = byDomain ? senderDomain : senderAddress;
  return [
    check('mail', 'account', async (probes) => {
      const { production, sending, perSecond, perDay, sentToday } = await probes.mailAccount();
      if (!sending) return missing('AWS has stopped this account from sending', 'answer AWS in the Support Center');
      const rate = `${perSecond} a second, ${perDay} a day, ${sentToday} sent in the last 24 hours`;
      if (production) return works(rate);
      const request = 'aws sesv2 put-account-details --production-access-enabled …, infra/docs/deploying.md, step 4';
      return missing(`in the sandbox: mails reach verified addresses only; ${rate}`, request);
    }),
    check('mail', `identity ${name}`, async (probes) => {
      const identity = await probes.mailIdentity(name);
      if (!deployed) return identityBeforeDeployment(identity !== undefined, senderIdentity);
      if (identity === undefined) return missing('does not exist', 'npm run deploy');
      if (identity.verified) return works(`verified, DKIM ${identity.dkim.toLowerCase()}`);
      return missing(
        'is not verified yet',
        'set the DNS records of the outputs MailDnsRecord1 to 3, or follow the link in the mail',
      );
    }),
    ...(byDomain ? [dmarc(senderDomain), mailFromCheck(senderDomain)] : []),
  ];
}

function identityBeforeDeployment(exists: boolean, senderIdentity: string): CheckOutcome {
  const expected = senderIdentity.startsWith('existing');
  if (exists === expected) return works(exists ? 'exists already, and is used unchanged' : 'the deployment creates it');
  return exists
    ? missing(
        'exists already: the first deployment would fail',
        `npm run setting -- senderIdentity=existing-${senderIdentity}`,
      )
    : missing(
        `does not exist, but senderIdentity is ${senderIdentity}`,
        `npm run setting -- senderIdentity=${senderIdentity.slice('existing-'.length)}`,
      );
}

function dmarc(domain: string): Check {
  return check('mail', `DMARC of ${domain}`, async (probes) => {
    const policy = (await probes.txtRecords(`_dmarc.${domain}`)).find((record) => /^v=DMARC1/i.test(record));
    if (policy === undefined)
      return warning('there is no policy', `set the DNS record _dmarc.${domain} TXT "v=DMARC1; p=quarantine"`);
    return /p=none/i.test(policy)
      ? warning('the policy asks for nothing (p=none)', `set p=quarantine in _dmarc.${domain}`)
      : works('there is a policy');
  });
}

function mailFromCheck(domain: string): Check {
  return check('mail', 'MAIL FROM', async (probes) => {
    const from = (await probes.mailIdentity(domain))?.mailFrom;
    if (from === undefined) return works('AWS’s own domain');
    const spf = (await probes.txtRecords(from.domain)).some((record) => /^v=spf1 .*amazonses\.com/i.test(record));
    if (from.status === 'SUCCESS' && spf) return works(`${from.domain}, with SPF`);
    return missing(
      `${from.domain} is not set up`,
      `set ${from.domain} TXT "v=spf1 include:amazonses.com ~all" and its MX record`,
    );
  });
}

/** Texts, calls and WhatsApp messages, for the channels of the settings. */
export function messageChecks(settings: Settings, languages: readonly string[]): Check[] {
  const paid = (['sms', 'call'] as const).filter((channel) => usesAws(settings, channel));
  return [
    ...(paid.length > 0 ? [sandbox] : []),
    ...paid.map((channel) => spend(channel, settings)),
    ...(usesAws(settings, 'sms') ? [protection] : []),
    ...templates(settings, languages),
    ...Object.entries(settings.provider ?? {}).map(([channel, url]) => receiver(`provider of ${channel}`, url ?? '')),
    ...(settings.crmWebhook === undefined ? [] : [receiver('crmWebhook', settings.crmWebhook)]),
  ];
}

const sandbox: Check = check('messages', 'sandbox', async (probes) =>
  (await probes.messagingSandbox())
    ? missing(
        'texts and calls reach verified numbers only',
        'leave the sandbox: console, AWS End User Messaging, Overview',
      )
    : works('production access'),
);

const LIMITS = { sms: 'TEXT_MESSAGE_MONTHLY_SPEND_LIMIT', call: 'VOICE_MESSAGE_MONTHLY_SPEND_LIMIT' } as const;

function spend(channel: keyof typeof LIMITS, settings: Settings): Check {
  const alarmAt = channel === 'sms' ? settings.spend.smsUsdPerMonth : settings.spend.callUsdPerMonth;
  return check('messages', `spend of ${channel}`, async (probes) => {
    const limit = (await probes.spendLimits()).find(({ name }) => name === LIMITS[channel]);
    const enforced = limit?.enforced ?? 0;
    const kind = channel === 'sms' ? 'text' : 'voice';
    const fix = `aws pinpoint-sms-voice-v2 set-${kind}-message-spend-limit-override --monthly-limit ${Math.ceil(alarmAt * 2)}`;
    if (enforced >= alarmAt) return works(`${enforced} USD a month`);
    const detail = `${enforced} USD a month, below the alarm at ${alarmAt}: at the limit AWS sends no more messages`;
    return warning(detail, `${fix} (at most ${limit?.max ?? 0}; more by Service Quotas)`);
  });
}

const protection: Check = check('messages', 'protect configuration', async (probes) => {
  const id = await probes.defaultProtectConfiguration();
  if (id !== undefined) return works(`${id} is the account’s default, which SNS obeys`);
  return warning(
    'SNS obeys only the account’s default, and there is none: only this service blocks countries',
    'aws pinpoint-sms-voice-v2 set-account-default-protect-configuration --protect-configuration-id <output ProtectConfigurationId>',
  );
});

/** A system of the broker that the service posts to. Its name must have a public address: AWS reaches no other. */
function receiver(subject: string, url: string): Check {
  const { hostname } = new URL(url);
  return check('messages', subject, async (probes) => {
    const addresses = await probes.addresses(hostname);
    if (addresses.length === 0) return missing(`${hostname} has no address`, 'set its DNS record');
    const isClosed = addresses.some((address) => !isPublic(address));
    if (isClosed) return missing(`${hostname} has a private address`, `set a public address for ${hostname}`);
    return works(hostname);
  });
}

function templates(settings: Settings, languages: readonly string[]): Check[] {
  const { whatsapp } = settings;
  if (!usesAws(settings, 'whatsapp') || whatsapp === undefined) return [];
  return [whatsapp.codeTemplate, whatsapp.noticeTemplate].map((template) =>
    check('whatsapp', `template ${template}`, async (probes) => {
      const approved = await probes.approvedLanguages(template);
      const lacking = languages.filter((language) => !approved.includes(language));
      if (lacking.length === 0) return works(`approved in all ${languages.length} languages`);
      return missing(
        `is not approved in ${lacking.join(', ')}`,
        'have Meta approve it there: console, AWS End User Messaging Social',
      );
    }),
  );
}
