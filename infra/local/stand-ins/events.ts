import * as v from 'valibot';
import type { BusEvent } from '../outbox.ts';
import { busArn } from '../rights/arn.ts';
import { jsonOperation, jsonService, parseObject } from './protocols.ts';
import { requestId, ServiceError, type StandIn, type StandInOptions, serveStandIn } from './stand-in.ts';

export interface EventsOptions extends Omit<StandInOptions, 'record'> {
  /** The existing buses, by name. */
  buses: string[];
  /** Called with every event that a bus accepted. */
  deliver: (event: BusEvent) => void;
}

const EntrySchema = v.object({
  Source: v.optional(v.string(), ''),
  DetailType: v.optional(v.string(), ''),
  Detail: v.optional(v.string(), ''),
  EventBusName: v.optional(v.string(), 'default'),
});
type Entry = v.InferOutput<typeof EntrySchema>;
const InputSchema = v.object({ Entries: v.pipe(v.array(EntrySchema), v.minLength(1), v.maxLength(10)) });

/** EventBridge `PutEvents`. Of its faults, `partial` refuses the first entry of a call alone. */
export function startEvents({ buses, deliver, ...options }: EventsOptions): Promise<StandIn> {
  const putEvents = jsonOperation(InputSchema, ({ Entries: entries }, { fault }) => {
    const results = entries.map((entry, place) => {
      if (fault?.kind === 'partial' && place === 0)
        return refused('InternalFailure', 'Requested by the local service.');
      return entryError(entry, buses) ?? { EventId: deliverEntry(entry) };
    });
    return { FailedEntryCount: results.filter((result) => 'ErrorCode' in result).length, Entries: results };
  });

  /** @returns the event's id */
  function deliverEntry({ Source, DetailType, Detail }: Entry): string {
    const id = requestId();
    deliver({
      version: '0',
      id,
      'detail-type': DetailType,
      source: Source,
      account: '000000000000',
      time: new Date().toISOString().replace(/\.\d+Z$/, 'Z'),
      region: 'eu-west-1',
      resources: [],
      detail: parseObject(Detail) ?? {},
    });
    return id;
  }

  return serveStandIn(
    jsonService({
      name: 'events',
      target: 'AWSEvents',
      operations: { PutEvents: putEvents },
      resources: (input) => [...new Set(entriesOf(input).map(({ EventBusName }) => busArn(EventBusName)))],
      // A call with several types has no single type that a right could name.
      context: (input) => {
        const types = entriesOf(input).map(({ DetailType }) => DetailType);
        return { 'events:detail-type': [...new Set(types)].join(' ') };
      },
      throttled: new ServiceError('ThrottlingException', 'Rate exceeded'),
      refused: new ServiceError('AccessDeniedException', 'Not authorized to perform: events:PutEvents'),
    }),
    options,
  );
}

/** The entries of a call, which may be malformed. */
function entriesOf(input: unknown): Entry[] {
  const { success, output } = v.safeParse(v.object({ Entries: v.array(EntrySchema) }), input);
  return success ? output.Entries : [];
}

/** The error of an entry that the bus refuses. The other entries of the call are accepted. */
function entryError({ Source, DetailType, Detail, EventBusName }: Entry, buses: string[]) {
  for (const [name, value] of Object.entries({ Source, DetailType, Detail })) {
    if (value === '') return refused('InvalidArgument', `Parameter ${name} is not valid. Reason: it is required.`);
  }
  if (parseObject(Detail) === undefined) return refused('MalformedDetail', 'Detail is malformed.');
  if (buses.includes(EventBusName)) return undefined;
  return refused('InvalidArgument', 'Parameter EventBusName is not valid. Reason: No such bus.');
}

function refused(ErrorCode: string, ErrorMessage: string) {
  return { ErrorCode, ErrorMessage };
}
