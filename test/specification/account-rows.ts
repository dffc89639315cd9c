import { type Row, VERSIONS, type Version } from './table.ts';

/** The client and the server of the account. */
function whereRows(version: Version): Row[] {
  return [
    { id: `2.3 user_id, ${version}`, rules: ['required', 'unique id of the client'], limits: ['length 8'] },
    {
      id: `2.3 connection_id, ${version}`,
      rules: ['string', 'required', 'id of a trading-platform server as given by this API'],
      limits: ['decided: 1 to 255 characters'],
    },
    {
      id: `2.3 group, ${version}`,
      rules: ['string', 'required', 'platform group name'],
      limits: ['decided: 1 to 64 characters'],
    },
    {
      id: `2.3 leverage, ${version}`,
      rules: ['number', 'required', 'decided: an integer'],
      limits: ['minimum 1', 'maximum 5000'],
    },
  ];
}

/** The fields that identify the account. */
function numberRows(version: Version): Row[] {
  return [
    {
      id: `2.3 login, ${version}`,
      rules: ['number'],
      promises: ['not required', 'custom account login'],
      limits: ['decided: a positive integer that the platform can hold'],
    },
    {
      id: `2.3 account_type_id, ${version}`,
      rules: ['string', 'account type of the CRM', 'required when creating and funding a demo account'],
      promises: ['not required'],
      limits: ['length 8'],
    },
    {
      id: `2.3 rebate_user_id, ${version}`,
      rules: ['string', 'CRM user that receives the commission'],
      promises: ['not required'],
      limits: ['length 8'],
    },
  ];
}

/** The options of the account. */
function switchRows(version: Version): Row[] {
  return [
    {
      id: `2.3 enable_readonly, ${version}`,
      rules: ['boolean'],
      promises: ['not required', 'when true, trading on the account is disallowed'],
    },
    {
      id: `2.3 enable_rebate, ${version}`,
      rules: ['boolean'],
      promises: ['not required', 'when true, the account is set as a commission-receiving account'],
    },
    {
      id: `2.3 send_email, ${version}`,
      rules: ['boolean'],
      promises: ['not required', 'send the CRM user an email about the account creation'],
    },
    {
      id: `2.3 send_pop_up, ${version}`,
      rules: ['boolean'],
      promises: ['not required', 'send the CRM user an in-app popup about the account creation'],
    },
  ];
}

/** Its passwords, the language of its notices, and everything else. */
function otherRows(version: Version): Row[] {
  return [
    ...['master_password', 'investor_password'].map((role) => ({
      id: `2.3 ${role}, ${version}`,
      rules: ['string', 'platform-specific', 'decided: printable ASCII'],
      promises: ['not required'],
    })),
    {
      id: `2.3 language, ${version}`,
      rules: ['string', 'language code'],
      promises: ['not required', 'user language for the email or popup'],
      limits: ['decided: at most 64 characters'],
    },
    { id: `2.3 body, ${version}`, rules: ['decided: no other members'] },
  ];
}

/** Section 2.3, and 2.4: the request for an account, and its answer. */
export const ACCOUNT_ROWS: readonly Row[] = [
  ...VERSIONS.flatMap((version) => [
    ...whereRows(version),
    ...numberRows(version),
    ...otherRows(version),
    ...switchRows(version),
  ]),
  {
    id: '2.3 password rules, tp5',
    rules: ['at least one lowercase letter, one uppercase letter, one digit and one special character'],
    limits: ['minimum 8', 'maximum 15'],
  },
  {
    id: '2.3 password rules, tp4',
    rules: ['at least two of the three types: lowercase, uppercase, digits'],
    limits: ['minimum 5', 'maximum 15'],
  },

  ...VERSIONS.flatMap((version) => [
    { id: `2.4 login, ${version}`, rules: [], promises: ['number'] },
    { id: `2.4 master_password, ${version}`, rules: [], promises: ['string'] },
    { id: `2.4 investor_password, ${version}`, rules: [], promises: ['string'] },
  ]),
];
