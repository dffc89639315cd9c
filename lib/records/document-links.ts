import type { ObjectStore } from '../aws/s3.ts';
import { awaitAll } from '../deadline.ts';
import { once } from '../once.ts';
import { CLEAN_VERDICT, SCAN_TAG } from '../validators/deployment.ts';
import type { StoredDocument } from './documents.ts';

/** How long a link is valid, in seconds; less if the signing credentials expire earlier. */
const LINK_SECONDS = 60 * 60;

/** A document, and where to download it. */
export interface LinkedDocument extends StoredDocument {
  /** Absent if a scan did not find it clean. */
  url?: string;
  /** The verdict of a scan for malware, where documents are scanned. */
  verdict?: string;
}

/** A scan has not ended yet. */
class VerdictMissing extends Error {
  override readonly name = 'VerdictMissing';
}

/** @throws AwsFailure, or VerdictMissing if a document is not scanned yet */
export type DocumentLinks = (documents: readonly StoredDocument[], signal: AbortSignal) => Promise<LinkedDocument[]>;

/**
 * Links to documents in a bucket, whose client is loaded when the first document comes.
 * @param scanned true: only documents that a scan found clean get a link
 */
export function s3DocumentLinks(
  bucket: string,
  scanned: boolean,
  open: (bucket: string) => Promise<Pick<ObjectStore, 'tags' | 'link'>> = async (name) =>
    (await import('../aws/s3.ts')).objectStore(name),
): DocumentLinks {
  const objects = once(() => open(bucket));
  return async (documents, signal) => {
    if (documents.length === 0) return [];
    const store = await objects();
    return awaitAll(
      documents.map(async (document) => {
        if (!scanned) return { ...document, url: await store.link(document.key, LINK_SECONDS) };
        const { [SCAN_TAG]: verdict } = await store.tags(document.key, signal);
        if (verdict === undefined) throw new VerdictMissing();
        if (verdict !== CLEAN_VERDICT) return { ...document, verdict };
        return { ...document, verdict, url: await store.link(document.key, LINK_SECONDS) };
      }),
    );
  };
}
