import { DeleteObjectTaggingCommand, PutObjectCommand, S3Client, type S3ClientConfig } from '@aws-sdk/client-s3';
import { AwsFailure } from './failure.ts';

export interface NewObject {
  key: string;
  body: Uint8Array;
  mediaType: string;
  /** SHA-256 of the body, base64. The service refuses a body with another hash. */
  sha256: string;
  /** ASCII; 2 KB together. */
  metadata: Record<string, string>;
  /** A lifecycle rule of the bucket may select it. */
  tag?: { readonly Key: string; readonly Value: string } | undefined;
}

export interface ObjectStore {
  /** @throws AwsFailure; the object may be stored */
  put(object: NewObject, signal: AbortSignal): Promise<void>;
  /** Removes all tags of an object, if any. @throws AwsFailure; they may be removed */
  deleteTags(key: string, signal: AbortSignal): Promise<void>;
}

/**
 * A private bucket, which encrypts and expires its objects. A failed call is retried twice: writing the same object
 * again changes nothing.
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
        // A browser downloads it and never renders it as a page of this origin.
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
