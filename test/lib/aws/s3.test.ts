import { createHash } from 'node:crypto';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { Faults } from '../../../infra/local/faults.ts';
import { type S3StandIn, startS3 } from '../../../infra/local/stand-ins/s3.ts';
import { AwsFailure } from '../../../lib/aws/failure.ts';
import { type NewObject, type ObjectStore, objectStore } from '../../../lib/aws/s3.ts';
import { clientSettings } from '../../support/database.ts';
import { forever } from '../../support/outcomes.ts';

let faults: Faults;
let s3: S3StandIn;
let store: ObjectStore;

beforeEach(async () => {
  faults = new Faults();
  s3 = await startS3({ faults, buckets: ['documents'] });
  onTestFinished(() => s3.close());
  store = objectStore('documents', clientSettings(s3.url));
});

function object(key: string, content = 'content'): NewObject {
  const body = Buffer.from(content);
  const sha256 = createHash('sha256').update(body).digest('base64');
  return { key, body, mediaType: 'application/pdf', sha256, metadata: { 'file-name': 'a%20b.pdf' } };
}

describe('An object', () => {
  it('is put with its content, type and metadata, to be downloaded and not shown', async () => {
    await store.put(object('registrations/r-1/1'), forever);
    expect([...s3.objects.keys()]).toEqual(['documents/registrations/r-1/1']);
    expect(s3.objects.get('documents/registrations/r-1/1')).toMatchObject({
      body: Buffer.from('content'),
      contentType: 'application/pdf',
      contentDisposition: 'attachment',
      metadata: { 'file-name': 'a%20b.pdf' },
    });
  });

  it('of three megabytes arrives whole', async () => {
    const large = object('large', 'x'.repeat(3 * 1024 * 1024));
    await store.put(large, forever);
    expect(s3.objects.get('documents/large')?.body.equals(large.body)).toBe(true);
  });

  it('that is damaged on the way is refused', async () => {
    const damaged = { ...object('damaged'), body: Buffer.from('kontent') };
    await expect(store.put(damaged, forever)).rejects.toMatchObject({ reason: 'BadDigest' });
    expect(s3.objects.size).toBe(0);
  });
});

describe('The tags of an object', () => {
  const tagsOf = (key: string) => s3.objects.get(`documents/${key}`)?.tags;

  it('are stored with it, and can be deleted, also twice', async () => {
    await store.put({ ...object('tagged'), tag: { Key: 'a b', Value: 'c=d/ü' } }, forever);
    expect(tagsOf('tagged')).toEqual({ 'a b': 'c=d/ü' });
    await store.deleteTags('tagged', forever);
    await store.deleteTags('tagged', forever);
    expect(tagsOf('tagged')).toEqual({});
    expect(s3.objects.get('documents/tagged')?.contentType).toBe('application/pdf');
  });

  it('cannot be deleted without an object', async () => {
    await expect(store.deleteTags('nothing', forever)).rejects.toMatchObject({ reason: 'NoSuchKey' });
  });

  it('are deleted with three attempts', async () => {
    await store.put({ ...object('kept'), tag: { Key: 'registration', Value: 'pending' } }, forever);
    faults.set({ kind: 'throttled', times: 2 });
    await store.deleteTags('kept', forever);
    expect(tagsOf('kept')).toEqual({});
    faults.set({ kind: 'throttled', times: 3 });
    await expect(store.deleteTags('kept', forever)).rejects.toMatchObject({ reason: 'SlowDown' });
  });
});

describe('A failing object store', () => {
  it.each([
    ['throttled', 'SlowDown'],
    ['down', 'ECONN(REFUSED|RESET)'],
  ] as const)('that is %s is asked three times', async (kind, reason) => {
    faults.set({ kind, times: 2 });
    await store.put(object('second'), forever);
    expect(s3.objects.size).toBe(1);
    faults.set({ kind, times: 3 });
    const failure: unknown = await store.put(object('third'), forever).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(AwsFailure);
    expect((failure as AwsFailure).reason).toMatch(new RegExp(`^${reason}$`));
    expect(faults.list()).toEqual([]);
  });

  it('that refuses is asked once', async () => {
    faults.set({ kind: 'refused', times: 1 });
    await expect(store.put(object('refused'), forever)).rejects.toMatchObject({ reason: 'AccessDenied' });
    expect(s3.requests).toBe(1);
  });

  it('is given up when the time is over', async () => {
    faults.set({ kind: 'slow', times: 1, ms: 20_000 });
    const start = performance.now();
    await expect(store.put(object('slow'), AbortSignal.timeout(50))).rejects.toBeInstanceOf(AwsFailure);
    expect(performance.now() - start).toBeLessThan(15_000);
  });
});
