import { createHash } from 'node:crypto';
import { describe, expect, it, onTestFinished } from 'vitest';
import { Faults } from '../../../infra/local/faults.ts';
import { startS3 } from '../../../infra/local/stand-ins/s3.ts';
import { objectStore } from '../../../lib/aws/s3.ts';
import { type StoredDocument, s3Documents } from '../../../lib/records/documents.ts';
import { clientSettings } from '../../support/servers.ts';

const signal = AbortSignal.timeout(60_000);
const document = (name: string): StoredDocument => ({
  field_key: 'd0cUpl',
  index: 0,
  id: '1',
  name,
  key: `registrations/r-1/${name}`,
  media_type: 'application/pdf',
  bytes: 9,
  sha256: '',
});

/** Documents in the stand-in of S3. */
async function stored(contents: Record<string, string>) {
  const s3 = await startS3({ faults: new Faults(), buckets: ['documents'] });
  onTestFinished(() => s3.close());
  const store = objectStore('documents', clientSettings(s3.url));
  for (const [name, content] of Object.entries(contents)) {
    const sha256 = createHash('sha256').update(content).digest('base64');
    const object = { key: document(name).key, body: Buffer.from(content), mediaType: 'application/pdf' };
    await store.put({ ...object, sha256 }, signal);
  }
  return {
    s3,
    store,
    documents: s3Documents({ documentsBucket: 'documents' }, async () => store),
  };
}

describe('The link to a document', () => {
  it('downloads it without credentials, as a file, for an hour', async () => {
    const { store, documents } = await stored({ passport: '%PDF-1.4' });
    const [{ url = '' } = {}] = await documents.link([document('passport')]);
    const answer = await fetch(url);
    expect([answer.status, await answer.text()]).toEqual([200, '%PDF-1.4']);
    expect(answer.headers.get('content-disposition')).toBe('attachment');
    expect(new URL(url).searchParams.get('X-Amz-Expires')).toBe('3600');
    const short = await store.link(document('passport').key, 1);
    await expect.poll(async () => (await fetch(short)).status).toBe(403);
  });

  it('is not made for a registration without documents, and S3 is not loaded', async () => {
    const open = () => Promise.reject(new Error('not asked for'));
    expect(await s3Documents({ documentsBucket: 'documents' }, open).link([])).toEqual([]);
  });
});
