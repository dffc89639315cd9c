import * as v from 'valibot';
import type { DeliveryQueue } from '../delivery-queue.ts';
import { queueArn } from '../rights/arn.ts';
import type { Need } from '../rights/policy.ts';
import { type Answer, type Call, requestId, type StandIn, type StandInOptions, serve } from './stand-in.ts';

export interface SqsOptions extends Omit<StandInOptions, 'record'> {
  /** The queue of the CRM's events, and its name; that of its dead-letter queue ends with `-undelivered`. */
  queue: DeliveryQueue;
  name: string;
}

const MAX_SECONDS = 43_200;
const PostponeSchema = v.object({
  QueueUrl: v.string(),
  ReceiptHandle: v.string(),
  VisibilityTimeout: v.pipe(v.number(), v.integer(), v.minValue(0), v.maxValue(MAX_SECONDS)),
});
const MoveSchema = v.object({ SourceArn: v.string() });
const AttributesSchema = v.object({ QueueUrl: v.string() });
const AnySchema = v.pipe(
  v.string(),
  v.parseJson(),
  v.object({ QueueUrl: v.optional(v.string()), SourceArn: v.optional(v.string()) }),
);

/** SQS `ChangeMessageVisibility`, and for operators `GetQueueAttributes` and `StartMessageMoveTask`, in its JSON 1.0 protocol. */
export function startSqs({ queue, name, ...options }: SqsOptions): Promise<StandIn> {
  const deadLetters = queueArn(`${name}-undelivered`);

  const operations: Record<string, (input: unknown) => Answer> = {
    ChangeMessageVisibility(input) {
      const { QueueUrl, ReceiptHandle, VisibilityTimeout } = v.parse(PostponeSchema, input);
      if (queueArn(QueueUrl) !== queueArn(name)) return failure('QueueDoesNotExist');
      return queue.postpone(ReceiptHandle, VisibilityTimeout) ? json(200, {}) : failure('ReceiptHandleIsInvalid');
    },
    StartMessageMoveTask(input) {
      const { SourceArn } = v.parse(MoveSchema, input);
      if (SourceArn !== deadLetters) return failure('ResourceNotFoundException');
      queue.redeliver();
      return json(200, { TaskHandle: requestId() });
    },
    GetQueueAttributes(input) {
      const { QueueUrl } = v.parse(AttributesSchema, input);
      if (queueArn(QueueUrl) !== deadLetters) return failure('QueueDoesNotExist');
      const waiting = queue.list().filter(({ state }) => state === 'undelivered').length;
      return json(200, { Attributes: { QueueArn: deadLetters, ApproximateNumberOfMessages: String(waiting) } });
    },
  };

  function answer({ headers, body }: Call): Answer {
    try {
      return operations[readOperation(headers)]?.(JSON.parse(body)) ?? failure('UnknownOperationException');
    } catch {
      return failure('InvalidParameterValueException');
    }
  }

  return serve(
    {
      signingName: 'sqs',
      answer,
      needs,
      denied: () => failure('AccessDeniedException'),
      unsigned: () => failure('MissingAuthenticationTokenException'),
      throttled: () => failure('ThrottlingException'),
      refused: () => failure('AccessDeniedException'),
    },
    options,
  );
}

function readOperation(headers: Call['headers']): string {
  return String(headers['x-amz-target']).replace(/^AmazonSQS\./, '');
}

function needs({ headers, body }: Call): Need[] {
  const input = v.safeParse(AnySchema, body);
  const { QueueUrl = '', SourceArn } = input.success ? input.output : {};
  return [{ action: `sqs:${readOperation(headers)}`, resource: SourceArn ?? queueArn(QueueUrl) }];
}

function failure(type: string): Answer {
  return json(400, { __type: `com.amazonaws.sqs#${type}`, message: 'Not possible.' });
}

function json(status: number, body: unknown): Answer {
  return { status, headers: { 'content-type': 'application/x-amz-json-1.0' }, body: JSON.stringify(body) };
}
