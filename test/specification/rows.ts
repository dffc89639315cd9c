import { FIELDS } from './fields.ts';
import { type Operation, PHONE_CHANNELS, type Row, rowsOf, type Stand, VERSIONS, type Version } from './table.ts';

/** The values of all fields, as stands. */
export const FIELD_VERDICTS: readonly Stand[] = Object.values(FIELDS)
  .flat()
  .map(({ row, rule, violations }) => ({ row, rule, kept: violations.length === 0 }));

/** The rows of section 4. */
export const ENDPOINTS = {
  registration: '4.1 registration',
  tp5: '4.2 tp5 account',
  tp4: '4.3 tp4 account',
} as const satisfies Record<Operation, string>;

/** Sections 1, 2.3, 2.4, 4 and 7, of an account. */
function ofAccounts(version: Version): Row[] {
  return [
    {
      id: `1 ${version} account`,
      rules: ['for an existing client, identified by user_id'],
      promises: ["returns the new account's login and passwords"],
    },
    { id: `2.3 user_id, ${version}`, rules: ['required', 'unique id of the client'] },
    {
      id: `2.3 account_type_id, ${version}`,
      rules: ['account type of the CRM', 'required when creating and funding a demo account'],
    },
    { id: `2.3 rebate_user_id, ${version}`, rules: ['CRM user that receives the commission'] },
    { id: `2.4 login, ${version}`, promises: ['number'] },
    ...['master_password', 'investor_password'].map((name) => ({
      id: `2.4 ${name}, ${version}`,
      promises: ['string'],
    })),
    {
      id: ENDPOINTS[version],
      rules: ['method and path', 'path variable', 'request body', 'the path begins with /public/v1'],
      promises: ['success status 200', 'success body'],
    },
    { id: `7 ${version}_connection_not_found`, rules: ['no connection is found for the given connection_id'] },
  ];
}

/** What single values of fields do not show: whole rows, and further rules of the rows of fields. */
const BEYOND_FIELDS: readonly Row[] = [
  {
    id: '1 registration',
    rules: ['of type trader'],
    promises: ['a one-time password through the chosen channel'],
  },
  { id: '2.1 form_id', rules: ['id of the registration form'] },
  { id: '2.1 referrer_id', rules: ['referral code of the referrer'] },
  { id: '2.1 language', promises: ['language of the message'] },
  { id: '2.1 OTP type email', promises: ['always'] },
  ...PHONE_CHANNELS.map((channel) => ({
    id: `2.1 OTP type ${channel}`,
    rules: ['only when a messaging-provider integration is installed'],
  })),
  {
    id: ENDPOINTS.registration,
    rules: ['method and path', 'request body', 'the path begins with /public/v1'],
    promises: ['success status 204', 'no body', 'delivered through the channel named by otp_type'],
  },
  ...VERSIONS.flatMap(ofAccounts),
  {
    id: '8 size limits',
    limits: [
      'decided: a registration of 5.9 MB',
      ...VERSIONS.map((version) => `decided: a ${version} account of 64 KB`),
    ],
  },
];

/**
 * Every row of the specification, with the text of its columns; words that begin with `decided` are a decision of ours.
 * Section 8 repeats limits of 2.1 and 2.3. Sections 3, 5 and 6 have no rows; section 9 is in the paths of section 4.
 */
export const ROWS: readonly Row[] = [...rowsOf(FIELD_VERDICTS), ...BEYOND_FIELDS];
