import {
  DeleteSuppressedDestinationCommand,
  GetSuppressedDestinationCommand,
  SESv2Client,
} from '@aws-sdk/client-sesv2';
import * as v from 'valibot';
import type { Item } from '../../lib/aws/dynamodb.ts';
import { MAX_CODE_GUESSES } from '../../lib/secrets/one-time-code.ts';
import { asciiEmail } from '../../lib/validators/email.ts';
import { countOf, undefinedIfAbsent, wrongUsage } from './command.ts';
import { findClientIds, parsePerson } from './person.ts';
import { openTable, type Target } from './target.ts';
import type { Terminal } from './terminal.ts';
import { UnreadableItems } from './unreadable.ts';

/** The members of a registration that show why a person gets no code. */
const RegistrationSchema = v.object({
  registration_id: v.string(),
  requested_at: v.string(),
  otp_type: v.string(),
  email: v.optional(v.string()),
  guesses: v.optional(v.number()),
  code_expires_at_ms: v.optional(v.number()),
  confirmation: v.optional(v.object({ confirmed_at: v.string() })),
});
type Registration = v.InferOutput<typeof RegistrationSchema>;

/** Shows why a person gets no code: the requests, whether they are confirmed, and whether SES suppresses the address. */
export async function showRegistrations(
  target: Target,
  typed: string,
  { unsuppress = false }: { unsuppress?: boolean },
  terminal: Terminal,
): Promise<void> {
  const person = await parsePerson(typed);
  if (unsuppress && !person.isEmail) throw wrongUsage('--unsuppress removes an email address from the list of SES.');
  const unreadable = new UnreadableItems(terminal);
  const found = await findRegistrations(target, person.address, unreadable);
  terminal.print(`${countOf(found.length, 'registration')} of ${person.address}.`);
  terminal.print(found.flatMap(describeRegistration));
  for (const id of await findClientIds(target, person))
    terminal.print(`The client ${id} has this address: a confirmation is answered with already_registered.`);
  if (person.isEmail) {
    const spellings = [typed, person.address, ...found.flatMap(({ email }) => email ?? [])];
    await showSuppression(target, new Set(spellings.map(asciiEmail)), unsuppress, terminal);
  }
  unreadable.finish('the rest is shown');
}

/** The registrations whose code goes to this address, the newest first: their keys do not name it. */
async function findRegistrations(
  target: Target,
  address: string,
  unreadable: UnreadableItems,
): Promise<Registration[]> {
  const found: Registration[] = [];
  const pages = (await openTable(target, 'Registrations')).pages({
    // The proof of an address is no registration.
    FilterExpression: 'address = :address AND attribute_not_exists(proven_by)',
    ExpressionAttributeValues: { ':address': address },
  });
  for await (const page of pages) found.push(...page.flatMap(read));
  return found.sort((a, b) => b.requested_at.localeCompare(a.requested_at));

  function read(item: Item): Registration[] {
    const parsed = v.safeParse(RegistrationSchema, item);
    if (!parsed.success) unreadable.name(`A registration cannot be read: the item ${item.pk}.`);
    return parsed.success ? [parsed.output] : [];
  }
}

function describeRegistration(one: Registration): string[] {
  const { registration_id, requested_at, otp_type, guesses = 0, code_expires_at_ms: end, confirmation } = one;
  const code =
    end === undefined
      ? 'none is kept'
      : `${end > Date.now() ? 'valid until' : 'expired at'} ${new Date(end).toISOString()}`;
  return [
    '',
    `${requested_at} by ${otp_type}, registration ${registration_id}`,
    `  code: ${code}, ${guesses} of ${MAX_CODE_GUESSES} guesses made`,
    `  confirmed: ${confirmation?.confirmed_at ?? 'no'}`,
  ];
}

/** @param spellings SES compares the local part of an address exactly */
async function showSuppression(
  target: Target,
  spellings: ReadonlySet<string>,
  unsuppress: boolean,
  { print }: Terminal,
): Promise<void> {
  // SES answers one question about an address a second: the client waits and asks again.
  const client = new SESv2Client({ maxAttempts: 8, ...target.clientOf('SESV2') });
  let isListed = false;
  for (const EmailAddress of spellings) {
    const answer = await undefinedIfAbsent(client.send(new GetSuppressedDestinationCommand({ EmailAddress })));
    const found = answer?.SuppressedDestination;
    if (found === undefined) continue;
    isListed = true;
    const since = found.LastUpdateTime?.toISOString() ?? 'an unknown time';
    print(
      `Suppression list of SES: ${EmailAddress}, ${found.Reason} since ${since}. SES accepts emails to it and delivers none.`,
    );
    if (unsuppress) await undefinedIfAbsent(client.send(new DeleteSuppressedDestinationCommand({ EmailAddress })));
    print(unsuppress ? '  It was removed from the list.' : '  If the mailbox works again: --unsuppress');
  }
  if (!isListed) print('Suppression list of SES: not on it.');
  client.destroy();
}
