import { createHash, createHmac } from 'node:crypto';

/** Whose name a call is made in. */
export interface Credentials {
  accessKeyId: string;
  secretAccessKey: string;
  /** Of credentials that end, as those of a function do. */
  sessionToken?: string;
}

export interface SignedFor {
  /** The service as signatures name it. */
  service: string;
  region: string;
  credentials: Credentials;
  now: Date;
}

/**
 * The headers of a POST to `/` with its signature (AWS Signature Version 4), which covers all of them and the body.
 * @param headers names in lower case; `host` is among them
 */
export function withSignature(
  headers: Readonly<Record<string, string>>,
  body: string,
  { service, region, credentials, now }: SignedFor,
): Record<string, string> {
  const time = now.toISOString().replaceAll(/[-:]|\.\d+/g, '');
  const signed: Record<string, string> = { ...headers, 'x-amz-date': time };
  if (credentials.sessionToken !== undefined) signed['x-amz-security-token'] = credentials.sessionToken;
  const names = Object.keys(signed).sort();
  const listed = names.join(';');
  const lines = names.map((name) => `${name}:${signed[name]}\n`).join('');
  const request = `POST\n/\n\n${lines}\n${listed}\n${hash(body)}`;

  const day = time.slice(0, 8);
  const scope = [day, region, service, 'aws4_request'];
  const key = scope.reduce<string | Buffer>(
    (last, part) => hmac(last, part).digest(),
    `AWS4${credentials.secretAccessKey}`,
  );
  const place = scope.join('/');
  const signature = hmac(key, `AWS4-HMAC-SHA256\n${time}\n${place}\n${hash(request)}`).digest('hex');
  signed.authorization = `AWS4-HMAC-SHA256 Credential=${credentials.accessKeyId}/${place}, SignedHeaders=${listed}, Signature=${signature}`;
  return signed;
}

function hash(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

function hmac(key: string | Buffer, text: string) {
  return createHmac('sha256', key).update(text);
}
