import type { Settings } from '../settings.ts';
import { type Check, type Found, missing, warning, works } from './checks.ts';

type MailSettings = Pick<Settings, 'senderAddress' | 'senderDomain' | 'senderIdentity' | 'stage'>;

/** Mail: the account's own state, the identity, and what the sender's domain says of it in the DNS. */
export function mailChecks(settings: MailSettings, deployed: boolean): Check[] {
  const { senderAddress, senderDomain, senderIdentity } = settings;
  const byDomain = senderIdentity.endsWith('domain');
  const name = byDomain ? senderDomain : senderAddress;
  return [
    {
      area: 'mail',
      what: 'account',
      look: async (looks) => {
        const { production, sending, perSecond, perDay, sentToday } = await looks.mailAccount();
        if (!sending) return missing('AWS has stopped this account from sending', 'answer AWS in the Support Center');
        const rate = `${perSecond} a second, ${perDay} a day, ${sentToday} sent in the last 24 hours`;
        if (production) return works(rate);
        const request = 'aws sesv2 put-account-details --production-access-enabled …, infra/README.md, step 4';
        return missing(`in the sandbox: mails reach verified addresses only; ${rate}`, request);
      },
    },
    {
      area: 'mail',
      what: `identity ${name}`,
      look: async (looks) => {
        const identity = await looks.mailIdentity(name);
        if (!deployed) return beforeDeployment(identity !== undefined, senderIdentity);
        if (identity === undefined) return missing('is not there', 'npm run deploy');
        if (identity.verified) return works(`verified, DKIM ${identity.dkim.toLowerCase()}`);
        return missing(
          'is not verified yet',
          'set the DNS records of the outputs MailDnsRecord1 to 3, or follow the link in the mail',
        );
      },
    },
    ...(byDomain ? domainChecks(senderDomain) : []),
  ];
}

function beforeDeployment(isThere: boolean, senderIdentity: string): Found {
  const existing = senderIdentity.startsWith('existing');
  if (isThere === existing) return works(isThere ? 'is there, and is used as it stands' : 'will be made');
  return isThere
    ? missing(
        'is there already: the first deployment would fail',
        `npm run setting -- senderIdentity=existing-${senderIdentity}`,
      )
    : missing(
        'is said to be there, and is not',
        `npm run setting -- senderIdentity=${senderIdentity.slice('existing-'.length)}`,
      );
}

function domainChecks(domain: string): Check[] {
  return [
    {
      area: 'mail',
      what: `DMARC of ${domain}`,
      look: async (looks) => {
        const policy = (await looks.txtRecords(`_dmarc.${domain}`)).find((record) => /^v=DMARC1/i.test(record));
        if (policy === undefined)
          return warning('there is no policy', `set the DNS record _dmarc.${domain} TXT "v=DMARC1; p=quarantine"`);
        return /p=none/i.test(policy)
          ? warning('the policy asks for nothing (p=none)', `set p=quarantine in _dmarc.${domain}`)
          : works('there is a policy');
      },
    },
    {
      area: 'mail',
      what: 'MAIL FROM',
      look: async (looks) => {
        const from = (await looks.mailIdentity(domain))?.mailFrom;
        if (from === undefined) return works('AWS’s own domain');
        const spf = (await looks.txtRecords(from.domain)).some((record) => /^v=spf1 .*amazonses\.com/i.test(record));
        if (from.status === 'SUCCESS' && spf) return works(`${from.domain}, with SPF`);
        return missing(
          `${from.domain} is not set up`,
          `set ${from.domain} TXT "v=spf1 include:amazonses.com ~all" and its MX record`,
        );
      },
    },
  ];
}
