import { createHash } from 'node:crypto';
import { crc32 } from 'node:zlib';
import { type Answer, type Call, requestId, type StandIn, type StandInOptions, serve } from './stand-in.ts';

export interface S3Options extends Omit<StandInOptions, 'record'> {
  /** Buckets that there are. */
  buckets: string[];
}

/** An object as it was put. */
interface S3Object {
  body: Buffer;
  contentType: string;
  /** `x-amz-meta-…`, without the prefix. */
  metadata: Record<string, string>;
  contentDisposition?: string | undefined;
  etag: string;
  lastModified: Date;
}

export interface S3StandIn extends StandIn {
  /** Everything that is stored, by `<bucket>/<key>`. */
  readonly objects: ReadonlyMap<string, S3Object>;
}

const MOST_METADATA_BYTES = 2_048;
const LONGEST_KEY_BYTES = 1_024;

/** S3 with path-style addresses, as the SDK uses them with an endpoint that is an IP address: objects put, read, listed, deleted. */
export async function startS3({ buckets, ...options }: S3Options): Promise<S3StandIn> {
  const objects = new Map<string, S3Object>();

  function answer(call: Call): Answer {
    const url = new URL(call.path, 'http://localhost');
    const [bucket = '', ...rest] = url.pathname.slice(1).split('/').map(decodeURIComponent);
    const key = rest.join('/');
    if (!buckets.includes(bucket)) return s3Error(404, 'NoSuchBucket', 'The specified bucket does not exist');
    if (key === '') {
      return call.method === 'GET' && url.searchParams.get('list-type') === '2'
        ? list(bucket, url.searchParams)
        : s3Error(405, 'MethodNotAllowed', 'The specified method is not allowed against this resource.');
    }
    if (Buffer.byteLength(key) > LONGEST_KEY_BYTES) return s3Error(400, 'KeyTooLongError', 'Your key is too long');

    switch (call.method) {
      case 'PUT':
        return put(`${bucket}/${key}`, call);
      case 'DELETE':
        objects.delete(`${bucket}/${key}`);
        return { status: 204, headers: {}, body: '' };
      case 'GET':
      case 'HEAD':
        return read(objects.get(`${bucket}/${key}`), call.method);
      default:
        return s3Error(405, 'MethodNotAllowed', 'The specified method is not allowed against this resource.');
    }
  }

  function put(name: string, { headers, bytes }: Call): Answer {
    const upload = decode(bytes, headers);
    if (upload === undefined) return s3Error(400, 'IncompleteBody', 'The request body terminated unexpectedly');
    const { body, trailers } = upload;
    const fault = contentFault(body, { ...headers, ...trailers }, String(headers['x-amz-content-sha256'] ?? ''));
    if (fault !== undefined) return s3Error(400, fault, 'The content does not match what was sent with it.');

    const metadata: Record<string, string> = {};
    for (const [header, value] of Object.entries(headers)) {
      if (header.startsWith('x-amz-meta-')) metadata[header.slice('x-amz-meta-'.length)] = String(value);
    }
    const size = Object.entries(metadata).reduce((sum, [meta, value]) => sum + meta.length + value.length, 0);
    if (size > MOST_METADATA_BYTES) {
      return s3Error(400, 'MetadataTooLarge', 'Your metadata headers exceed the maximum allowed metadata size');
    }
    const etag = `"${createHash('md5').update(body).digest('hex')}"`;
    objects.set(name, {
      body,
      contentType: headers['content-type'] ?? 'binary/octet-stream',
      metadata,
      contentDisposition: headers['content-disposition'],
      etag,
      lastModified: new Date(),
    });
    return { status: 200, headers: { etag }, body: '' };
  }

  function list(bucket: string, query: URLSearchParams): Answer {
    const prefix = query.get('prefix') ?? '';
    const most = Math.min(1_000, Number(query.get('max-keys') ?? 1_000));
    const after = query.get('continuation-token') ?? query.get('start-after') ?? '';
    const all = [...objects]
      .map(([name, object]) => ({ key: name.slice(bucket.length + 1), bucket: name.split('/')[0], object }))
      .filter((one) => one.bucket === bucket && one.key.startsWith(prefix) && one.key > after)
      .toSorted((a, b) => (a.key < b.key ? -1 : 1));
    const page = all.slice(0, most);
    const truncated = all.length > page.length;
    const contents = page.map(
      ({ key, object }) =>
        `<Contents><Key>${escapeXml(key)}</Key><LastModified>${object.lastModified.toISOString()}</LastModified>` +
        `<ETag>${escapeXml(object.etag)}</ETag><Size>${object.body.length}</Size><StorageClass>STANDARD</StorageClass></Contents>`,
    );
    const next = truncated ? `<NextContinuationToken>${escapeXml(page.at(-1)?.key ?? '')}</NextContinuationToken>` : '';
    return xml(
      200,
      `<ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><Name>${bucket}</Name>` +
        `<Prefix>${escapeXml(prefix)}</Prefix><KeyCount>${page.length}</KeyCount><MaxKeys>${most}</MaxKeys>` +
        `<IsTruncated>${truncated}</IsTruncated>${next}${contents.join('')}</ListBucketResult>`,
    );
  }

  const running = await serve(
    {
      signingName: 's3',
      answer,
      unsigned: () => s3Error(403, 'AccessDenied', 'Access Denied'),
      throttled: () => s3Error(503, 'SlowDown', 'Please reduce your request rate.'),
      refused: () => s3Error(403, 'AccessDenied', 'Access Denied'),
    },
    options,
  );
  return Object.defineProperty(running, 'objects', { value: objects, enumerable: true }) as S3StandIn;
}

function read(object: S3Object | undefined, method: 'GET' | 'HEAD'): Answer {
  if (object === undefined) {
    return method === 'HEAD'
      ? { status: 404, headers: {}, body: '' }
      : s3Error(404, 'NoSuchKey', 'The specified key does not exist.');
  }
  const { body, contentType, contentDisposition, etag, lastModified, metadata } = object;
  const named = Object.entries(metadata).map(([name, value]) => [`x-amz-meta-${name}`, value]);
  return {
    status: 200,
    headers: {
      'content-type': contentType,
      'content-length': String(body.length),
      ...(contentDisposition === undefined ? {} : { 'content-disposition': contentDisposition }),
      etag,
      'last-modified': lastModified.toUTCString(),
      ...Object.fromEntries(named),
    },
    body: method === 'HEAD' ? '' : body,
  };
}

/** The object in a request's body: as it is, or in `aws-chunked` pieces with trailers. */
function decode(
  bytes: Buffer,
  headers: Call['headers'],
): { body: Buffer; trailers: Record<string, string> } | undefined {
  if (!String(headers['x-amz-content-sha256']).startsWith('STREAMING-')) return { body: bytes, trailers: {} };
  const pieces: Buffer[] = [];
  let at = 0;
  for (;;) {
    const lineEnd = bytes.indexOf('\r\n', at);
    if (lineEnd === -1) return undefined;
    const size = Number.parseInt(bytes.toString('latin1', at, lineEnd), 16);
    if (Number.isNaN(size) || lineEnd + 2 + size > bytes.length) return undefined;
    at = lineEnd + 2 + size;
    if (size === 0) break;
    pieces.push(bytes.subarray(lineEnd + 2, at));
    at += 2;
  }
  const body = Buffer.concat(pieces);
  if (body.length !== Number(headers['x-amz-decoded-content-length'])) return undefined;
  const lines = bytes.toString('latin1', at).split('\r\n').filter(Boolean);
  return { body, trailers: Object.fromEntries(lines.map((line) => line.split(/:(.*)/, 2) as [string, string])) };
}

/** The error that S3 has for content which is not what its checksums say. */
function contentFault(body: Buffer, headers: Record<string, unknown>, sha256: string): string | undefined {
  if (/^[0-9a-f]{64}$/.test(sha256) && createHash('sha256').update(body).digest('hex') !== sha256) {
    return 'XAmzContentSHA256Mismatch';
  }
  const crc = Buffer.alloc(4);
  crc.writeUInt32BE(crc32(body));
  const sums: [string, () => string][] = [
    ['content-md5', () => createHash('md5').update(body).digest('base64')],
    ['x-amz-checksum-sha1', () => createHash('sha1').update(body).digest('base64')],
    ['x-amz-checksum-sha256', () => createHash('sha256').update(body).digest('base64')],
    ['x-amz-checksum-crc32', () => crc.toString('base64')],
  ];
  const wrong = sums.find(([header, sum]) => headers[header] !== undefined && headers[header] !== sum());
  return wrong === undefined ? undefined : 'BadDigest';
}

function s3Error(status: number, code: string, message: string): Answer {
  return xml(
    status,
    `<Error><Code>${code}</Code><Message>${message}</Message><RequestId>${requestId()}</RequestId></Error>`,
  );
}

function xml(status: number, body: string): Answer {
  return {
    status,
    headers: { 'content-type': 'application/xml' },
    body: `<?xml version="1.0" encoding="UTF-8"?>\n${body}`,
  };
}

function escapeXml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');
}
