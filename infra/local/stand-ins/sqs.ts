import { createHash } from 'node:crypto';
import * as v from 'valibot';
import type { DeliveryQueue } from '../delivery-queue.ts';
import { queueArn } from '../rights/arn.ts';
import { jsonOperation, jsonService } from './protocols.ts';
import { requestId, ServiceError, type StandIn, type StandInOptions, serveStandIn } from './stand-in.ts';

export interface SqsOptions extends Omit<StandInOptions, 'record'> {
  /**
   * The queues of the CRM's events, and the name of the queue of registrations. The other queues have its name with
   * `-accounts` and `-undelivered`.
   */
  queue: DeliveryQueue;
  name: string;
}

/** What SQS does with the queue that it moves messages from. */
const MOVING = ['sqs:ReceiveMessage', 'sqs:DeleteMessage', 'sqs:GetQueueAttributes'];
const MoveSchema = v.object({ SourceArn: v.string(), DestinationArn: v.string() });
const SendSchema = v.object({ QueueUrl: v.string(), MessageBody: v.string() });

/** SQS `SendMessage` and `GetQueueAttributes`, and for operators `StartMessageMoveTask`. */
export function startSqs({ queue, name, ...options }: SqsOptions): Promise<StandIn> {
  const deadLetters = queueArn(`${name}-undelivered`);
  const require = (holds: boolean, code: string) => {
    if (!holds) throw new ServiceError(code);
  };

  const operations = {
    SendMessage: jsonOperation(SendSchema, ({ QueueUrl, MessageBody }) => {
      require(queueArn(QueueUrl) === deadLetters, 'QueueDoesNotExist');
      queue.setAside(MessageBody);
      return { MessageId: requestId(), MD5OfMessageBody: createHash('md5').update(MessageBody).digest('hex') };
    }),
    StartMessageMoveTask: jsonOperation(MoveSchema, ({ SourceArn, DestinationArn }) => {
      require(SourceArn === deadLetters, 'ResourceNotFoundException');
      require(DestinationArn === queueArn(`${name}-accounts`), 'ResourceNotFoundException');
      queue.redeliver();
      return { TaskHandle: requestId() };
    }),
    GetQueueAttributes: jsonOperation(v.object({ QueueUrl: v.string() }), ({ QueueUrl }) => {
      const QueueArn = queueArn(QueueUrl);
      const kind = QueueArn === queueArn(name) ? 'RegistrationConfirmed' : 'AccountOpened';
      require([deadLetters, queueArn(name), queueArn(`${name}-accounts`)].includes(QueueArn), 'QueueDoesNotExist');
      const states = QueueArn === deadLetters ? ['undelivered'] : ['waiting', 'delivering'];
      const messages = queue
        .list()
        .filter(({ state, type }) => states.includes(state) && (QueueArn === deadLetters || type === kind));
      return { Attributes: { QueueArn, ApproximateNumberOfMessages: String(messages.length) } };
    }),
  };

  return serveStandIn(
    jsonService({
      name: 'sqs',
      target: 'AmazonSQS',
      operations,
      resources: ({ SourceArn, QueueUrl }) => [String(SourceArn ?? queueArn(String(QueueUrl ?? '')))],
      // SQS moves messages with the rights of its caller.
      delegated: ({ SourceArn, DestinationArn }) =>
        SourceArn === undefined
          ? []
          : [
              ...MOVING.map((action) => ({ action, resource: String(SourceArn) })),
              { action: 'sqs:SendMessage', resource: String(DestinationArn) },
            ],
      throttled: new ServiceError('ThrottlingException'),
      refused: new ServiceError('AccessDeniedException'),
    }),
    options,
  );
}
