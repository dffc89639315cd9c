import { createHash } from 'node:crypto';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { Faults } from '../../../infra/local/faults.ts';
import { type S3StandIn, startS3 } from '../../../infra/local/stand-ins/s3.ts';
import { type NewObject, type ObjectStore, objectStore } from '../../../lib/aws/s3.ts';
import { NEVER_ABORTED } from '../../support/outcomes.ts';
import { clientSettings } from '../../support/servers.ts';

let s3: S3StandIn;
let store: ObjectStore;

beforeEach(async () => {
  s3 = await startS3({ faults: new Faults(), buckets: ['documents'] });
  onTestFinished(() => s3.close());
  store = objectStore('documents', clientSettings(s3.url));
});

function object(key: string, content = 'content'): NewObject {
  const body = Buffer.from(content);
  const sha256 = createHash('sha256').update(body).digest('base64');
  return { key, body, mediaType: 'application/pdf', sha256 };
}

describe('An object', () => {
  it('is put with its content and type, to be downloaded and not shown', async () => {
    await store.put(object('registrations/r-1/1'), NEVER_ABORTED);
    expect([...s3.objects.keys()]).toEqual(['documents/registrations/r-1/1']);
    expect(s3.objects.get('documents/registrations/r-1/1')).toMatchObject({
      body: Buffer.from('content'),
      contentType: 'application/pdf',
      contentDisposition: 'attachment',
    });
  });

  it('of three megabytes arrives whole', async () => {
    const large = object('large', 'x'.repeat(3 * 1024 * 1024));
    await store.put(large, NEVER_ABORTED);
    expect(s3.objects.get('documents/large')?.body.equals(large.body)).toBe(true);
  });

  it('that is damaged on the way is refused', async () => {
    const damaged = { ...object('damaged'), body: Buffer.from('kontent') };
    await expect(store.put(damaged, NEVER_ABORTED)).rejects.toMatchObject({ reason: 'BadDigest' });
    expect(s3.objects.size).toBe(0);
  });
});

describe('The tags of an object', () => {
  const tagsOf = (key: string) => s3.objects.get(`documents/${key}`)?.tags;

  it('are stored with it, and can be deleted, also twice', async () => {
    await store.put({ ...object('tagged'), tag: { Key: 'a b', Value: 'c=d/ü' } }, NEVER_ABORTED);
    expect(tagsOf('tagged')).toEqual({ 'a b': 'c=d/ü' });
    await store.deleteTags('tagged', NEVER_ABORTED);
    await store.deleteTags('tagged', NEVER_ABORTED);
    expect(tagsOf('tagged')).toEqual({});
    expect(s3.objects.get('documents/tagged')?.contentType).toBe('application/pdf');
  });

  it('cannot be deleted without an object', async () => {
    await expect(store.deleteTags('nothing', NEVER_ABORTED)).rejects.toMatchObject({ reason: 'NoSuchKey' });
  });
});
