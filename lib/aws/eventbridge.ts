import { failureReason } from './failure-reason.ts';
import { jsonService } from './json-service.ts';
import type { ServiceSettings } from './signed-service.ts';

/** The bus did not take an event, or did not say so; `reason` is the service's error name. */
export class EventFailure extends Error {
  override readonly name = 'EventFailure';
  readonly reason: string;

  constructor(reason: string, cause?: unknown) {
    super(reason, { cause });
    this.reason = reason;
  }
}

export interface BusEntry {
  source: string;
  detailType: string;
  /** JSON. */
  detail: string;
}

/** Puts one event on the bus, at least once. @throws EventFailure; the event may be there all the same */
export type PutEvent = (entry: BusEntry, signal: AbortSignal) => Promise<void>;

const EVENT_BRIDGE = {
  host: 'events',
  signingName: 'events',
  variable: 'EVENTBRIDGE',
  version: '1.1',
  target: 'AWSEvents',
} as const;

interface PutAnswer {
  FailedEntryCount: number;
  Entries: { ErrorCode?: string }[];
}

/** The event bus of this name. A failed put is repeated twice: whoever hears an event knows it by the id in its detail. */
export function eventBus(name: string, settings: ServiceSettings = {}): PutEvent {
  const service = jsonService(EVENT_BRIDGE, { answerMs: 2_000, ...settings });
  return async ({ source, detailType, detail }, signal) => {
    const entry = { EventBusName: name, Source: source, DetailType: detailType, Detail: detail };
    const answer = await service.call<PutAnswer>('PutEvents', { Entries: [entry] }, signal).catch((error) => {
      throw new EventFailure(failureReason(error), error);
    });
    if (answer.FailedEntryCount !== 0) throw new EventFailure(answer.Entries[0]?.ErrorCode ?? 'FailedEntry');
  };
}
