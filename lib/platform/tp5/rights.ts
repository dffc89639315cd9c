import * as v from 'valibot';
import type { ClosedGroups, Permission, ServerRights } from '../platform.ts';
import { isDoneAnswer, RETCODE_NOT_FOUND } from './answers.ts';
import type { WebApiClient } from './client.ts';
import { buildPath } from './exchange.ts';

/** The index of each right in a manager's list of rights (the vendor's `EnManagerRights`). */
const RIGHT_INDEX = { balances: 24, readAccounts: 25, details: 26, accounts: 27, general: 81 };
/** Location, address, document, e-mail, phone: rights of newer servers, where `details` covers only the name. */
const SINGLE_DETAILS = [76, 77, 78, 79, 80];

const FlagsSchema = v.array(v.pipe(v.union([v.string(), v.number()]), v.transform(Number)));
/** The vendor's example has `Rights`, its table `Right`. */
const ManagerSchema = v.union([
  v.pipe(
    v.object({ Rights: FlagsSchema }),
    v.transform(({ Rights }) => Rights),
  ),
  v.pipe(
    v.object({ Right: FlagsSchema }),
    v.transform(({ Right }) => Right),
  ),
]);

/** The maximum number of groups that are checked. */
const MAX_GROUPS = 20;

const UNKNOWN: ServerRights = { openAccounts: 'unknown', seePersonalData: 'unknown', changeBalances: 'unknown' };

/** The rights in the manager's own record, which many servers show. Only reads. @throws PlatformFailure */
export async function readRights(client: WebApiClient, manager: number, signal: AbortSignal): Promise<ServerRights> {
  const answer = await client.askOptional({ path: buildPath('/api/manager/get', { login: manager }) }, signal);
  const flags = v.safeParse(ManagerSchema, answer?.answer);
  if (!flags.success) return UNKNOWN;
  const has = (place: number) => flags.output[place] === 1;
  const granted = (place: number): Permission => (has(place) ? 'granted' : 'denied');
  return {
    openAccounts: granted(RIGHT_INDEX.accounts),
    seePersonalData: has(RIGHT_INDEX.readAccounts) ? personalData(has) : 'denied',
    changeBalances: granted(RIGHT_INDEX.balances),
  };
}

/** The comment matters most: it identifies the account after a lost answer. */
function personalData(has: (place: number) => boolean): Permission {
  if (has(RIGHT_INDEX.general)) return 'granted';
  if (!has(RIGHT_INDEX.details) || SINGLE_DETAILS.some(has)) return 'denied';
  // On older servers this right covers everything, on newer ones only the name.
  return 'unknown';
}

/** Reads each group. @throws PlatformFailure */
export async function readGroups(
  client: WebApiClient,
  groups: readonly string[],
  signal: AbortSignal,
): Promise<ClosedGroups> {
  const found: ClosedGroups = { unknown: [], notShown: [] };
  for (const group of groups.slice(0, MAX_GROUPS)) {
    const answer = await client.askOptional({ path: buildPath('/api/group/get', { group }) }, signal);
    if (answer?.retcode === RETCODE_NOT_FOUND) found.unknown.push(group);
    else if (answer === undefined || !isDoneAnswer(answer)) found.notShown.push(group);
  }
  return found;
}
