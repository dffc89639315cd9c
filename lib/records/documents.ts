import { createHash } from 'node:crypto';
import type * as v from 'valibot';
import type { ObjectStore } from '../aws/s3.ts';
import { DOCUMENTS_FOLDER, PENDING_DOCUMENT_TAG } from '../config/deployment.ts';
import { awaitAll } from '../deadline.ts';
import { once } from '../once.ts';
import type { CheckedDocument } from '../validators/custom-fields.ts';
import { jsonPointer, type Violation } from '../validators/primitives.ts';
import type { LinkedDocumentSchema } from './event-schemas.ts';

/** A document with the link to download it. */
export interface LinkedDocument extends v.InferOutput<typeof LinkedDocumentSchema> {
  /** The key of the object in the bucket. */
  key: string;
}
/** A stored document, in the registration's record. */
export type StoredDocument = Omit<LinkedDocument, 'url'>;
export type Documents = ReturnType<typeof s3Documents>;

/** How long a link is valid, in seconds; less if the signing credentials expire earlier. */
const LINK_SECONDS = 60 * 60;

/** Documents as objects in S3. The client is loaded for the first document. */
export function s3Documents(
  { documentsBucket }: { documentsBucket: string },
  open: (bucket: string) => Promise<ObjectStore> = async (name) => (await import('../aws/s3.ts')).objectStore(name),
) {
  const objects = once(() => open(documentsBucket));

  return {
    /** A violation for each document whose content has no media type that its form field accepts. */
    async inspect(documents: readonly CheckedDocument[]): Promise<Violation[]> {
      if (documents.length === 0) return [];
      return (await Promise.all(documents.map(mediaTypeViolations))).flat();
    },

    /**
     * Stores documents that passed `inspect`, under the registration's id.
     * @throws AwsFailure
     */
    async store(
      registrationId: string,
      documents: readonly CheckedDocument[],
      signal: AbortSignal,
    ): Promise<StoredDocument[]> {
      if (documents.length === 0) return [];
      const store = await objects();
      return await awaitAll(
        documents.map((document, place) => {
          return put(store, documentKey(registrationId, place), document, signal);
        }),
      );
    },

    /**
     * Keeps stored documents as long as the bucket keeps its objects, instead of a day. May be repeated.
     * @throws AwsFailure
     */
    async keep(documents: readonly Pick<StoredDocument, 'key'>[], signal: AbortSignal): Promise<void> {
      if (documents.length === 0) return;
      const store = await objects();
      await awaitAll(documents.map(({ key }) => store.deleteTags(key, signal)));
    },

    /** Links to stored documents. @throws AwsFailure */
    async link(documents: readonly StoredDocument[]): Promise<LinkedDocument[]> {
      if (documents.length === 0) return [];
      const store = await objects();
      return await awaitAll(
        documents.map(async (document) => ({ ...document, url: await store.link(document.key, LINK_SECONDS) })),
      );
    },
  };
}

async function mediaTypeViolations(document: CheckedDocument): Promise<Violation[]> {
  if ((await mediaType(document)) !== undefined) return [];
  return [
    {
      pointer: jsonPointer([document.fieldKey, document.index, 'doc']),
      rule: 'media_type',
      detail: 'must be a document of a kind that the form accepts',
    },
  ];
}

function documentKey(registrationId: string, place: number): string {
  return `${DOCUMENTS_FOLDER}/${registrationId}/${place + 1}`;
}

async function put(
  store: Pick<ObjectStore, 'put'>,
  key: string,
  document: CheckedDocument,
  signal: AbortSignal,
): Promise<StoredDocument> {
  const { fieldKey, index, id, name, bytes } = document;
  const media_type = (await mediaType(document)) ?? UNKNOWN;
  const sha256 = createHash('sha256').update(bytes).digest('base64');
  await store.put({ key, body: bytes, mediaType: media_type, sha256, tag: PENDING_DOCUMENT_TAG }, signal);
  return { field_key: fieldKey, index, id, name, key, media_type, bytes: bytes.length, sha256 };
}

const UNKNOWN = 'application/octet-stream';

/**
 * The types of HEIF pictures count as one: the brand that a camera lists first says little about what its files hold.
 */
const HEIF_NAMES = ['image/heic', 'image/heif', 'image/heic-sequence', 'image/heif-sequence'];

/** Other names of the detected types that people prove something with. All older Office files have one type. */
const OTHER_NAMES: Readonly<Record<string, readonly string[]>> = {
  'image/jpeg': ['image/jpg', 'image/pjpeg'],
  'image/bmp': ['image/x-ms-bmp'],
  'image/heic': HEIF_NAMES,
  'image/heif': HEIF_NAMES,
  'application/rtf': ['text/rtf'],
  'application/x-cfb': ['application/msword', 'application/vnd.ms-excel', 'application/vnd.ms-powerpoint'],
  'application/xml': ['text/xml'],
  'application/zip': ['application/x-zip-compressed'],
};

/** Types of plain text. Their content looks the same, so the first type that the form accepts is used. */
const TEXTS = ['text/plain', 'text/csv', 'text/tab-separated-values', 'text/markdown'];

/** The detected media type; undefined if the form does not accept it. */
async function mediaType({ bytes, accept }: CheckedDocument): Promise<string | undefined> {
  const detected = await detect(bytes);
  const possible = detected === undefined ? possibleTypes(bytes) : [detected];
  if (accept === undefined) return possible[0] ?? UNKNOWN;
  return possible.find((type) => [type, ...(OTHER_NAMES[type] ?? [])].some((name) => accepts(accept, name)));
}

/** The types of a document that is not recognized by its first bytes. */
function possibleTypes(bytes: Uint8Array): string[] {
  return [...(isLatePdf(bytes) ? ['application/pdf'] : []), ...(isText(bytes) ? TEXTS : [])];
}

const PDF_HEADER = '%PDF-';

/** Readers of PDF accept up to 1,024 bytes of anything before its header. */
function isLatePdf(bytes: Uint8Array): boolean {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)
    .subarray(0, 1_024 + PDF_HEADER.length)
    .includes(PDF_HEADER);
}

/** The media type by the first bytes; the library does not read the compatible brands of a picture. */
async function detect(bytes: Uint8Array): Promise<string | undefined> {
  const picture = heifType(bytes);
  if (picture !== undefined) return picture;
  // Loaded for the first document.
  const { fileTypeFromBuffer } = await import('file-type');
  // A truncated file has no type.
  const found = await fileTypeFromBuffer(bytes).catch(() => undefined);
  return found?.mime.split(';')[0]?.trim();
}

/** AVIF: one picture, several, and one of intra-coded pictures. */
const AVIF_BRAND = /^avi[fso]$/;
/** HEVC in pictures and sequences, also layered ones. */
const HEIC_BRAND = /^he[iv][cmsx]$/;
/** The brands of a picture or a sequence of any coding. */
const HEIF_BRAND = /^(?:mif|msf|mia)\d$/;

/**
 * The type of a picture in the container HEIF, by all brands that it is compatible with (ISO/IEC 23008-12): any of them
 * may be its main brand. Undefined for other files, also those of the same container, such as videos.
 */
function heifType(bytes: Uint8Array): string | undefined {
  const box = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  if (box.length < 16 || box.toString('latin1', 4, 8) !== 'ftyp') return undefined;
  const end = Math.min(box.readUInt32BE(0), box.length, MAX_FTYP_BYTES);
  // The main brand, a version, and the others.
  const [main = '', , ...compatible] = box.toString('latin1', 8, end).match(/.{4}/gs) ?? [];
  const brands = [main, ...compatible];
  if (brands.some((brand) => AVIF_BRAND.test(brand))) return 'image/avif';
  if (brands.some((brand) => HEIC_BRAND.test(brand))) return 'image/heic';
  return brands.some((brand) => HEIF_BRAND.test(brand)) ? 'image/heif' : undefined;
}

/** Bytes of the box of brands that are read: a thousand brands. */
const MAX_FTYP_BYTES = 4_096;

/** Whether a list of media types, such as `["application/pdf", "image/*"]`, includes this type. */
function accepts(list: readonly string[], type: string): boolean {
  const [family] = type.split('/');
  return list.some((accepted) => [type, `${family}/*`, '*/*'].includes(accepted.toLowerCase()));
}

/** UTF-8, without control characters but tabs and the ends of lines and pages. */
function isText(bytes: Uint8Array): boolean {
  try {
    return !/[\x00-\x08\x0b\x0e-\x1f\x7f]/.test(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch {
    return false;
  }
}
