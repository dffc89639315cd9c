import {
  DeleteObjectTaggingCommand,
  GetObjectCommand,
  PutObjectCommand,
  S3Client,
  type S3ClientConfig,
} from '@aws-sdk/client-s3';
import { AwsFailure } from './failure.ts';

export interface NewObject {
  key: string;
  body: Uint8Array;
  mediaType: string;
  /** SHA-256 of the body, base64. The service refuses a body with another hash. */
  sha256: string;
  /** The object's tag. A lifecycle rule of the bucket may select objects by it. */
  tag?: { readonly Key: string; readonly Value: string } | undefined;
}

export type ObjectStore = ReturnType<typeof objectStore>;

/**
 * A private bucket, which encrypts and expires its objects. A failed call is retried twice: writing the same object
 * again changes nothing.
 */
export function objectStore(bucket: string, config: S3ClientConfig = {}) {
  const client = new S3Client({
    maxAttempts: 3,
    requestHandler: { connectionTimeout: 1_000, requestTimeout: 5_000, throwOnRequestTimeout: true },
    ...config,
  });
  return {
    /** @throws AwsFailure; the object may be stored */
    async put({ key, body, mediaType, sha256, tag }: NewObject, abortSignal: AbortSignal): Promise<void> {
      const command = new PutObjectCommand({
        Bucket: bucket,
        Key: key,
        Body: body,
        ContentType: mediaType,
        // A browser downloads it and never renders it as a page of this origin.
        ContentDisposition: 'attachment',
        ChecksumSHA256: sha256,
        ...(tag === undefined ? {} : { Tagging: new URLSearchParams([[tag.Key, tag.Value]]).toString() }),
      });
      await AwsFailure.translate(client.send(command, { abortSignal }));
    },

    /** Removes all tags of an object, if it has any. @throws AwsFailure; the tags may be removed */
    async deleteTags(key: string, abortSignal: AbortSignal): Promise<void> {
      const command = new DeleteObjectTaggingCommand({ Bucket: bucket, Key: key });
      await AwsFailure.translate(client.send(command, { abortSignal }));
    },

    /** A presigned address for downloading an object, signed with the caller's credentials. It makes no call. */
    async link(key: string, validSeconds: number): Promise<string> {
      const { getSignedUrl } = await import('@aws-sdk/s3-request-presigner');
      const command = new GetObjectCommand({ Bucket: bucket, Key: key });
      return AwsFailure.translate(getSignedUrl(client, command, { expiresIn: validSeconds }));
    },
  };
}
