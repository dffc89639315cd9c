import {
  DeleteSuppressedDestinationCommand,
  GetMessageInsightsCommand,
  GetSuppressedDestinationCommand,
  SESv2Client,
  type SESv2ClientConfig,
} from '@aws-sdk/client-sesv2';
import * as v from 'valibot';
import { dynamoTable, type Table } from '../../lib/aws/dynamodb.ts';
import { AwsFailure } from '../../lib/aws/failure.ts';
import {
  dynamoRegistrations,
  indexKey,
  REGISTRATION_MALFORMED,
  type StoredRegistration,
  unreadableEntries,
} from '../../lib/records/registrations.ts';
import { MAX_CODE_GUESSES } from '../../lib/secrets/one-time-code.ts';
import { asciiEmail } from '../../lib/validators/email.ts';
import { COUNT_LIMIT_NAMES, COUNT_LIMITS, WINDOW_MS } from '../../lib/validators/limits.ts';
import { OTP_TYPES } from '../../lib/validators/otp-types.ts';
import { DEFAULT_LIMITS, type Limits } from '../../lib/validators/registration-settings.ts';
import { parseSettings } from '../../lib/validators/texts.ts';
import { deploymentEntries, SettingsError } from '../settings.ts';
import { logicalId } from '../tables.ts';
import { countOf, type Terminal, undefinedIfAbsent, wrongUsage } from './command.ts';
import { findClientIds, listRecipients, type Person, parsePerson } from './person.ts';
import { settingsOf } from './stack-settings.ts';
import type { Target } from './target.ts';
import { UnreadableItems } from './unreadable.ts';

const CALL_MS = 10_000;
const callSignal = () => AbortSignal.timeout(CALL_MS);
/** The maximum number of messages that SES is asked about: it answers one question about a message a second. */
const MAX_TRACKED = 5;

/**
 * Shows why a person gets no code: the request and its message, whether SES suppresses the address, which limit of the
 * address holds the next message, and whether the registration is confirmed. It reads by key: a registration by phone is
 * found by its number.
 */
export async function showRegistrations(
  target: Target,
  typed: string,
  { unsuppress = false }: { unsuppress?: boolean },
  terminal: Terminal,
): Promise<void> {
  const person = await parsePerson(typed);
  if (unsuppress && !person.isEmail) throw wrongUsage('--unsuppress removes an email address from the list of SES.');
  const mail = mailAccount(target.clientOf('SESV2'));
  try {
    const table = dynamoTable(target.database, await target.resource(logicalId('Registrations')));
    const unreadable = new UnreadableItems(terminal);
    const found = await findRegistrations(table, person, unreadable);
    terminal.print(`${countOf(found.length, 'registration')} of ${person.address} in the last 25 hours.\n`);
    for (const [index, one] of found.entries())
      terminal.print(`\n${await describeRegistration(one, index < MAX_TRACKED ? mail : undefined)}`);
    terminal.print('\n');
    for (const id of await findClientIds(target, person))
      terminal.print(`The client ${id} has this address: it gets a notice without a code.\n`);
    if (person.isEmail) {
      const spellings = [typed, person.address, ...found.flatMap(({ record }) => record.email ?? [])];
      await showSuppression(mail, new Set(spellings.map(asciiEmail)), unsuppress, terminal);
    }
    await showLimits(target, person, found, terminal);
    unreadable.finish('the rest is shown');
  } finally {
    mail.close();
  }
}

interface Found {
  record: StoredRegistration;
  /** Epoch milliseconds. */
  codeExpiresAt: number;
  guesses: number;
}

/** The registrations of each channel that has such an address, the newest first. */
async function findRegistrations(table: Table, person: Person, unreadable: UnreadableItems): Promise<Found[]> {
  const registrations = dynamoRegistrations(table);
  const found: Found[] = [];
  for (const { channel } of listRecipients(person)) {
    const recipient = { otp_type: channel, address: person.address };
    const key = indexKey(recipient);
    for (const name of unreadableEntries(await table.get(key, callSignal())))
      unreadable.name(`A registration cannot be read: the attribute ${name} of the item ${key.pk}.`);
    for (const { registration_id, expires_at_ms, guesses } of await registrations.list(recipient, callSignal())) {
      try {
        const record = await registrations.get(registration_id, callSignal());
        if (record !== undefined) found.push({ record, codeExpiresAt: expires_at_ms, guesses: guesses.length });
      } catch (error) {
        if (!(error instanceof AwsFailure) || error.reason !== REGISTRATION_MALFORMED) throw error;
        unreadable.name(`A registration cannot be read: the item registration#${registration_id}.`);
      }
    }
  }
  return found.sort((a, b) => b.record.requested_at.localeCompare(a.record.requested_at));
}

/** Describes a registration for operators. @param mail absent: the delivery is not read from SES */
export async function describeRegistration(
  { record, codeExpiresAt, guesses }: Found,
  mail?: MailAccount,
): Promise<string> {
  const { registration_id, requested_at, otp_type, delivery, confirmation } = record;
  const messageId = delivery?.message_id;
  const isTracked = otp_type === 'email' && messageId !== undefined && mail !== undefined;
  const events = isTracked ? await mail.events(messageId) : undefined;
  const lines = [
    `${requested_at} by ${otp_type}, registration ${registration_id}`,
    `  message: ${describeMessage(record)}${messageId === undefined ? '' : `, id ${messageId}`}`,
    ...(isTracked ? [`  delivery: ${events?.join(', ') ?? NO_EVENTS}`] : []),
    ...(delivery?.kind === 'owner_notice'
      ? []
      : [`  code: ${describeCode(codeExpiresAt)}, ${guesses} of ${MAX_CODE_GUESSES} guesses made`]),
    `  confirmed: ${confirmation === undefined ? 'no' : confirmation.confirmed_at}`,
  ];
  return lines.map((line) => `${line}\n`).join('');
}

const NO_EVENTS = 'unknown; SES reports it with Virtual Deliverability Manager, some minutes after the email';

const OUTCOMES = {
  sent: 'accepted by the provider',
  unknown: 'may have been sent',
  refused: 'refused by the provider',
} as const;

function describeMessage({ delivery }: StoredRegistration): string {
  if (delivery === undefined) return 'unknown, the request did not end';
  const what = delivery.kind === 'code' ? 'the code' : "the owner's notice without a code: the address is a client's";
  return `${what}, ${OUTCOMES[delivery.outcome]}`;
}

function describeCode(expiresAt: number): string {
  const time = new Date(expiresAt).toISOString();
  return expiresAt > Date.now() ? `valid until ${time}` : `expired at ${time}`;
}

async function showSuppression(
  mail: MailAccount,
  spellings: ReadonlySet<string>,
  unsuppress: boolean,
  { print }: Terminal,
): Promise<void> {
  const lookups = await Promise.all([...spellings].map((address) => mail.suppressed(address)));
  const listed = lookups.filter((one) => one !== undefined);
  if (listed.length === 0) return print('Suppression list of SES: not on it.\n');
  for (const { address, reason, since } of listed) {
    print(
      `Suppression list of SES: ${address}, ${reason} since ${since}. SES accepts emails to it and delivers none.\n`,
    );
    if (unsuppress) await mail.unsuppress(address);
    print(unsuppress ? `  It was removed from the list.\n` : '  If the mailbox works again: --unsuppress\n');
  }
}

const LimitSettingsSchema = v.object({ channels: deploymentEntries.channels, limits: deploymentEntries.limits });

/** Reads the limits of the deployment. The local service has the default limits. */
async function readLimits(target: Target, terminal: Terminal) {
  if (target.stack === undefined) return { limits: DEFAULT_LIMITS, channels: OTP_TYPES };
  const { values, errors } = parseSettings(LimitSettingsSchema, await settingsOf(target, terminal));
  if (values === undefined) throw new SettingsError(errors);
  return values;
}

/**
 * Shows which limits hold the next message. Only the functions can derive the names of the counters, so the
 * registrations show what was counted.
 */
async function showLimits(target: Target, person: Person, found: readonly Found[], terminal: Terminal): Promise<void> {
  const deployed = await readLimits(target, terminal);
  for (const { channel } of listRecipients(person).filter((one) => deployed.channels.includes(one.channel))) {
    const sent = found.filter(({ record }) => record.otp_type === channel);
    const times = sent.map(({ record }) => Date.parse(record.requested_at));
    terminal.print(
      `Next message by ${channel}: ${describeLimits(reachedLimits(deployed.limits, times, Date.now()))}\n`,
    );
  }
}

function describeLimits(reached: ReturnType<typeof reachedLimits>): string {
  if (reached.length === 0) return 'no limit of its recipient holds it.';
  const limits = reached.map(({ setting, until }) => `${setting} until ${new Date(until).toISOString()}`);
  return `held by ${limits.join(', ')}.`;
}

/** SES refuses an id that is not one of its own, such as one of another provider. */
const NO_MAIL = /^(NotFound|BadRequest)Exception/;

/** The part of SES that knows about addresses and emails. */
type MailAccount = ReturnType<typeof mailAccount>;

function mailAccount(config: SESv2ClientConfig) {
  // SES answers one question about a message a second: the client waits and asks again.
  const client = new SESv2Client({ maxAttempts: 8, ...config });

  return {
    /**
     * An address to which SES accepts emails and delivers none: its reason, `BOUNCE` or `COMPLAINT`, and since when.
     * @param address its local part must be spelled as on the list: SES compares it exactly
     */
    async suppressed(address: string) {
      const command = new GetSuppressedDestinationCommand({ EmailAddress: address });
      const found = (await undefinedIfAbsent(client.send(command)))?.SuppressedDestination;
      if (found === undefined) return undefined;
      return { address, reason: String(found.Reason), since: found.LastUpdateTime?.toISOString() ?? '' };
    },

    async unsuppress(address: string): Promise<void> {
      await undefinedIfAbsent(client.send(new DeleteSuppressedDestinationCommand({ EmailAddress: address })));
    },

    /**
     * The events of an email, oldest first, such as `delivery 2026-11-23T10:15:00.000Z`.
     * @returns undefined without Virtual Deliverability Manager, and in the first minutes with it
     */
    async events(messageId: string): Promise<string[] | undefined> {
      const found = await undefinedIfAbsent(
        client.send(new GetMessageInsightsCommand({ MessageId: messageId })),
        NO_MAIL,
      );
      return found?.Insights?.flatMap(({ Events = [] }) =>
        Events.map(({ Type = '', Timestamp, Details }) =>
          [
            Type.toLowerCase().replaceAll('_', ' '),
            Timestamp?.toISOString(),
            Details?.Bounce?.BounceSubType ?? Details?.Complaint?.ComplaintSubType,
          ]
            .filter((one) => one !== undefined)
            .join(' '),
        ),
      );
    },

    close: () => client.destroy(),
  };
}

/**
 * The limits of a recipient that hold the next message, each with its setting and its end (epoch ms), the longest first.
 * @param times of the requests by the recipient's channel in the last 25 hours, epoch ms
 */
export function reachedLimits(limits: Limits, times: readonly number[], now: number) {
  const ordered = times.toSorted((a, b) => a - b);
  const pauses = limits.resendSeconds === 'none' ? [] : limits.resendSeconds;
  const today = lastWindow(ordered, WINDOW_MS.day).count;
  const pause = pauses[Math.min(today, pauses.length) - 1] ?? 0;
  const full = COUNT_LIMIT_NAMES.filter((name) => COUNT_LIMITS[name].counter === 'recipient').flatMap((name) => {
    const { count, end } = lastWindow(ordered, WINDOW_MS[COUNT_LIMITS[name].window]);
    const max = limits[name];
    return max !== 'none' && count >= max ? [{ setting: `limits.${name}`, until: end }] : [];
  });
  return [{ setting: 'limits.resendSeconds', until: (ordered.at(-1) ?? 0) + pause * 1_000 }, ...full]
    .filter(({ until }) => until > now)
    .sort((a, b) => b.until - a.until);
}

/** The last window of this length. Each window starts with the first time after the window before. */
function lastWindow(ordered: readonly number[], length: number): { end: number; count: number } {
  let last = { end: 0, count: 0 };
  for (const time of ordered)
    last = time < last.end ? { ...last, count: last.count + 1 } : { end: time + length, count: 1 };
  return last;
}
