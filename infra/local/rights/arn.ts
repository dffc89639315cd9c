/** The account and region that the embedded services are in. */
export const AWS_ACCOUNT_ID = '000000000000';
export const AWS_REGION = 'eu-west-1';

/** The ARN of a resource of that account and region. */
export function localArn(service: string, resource: string): string {
  return `arn:aws:${service}:${AWS_REGION}:${AWS_ACCOUNT_ID}:${resource}`;
}

export const tableArn = (name: string) => localArn('dynamodb', `table/${name}`);
/** Secrets Manager ends an ARN with six random characters. */
export const secretArn = (name: string) =>
  name.startsWith('arn:') ? name : localArn('secretsmanager', `secret:${name}-local0`);
export const busArn = (name: string) => localArn('events', `event-bus/${name}`);
/** @param url of a queue, or its name */
export const queueArn = (url: string) => localArn('sqs', url.slice(url.lastIndexOf('/') + 1));
/** The names of buckets are unique everywhere: their ARNs hold no region and no account. */
export const bucketArn = (name: string) => `arn:aws:s3:::${name}`;
