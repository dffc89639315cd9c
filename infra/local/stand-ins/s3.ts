import { createHash } from 'node:crypto';
import { CLEAN_VERDICT, SCAN_TAG } from '../../../lib/validators/deployment.ts';
import { bucketArn } from '../rights/arn.ts';
import type { Need } from '../rights/policy.ts';
import { type Answer, type Call, requestId, type StandIn, type StandInOptions, serve } from './stand-in.ts';

export interface S3Options extends Omit<StandInOptions, 'record'> {
  /** Buckets that there are. */
  buckets: string[];
  /** True: every new object is scanned for malware. */
  scanned?: boolean;
}

/** A stored object. */
interface S3Object {
  body: Buffer;
  contentType: string;
  /** `x-amz-meta-…`, without the prefix. */
  metadata: Record<string, string>;
  contentDisposition?: string | undefined;
  tags: Record<string, string>;
}

export interface S3StandIn extends StandIn {
  /** Everything that is stored, by `<bucket>/<key>`. */
  readonly objects: ReadonlyMap<string, S3Object>;
  /** Scans an object for malware, by `<bucket>/<key>`. */
  scan(name: string): void;
}

const MAX_METADATA_BYTES = 2_048;
const LONGEST_KEY_BYTES = 1_024;

/** How long a scan takes, in milliseconds. */
const SCAN_MS = 100;
/** The text of the test file that every scanner takes for malware. */
const EICAR = 'EICAR-STANDARD-ANTIVIRUS-TEST-FILE';

/** S3 with path-style addresses, as the SDK uses them with an endpoint that is an IP address: objects and their tags. */
export async function startS3({ buckets, scanned = false, ...options }: S3Options): Promise<S3StandIn> {
  const objects = new Map<string, S3Object>();

  function answer(call: Call): Answer {
    const { bucket, key, isTagging } = target(call);
    if (!buckets.includes(bucket)) return s3Error(404, 'NoSuchBucket', 'The specified bucket does not exist');
    if (Buffer.byteLength(key) > LONGEST_KEY_BYTES) return s3Error(400, 'KeyTooLongError', 'Your key is too long');
    const name = `${bucket}/${key}`;
    if (key !== '' && call.method === 'GET') return isTagging ? getTags(name) : get(name, call);
    if (key !== '' && call.method === 'PUT') return isTagging ? putTags(name, call) : put(name, call);
    if (key !== '' && call.method === 'DELETE') return isTagging ? deleteTags(name) : deleteObject(name);
    return s3Error(405, 'MethodNotAllowed', 'The specified method is not allowed against this resource.');
  }

  function put(name: string, { headers, bytes: body }: Call): Answer {
    const fault = contentError(body, headers);
    if (fault !== undefined) return s3Error(400, fault, 'The content does not match what was sent with it.');
    const metadata = readMetadata(headers);
    const size = Object.entries(metadata).reduce((sum, [meta, value]) => sum + meta.length + value.length, 0);
    if (size > MAX_METADATA_BYTES) {
      return s3Error(400, 'MetadataTooLarge', 'Your metadata headers exceed the maximum allowed metadata size');
    }
    const tags = [...new URLSearchParams(String(headers['x-amz-tagging'] ?? ''))];
    const tagFault = tagError(tags);
    if (tagFault !== undefined) return tagFault;
    objects.set(name, {
      body,
      contentType: headers['content-type'] ?? 'binary/octet-stream',
      metadata,
      contentDisposition: headers['content-disposition'],
      tags: Object.fromEntries(tags),
    });
    if (scanned) setTimeout(() => scan(name), SCAN_MS).unref();
    return { status: 200, headers: { etag: `"${createHash('md5').update(body).digest('hex')}"` }, body: '' };
  }

  /** As Amazon GuardDuty does: the verdict comes to the tags that there are. */
  function scan(name: string): void {
    const object = objects.get(name);
    if (object !== undefined) object.tags[SCAN_TAG] = object.body.includes(EICAR) ? 'THREATS_FOUND' : CLEAN_VERDICT;
  }

  function get(name: string, { path }: Call): Answer {
    const object = objects.get(name);
    if (object === undefined) return s3Error(404, 'NoSuchKey', 'The specified key does not exist.');
    if (isExpired(path)) return s3Error(403, 'AccessDenied', 'Request has expired');
    const { body, contentType, contentDisposition = 'inline' } = object;
    return {
      status: 200,
      headers: { 'content-type': contentType, 'content-disposition': contentDisposition },
      body,
    };
  }

  function getTags(name: string): Answer {
    const object = objects.get(name);
    if (object === undefined) return s3Error(404, 'NoSuchKey', 'The specified key does not exist.');
    const tags = Object.entries(object.tags).map(
      ([key, value]) => `<Tag><Key>${key}</Key><Value>${value}</Value></Tag>`,
    );
    const body = `<Tagging xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><TagSet>${tags.join('')}</TagSet></Tagging>`;
    return { status: 200, headers: { 'content-type': 'application/xml' }, body };
  }

  function putTags(name: string, { body }: Call): Answer {
    const object = objects.get(name);
    if (object === undefined) return s3Error(404, 'NoSuchKey', 'The specified key does not exist.');
    const tags = [...body.matchAll(/<Key>([^<]*)<\/Key><Value>([^<]*)<\/Value>/g)].map(
      ([, key = '', value = '']): [string, string] => [key, value],
    );
    const tagFault = tagError(tags);
    if (tagFault !== undefined) return tagFault;
    objects.set(name, { ...object, tags: Object.fromEntries(tags) });
    return { status: 200, headers: {}, body: '' };
  }

  function deleteTags(name: string): Answer {
    const object = objects.get(name);
    if (object === undefined) return s3Error(404, 'NoSuchKey', 'The specified key does not exist.');
    objects.set(name, { ...object, tags: {} });
    return { status: 204, headers: {}, body: '' };
  }

  /** S3 answers the same whether the object existed or not. */
  function deleteObject(name: string): Answer {
    objects.delete(name);
    return { status: 204, headers: {}, body: '' };
  }

  const served = await serve(
    {
      signingName: 's3',
      answer,
      needs: (call) => needs(call, objects),
      denied: (message) => s3Error(403, 'AccessDenied', message),
      unsigned: () => s3Error(403, 'AccessDenied', 'Access Denied'),
      throttled: () => s3Error(503, 'SlowDown', 'Please reduce your request rate.'),
      refused: () => s3Error(403, 'AccessDenied', 'Access Denied'),
    },
    options,
  );
  return Object.assign(served, { objects, scan });
}

function target({ path }: Call): { bucket: string; key: string; isTagging: boolean } {
  const url = new URL(path, 'http://localhost');
  const [bucket = '', ...rest] = url.pathname.slice(1).split('/').map(decodeURIComponent);
  return { bucket, key: rest.join('/'), isTagging: url.searchParams.has('tagging') };
}

const ACTIONS: Readonly<Record<string, string>> = { GET: 'GetObject', PUT: 'PutObject', DELETE: 'DeleteObject' };

/** An object that is put with tags needs two rights. */
function needs(call: Call, objects: ReadonlyMap<string, S3Object>): Need[] {
  const { bucket, key, isTagging } = target(call);
  const action = `${ACTIONS[call.method] ?? call.method}${isTagging ? 'Tagging' : ''}`;
  const actions = 'x-amz-tagging' in call.headers ? [action, `${action}Tagging`] : [action];
  const tags = Object.entries(objects.get(`${bucket}/${key}`)?.tags ?? {});
  const context = Object.fromEntries(tags.map(([tag, value]) => [`s3:ExistingObjectTag/${tag}`, value]));
  return actions.map((one) => ({ action: `s3:${one}`, resource: `${bucketArn(bucket)}/${key}`, context }));
}

/** Of a link that is signed in its address. */
function isExpired(path: string): boolean {
  const { searchParams } = new URL(path, 'http://localhost');
  const [date, seconds] = [searchParams.get('X-Amz-Date'), searchParams.get('X-Amz-Expires')];
  if (date === null || seconds === null) return false;
  const signedAt = date.replace(/^(\d{4})(\d\d)(\d\dT\d\d)(\d\d)/, '$1-$2-$3:$4:');
  return Date.parse(signedAt) + Number(seconds) * 1_000 < Date.now();
}

function readMetadata(headers: Call['headers']): Record<string, string> {
  const metadata: Record<string, string> = {};
  for (const [header, value] of Object.entries(headers)) {
    if (header.startsWith('x-amz-meta-')) metadata[header.slice('x-amz-meta-'.length)] = String(value);
  }
  return metadata;
}

const MAX_TAGS = 10;
/** Letters of any script, digits, spaces and some signs. */
const TAG_KEY = /^(?!aws:)[\p{L}\p{N}\p{Z}+\-=._:/@]{1,128}$/u;
const TAG_VALUE = /^[\p{L}\p{N}\p{Z}+\-=._:/@]{0,256}$/u;

/** The error that S3 has for the tags that come with an object. */
function tagError(tags: readonly [key: string, value: string][]): Answer | undefined {
  if (new Map(tags).size < tags.length) return s3Error(400, 'InvalidArgument', 'The header repeats a tag.');
  if (tags.length > MAX_TAGS) return s3Error(400, 'BadRequest', 'Object tags cannot be greater than 10');
  if (tags.every(([key, value]) => TAG_KEY.test(key) && TAG_VALUE.test(value))) return undefined;
  return s3Error(400, 'InvalidTag', 'The TagKey or TagValue you have provided is invalid');
}

/** The error that S3 has for content which is not what its checksums say. */
function contentError(body: Buffer, headers: Call['headers']): string | undefined {
  const signed = String(headers['x-amz-content-sha256'] ?? '');
  const digest = createHash('sha256').update(body).digest();
  if (/^[0-9a-f]{64}$/.test(signed) && digest.toString('hex') !== signed) return 'XAmzContentSHA256Mismatch';
  const given = headers['x-amz-checksum-sha256'];
  return given === undefined || given === digest.toString('base64') ? undefined : 'BadDigest';
}

function s3Error(status: number, code: string, message: string): Answer {
  return {
    status,
    headers: { 'content-type': 'application/xml' },
    body:
      '<?xml version="1.0" encoding="UTF-8"?>\n' +
      `<Error><Code>${code}</Code><Message>${message}</Message><RequestId>${requestId()}</RequestId></Error>`,
  };
}
