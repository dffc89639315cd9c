import { CloudFormationClient, DescribeStacksCommand } from '@aws-sdk/client-cloudformation';
import { DescribeAccountAttributesCommand, PinpointSMSVoiceV2Client } from '@aws-sdk/client-pinpoint-sms-voice-v2';
import { GetAccountCommand, GetEmailIdentityCommand, SESv2Client } from '@aws-sdk/client-sesv2';
import { paginateListSubscriptionsByTopic, SNSClient } from '@aws-sdk/client-sns';
import {
  paginateListLinkedWhatsAppBusinessAccounts,
  paginateListWhatsAppMessageTemplates,
  SocialMessagingClient,
} from '@aws-sdk/client-socialmessaging';
import type { Connection } from '../../lib/records/crm-records.ts';
import { hasPublicAddress } from '../addresses.ts';
import { undefinedIfAbsent } from '../ops/command.ts';
import { secretStore } from '../ops/secrets.ts';
import { once, type Target } from '../ops/target.ts';
import { inspectRecords } from './record-report.ts';
import { findUsedConnections, reportServer } from './server-report.ts';

/**
 * The questions that the doctor asks. A probe only reads, answers with plain facts, and answers `undefined` for a thing
 * that does not exist. A probe may fail; the result of its check is then `unknown`. Tests pass facts of their own.
 */
export type AwsProbes = ReturnType<typeof awsProbes>;
export type ServerProbes = ReturnType<typeof serverProbes>;

/** AWS, with the credentials and the region of the environment. */
export function awsProbes() {
  return { ...mailProbes(), ...messageProbes(), ...stackProbes() };
}

function mailProbes() {
  const client = new SESv2Client({});
  return {
    async mailAccount() {
      const { ProductionAccessEnabled, SendingEnabled } = await client.send(new GetAccountCommand({}));
      return { production: ProductionAccessEnabled === true, sending: SendingEnabled === true };
    },
    async mailIdentity(name: string) {
      const answer = await undefinedIfAbsent(client.send(new GetEmailIdentityCommand({ EmailIdentity: name })));
      if (answer === undefined) return undefined;
      const { VerifiedForSendingStatus: verified = false, DkimAttributes: { Status: dkim = 'NOT_STARTED' } = {} } =
        answer;
      return { verified, dkim: dkim as string };
    },
  };
}

function messageProbes() {
  const client = new PinpointSMSVoiceV2Client({});
  return {
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

/**
 * The CRM records, the secrets and the trading servers: the same on AWS and in the local service.
 * @param fix true: the attributes that follow from the records are written before they are looked at
 */
export function serverProbes(target: Target, fix: boolean) {
  const secrets = secretStore(target.clientOf('SECRETS_MANAGER'));
  return {
    /** The options of `npm run ops` for this target: `--stack broker-api-prod`. */
    place: target.place,
    /** The CRM records; the table is read once. */
    records: once(() => inspectRecords(target, fix)),
    /** How the names of the secrets begin that the functions may read; empty: any name. */
    secretPrefix: async () => (await target.settings?.())?.platformSecrets ?? '',
    /** Whether the internet reaches a host. */
    isPublic: (host: string) => hasPublicAddress(host),
    /** A secret's text. */
    secret: async (name: string) => (await secrets.read(name))?.text,
    /** The description of a secret, without its text. Undefined: there is no such secret. */
    describedSecret: (name: string) => secrets.describe(name),
    /** Connects, logs in and asks; changes nothing. @throws PlatformFailure */
    report: (connection: Connection) => reportServer(target, connection),
    /** The ids of connections on which an account was opened. */
    usedConnections: once(() => findUsedConnections(target)),
  };
}
