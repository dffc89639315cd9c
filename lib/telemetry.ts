import { readFileSync } from 'node:fs';
import type { SourceMap } from 'node:module';
import { fileURLToPath } from 'node:url';
import { type LogLevel, logFilter, traceId } from './config.ts';
import { COUNTED_EVENTS, type CountedName } from './counted-events.ts';
import { within } from './deadline.ts';

/**
 * The events that alarms and operators use. Each event is one log line. Those of `COUNTED_EVENTS` are also one count of
 * the metric of the same name in the namespace `BrokerApi`.
 */
const EVENTS = {
  // Each registration request ends with one of the first three events, unless it is a replay.
  OtpSent: 'INFO',
  OtpOutcomeUnknown: 'ERROR',
  /** The request was answered with an error, and sent nothing. */
  RegistrationRefused: 'INFO',
  /** A provider refused the recipient of a message. */
  RecipientRefused: 'WARN',
  OtpDeliveryFailed: 'ERROR',
  RegistrationConfirmed: 'INFO',
  LimitReached: 'WARN',
  LimitUncheckable: 'ERROR',
  /** The captcha's provider could not be asked. */
  CaptchaUnavailable: 'ERROR',
  /** The captcha's provider or our rules refused a token; `reason` says which. */
  CaptchaRefused: 'INFO',
  AccountOpened: 'INFO',
  /** The platform did not answer a command that opens an account; its login is looked up at once. */
  AnswerLost: 'WARN',
  /** Only an operator can find out whether the account was opened. */
  AccountOutcomeUnknown: 'ERROR',
  AccountNotRecorded: 'ERROR',
  /** The server has an account at a login of our range that is not the operation's. */
  LoginNotOurs: 'ERROR',
  /** The key that made an operation is gone, or another version of the service made it: its passwords are unknown. */
  OperationUnderivable: 'ERROR',
  DepositFailed: 'ERROR',
  /** A mail about a new account was certainly not sent. It is tried again for a day. */
  MailRefused: 'WARN',
  /** A client gets no notice of a new account. */
  NoticeFailed: 'ERROR',
  /** The client of a new account got no mail: the address was only typed. */
  EmailNotProven: 'WARN',
  /** An event for other systems of the broker was not published. It is published later. */
  EventFailed: 'ERROR',
  /** The CRM accepted an event. */
  CrmNotified: 'INFO',
  /** An event did not reach the CRM. It is delivered again, unless its registration is gone. */
  CrmNotNotified: 'ERROR',
  /** The CRM accepted a registration, and named a client whose record cannot be written; `reason` says why. */
  ClientNotWritten: 'ERROR',
  PlatformRefused: 'ERROR',
  PlatformUnavailable: 'ERROR',
  OperationNotSettled: 'ERROR',
  /** A run of the settler begins with operations that are due. */
  OperationsDue: 'INFO',
  /** An item of the CRM's table breaks its rules and counts as absent. */
  CrmItemMalformed: 'ERROR',
  RequestRefused: 'INFO',
  /**
   * The request did not come through the front, or the front has another secret: then all people behind it are one
   * source.
   */
  FrontRefused: 'WARN',
  /** The front proved itself but named no single address. Its own address counts, so all people are one source. */
  FrontUnreadable: 'ERROR',
  /** A provider or a trading server refused or failed, and the request was answered with 502, 503 or 504. */
  DependencyFailed: 'WARN',
  InternalError: 'CRITICAL',
} as const satisfies Record<string, LogLevel>;
export type EventName = keyof typeof EVENTS;

/** The only fields of a log line, and the types of their values. None holds user input. */
const FIELDS = {
  request_id: 'word',
  route: 'word',
  status: 'number',
  type: 'word',
  /** A code of ours or the error name of a service. */
  reason: 'word',
  channel: 'word',
  message_id: 'word',
  operation_id: 'word',
  registration_id: 'word',
  connection_id: 'word',
  user_id: 'word',
  version: 'word',
  login: 'number',
  /** How long the oldest operation has been due. */
  oldest_due_seconds: 'number',
  notice: 'word',
  /** The key of an item: of the CRM's table, or of an operation. */
  item: 'word',
  kind: 'word',
  step: 'word',
  /** The lines of an error's stack, without its message. */
  stack: 'places',
} as const;
type Value = { word: string; number: number; places: string[] };
export type EventFields = { [Name in keyof typeof FIELDS]?: Value[(typeof FIELDS)[Name]] | undefined };

const KINDS: ReadonlyMap<string, keyof Value> = new Map(Object.entries(FIELDS));
/** The valid texts of a field: no address, no sentence of a person. */
const WORD = /^[\w .:/{}#()=+-]{1,200}$/;

export interface Telemetry {
  /** Logs the event with its allowed fields, and counts it. */
  event(name: EventName, fields?: EventFields): void;
  /** A telemetry that adds these fields to every event. */
  with(fields: EventFields): Telemetry;
}

/** The log of one function, a line of JSON for each event, from which CloudWatch also makes the metrics. */
export function telemetry(service: string, stage: string): Telemetry {
  const isLogged = logFilter();

  function scoped(base: AllowedFields): Telemetry {
    return {
      event(name, fields = {}) {
        const level = EVENTS[name];
        if (!isLogged(level)) return;
        const now = new Date();
        const line: Record<string, unknown> = {
          level,
          message: name,
          timestamp: now.toISOString(),
          service,
          xray_trace_id: traceId(),
          ...base,
          ...allowedFields(fields),
          stage,
          [name]: 1,
        };
        line._aws = metrics(name, now.getTime(), line);
        process.stdout.write(`${JSON.stringify(line)}\n`);
      },
      with: (fields) => scoped({ ...base, ...allowedFields(fields) }),
    };
  }
  return scoped({});
}

/** The fields that are metrics of their own, with their units. */
const MEASURED: Partial<Record<CountedName, string>> = {
  oldest_due_seconds: 'Seconds',
};

/**
 * The metrics of a log line, in CloudWatch's embedded metric format: the count of the event, and what it measured.
 * @returns undefined if the event is not counted
 */
function metrics(event: EventName, Timestamp: number, fields: object) {
  const counted = Object.entries({ [event]: 'Count', ...MEASURED }).flatMap(([Name, Unit]) => {
    const dimensions = Object.hasOwn(COUNTED_EVENTS, Name) ? COUNTED_EVENTS[Name as CountedName] : undefined;
    if (dimensions === undefined || !(Name in fields)) return [];
    return [{ Namespace: 'BrokerApi', Dimensions: [dimensions], Metrics: [{ Name, Unit }] }];
  });
  return counted.length === 0 ? undefined : { Timestamp, CloudWatchMetrics: counted };
}

type AllowedFields = Record<string, string | number | string[]>;

/** Keeps the allow-listed fields, and of their values only numbers, plain words, and places. */
export function allowedFields(fields: EventFields): AllowedFields {
  const kept: AllowedFields = {};
  for (const name of Object.keys(fields) as (keyof EventFields)[]) {
    const kind = KINDS.get(name);
    const value = fields[name];
    if (kind === 'word' && typeof value === 'string') kept[name] = WORD.test(value) ? value : 'withheld';
    else if (kind === 'number' && typeof value === 'number') kept[name] = value;
    else if (kind === 'places' && Array.isArray(value)) kept[name] = value;
  }
  return kept;
}

/**
 * The fields of an error that may be logged: its reason or name, the key of an item that cannot be read, and its stack;
 * never its message.
 */
export function describeError(error: unknown): Pick<EventFields, 'reason' | 'item' | 'stack'> {
  if (!(error instanceof Error)) return { reason: typeof error };
  const { reason = error.name, item } = error as Error & Pick<EventFields, 'reason' | 'item'>;
  // The stack begins with the message, whose lines may look like places.
  const stack = (error.stack ?? '')
    .replace(error.message, () => '')
    .split('\n')
    .filter((line) => /^\s+at /.test(line));
  return { reason, item, stack: stack.slice(0, 12).map((line) => inSource(line.trim())) };
}

const sourceMaps = new Map<string, SourceMap | undefined>();

/**
 * Maps a stack line of a bundle to the source. Source maps are read for the first error. Node's `--enable-source-maps`
 * would read them at every cold start, and take a quarter longer.
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
    // `node:module` is loaded here: Node loads more for it than for the rest of this file.
    const { SourceMap } = process.getBuiltinModule('node:module');
    return new SourceMap(JSON.parse(readFileSync(`${fileURLToPath(url)}.map`, 'utf8')));
  } catch {
    return undefined;
  }
}

/** The timeout of a step after the request's time is up, in milliseconds. */
const SETTLING_MS = 2_000;

/**
 * Runs a step whose failure does not change the answer; a failure is logged and counted. @returns whether it succeeded
 */
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
