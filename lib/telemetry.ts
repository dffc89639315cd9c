import { readFileSync } from 'node:fs';
import type { SourceMap } from 'node:module';
import { fileURLToPath } from 'node:url';
import { type LogLevel, logFilter, traceId } from './config.ts';
import { within } from './deadline.ts';

/**
 * What happened, in words that alarms and operators know. Each event is one log line and one count of the metric of
 * the same name in the namespace `BrokerApi`.
 */
const EVENTS = {
  OtpSent: 'INFO',
  OtpDeliveryFailed: 'ERROR',
  OtpOutcomeUnknown: 'ERROR',
  LimitReached: 'WARN',
  LimitUncheckable: 'ERROR',
  /** The captcha's provider could not be asked. */
  CaptchaUnavailable: 'ERROR',
  AccountOpened: 'INFO',
  /** The platform did not answer a command that opens an account; its login is looked up at once. */
  AnswerLost: 'WARN',
  /** Only an operator can find out whether the account was opened. */
  AccountOutcomeUnknown: 'ERROR',
  AccountNotRecorded: 'ERROR',
  /** The server has an account at a login of our range that the ledger does not know. */
  LoginNotOurs: 'ERROR',
  DepositFailed: 'ERROR',
  NoticeFailed: 'ERROR',
  /** Others of the broker were not told of what has happened; they are told later. */
  EventFailed: 'ERROR',
  PlatformRefused: 'ERROR',
  PlatformUnavailable: 'ERROR',
  OperationNotSettled: 'ERROR',
  RequestRefused: 'INFO',
  InternalError: 'CRITICAL',
} as const satisfies Record<string, LogLevel>;
export type EventName = keyof typeof EVENTS;

/** The only fields that may stand in a log line, and what their values are. None of them holds what a person typed. */
const FIELDS = {
  request_id: 'word',
  route: 'word',
  status: 'number',
  type: 'word',
  /** A word of ours or the error name of a service. */
  reason: 'word',
  channel: 'word',
  message_id: 'word',
  operation_id: 'word',
  registration_id: 'word',
  connection_id: 'word',
  user_id: 'word',
  version: 'word',
  login: 'number',
  notice: 'word',
  kind: 'word',
  step: 'word',
  /** Of an error's stack, without its message. */
  stack: 'places',
} as const;
type Value = { word: string; number: number; places: string[] };
export type EventFields = { [Name in keyof typeof FIELDS]?: Value[(typeof FIELDS)[Name]] };

const KINDS: ReadonlyMap<string, keyof Value> = new Map(Object.entries(FIELDS));
/** What a field may hold that is no number: nothing that could be an address or a sentence of a person's. */
const WORD = /^[\w .:/{}#()=+-]{1,200}$/;

export interface Telemetry {
  /** Logs the event with its allowed fields and counts it; `channel` becomes a dimension of the metric. */
  event(name: EventName, fields?: EventFields): void;
  /** The same, with these fields in every event. */
  with(fields: EventFields): Telemetry;
}

/** The log of one function, a line of JSON for each event, of which CloudWatch makes the metrics too. */
export function telemetry(service: string, stage: string): Telemetry {
  const isLogged = logFilter();

  function scoped(base: EventFields): Telemetry {
    return {
      event(name, fields = {}) {
        const level = EVENTS[name];
        if (!isLogged(level)) return;
        const now = new Date();
        const kept = allowed({ ...base, ...fields });
        const line = {
          level,
          message: name,
          timestamp: now.toISOString(),
          service,
          xray_trace_id: traceId(),
          ...kept,
          stage,
          [name]: 1,
          _aws: metric(name, now.getTime(), 'channel' in kept),
        };
        process.stdout.write(`${JSON.stringify(line)}\n`);
      },
      with: (fields) => scoped({ ...base, ...fields }),
    };
  }
  return scoped({});
}

/** The members of the line by which events are counted: for each function, and for the whole deployment. */
const DIMENSIONS = [['service', 'stage'], ['stage']];

/** What makes a log line count (CloudWatch's embedded metric format): the metric has the name of the event. */
function metric(name: EventName, Timestamp: number, byChannel: boolean) {
  return {
    Timestamp,
    CloudWatchMetrics: [
      {
        Namespace: 'BrokerApi',
        Dimensions: byChannel ? [...DIMENSIONS, ['service', 'stage', 'channel']] : DIMENSIONS,
        Metrics: [{ Name: name, Unit: 'Count' }],
      },
    ],
  };
}

/** Keeps the allow-listed fields, and of their values only numbers, plain words, and places. */
export function allowed(fields: EventFields): Record<string, string | number | string[]> {
  const kept: Record<string, string | number | string[]> = {};
  for (const name of Object.keys(fields) as (keyof EventFields)[]) {
    const kind = KINDS.get(name);
    const value = fields[name];
    if (kind === 'word' && typeof value === 'string') kept[name] = WORD.test(value) ? value : 'withheld';
    else if (kind === 'number' && typeof value === 'number') kept[name] = value;
    else if (kind === 'places' && Array.isArray(value)) kept[name] = value;
  }
  return kept;
}

/** What may be logged of an error: its reason (a word of ours) or its name, and where it was thrown; never its message. */
export function describeError(error: unknown): Pick<EventFields, 'reason' | 'stack'> {
  if (!(error instanceof Error)) return { reason: typeof error };
  const reason = 'reason' in error && typeof error.reason === 'string' ? error.reason : error.name;
  // The stack begins with the message, whose lines may look like places.
  const stack = (error.stack ?? '')
    .replace(error.message, () => '')
    .split('\n')
    .filter((line) => /^\s+at /.test(line));
  return { reason, stack: stack.slice(0, 12).map((line) => inSource(line.trim())) };
}

const sourceMaps = new Map<string, SourceMap | undefined>();

/**
 * The place of a stack's line in the source, for a line of a bundle. Source maps are read when the first error is
 * described: Node's own `--enable-source-maps` would read them at every cold start, and make it longer by a quarter.
 */
function inSource(line: string): string {
  const [, url = '', row, column] = /(file:\/\/[^)]+\.mjs):(\d+):(\d+)/.exec(line) ?? [];
  if (url === '') return line;
  if (!sourceMaps.has(url)) sourceMaps.set(url, sourceMapOf(url));
  const found = sourceMaps.get(url)?.findEntry(Number(row) - 1, Number(column) - 1);
  if (found === undefined || !('originalSource' in found)) return line;
  const source = found.originalSource.replace(/^(\.\.\/)+/, '');
  return `at ${source}:${found.originalLine + 1}:${found.originalColumn + 1}`;
}

function sourceMapOf(url: string): SourceMap | undefined {
  try {
    // Fetched here, because Node has more to load for it than for all the rest of this file.
    const { SourceMap } = process.getBuiltinModule('node:module');
    return new SourceMap(JSON.parse(readFileSync(`${fileURLToPath(url)}.map`, 'utf8')));
  } catch {
    return undefined;
  }
}

/** How long a step may take that is done though the request's time is up, in milliseconds. */
const SETTLING_MS = 2_000;

/** Does a step whose failure changes nothing in the answer: it is logged and counted. @returns whether it is done */
export async function bestEffort(
  telemetry: Telemetry,
  step: string,
  work: (signal: AbortSignal) => Promise<void>,
): Promise<boolean> {
  try {
    await work(within(SETTLING_MS));
    return true;
  } catch (error) {
    telemetry.event('OperationNotSettled', { step, ...describeError(error) });
    return false;
  }
}
