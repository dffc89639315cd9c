import { createHash } from 'node:crypto';
import { bucketArn } from '../rights/arn.ts';
import type { NeededRight } from '../rights/policy.ts';
import { xmlAnswer, xmlElement } from './protocols.ts';
import { type Call, ServiceError, type StandInAnswer, type StandInOptions, serveStandIn } from './stand-in.ts';

export interface S3Options extends Omit<StandInOptions, 'record'> {
  /** The existing buckets. */
  buckets: string[];
}

interface S3Object {
  body: Buffer;
  contentType: string;
  contentDisposition: string;
  tags: Record<string, string>;
}

export type S3StandIn = Awaited<ReturnType<typeof startS3>>;

/** Letters of any script, digits, spaces and some signs. */
const TAG_KEY = /^(?!aws:)[\p{L}\p{N}\p{Z}+\-=._:/@]{1,128}$/u;
const TAG_VALUE = /^[\p{L}\p{N}\p{Z}+\-=._:/@]{0,256}$/u;
const DONE: StandInAnswer = { status: 204, headers: {}, body: '' };

/** S3 with path-style addresses, as the SDK uses them with an endpoint that is an IP address: objects and their tags. */
export async function startS3({ buckets, ...options }: S3Options) {
  /** Everything that is stored, by `<bucket>/<key>`. */
  const objects = new Map<string, S3Object>();

  const actions: Record<string, (name: string, call: Call) => StandInAnswer> = {
    PutObject: put,
    GetObject: get,
    // S3 gives the same answer whether the object existed or not.
    DeleteObject(name) {
      objects.delete(name);
      return DONE;
    },
    DeleteObjectTagging(name) {
      find(name).tags = {};
      return DONE;
    },
  };

  function answer(call: Call): StandInAnswer {
    const { bucket, key, action } = target(call);
    if (!buckets.includes(bucket)) {
      throw new ServiceError('NoSuchBucket', 'The specified bucket does not exist', 404);
    }
    const name = `${bucket}/${key}`;
    const run = actions[action];
    if (run === undefined) throw new ServiceError('MethodNotAllowed', undefined, 405);
    return run(name, call);
  }

  /** @throws ServiceError if there is no such object */
  function find(name: string): S3Object {
    const object = objects.get(name);
    if (object === undefined) throw new ServiceError('NoSuchKey', 'The specified key does not exist.', 404);
    return object;
  }

  function put(name: string, { headers, bytes: body }: Call): StandInAnswer {
    objects.set(name, readObject(headers, body));
    return { status: 200, headers: { etag: `"${createHash('md5').update(body).digest('hex')}"` }, body: '' };
  }

  function get(name: string, { path }: Call): StandInAnswer {
    const { body, contentType, contentDisposition } = find(name);
    if (isExpired(path)) throw new ServiceError('AccessDenied', 'Request has expired', 403);
    return {
      status: 200,
      headers: { 'content-type': contentType, 'content-disposition': contentDisposition },
      body,
    };
  }

  const served = await serveStandIn(
    {
      answer,
      error: ({ code, message, status }) =>
        xmlAnswer(status, xmlElement('Error', xmlElement('Code', code) + xmlElement('Message', message))),
      signed: { name: 's3', denied: 'AccessDenied', needs: (call) => needs(call, objects) },
      throttled: new ServiceError('SlowDown', 'Please reduce your request rate.', 503),
      refused: new ServiceError('AccessDenied', 'Access Denied', 403),
    },
    options,
  );
  return Object.assign(served, { objects });
}

/** @throws ServiceError if the checksum or the tags are wrong */
function readObject(headers: Call['headers'], body: Buffer): S3Object {
  const given = headers['x-amz-checksum-sha256'];
  if (given !== undefined && given !== createHash('sha256').update(body).digest('base64')) {
    throw new ServiceError('BadDigest', 'The content does not match what was sent with it.');
  }
  return {
    body,
    contentType: headers['content-type'] ?? 'binary/octet-stream',
    contentDisposition: headers['content-disposition'] ?? 'inline',
    tags: checkedTags([...new URLSearchParams(String(headers['x-amz-tagging'] ?? ''))]),
  };
}

const ACTIONS: Readonly<Record<string, string>> = { GET: 'GetObject', PUT: 'PutObject', DELETE: 'DeleteObject' };

function target({ method, path }: Call): { bucket: string; key: string; action: string } {
  const { pathname, searchParams } = new URL(path, 'http://localhost');
  const [bucket = '', ...rest] = pathname.slice(1).split('/').map(decodeURIComponent);
  const action = `${ACTIONS[method] ?? method}${searchParams.has('tagging') ? 'Tagging' : ''}`;
  return { bucket, key: rest.join('/'), action };
}

/** An object that is put with tags needs two rights. */
function needs(call: Call, objects: ReadonlyMap<string, S3Object>): NeededRight[] {
  const { bucket, key, action } = target(call);
  const actions = 'x-amz-tagging' in call.headers ? [action, `${action}Tagging`] : [action];
  const tags = Object.entries(objects.get(`${bucket}/${key}`)?.tags ?? {});
  const context = Object.fromEntries(tags.map(([tag, value]) => [`s3:ExistingObjectTag/${tag}`, value]));
  return actions.map((one) => ({ action: `s3:${one}`, resource: `${bucketArn(bucket)}/${key}`, context }));
}

/** Whether a presigned link has expired. */
function isExpired(path: string): boolean {
  const { searchParams } = new URL(path, 'http://localhost');
  const [date, seconds] = [searchParams.get('X-Amz-Date'), searchParams.get('X-Amz-Expires')];
  if (date === null || seconds === null) return false;
  const signedAt = date.replace(/^(\d{4})(\d\d)(\d\dT\d\d)(\d\d)/, '$1-$2-$3:$4:');
  return Date.parse(signedAt) + Number(seconds) * 1_000 < Date.now();
}

/** @throws ServiceError for a tag that S3 does not accept */
function checkedTags(tags: readonly [key: string, value: string][]): Record<string, string> {
  if (tags.every(([key, value]) => TAG_KEY.test(key) && TAG_VALUE.test(value))) return Object.fromEntries(tags);
  throw new ServiceError('InvalidTag', 'The TagKey or TagValue you have provided is invalid');
}
