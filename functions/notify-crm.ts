import type { SQSBatchResponse, SQSEvent } from 'aws-lambda';
import { webhookConfig } from '../lib/config.ts';
import { notifyCrm } from '../lib/crm-webhook/delivery.ts';
import { webhookDependencies } from '../lib/crm-webhook/dependencies.ts';
import { STOP_BEFORE_END_MS, within } from '../lib/deadline.ts';
import { telemetry } from '../lib/telemetry.ts';

const config = webhookConfig();
const dependencies = webhookDependencies(config);
const log = telemetry('notify-crm', config.stage);

/** Posts the events of the queues to the CRM. The queue delivers again each message whose id the handler returns. */
export async function handler(
  { Records }: SQSEvent,
  context: { getRemainingTimeInMillis(): number },
): Promise<SQSBatchResponse> {
  const signal = within(context.getRemainingTimeInMillis() - STOP_BEFORE_END_MS);
  const batchItemFailures: SQSBatchResponse['batchItemFailures'] = [];
  for (const { messageId, body } of Records) {
    if (!(await notifyCrm(dependencies, body, log, signal))) batchItemFailures.push({ itemIdentifier: messageId });
  }
  return { batchItemFailures };
}
