import { AwsV4Signer } from 'aws4fetch';
import { describe, expect, it } from 'vitest';
import { withSignature } from '../../../lib/aws/signature.ts';

const NOW = new Date('2026-11-22T09:08:07.654Z');
const BODY = '{"TableName":"ärger","Key":{"pk":{"S":"a b"}}}';
const HEADERS = {
  host: 'dynamodb.eu-central-1.amazonaws.com',
  'content-type': 'application/x-amz-json-1.0',
  'x-amz-target': 'DynamoDB_20120810.GetItem',
};

/** The same request as another implementation signs it. */
async function signedElsewhere(sessionToken?: string): Promise<string | null> {
  const { host, ...headers } = HEADERS;
  const signer = new AwsV4Signer({
    url: `https://${host}/`,
    method: 'POST',
    headers,
    body: BODY,
    accessKeyId: 'AKIDEXAMPLE',
    secretAccessKey: 'wJalrXUtnFEMI',
    ...(sessionToken === undefined ? {} : { sessionToken }),
    service: 'dynamodb',
    region: 'eu-central-1',
    datetime: '20261122T090807Z',
    allHeaders: true,
  });
  return (await signer.sign()).headers.get('authorization');
}

describe('The signature of a call', () => {
  it.each([
    ['of lasting credentials', undefined],
    ['of credentials that end', 'token//+='],
  ])('%s is that of AWS Signature Version 4', async (_, sessionToken) => {
    const credentials = {
      accessKeyId: 'AKIDEXAMPLE',
      secretAccessKey: 'wJalrXUtnFEMI',
      ...(sessionToken === undefined ? {} : { sessionToken }),
    };
    const signedFor = { service: 'dynamodb', region: 'eu-central-1', credentials, now: NOW };
    const { authorization, ...rest } = withSignature(HEADERS, BODY, signedFor);
    expect(authorization).toBe(await signedElsewhere(sessionToken));
    expect(rest).toEqual({
      ...HEADERS,
      'x-amz-date': '20261122T090807Z',
      ...(sessionToken === undefined ? {} : { 'x-amz-security-token': sessionToken }),
    });
  });

  it('covers the body', () => {
    const credentials = { accessKeyId: 'AKIDEXAMPLE', secretAccessKey: 'wJalrXUtnFEMI' };
    const signedFor = { service: 'dynamodb', region: 'eu-central-1', credentials, now: NOW };
    const [one, other] = [BODY, `${BODY} `].map((body) => withSignature(HEADERS, body, signedFor).authorization);
    expect(one).not.toBe(other);
  });
});
