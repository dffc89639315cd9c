import { type ManagerRights, type Parameters, type Reply, reply } from './web-api-accounts.ts';

const COUNT = 128;
/** Places in the list of rights. */
const BALANCES = 24;
const NAMES = 26;
const ACCOUNTS = 27;
const DETAILS = [76, 77, 78, 79, 80, 81];

/** `manager/get`: the manager's own record. */
export function managerRecord(manager: number, rights: ManagerRights, { Login }: Parameters): Reply {
  if (rights.ownRecord === false) return reply(8);
  if (Number(Login) !== manager) return reply(13);
  const { openAccounts = true, changeBalances = true, personalData = true, older = false } = rights;
  const denied = new Set([
    ...(openAccounts ? [] : [ACCOUNTS]),
    ...(changeBalances ? [] : [BALANCES]),
    ...(personalData === false ? [NAMES] : []),
    ...(personalData === true && !older ? [] : DETAILS),
  ]);
  return reply(0, {
    answer: {
      Login: String(manager),
      Name: 'API',
      Server: '1',
      Rights: Array.from({ length: COUNT }, (_, place) => (denied.has(place) ? '0' : '1')),
      Groups: [{ Group: '*' }],
    },
  });
}
