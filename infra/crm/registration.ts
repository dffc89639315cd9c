import {
  DeleteSuppressedDestinationCommand,
  GetMessageInsightsCommand,
  GetSuppressedDestinationCommand,
  SESv2Client,
  type SESv2ClientConfig,
} from '@aws-sdk/client-sesv2';
import { databaseClient, dynamoTable, type Item } from '../../lib/aws/dynamodb.ts';
import { type Counter, waitMs } from '../../lib/limits/counter.ts';
import { limitCounters } from '../../lib/limits/limits.ts';
import { dynamoRegistrations, type StoredRegistration } from '../../lib/records/registrations.ts';
import { MAX_GUESSES } from '../../lib/secrets/one-time-code.ts';
import { DEFAULT_LIMITS } from '../../lib/validators/deployment.ts';
import { asciiEmail } from '../../lib/validators/email.ts';
import { OTP_TYPES } from '../../lib/validators/otp-types.ts';
import { readSettings } from '../settings.ts';
import { logicalId, type TableName } from '../tables.ts';
import { counted, orAbsent, type Terminal, wrong } from './command.ts';
import { findClientIds, listRecipients, type Person, parsePerson, readPepper } from './person.ts';
import { readContext } from './service-secrets.ts';
import type { Target } from './target.ts';

const CALL_MS = 10_000;
const callSignal = () => AbortSignal.timeout(CALL_MS);
/** SES answers one question about a message a second. */
const MAX_TRACKED = 5;

/**
 * Shows why a person gets no code: the request and its message, whether SES suppresses the address, which limit holds
 * the next request, and whether the registration is confirmed. It reads by key: a registration by phone is found by its
 * number.
 */
export async function showRegistrations(
  target: Target,
  typed: string,
  { unsuppress = false }: { unsuppress?: boolean },
  terminal: Terminal,
): Promise<void> {
  const person = await parsePerson(typed);
  if (unsuppress && !person.isEmail) throw wrong('--unsuppress removes an email address from the list of SES.');
  const tables = await openTables(target);
  const mail = mailAccount(target.clientOf('SESV2'));
  try {
    const found = await findRegistrations(tables.registrations, person);
    terminal.print(`${counted(found.length, 'registration')} of ${person.address} in the last 25 hours.\n`);
    for (const [index, one] of found.entries())
      terminal.print(`\n${await describeRegistration(one, index < MAX_TRACKED ? mail : undefined)}`);
    terminal.print('\n');
    for (const id of await findClientIds(target, person))
      terminal.print(`The client ${id} has this address: it gets a notice without a code.\n`);
    if (person.isEmail) {
      const spellings = [typed, person.address, ...found.flatMap(({ record }) => record.email ?? [])];
      await showSuppression(mail, new Set(spellings.map(asciiEmail)), unsuppress, terminal);
    }
    await showLimits(target, tables.limits, person, found[0]?.record.source, terminal);
  } finally {
    mail.close();
    tables.close();
  }
}

async function openTables({ resource, clientOf }: Target) {
  const client = databaseClient(clientOf('DYNAMODB'));
  const open = async (name: TableName) => dynamoTable(client, await resource(logicalId(name)));
  const [registrations, limits] = [dynamoRegistrations(await open('Registrations')), await open('Limits')];
  return { registrations, limits, close: () => client.destroy() };
}
type Tables = Awaited<ReturnType<typeof openTables>>;

interface Found {
  record: StoredRegistration;
  /** Epoch milliseconds. */
  codeExpiresAt: number;
  guesses: number;
}

/** Those of each channel that has such an address, the newest first. */
async function findRegistrations(registrations: Tables['registrations'], person: Person): Promise<Found[]> {
  const found: Found[] = [];
  for (const { channel } of listRecipients(person)) {
    const indexed = await registrations.list({ otp_type: channel, address: person.address }, callSignal());
    for (const { registration_id, expires_at_ms, guesses } of indexed) {
      const record = await registrations.get(registration_id, callSignal());
      if (record !== undefined) found.push({ record, codeExpiresAt: expires_at_ms, guesses: guesses.length });
    }
  }
  return found.sort((a, b) => b.record.requested_at.localeCompare(a.record.requested_at));
}

/** @param mail absent: the delivery is not read from SES */
async function describeRegistration({ record, codeExpiresAt, guesses }: Found, mail?: MailAccount): Promise<string> {
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
      : [`  code: ${describeCode(codeExpiresAt)}, ${guesses} of ${MAX_GUESSES} guesses made`]),
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
  const all = await Promise.all([...spellings].map((address) => mail.suppressed(address)));
  const listed = all.filter((one) => one !== undefined);
  if (listed.length === 0) return print('Suppression list of SES: not on it.\n');
  for (const { address, reason, since } of listed) {
    print(
      `Suppression list of SES: ${address}, ${reason} since ${since}. SES accepts emails to it and delivers none.\n`,
    );
    if (unsuppress) await mail.unsuppress(address);
    print(unsuppress ? `  It was removed from the list.\n` : '  If the mailbox works again: --unsuppress\n');
  }
}

async function showLimits(
  target: Target,
  limits: Tables['limits'],
  person: Person,
  source: string | undefined,
  { print, cdkJson }: Terminal,
): Promise<void> {
  // The limits of a stack are those of `cdk.json`; the local service has the defaults.
  const local = { limits: DEFAULT_LIMITS, channels: OTP_TYPES };
  const deployed = target.stack === undefined ? local : readSettings(readContext(cdkJson));
  const pepper = await readPepper(target);
  const counters = limitCounters(deployed.limits);
  const now = Date.now();
  const show = async (title: string, of: readonly Counter[]) => {
    const items =
      of.length === 0
        ? []
        : await limits.getMany(
            of.map(({ pk }) => ({ pk })),
            callSignal(),
          );
    print(`${title}: ${describeLimits(reachedLimits(of, items, now))}\n`);
  };
  const recipients = listRecipients(person).filter(({ channel }) => deployed.channels.includes(channel));
  for (const recipient of recipients) {
    const { recipient: own, shared } = await counters.message(pepper, recipient);
    await show(`Next message by ${recipient.channel}`, [...own, ...shared]);
  }
  if (source === undefined) return;
  const own = counters.source(pepper, source);
  await show('Next request from the same source', [...own.source, ...own.wrong]);
}

function describeLimits(reached: ReturnType<typeof reachedLimits>): string {
  if (reached.length === 0) return 'no limit holds it.';
  const limits = reached.map(({ setting, until }) => `${setting} until ${new Date(until).toISOString()}`);
  return `held by ${limits.join(', ')}.`;
}

/** SES refuses an id that is not one of its own, as other providers give them. */
const NO_MAIL = /^(NotFound|BadRequest)Exception/;

/** What SES knows about addresses and emails. */
type MailAccount = ReturnType<typeof mailAccount>;

function mailAccount(config: SESv2ClientConfig) {
  // Insights may be asked for once a second: the client waits and asks again.
  const client = new SESv2Client({ maxAttempts: 8, ...config });

  return {
    /**
     * An address to which SES accepts emails and delivers none: its reason, `BOUNCE` or `COMPLAINT`, and since when.
     * @param address SES compares its local part exactly: the list may have another spelling
     */
    async suppressed(address: string) {
      const command = new GetSuppressedDestinationCommand({ EmailAddress: address });
      const found = (await orAbsent(client.send(command)))?.SuppressedDestination;
      if (found === undefined) return undefined;
      return { address, reason: String(found.Reason), since: found.LastUpdateTime?.toISOString() ?? '' };
    },

    async unsuppress(address: string): Promise<void> {
      await orAbsent(client.send(new DeleteSuppressedDestinationCommand({ EmailAddress: address })));
    },

    /**
     * The events of an email, oldest first, such as `delivery 2026-11-23T10:15:00.000Z`.
     * @returns undefined without Virtual Deliverability Manager, and in the first minutes with it
     */
    async events(messageId: string): Promise<string[] | undefined> {
      const found = await orAbsent(client.send(new GetMessageInsightsCommand({ MessageId: messageId })), NO_MAIL);
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

/** The settings of limits, by the kind of counter and its window. A pause has no window. */
const SETTINGS: Readonly<Record<string, string>> = {
  'recipient pause': 'limits.resendSeconds',
  'recipient hour': 'limits.recipientPerHour',
  'recipient day': 'limits.recipientPerDay',
  'source ten_minutes': 'limits.sourcePer10Minutes',
  'source hour': 'limits.sourcePerHour',
  'network hour': 'limits.networkSourcesPerHour',
  'wrong ten_minutes': 'limits.wrongIdsPer10Minutes',
  'prefix hour': 'limits.prefixPerHour',
  'country hour': 'limits.countryPerHour',
  'channel day': 'limits.channelPerDay',
  'domain hour': 'limits.mailDomainPerHour',
};

/**
 * The limits that hold the next request, each with its setting and its end (epoch ms), the longest first.
 * @param items of the counters, as the table has them
 */
export function reachedLimits(counters: readonly Counter[], items: readonly Item[], now: number) {
  const reached = counters.flatMap((counter) => {
    const { pk, windows } = counter;
    const kind = pk.split('#', 1)[0];
    const { paused_until, ...counts } = items.find((item) => item.pk === pk) ?? {};
    const pause = { name: 'pause', waitMs: waitMs({ ...counter, windows: [] }, { paused_until }, now) };
    const full = windows.map((one) => ({ name: one[0], waitMs: waitMs({ ...counter, windows: [one] }, counts, now) }));
    return [pause, ...full]
      .filter((one) => one.waitMs > 0)
      .map((one) => ({ setting: SETTINGS[`${kind} ${one.name}`] ?? `${kind} ${one.name}`, until: now + one.waitMs }));
  });
  return reached.sort((a, b) => b.until - a.until);
}
