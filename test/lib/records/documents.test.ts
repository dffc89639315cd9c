import { createHash } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { describe, expect, it, onTestFinished } from 'vitest';
import { Faults } from '../../../infra/local/faults.ts';
import { startS3 } from '../../../infra/local/stand-ins/s3.ts';
import { AwsFailure } from '../../../lib/aws/failure.ts';
import { type NewObject, type ObjectStore, objectStore } from '../../../lib/aws/s3.ts';
import { s3Documents } from '../../../lib/records/documents.ts';
import type { CheckedDocument } from '../../../lib/validators/custom-fields.ts';
import { heif, SMALLEST_FILES } from '../../support/document-files.ts';
import { NEVER_ABORTED } from '../../support/outcomes.ts';
import { clientSettings } from '../../support/servers.ts';

function document(bytes: Uint8Array, given: Partial<CheckedDocument> = {}): CheckedDocument {
  return { fieldKey: 'd0cUpl', index: 0, id: 'passport', name: 'passport.pdf', bytes, ...given };
}

const sha256 = (bytes: Buffer) => createHash('sha256').update(bytes).digest('base64');

const notUsed = () => Promise.reject(new Error('not used here'));

/** Keeps objects, and fails on demand. */
function storeOf(put: (object: NewObject) => void | Promise<void> = () => {}) {
  const objects: NewObject[] = [];
  const store: ObjectStore = {
    put: async (object) => {
      await put(object);
      objects.push(object);
    },
    deleteTags: notUsed,
    link: notUsed,
  };
  return { objects, documents: s3Documents({ documentsBucket: 'documents' }, async () => store) };
}

/** Documents in the stand-in of S3. */
async function realStore() {
  const s3 = await startS3({ faults: new Faults(), buckets: ['documents'] });
  onTestFinished(() => s3.close());
  const open = async (bucket: string) => objectStore(bucket, clientSettings(s3.url));
  return { s3, documents: s3Documents({ documentsBucket: 'documents' }, open) };
}

describe('A document if the form accepts', () => {
  const { documents } = storeOf();
  const image = ['image/png', 'image/jpeg'];

  it.each<[string[], keyof typeof SMALLEST_FILES]>([
    [['application/pdf'], 'pdf'],
    [['Application/PDF'], 'pdf'],
    [image, 'png'],
    [image, 'jpeg'],
    [['image/jpg'], 'jpeg'],
    [['image/*'], 'gif'],
    [['image/*'], 'webp'],
    [['image/heic'], 'heic'],
    [['image/heif'], 'heic'],
    [['image/heic'], 'heicOfMif1'],
    [['image/heif'], 'heicOfMif1'],
    [['image/heic'], 'heif'],
    [['image/heic'], 'heicSequence'],
    [['image/avif'], 'avif'],
    [['image/avif'], 'avifOfMif1'],
    [['application/pdf'], 'latePdf'],
    [['text/plain'], 'latePdf'],
    [['image/tiff'], 'tiff'],
    [['application/vnd.openxmlformats-officedocument.wordprocessingml.document'], 'docx'],
    [['application/msword'], 'doc'],
    [['application/rtf'], 'rtf'],
    [['application/zip'], 'zip'],
    [['text/plain'], 'text'],
    [['text/csv'], 'text'],
    [['text/*'], 'text'],
    [['text/csv'], 'marked'],
  ])('%j may be a %s', async (accept, file) => {
    expect(await documents.inspect([document(SMALLEST_FILES[file], { accept })])).toEqual([]);
  });

  it.each<[string[], keyof typeof SMALLEST_FILES]>([
    [['application/pdf'], 'png'],
    [['application/pdf'], 'text'],
    [['application/pdf'], 'bytes'],
    [['application/pdf'], 'html'],
    [['image/heic', 'image/heif'], 'avif'],
    [['image/heic', 'image/heif'], 'avifOfMif1'],
    [['image/avif'], 'heicOfMif1'],
    [image, 'gif'],
    [image, 'pdf'],
    [image, 'latePdf'],
    [['image/*'], 'svg'],
    [['image/svg+xml'], 'svg'],
    [['text/html'], 'html'],
    [['text/plain'], 'latin1'],
    [['text/plain'], 'bytes'],
    [['text/plain'], 'pdf'],
    [['application/vnd.openxmlformats-officedocument.wordprocessingml.document'], 'zip'],
    [['application/msword'], 'docx'],
    [[], 'pdf'],
  ])('%j may not be a %s', async (accept, file) => {
    expect(await documents.inspect([document(SMALLEST_FILES[file], { accept })])).toEqual([
      {
        pointer: '#/d0cUpl/0/doc',
        rule: 'media_type',
        detail: 'must be a document of a kind that the form accepts',
      },
    ]);
  });

  it('a PDF has its header after at most 1,024 bytes, unless it is of another kind', async () => {
    const late = (bytes: number) => Buffer.concat([Buffer.alloc(bytes, '\n'), SMALLEST_FILES.pdf]);
    const accept = ['application/pdf'];
    expect(await documents.inspect([document(late(1_024), { accept })])).toEqual([]);
    expect(await documents.inspect([document(late(1_025), { accept })])).toHaveLength(1);
    expect(
      await documents.inspect([document(Buffer.concat([SMALLEST_FILES.gif, SMALLEST_FILES.pdf]), { accept })]),
    ).toHaveLength(1);
  });

  it('anything may be anything', async () => {
    const all = Object.values(SMALLEST_FILES).map((bytes) => document(bytes));
    expect(await documents.inspect(all)).toEqual([]);
  });

  it('something is judged by its content, never by its name', async () => {
    const accept = ['application/pdf'];
    const lie = document(SMALLEST_FILES.exe, { accept, name: 'passport.pdf' });
    const plain = document(SMALLEST_FILES.pdf, { accept, name: 'passport.exe' });
    expect(await documents.inspect([lie])).toHaveLength(1);
    expect(await documents.inspect([plain])).toEqual([]);
  });

  it('something is named by field and place, all wrong ones at once', async () => {
    const accept = ['application/pdf'];
    const faults = await documents.inspect([
      document(SMALLEST_FILES.png, { accept, fieldKey: 'a/b', index: 0 }),
      document(SMALLEST_FILES.pdf, { accept, fieldKey: 'a/b', index: 1 }),
      document(SMALLEST_FILES.text, { accept, fieldKey: 'ü', index: 2 }),
    ]);
    expect(faults).toMatchObject([{ pointer: '#/a~1b/0/doc' }, { pointer: '#/%C3%BC/2/doc' }]);
  });

  it('something may be truncated or misleading without harm', async () => {
    for (const whole of Object.values(SMALLEST_FILES)) {
      for (let length = 1; length < Math.min(whole.length, 120); length += 1) {
        const faults = await documents.inspect([document(whole.subarray(0, length), { accept: ['application/pdf'] })]);
        expect(faults.length).toBeLessThanOrEqual(1);
      }
    }
  });
});

describe('A stored document', () => {
  it('is stored under the registration and its number, with type, size and hash in the record', async () => {
    const { documents, objects } = storeOf();
    const stored = await documents.store(
      'r-1',
      [
        document(SMALLEST_FILES.pdf),
        document(SMALLEST_FILES.png, { fieldKey: 'other', index: 1, id: 'selfie', name: 'me.png' }),
      ],
      NEVER_ABORTED,
    );
    expect(stored).toEqual([
      {
        field_key: 'd0cUpl',
        index: 0,
        id: 'passport',
        name: 'passport.pdf',
        key: 'registrations/r-1/1',
        media_type: 'application/pdf',
        bytes: SMALLEST_FILES.pdf.length,
        sha256: sha256(SMALLEST_FILES.pdf),
      },
      {
        field_key: 'other',
        index: 1,
        id: 'selfie',
        name: 'me.png',
        key: 'registrations/r-1/2',
        media_type: 'image/png',
        bytes: SMALLEST_FILES.png.length,
        sha256: sha256(SMALLEST_FILES.png),
      },
    ]);
    expect(objects).toMatchObject([
      { key: 'registrations/r-1/1', mediaType: 'application/pdf' },
      { key: 'registrations/r-1/2', mediaType: 'image/png' },
    ]);
  });

  it.each<[main: string, compatible: string[], type: string]>([
    ...['heic', 'heix', 'heim', 'heis', 'hevc', 'hevx', 'hevm', 'hevs'].map((main): [string, string[], string] => [
      main,
      ['mif1'],
      'image/heic',
    ]),
    ['MiHE', ['mif1', 'heis'], 'image/heic'],
    ['miaf', ['mif1', 'heic'], 'image/heic'],
    ['1pic', ['mif1', 'heim'], 'image/heic'],
    ['mif2', ['hevm'], 'image/heic'],
    ['mif1', ['miaf'], 'image/heif'],
    ['msf1', [], 'image/heif'],
    ['avci', ['mif1'], 'image/heif'],
    ['avis', ['msf1', 'mif1'], 'image/avif'],
    ['avio', ['mif1'], 'image/avif'],
    ['MA1B', ['mif1', 'avif'], 'image/avif'],
    ['isom', ['mp42'], 'video/mp4'],
    ['qt  ', [], 'video/quicktime'],
  ])('of the main brand %s, compatible with %j, is kept as %s', async (main, compatible, type) => {
    const { documents } = storeOf();
    const accept = type === 'image/heif' ? ['image/heic'] : [type];
    expect(await documents.inspect([document(heif(main, ...compatible), { accept })])).toEqual([]);
    const [stored] = await documents.store('REG00001', [document(heif(main, ...compatible))], NEVER_ABORTED);
    expect(stored?.media_type).toBe(type);
  });

  it.each<[keyof typeof SMALLEST_FILES, string]>([
    ['html', 'text/plain'],
    ['svg', 'application/xml'],
    ['text', 'text/plain'],
    ['latePdf', 'application/pdf'],
    ['heicOfMif1', 'image/heic'],
    ['heif', 'image/heif'],
    ['avifOfMif1', 'image/avif'],
    ['bytes', 'application/octet-stream'],
    ['latin1', 'application/octet-stream'],
    ['docx', 'application/vnd.openxmlformats-officedocument.wordprocessingml.document'],
  ])('that is a %s is kept as %s', async (file, type) => {
    const { documents } = storeOf();
    expect(await documents.store('r-1', [document(SMALLEST_FILES[file])], NEVER_ABORTED)).toMatchObject([
      { media_type: type },
    ]);
  });

  it('of text is kept as the kind of text that the form accepts', async () => {
    const { documents } = storeOf();
    const csv = document(SMALLEST_FILES.text, { accept: ['application/pdf', 'text/csv'] });
    expect(await documents.store('r-1', [csv], NEVER_ABORTED)).toMatchObject([{ media_type: 'text/csv' }]);
  });

  it.each(['паспорт 1.pdf', 'a"b\r\nx-amz-acl: public-read\u0000.pdf', '../../etc/passwd', 'broken \ud800', ''])(
    'with the name %j has this name in the record, and not in its key',
    async (name) => {
      const { documents } = await realStore();
      const stored = await documents.store(
        'r-1',
        [document(SMALLEST_FILES.pdf, { name, id: name, fieldKey: name })],
        NEVER_ABORTED,
      );
      expect(stored).toMatchObject([{ key: 'registrations/r-1/1', name, id: name, field_key: name }]);
    },
  );

  it('is uploaded side by side with the others', async () => {
    const files = [document(SMALLEST_FILES.pdf), document(SMALLEST_FILES.png), document(SMALLEST_FILES.gif)];
    let begun = 0;
    const allBegun = Promise.withResolvers<void>();
    const { documents } = storeOf(async () => {
      begun += 1;
      if (begun === files.length) allBegun.resolve();
      await allBegun.promise;
    });
    expect(await documents.store('r-1', files, NEVER_ABORTED)).toHaveLength(files.length);
  });

  it('that cannot be stored fails the registration, once the others have ended', async () => {
    let ended = 0;
    const refused = Promise.withResolvers<void>();
    const { documents } = storeOf(async ({ key }) => {
      if (key.endsWith('/1')) {
        refused.resolve();
        throw new AwsFailure('AccessDenied');
      }
      await refused.promise;
      await nextTurn();
      ended += 1;
    });
    const storing = documents.store('r-1', [document(SMALLEST_FILES.pdf), document(SMALLEST_FILES.png)], NEVER_ABORTED);
    await expect(storing).rejects.toBeInstanceOf(AwsFailure);
    expect(ended).toBe(1);
  });

  it('opens the object store, and a registration without one does not', async () => {
    let opened = 0;
    const open = async () => {
      opened += 1;
      return {
        put: async () => {},
        deleteTags: notUsed,
        link: notUsed,
      };
    };
    const documents = s3Documents({ documentsBucket: 'documents' }, open);
    expect(await documents.inspect([])).toEqual([]);
    expect(await documents.store('r-1', [], NEVER_ABORTED)).toEqual([]);
    await documents.keep([], NEVER_ABORTED);
    expect(opened).toBe(0);
    await documents.store('r-1', [document(SMALLEST_FILES.pdf)], NEVER_ABORTED);
    await documents.store('r-2', [document(SMALLEST_FILES.pdf)], NEVER_ABORTED);
    expect(opened).toBe(1);
  });

  it('is in S3 unchanged', async () => {
    const { s3, documents } = await realStore();
    await documents.store('r-1', [document(SMALLEST_FILES.png, { name: 'ü.png' })], NEVER_ABORTED);
    expect(s3.objects.get('documents/registrations/r-1/1')).toMatchObject({
      body: SMALLEST_FILES.png,
      contentType: 'image/png',
      contentDisposition: 'attachment',
    });
  });
});

describe('A document of a registration that may be confirmed', () => {
  const KEYS = ['registrations/r-1/1', 'registrations/r-1/2'];

  it('has the tag by which it disappears, until it is kept', async () => {
    const { s3, documents } = await realStore();
    const stored = await documents.store(
      'r-1',
      [document(SMALLEST_FILES.png), document(SMALLEST_FILES.pdf)],
      NEVER_ABORTED,
    );
    const tags = () => KEYS.map((key) => s3.objects.get(`documents/${key}`)?.tags);
    expect(tags()).toEqual([{ registration: 'pending' }, { registration: 'pending' }]);
    await documents.keep(stored, NEVER_ABORTED);
    expect(tags()).toEqual([{}, {}]);
    await documents.keep(stored, NEVER_ABORTED);
    expect(s3.objects.get(`documents/${KEYS[0]}`)?.body.equals(SMALLEST_FILES.png)).toBe(true);
  });

  it('that is not there cannot be kept', async () => {
    const { documents } = await realStore();
    const keeping = documents.keep(
      KEYS.map((key) => ({ key })),
      NEVER_ABORTED,
    );
    await expect(keeping).rejects.toMatchObject({ reason: 'NoSuchKey' });
  });
});
