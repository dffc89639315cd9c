import { EventBridgeClient, type EventBridgeClientConfig, PutEventsCommand } from '@aws-sdk/client-eventbridge';
import { EVENT_SOURCE } from '../config/deployment.ts';
import { EarlyConnectionAgent, KEEP_ALIVE_OPTIONS } from './early-connection.ts';
import { AwsFailure } from './failure.ts';

/**
 * Puts one event on the bus, at least once.
 * @param detail JSON
 * @throws AwsFailure; the event may be published
 */
export type PutEvent = (type: string, detail: string, signal: AbortSignal) => Promise<void>;

/**
 * A publisher to the event bus of this name. It connects at once. A failed call is retried twice: receivers recognize a
 * duplicate by the id in its detail.
 */
export function eventBus(name: string, config: EventBridgeClientConfig = {}): PutEvent {
  const httpsAgent = new EarlyConnectionAgent(KEEP_ALIVE_OPTIONS);
  const client = new EventBridgeClient({
    maxAttempts: 3,
    requestHandler: { connectionTimeout: 1_000, requestTimeout: 2_000, throwOnRequestTimeout: true, httpsAgent },
    ...config,
  });
  httpsAgent.prepare(new PutEventsCommand({ Entries: [] }), (command) => client.send(command));
  return async (DetailType, Detail, abortSignal) => {
    const entry = { EventBusName: name, Source: EVENT_SOURCE, DetailType, Detail };
    const command = new PutEventsCommand({ Entries: [entry] });
    const answer = await AwsFailure.translate(client.send(command, { abortSignal }));
    if (answer.FailedEntryCount !== 0) throw new AwsFailure(answer.Entries?.[0]?.ErrorCode ?? 'FailedEntry');
  };
}
