import { DeleteObjectTaggingCommand, PutObjectCommand, S3Client, type S3ClientConfig } from '@aws-sdk/client-s3';
import { AwsFailure } from './failure.ts';

export interface NewObject {
  key: string;
  body: Uint8Array;
  mediaType: string;
  /** SHA-256 of the body, base64: the service refuses what arrives otherwise. */
  sha256: string;
  /** ASCII; 2 KB together. */
  metadata: Record<string, string>;
  /** By which a rule of the bucket may know it. */
  tag?: { readonly Key: string; readonly Value: string } | undefined;
}

export interface ObjectStore {
  /** @throws AwsFailure; the object may stand there all the same */
  put(object: NewObject, signal: AbortSignal): Promise<void>;
  /** Takes all tags of an object away, also where it has none. @throws AwsFailure; they may be gone all the same */
  deleteTags(key: string, signal: AbortSignal): Promise<void>;
}

/**
 * One private bucket, which encrypts and expires what is in it. A failed call is repeated twice: the same object under the
 * same key is the same object.
 */
export function objectStore(bucket: string, config: S3ClientConfig = {}): ObjectStore {
  const client = new S3Client({
    maxAttempts: 3,
    requestHandler: { connectionTimeout: 1_000, requestTimeout: 5_000, throwOnRequestTimeout: true },
    ...config,
  });
  async function translateFailure(call: Promise<unknown>): Promise<void> {
    try {
      await call;
    } catch (error) {
      throw AwsFailure.from(error);
    }
  }
  return {
    async put({ key, body, mediaType, sha256, metadata, tag }, abortSignal) {
      const command = new PutObjectCommand({
        Bucket: bucket,
        Key: key,
        Body: body,
        ContentType: mediaType,
        // Whoever opens it in a browser gets a download, never a page of this origin.
        ContentDisposition: 'attachment',
        ChecksumSHA256: sha256,
        Metadata: metadata,
        ...(tag === undefined ? {} : { Tagging: new URLSearchParams([[tag.Key, tag.Value]]).toString() }),
      });
      await translateFailure(client.send(command, { abortSignal }));
    },

    async deleteTags(key, abortSignal) {
      await translateFailure(
        client.send(new DeleteObjectTaggingCommand({ Bucket: bucket, Key: key }), { abortSignal }),
      );
    },
  };
}
