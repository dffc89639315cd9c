import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll } from 'vitest';
import type { CheckResult } from '../../infra/doctor/checks.ts';
import { runDoctor } from '../../infra/doctor/doctor.ts';
import { type AwsAccount, type AwsCall, REGION_AND_ACCOUNT, STACK, startAwsAccount } from './aws-account.ts';
import { openAccount } from './local-service.ts';
import type { Operators } from './operators.ts';
import { EVERYTHING } from './stack.ts';

/** The settings of the stack in the account. */
export const SETTINGS = {
  ...EVERYTHING,
  senderAddress: 'no-reply@acme.example',
  senderIdentity: 'address',
  stage: 'test',
  platformSecrets: 'platform/',
};
const TOPIC = `arn:aws:sns:${REGION_AND_ACCOUNT}`;
const PEPPER = 'local/pepper';

/** The names of the template's resources in the account. */
export const RESOURCES: Readonly<Record<string, string>> = {
  'AWS::Partition': 'aws',
  'AWS::Region': 'eu-west-1',
  'AWS::AccountId': '111122223333',
  AlarmTopic: `${TOPIC}:alarms`,
  NoticeTopic: `${TOPIC}:notices`,
  PepperSecret: `arn:aws:secretsmanager:${REGION_AND_ACCOUNT}:secret:${PEPPER}-AbCdEf`,
  'DocumentsBucket.Arn': 'arn:aws:s3:::documents',
  'CrmQueue.Arn': `arn:aws:sqs:${REGION_AND_ACCOUNT}:crm`,
  'CrmUndeliveredQueue.Arn': `arn:aws:sqs:${REGION_AND_ACCOUNT}:crm-undelivered`,
  ...Object.fromEntries(
    ['Crm', 'Accounts', 'Operations', 'Registrations', 'Limits', 'Logins'].map((name) => [
      `${name}Table.Arn`,
      `arn:aws:dynamodb:${REGION_AND_ACCOUNT}:table/${name.toLowerCase()}`,
    ]),
  ),
};

/** A file with these settings. */
export function cdkJsonOf(context: object): string {
  const file = join(mkdtempSync(join(tmpdir(), 'cdk-json-')), 'cdk.json');
  writeFileSync(file, JSON.stringify({ context }));
  return file;
}

/** A stack in an AWS account, whose tables and secrets are those of a local service. */
export class OperatorsAccount {
  readonly cdkJson = cdkJsonOf(SETTINGS);
  #account: AwsAccount | undefined;

  constructor(operators: Operators) {
    beforeAll(async () => {
      const localUrl = (name: string) => process.env[`AWS_ENDPOINT_URL_${name}`] ?? '';
      this.#account = await startAwsAccount({
        forward: {
          dynamodb: localUrl('DYNAMODB'),
          secretsmanager: localUrl('SECRETS_MANAGER'),
          s3: localUrl('S3'),
          ses: localUrl('SESV2'),
          sqs: localUrl('SQS'),
        },
        outputs: {
          CrmTableName: 'crm',
          PepperSecretArn: PEPPER,
          ApiUrl: operators.service.url,
          AlarmTopicArn: RESOURCES.AlarmTopic ?? '',
          NoticeTopicArn: RESOURCES.NoticeTopic ?? '',
          ApiDomainTarget: 'd-1.execute-api.eu-west-1.amazonaws.com',
        },
      });
    });
    afterAll(() => this.#account?.close());
  }

  get denied(): Set<string> {
    return this.#aws.denied;
  }

  get #aws(): AwsAccount {
    if (this.#account === undefined) throw new Error('The account is started before the tests.');
    return this.#account;
  }

  /** Runs an operators' command in the account. @returns its result, and the calls that it made */
  async run<T>(work: () => Promise<T>): Promise<{ result: T; calls: AwsCall[] }> {
    const before = Object.entries(process.env).filter(([name]) => name.startsWith('AWS_ENDPOINT_URL'));
    for (const [name] of before) delete process.env[name];
    process.env.AWS_ENDPOINT_URL = this.#aws.url;
    this.#aws.calls.length = 0;
    try {
      return { result: await work(), calls: [...this.#aws.calls] };
    } finally {
      delete process.env.AWS_ENDPOINT_URL;
      Object.assign(process.env, Object.fromEntries(before));
    }
  }

  /** Runs the doctor there. */
  doctor() {
    return this.run(async () => {
      let out = '';
      const print = (text: string) => {
        out += text;
      };
      const code = await runDoctor(['--json', '--stack', STACK], print, this.cdkJson);
      return { code, results: JSON.parse(out) as CheckResult[] };
    });
  }
}

/** An event that the CRM did not accept for a day. */
export async function undeliveredEvent({ service }: Operators): Promise<void> {
  service.faults('crm').set({ kind: 'refused', times: 1_000 });
  const { status } = await openAccount(service, 'tp5', { connection_id: 'tp5-live-1', group: 'real\\standard' });
  if (status !== 200) throw new Error(`The account is not opened: ${status}.`);
  const waits = () => service.deliveries.list().some(({ state }) => state === 'waiting' || state === 'delivering');
  while (waits()) await service.deliveries.deliverNow();
  service.faults('crm').clear();
}

/** An opening of an account whose outcome only an operator can decide. */
export async function unknownOperation(operators: Operators): Promise<{ id: string; login: number }> {
  operators.service.faults('tp4-live-1').set({ kind: 'reply_lost', times: 1 });
  const { body } = await openAccount(operators.service, 'tp4', { connection_id: 'tp4-live-1', group: 'standard' });
  const [account] = operators.service.platforms.get('tp4-live-1')?.accounts().slice(-1) ?? [];
  return { id: String(body.operation_id), login: account?.login ?? 0 };
}
