/**
 * Opens an account with a request that is signed (AWS Signature Version 4), where the deployment asks for IAM:
 *
 *     API_URL=https://… AWS_REGION=… AWS_ACCESS_KEY_ID=… AWS_SECRET_ACCESS_KEY=… node signed.ts
 */
import { randomUUID } from 'node:crypto';
import { AwsClient } from 'aws4fetch';
import { openAccount } from '../client.ts';

const {
  API_URL: baseUrl = 'http://localhost:3000',
  AWS_REGION: region = 'eu-west-1',
  AWS_ACCESS_KEY_ID: accessKeyId = '',
  AWS_SECRET_ACCESS_KEY: secretAccessKey = '',
  AWS_SESSION_TOKEN: sessionToken = '',
} = process.env;
const aws = new AwsClient({ accessKeyId, secretAccessKey, sessionToken, region, service: 'execute-api', retries: 0 });
const service = { baseUrl, fetch: aws.fetch.bind(aws) as typeof fetch };

const order = { connection_id: 'tp5-live-1', group: 'real\\standard', leverage: 100 };
const { login } = await openAccount(service, 'tp5', 'CLIENT01', order, randomUUID());
console.log(`Opened ${login}.`);
