import type { Connection } from '../../lib/records/crm-records.ts';
import type { ServerReport } from '../crm/server-report.ts';

/** What became of one check. `unknown`: it could not be looked at, mostly for want of a right. */
export type State = 'works' | 'missing' | 'warning' | 'unknown';

/** One line of the doctor's table. */
export interface Finding {
  /** What it is about, such as `mail` or `tp5-live-1`. */
  area: string;
  what: string;
  state: State;
  /** A sentence that says how it stands. */
  says: string;
  /** The command, or the step of a person, that mends it; with every state but `works`. */
  mend?: string;
}

interface MailIdentity {
  verified: boolean;
  dkim: string;
  mailFrom?: { domain: string; status: string } | undefined;
}

interface SpendLimit {
  name: string;
  /** US dollars a month. */
  enforced: number;
  most: number;
}

/**
 * What the doctor looks at, as plain facts; `aws-looks.ts` asks AWS for them, tests tell them. What is not there is
 * `undefined`. Every look may fail, and then its finding is `unknown`.
 */
export interface AwsLooks {
  caller(): Promise<{ account: string; region: string }>;
  /** The version of CDK's bootstrap stack. */
  bootstrapVersion(): Promise<number | undefined>;
  /** How many calls of functions may run at once in the account. */
  concurrentExecutions(): Promise<number>;
  mailAccount(): Promise<{
    production: boolean;
    sending: boolean;
    perSecond: number;
    perDay: number;
    sentToday: number;
  }>;
  mailIdentity(name: string): Promise<MailIdentity | undefined>;
  /** TXT records, each joined; none where the name has none. */
  txtRecords(name: string): Promise<string[]>;
  /** Where a name leads by CNAME; none where it has none. */
  cnames(name: string): Promise<string[]>;
  spendLimits(): Promise<SpendLimit[]>;
  /** Whether texts and calls still go to verified numbers alone. */
  messagingSandbox(): Promise<boolean>;
  /** The protect configuration that SNS obeys. */
  defaultProtectConfiguration(): Promise<string | undefined>;
  /** The languages in which a template of WhatsApp is approved. */
  approvedLanguages(template: string): Promise<string[]>;
  certificate(arn: string): Promise<{ status: string; names: string[]; until?: Date | undefined } | undefined>;
  stack(name: string): Promise<{ status: string; outputs: Record<string, string>; protected: boolean } | undefined>;
  subscriptions(topicArn: string): Promise<{ confirmed: number; pending: number }>;
  /** The names of the stack's alarms that ring now. */
  ringing(stack: string): Promise<string[]>;
}

/** What the local service has too. */
export interface ServerLooks {
  /** How `npm run crm` is told where that is: `--stack broker-api-prod`. */
  place: string;
  /** A secret's text. */
  secret(name: string): Promise<string | undefined>;
  /** Those of the CRM records. */
  connections(): Promise<Connection[]>;
  /** Connects, logs in and looks; changes nothing. @throws PlatformFailure */
  report(connection: Connection): Promise<ServerReport>;
  /** The openings of accounts that are not at their end: when each is to be taken up next, in epoch milliseconds. */
  openOperations(): Promise<{ dueAt: number }[]>;
}
