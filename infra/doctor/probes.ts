import { resolveTxt } from 'node:dns/promises';
import { CloudFormationClient, DescribeStacksCommand } from '@aws-sdk/client-cloudformation';
import { DescribeContinuousBackupsCommand, DescribeTimeToLiveCommand, DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { GetAccountSettingsCommand, LambdaClient } from '@aws-sdk/client-lambda';
import {
  DescribeAccountAttributesCommand,
  DescribeSpendLimitsCommand,
  PinpointSMSVoiceV2Client,
} from '@aws-sdk/client-pinpoint-sms-voice-v2';
import { GetAccountCommand, GetEmailIdentityCommand, SESv2Client } from '@aws-sdk/client-sesv2';
import { paginateListSubscriptionsByTopic, SNSClient } from '@aws-sdk/client-sns';
import {
  paginateListLinkedWhatsAppBusinessAccounts,
  paginateListWhatsAppMessageTemplates,
  SocialMessagingClient,
} from '@aws-sdk/client-socialmessaging';
import type { Connection } from '../../lib/records/crm-records.ts';
import { undefinedIfAbsent } from '../ops/command.ts';
import { connectionWarnings, readableSecrets, resolveHost } from '../ops/connections.ts';
import { secretStore } from '../ops/secrets.ts';
import type { Target } from '../ops/target.ts';
import { logicalId, type TableName } from '../tables.ts';
import { inspectRecords, type RecordReport } from './record-report.ts';
import { reportServer } from './server-report.ts';

/**
 * The questions that the doctor asks. A probe only reads, answers with plain facts, and answers `undefined` for a thing
 * that does not exist. A probe may fail; the result of its check is then `unknown`. Tests pass facts of their own.
 */
export type AwsProbes = ReturnType<typeof awsProbes>;
export type ServerProbes = ReturnType<typeof serverProbes>;

/** AWS and the DNS, with the credentials and the region of the environment. */
export function awsProbes() {
  return { ...accountProbes(), ...mailProbes(), ...messageProbes(), ...stackProbes() };
}

function accountProbes() {
  return {
    /** The quota of simultaneous executions of functions in the account. */
    async concurrentExecutions() {
      const { AccountLimit } = await new LambdaClient({}).send(new GetAccountSettingsCommand({}));
      return AccountLimit?.ConcurrentExecutions ?? 0;
    },
  };
}

interface MailIdentity {
  verified: boolean;
  dkim: string;
  mailFrom?: { domain: string; status: string };
}

function mailProbes() {
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
    async mailIdentity(name: string): Promise<MailIdentity | undefined> {
      const answer = await undefinedIfAbsent(client.send(new GetEmailIdentityCommand({ EmailIdentity: name })));
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
    /** TXT records, each joined. */
    txtRecords: async (name: string) => (await orNone(resolveTxt(name))).map((pieces) => pieces.join('')),
    addresses: resolveHost,
  };
}

function messageProbes() {
  const client = new PinpointSMSVoiceV2Client({});
  return {
    /** US dollars a month. */
    async spendLimits() {
      const { SpendLimits = [] } = await client.send(new DescribeSpendLimitsCommand({}));
      return SpendLimits.map(({ Name = '', EnforcedLimit = 0, MaxLimit = 0 }) => ({
        name: Name as string,
        enforced: EnforcedLimit,
        max: MaxLimit,
      }));
    },
    /** Whether AWS still sends texts and calls to verified numbers alone. */
    async messagingSandbox() {
      const { AccountAttributes = [] } = await client.send(new DescribeAccountAttributesCommand({}));
      return AccountAttributes.some(({ Name, Value }) => Name === 'ACCOUNT_TIER' && Value === 'SANDBOX');
    },
    /** The languages in which a template of WhatsApp is approved. */
    async approvedLanguages(template: string) {
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

function stackProbes() {
  return {
    async stack(name: string) {
      const answer = await undefinedIfAbsent(
        new CloudFormationClient({}).send(new DescribeStacksCommand({ StackName: name })),
      );
      const found = answer?.Stacks?.[0];
      if (found === undefined) return undefined;
      const outputs = (found.Outputs ?? []).map(({ OutputKey = '', OutputValue = '' }) => [OutputKey, OutputValue]);
      return {
        status: (found.StackStatus ?? '') as string,
        outputs: Object.fromEntries(outputs) as Record<string, string>,
        protected: found.EnableTerminationProtection === true,
      };
    },
    async subscriptions(topicArn: string) {
      const client = new SNSClient({});
      const counts = { confirmed: 0, pending: 0 };
      for await (const { Subscriptions = [] } of paginateListSubscriptionsByTopic({ client }, { TopicArn: topicArn })) {
        for (const { SubscriptionArn = '' } of Subscriptions) {
          counts[SubscriptionArn.startsWith('arn:') ? 'confirmed' : 'pending'] += 1;
        }
      }
      return counts;
    },
  };
}

/** The options of the probes of the service. */
interface ServerProbeOptions {
  /** The option of `npm run ops` for this target: `--stack broker-api-prod`. */
  place: string;
  cdkJson: string;
  /** True: before the report, the probes write the attributes that follow from the records. */
  fix: boolean;
  /** Progress. */
  report: (text: string) => void;
}

/** The CRM records, the secrets and the trading servers: the same on AWS and in the local service. */
export function serverProbes(target: Target, { place, cdkJson, fix, report }: ServerProbeOptions) {
  const { clientOf } = target;
  let records: Promise<RecordReport> | undefined;
  let readable: ReturnType<typeof readableSecrets> | undefined;
  return {
    place,
    /** The CRM records; the table is read once. */
    async records() {
      records ??= inspectRecords(target, { fix, report });
      return records;
    },
    /** The warnings about a connection, before its server is asked. */
    async warnings(connection: Connection) {
      readable ??= readableSecrets(target, { cdkJson, report });
      return connectionWarnings(connection, await readable, resolveHost);
    },
    /** A secret's text. */
    secret: async (name: string) => (await secretStore(clientOf('SECRETS_MANAGER')).read(name))?.text,
    /** The description of a secret, without its text. Undefined: there is no such secret. */
    describedSecret: (name: string) => secretStore(clientOf('SECRETS_MANAGER')).describe(name),
    /** Connects, logs in and asks; changes nothing. @throws PlatformFailure */
    report: (connection: Connection) => reportServer(target, connection),
    /** The recovery and expiry of a table of the stack. */
    async table(name: TableName) {
      const TableName = await target.resource(logicalId(name));
      const client = new DynamoDBClient(target.clientOf('DYNAMODB'));
      const { ContinuousBackupsDescription: backups } = await client.send(
        new DescribeContinuousBackupsCommand({ TableName }),
      );
      const { TimeToLiveDescription: expiry } = await client.send(new DescribeTimeToLiveCommand({ TableName }));
      const recovery = backups?.PointInTimeRecoveryDescription;
      return {
        name: TableName,
        recoveryDays: recovery?.PointInTimeRecoveryStatus === 'ENABLED' ? (recovery.RecoveryPeriodInDays ?? 35) : 0,
        expires: /^ENABL/.test(expiry?.TimeToLiveStatus ?? ''),
      };
    },
  };
}

/** The records that a DNS query finds; an empty list if the name has none. */
async function orNone<T>(work: Promise<T[]>): Promise<T[]> {
  try {
    return await work;
  } catch (error) {
    if (error instanceof Error && 'code' in error && (error.code === 'ENODATA' || error.code === 'ENOTFOUND'))
      return [];
    throw error;
  }
}
