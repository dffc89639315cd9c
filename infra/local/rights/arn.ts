/** The account and region that the embedded services are in. */
export const ACCOUNT = '000000000000';
export const REGION = 'eu-west-1';

/** The ARN of a resource of that account and region. */
export function arn(service: string, resource: string): string {
  return `arn:aws:${service}:${REGION}:${ACCOUNT}:${resource}`;
}

export const tableArn = (name: string) => arn('dynamodb', `table/${name}`);
/** Secrets Manager ends an ARN with six random characters. */
export const secretArn = (name: string) =>
  name.startsWith('arn:') ? name : arn('secretsmanager', `secret:${name}-local0`);
export const busArn = (name: string) => arn('events', `event-bus/${name}`);
/** @param url of a queue, or its name */
export const queueArn = (url: string) => arn('sqs', url.slice(url.lastIndexOf('/') + 1));
/** The names of buckets are unique everywhere: their ARNs hold no region and no account. */
export const bucketArn = (name: string) => `arn:aws:s3:::${name}`;
