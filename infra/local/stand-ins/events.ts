import * as v from 'valibot';
import { busArn } from '../rights/arn.ts';
import type { Need } from '../rights/policy.ts';
import { type Answer, type Call, requestId, type StandIn, type StandInOptions, serve } from './stand-in.ts';

/** An event as a rule's target gets it. */
export interface BusEvent {
  version: '0';
  id: string;
  'detail-type': string;
  source: string;
  account: string;
  /** ISO 8601, in whole seconds. */
  time: string;
  region: string;
  resources: string[];
  detail: Record<string, unknown>;
}

export interface EventsOptions extends Omit<StandInOptions, 'record'> {
  /** Buses that there are, by name. */
  buses: string[];
  /** Called with every event that a bus took on. */
  deliver: (event: BusEvent) => void;
}

const MAX_ENTRIES = 10;
/** Of all entries of a call together. */
const MAX_BYTES = 262_144;
const MAX_DETAIL_TYPE_LETTERS = 128;

const EntrySchema = v.object({
  Source: v.optional(v.string(), ''),
  DetailType: v.optional(v.string(), ''),
  Detail: v.optional(v.string(), ''),
  EventBusName: v.optional(v.string(), 'default'),
  Resources: v.optional(v.array(v.string()), []),
  /** Epoch seconds. */
  Time: v.optional(v.number()),
});
type Entry = v.InferOutput<typeof EntrySchema>;
const InputSchema = v.object({ Entries: v.array(EntrySchema) });

/**
 * EventBridge `PutEvents`, in its JSON 1.1 protocol. Of its faults, `partial` refuses the first entry of a call alone.
 */
export function startEvents({ buses, deliver, ...options }: EventsOptions): Promise<StandIn> {
  function answer({ headers, body, fault }: Call): Answer {
    if (headers['x-amz-target'] !== 'AWSEvents.PutEvents') {
      return failure('UnknownOperationException', 'The stand-in knows PutEvents only.');
    }
    const input = parse(body);
    if (!input.success) return failure('SerializationException', 'The input is not that of PutEvents.');
    const { Entries: entries } = input.output;
    if (entries.length === 0 || entries.length > MAX_ENTRIES) {
      return failure(
        'ValidationException',
        `1 validation error detected: Value at 'entries' failed to satisfy constraint: Member must have length less than or equal to ${MAX_ENTRIES}, and greater than or equal to 1`,
      );
    }
    if (entries.reduce((sum, entry) => sum + entryBytes(entry), 0) > MAX_BYTES) {
      return failure('ValidationException', 'Total size of the entries in the request is over the limit.');
    }
    const results = entries.map((entry, place) => {
      if (fault === 'partial' && place === 0) return refused('InternalFailure', 'Asked for by the local service.');
      return entryError(entry, buses) ?? { EventId: taken(entry, deliver) };
    });
    const FailedEntryCount = results.filter((result) => 'ErrorCode' in result).length;
    return json(200, { FailedEntryCount, Entries: results });
  }

  return serve(
    {
      signingName: 'events',
      answer,
      needs,
      denied: (message) => failure('AccessDeniedException', message),
      unsigned: () => failure('MissingAuthenticationTokenException', 'Missing Authentication Token'),
      throttled: () => failure('ThrottlingException', 'Rate exceeded'),
      refused: () => failure('AccessDeniedException', 'Not authorized to perform: events:PutEvents'),
    },
    options,
  );
}

function parse(body: string) {
  return v.safeParse(v.pipe(v.string(), v.parseJson(), InputSchema), body);
}

function needs({ headers, body }: Call): Need[] {
  const input = parse(body);
  const action = String(headers['x-amz-target']).replace(/^AWSEvents\./, 'events:');
  const buses = new Set(input.success ? input.output.Entries.map(busName) : []);
  return [...buses].map((bus) => ({ action, resource: busArn(bus) }));
}

/** An entry may name its bus by the ARN. */
function busName({ EventBusName }: Entry): string {
  return EventBusName.slice(EventBusName.lastIndexOf('/') + 1);
}

/** As EventBridge counts it, in bytes. */
function entryBytes({ Source, DetailType, Detail, Resources, Time }: Entry): number {
  return Buffer.byteLength([Source, DetailType, Detail, ...Resources].join('')) + (Time === undefined ? 0 : 14);
}

/** The error of an entry that the bus refuses. The other entries of the call are accepted. */
function entryError(entry: Entry, buses: string[]) {
  const { Source, DetailType, Detail } = entry;
  if (Source === '') return missing('Source');
  if (DetailType === '') return missing('DetailType');
  if (Detail === '') return missing('Detail');
  if (DetailType.length > MAX_DETAIL_TYPE_LETTERS) {
    return refused('InvalidArgument', 'Parameter DetailType is not valid. Reason: It has more than 128 letters.');
  }
  if (Source.startsWith('aws.')) return refused('NotAuthorizedForSourceException', 'Not authorized for the source.');
  if (parseDetail(Detail) === undefined) return refused('MalformedDetail', 'Detail is malformed.');
  if (!buses.includes(busName(entry)))
    return refused('InvalidArgument', 'Parameter EventBusName is not valid. Reason: No such bus.');
  return undefined;
}

function missing(name: string) {
  return refused('InvalidArgument', `Parameter ${name} is not valid. Reason: ${name} is a required argument.`);
}

function refused(ErrorCode: string, ErrorMessage: string) {
  return { ErrorCode, ErrorMessage };
}

/** An object, which a detail must be. */
function parseDetail(text: string): Record<string, unknown> | undefined {
  try {
    const detail: unknown = JSON.parse(text);
    return typeof detail === 'object' && detail !== null && !Array.isArray(detail) ? { ...detail } : undefined;
  } catch {
    return undefined;
  }
}

/** @returns the event's id */
function taken({ Source, DetailType, Detail, Resources, Time }: Entry, deliver: EventsOptions['deliver']): string {
  const id = requestId();
  const time = Time === undefined ? Date.now() : Time * 1_000;
  deliver({
    version: '0',
    id,
    'detail-type': DetailType,
    source: Source,
    account: '000000000000',
    time: new Date(time).toISOString().replace(/\.\d+Z$/, 'Z'),
    region: 'eu-west-1',
    resources: Resources,
    detail: parseDetail(Detail) ?? {},
  });
  return id;
}

function failure(__type: string, message: string): Answer {
  return json(400, { __type, message });
}

function json(status: number, body: unknown): Answer {
  return { status, headers: { 'content-type': 'application/x-amz-json-1.1' }, body: JSON.stringify(body) };
}
