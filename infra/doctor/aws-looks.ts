import { resolveCname, resolveTxt } from 'node:dns/promises';
import { ACMClient, DescribeCertificateCommand } from '@aws-sdk/client-acm';
import { CloudFormationClient, DescribeStacksCommand } from '@aws-sdk/client-cloudformation';
import { CloudWatchClient, paginateDescribeAlarms } from '@aws-sdk/client-cloudwatch';
import { GetAccountSettingsCommand, LambdaClient } from '@aws-sdk/client-lambda';
import {
  DescribeAccountAttributesCommand,
  DescribeSpendLimitsCommand,
  PinpointSMSVoiceV2Client,
  paginateDescribeProtectConfigurations,
} from '@aws-sdk/client-pinpoint-sms-voice-v2';
import { GetAccountCommand, GetEmailIdentityCommand, SESv2Client } from '@aws-sdk/client-sesv2';
import { paginateListSubscriptionsByTopic, SNSClient } from '@aws-sdk/client-sns';
import {
  paginateListLinkedWhatsAppBusinessAccounts,
  paginateListWhatsAppMessageTemplates,
  SocialMessagingClient,
} from '@aws-sdk/client-socialmessaging';
import { GetParameterCommand, SSMClient } from '@aws-sdk/client-ssm';
import { GetCallerIdentityCommand, STSClient } from '@aws-sdk/client-sts';
import { orAbsent } from './absent.ts';
import type { AwsLooks } from './looks.ts';

/** No records of this name and kind. */
async function orNone<T>(work: Promise<T[]>): Promise<T[]> {
  try {
    return await work;
  } catch (error) {
    if (error instanceof Error && 'code' in error && (error.code === 'ENODATA' || error.code === 'ENOTFOUND'))
      return [];
    throw error;
  }
}

/** AWS and the DNS, asked with the credentials and the region of the environment; only reads. */
export function awsLooks(): AwsLooks {
  return { ...accountLooks(), ...mailLooks(), ...messageLooks(), ...stackLooks() };
}

function accountLooks(): Pick<AwsLooks, 'caller' | 'bootstrapVersion' | 'concurrentExecutions'> {
  return {
    async caller() {
      const client = new STSClient({});
      const { Account = '' } = await client.send(new GetCallerIdentityCommand({}));
      return { account: Account, region: await client.config.region() };
    },
    async bootstrapVersion() {
      const command = new GetParameterCommand({ Name: '/cdk-bootstrap/hnb659fds/version' });
      const answer = await orAbsent(new SSMClient({}).send(command));
      return answer === undefined ? undefined : Number(answer.Parameter?.Value);
    },
    async concurrentExecutions() {
      const { AccountLimit } = await new LambdaClient({}).send(new GetAccountSettingsCommand({}));
      return AccountLimit?.ConcurrentExecutions ?? 0;
    },
  };
}

function mailLooks(): Pick<AwsLooks, 'mailAccount' | 'mailIdentity' | 'txtRecords' | 'cnames'> {
  const client = new SESv2Client({});
  return {
    async mailAccount() {
      const { ProductionAccessEnabled, SendingEnabled, SendQuota } = await client.send(new GetAccountCommand({}));
      return {
        production: ProductionAccessEnabled === true,
        sending: SendingEnabled === true,
        perSecond: SendQuota?.MaxSendRate ?? 0,
        perDay: SendQuota?.Max24HourSend ?? 0,
        sentToday: SendQuota?.SentLast24Hours ?? 0,
      };
    },
    async mailIdentity(name) {
      const answer = await orAbsent(client.send(new GetEmailIdentityCommand({ EmailIdentity: name })));
      if (answer === undefined) return undefined;
      const { MailFromAttributes: from } = answer;
      return {
        verified: answer.VerifiedForSendingStatus === true,
        dkim: answer.DkimAttributes?.Status ?? 'NOT_STARTED',
        ...(from?.MailFromDomain === undefined
          ? {}
          : { mailFrom: { domain: from.MailFromDomain, status: from.MailFromDomainStatus ?? 'PENDING' } }),
      };
    },
    txtRecords: async (name) => (await orNone(resolveTxt(name))).map((pieces) => pieces.join('')),
    cnames: (name) => orNone(resolveCname(name)),
  };
}

function messageLooks(): Pick<
  AwsLooks,
  'spendLimits' | 'messagingSandbox' | 'defaultProtectConfiguration' | 'approvedLanguages'
> {
  const client = new PinpointSMSVoiceV2Client({});
  return {
    async spendLimits() {
      const { SpendLimits = [] } = await client.send(new DescribeSpendLimitsCommand({}));
      return SpendLimits.map(({ Name = '', EnforcedLimit = 0, MaxLimit = 0 }) => ({
        name: Name,
        enforced: EnforcedLimit,
        most: MaxLimit,
      }));
    },
    async messagingSandbox() {
      const { AccountAttributes = [] } = await client.send(new DescribeAccountAttributesCommand({}));
      return AccountAttributes.some(({ Name, Value }) => Name === 'ACCOUNT_TIER' && Value === 'SANDBOX');
    },
    async defaultProtectConfiguration() {
      for await (const { ProtectConfigurations = [] } of paginateDescribeProtectConfigurations({ client }, {})) {
        const found = ProtectConfigurations.find(({ AccountDefault }) => AccountDefault);
        if (found !== undefined) return found.ProtectConfigurationId;
      }
      return undefined;
    },
    async approvedLanguages(template) {
      const social = new SocialMessagingClient({});
      const languages: string[] = [];
      for await (const page of paginateListLinkedWhatsAppBusinessAccounts({ client: social }, {})) {
        for (const { id } of page.linkedAccounts ?? []) {
          for await (const { templates = [] } of paginateListWhatsAppMessageTemplates({ client: social }, { id })) {
            const approved = templates.filter(
              (one) => one.templateName === template && one.templateStatus === 'APPROVED',
            );
            languages.push(...approved.map(({ templateLanguage = '' }) => templateLanguage));
          }
        }
      }
      return languages;
    },
  };
}

function stackLooks(): Pick<AwsLooks, 'certificate' | 'stack' | 'subscriptions' | 'ringing'> {
  return {
    async certificate(arn) {
      const answer = await orAbsent(new ACMClient({}).send(new DescribeCertificateCommand({ CertificateArn: arn })));
      const found = answer?.Certificate;
      if (found === undefined) return undefined;
      return { status: found.Status ?? '', names: found.SubjectAlternativeNames ?? [], until: found.NotAfter };
    },
    async stack(name) {
      const answer = await orAbsent(new CloudFormationClient({}).send(new DescribeStacksCommand({ StackName: name })));
      const found = answer?.Stacks?.[0];
      if (found === undefined) return undefined;
      const outputs = (found.Outputs ?? []).map(({ OutputKey = '', OutputValue = '' }) => [OutputKey, OutputValue]);
      return {
        status: found.StackStatus ?? '',
        outputs: Object.fromEntries(outputs),
        protected: found.EnableTerminationProtection === true,
      };
    },
    async subscriptions(topicArn) {
      const client = new SNSClient({});
      const counts = { confirmed: 0, pending: 0 };
      for await (const { Subscriptions = [] } of paginateListSubscriptionsByTopic({ client }, { TopicArn: topicArn })) {
        for (const { SubscriptionArn = '' } of Subscriptions) {
          counts[SubscriptionArn.startsWith('arn:') ? 'confirmed' : 'pending'] += 1;
        }
      }
      return counts;
    },
    async ringing(stack) {
      const client = new CloudWatchClient({});
      const names: string[] = [];
      const wanted = { AlarmNamePrefix: `${stack}-`, StateValue: 'ALARM' as const };
      for await (const { MetricAlarms = [] } of paginateDescribeAlarms({ client }, wanted)) {
        names.push(...MetricAlarms.map(({ AlarmName = '' }) => AlarmName));
      }
      return names;
    },
  };
}
