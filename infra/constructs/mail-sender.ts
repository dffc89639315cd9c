import { RemovalPolicy, Stack } from 'aws-cdk-lib';
import { PolicyStatement } from 'aws-cdk-lib/aws-iam';
import {
  CloudWatchDimensionSource,
  ConfigurationSet,
  ConfigurationSetTlsPolicy,
  EmailIdentity,
  EmailSendingEvent,
  EventDestination,
  Identity,
  SuppressionReasons,
} from 'aws-cdk-lib/aws-ses';
import { Construct } from 'constructs';
import type { Settings } from '../settings.ts';
import { addOutput, fixLogicalId } from './stack-names.ts';

/** The sender of mails: one SES identity, and the configuration set that counts them. */
export class MailSender extends Construct {
  readonly configurationSetName: string;
  /** The right to send mails from the sender address, and from no other. */
  readonly right: PolicyStatement;

  constructor(scope: Construct, id: string, settings: Settings) {
    super(scope, id);
    const { senderAddress, senderDomain, senderIdentity } = settings;
    this.configurationSetName = this.configurationSet().configurationSetName;

    const name = senderIdentity.endsWith('domain') ? senderDomain : senderAddress;
    if (!senderIdentity.startsWith('existing')) this.verify(name, settings);
    const stack = Stack.of(this);
    this.right = new PolicyStatement({
      sid: 'SendMail',
      actions: ['ses:SendEmail'],
      resources: [
        // If the address has its own identity, SES checks the right on the address, not on its domain.
        ...[...new Set([name, senderAddress])].map((resourceName) =>
          stack.formatArn({ service: 'ses', resource: 'identity', resourceName }),
        ),
        stack.formatArn({ service: 'ses', resource: 'configuration-set', resourceName: this.configurationSetName }),
      ],
      conditions: { StringEquals: { 'ses:FromAddress': senderAddress } },
    });
  }

  private configurationSet(): ConfigurationSet {
    const configurationSet = new ConfigurationSet(this, 'ConfigurationSet', {
      // A one-time password is never sent unencrypted.
      tlsPolicy: ConfigurationSetTlsPolicy.REQUIRE,
      reputationMetrics: true,
      suppressionReasons: SuppressionReasons.BOUNCES_AND_COMPLAINTS,
    });
    fixLogicalId(configurationSet, 'MailConfigurationSet');
    // Only counted: a message about a bounce would hold the address.
    configurationSet.addEventDestination('Counts', {
      destination: EventDestination.cloudWatchDimensions([
        { source: CloudWatchDimensionSource.MESSAGE_TAG, name: 'kind', defaultValue: 'other' },
      ]),
      events: [
        EmailSendingEvent.SEND,
        EmailSendingEvent.DELIVERY,
        EmailSendingEvent.BOUNCE,
        EmailSendingEvent.COMPLAINT,
        EmailSendingEvent.REJECT,
        EmailSendingEvent.DELIVERY_DELAY,
      ],
    });
    return configurationSet;
  }

  private verify(name: string, { retainData, mailFromDomain }: Settings): void {
    const isDomain = !name.includes('@');
    const identity = new EmailIdentity(this, 'Identity', {
      identity: isDomain ? Identity.domain(name) : Identity.email(name),
      // Until its records are set, SES sends from its own domain.
      ...(mailFromDomain === undefined ? {} : { mailFromDomain }),
    });
    fixLogicalId(identity, 'MailIdentity');
    // A verified domain is worth keeping: another identity would need other DNS records.
    identity.applyRemovalPolicy(retainData ? RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE : RemovalPolicy.DESTROY);
    if (!isDomain) return;
    if (mailFromDomain !== undefined) this.showMailFrom(mailFromDomain);
    const description = 'A CNAME record to set in the DNS of the sender domain, so that SES verifies it.';
    for (const [index, { name: from, value }] of identity.dkimRecords.entries())
      addOutput(this, `MailDnsRecord${index + 1}`, description, `${from} CNAME ${value}`);
  }

  /** The records of the domain that bounces go to, which SPF looks at. */
  private showMailFrom(domain: string): void {
    const description = 'A record to set in the DNS, so that mails leave from the setting mailFromDomain.';
    const { region } = Stack.of(this);
    const records = [`MX 10 feedback-smtp.${region}.amazonses.com`, 'TXT "v=spf1 include:amazonses.com ~all"'];
    for (const [index, record] of records.entries())
      addOutput(this, `MailFromDnsRecord${index + 1}`, description, `${domain} ${record}`);
  }
}
