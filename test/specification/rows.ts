import { ACCOUNT_ROWS } from './account-rows.ts';
import { BLANK } from './samples.ts';
import { type Row, VERSIONS, type Version } from './table.ts';

/** Section 2.2. */
const FORM_ROWS: readonly Row[] = [
  ...['text', 'textarea', 'description'].map((type) => ({
    id: `2.2 ${type}`,
    rules: ['string'],
    limits: ['decided: at most 10,000 characters'],
  })),
  { id: '2.2 number', rules: ['number'] },
  { id: '2.2 number_string', rules: ['string', 'numeric string'], limits: ['decided: at most 255 characters'] },
  { id: '2.2 boolean', rules: ['boolean'] },
  ...['radio', 'select'].map((type) => ({
    id: `2.2 ${type}`,
    rules: ['string', "decided: one of the form's options"],
    limits: ['decided: at most 10,000 characters'],
  })),
  {
    id: '2.2 dynamicSelect',
    rules: ['decided: what JSON and UTF-8 can carry'],
    promises: ['any value'],
    limits: ['decided: at most 20,000 characters of JSON', 'decided: at most 20 levels deep'],
  },
  ...['multiselect', 'checkbox'].map((type) => ({
    id: `2.2 ${type}`,
    rules: ['array', 'array of strings', "decided: one of the form's options"],
    limits: ['decided: at most 500 choices', 'decided: at most 10,000 characters each'],
  })),
  { id: '2.2 date', rules: ['string', 'format YYYY-MM-DD'] },
  {
    id: '2.2 document',
    rules: [
      'array',
      'array of objects',
      'id (string)',
      'name (string)',
      'doc (string, base64-encoded content)',
      'decided: no other members',
      'decided: a media type that the form accepts',
    ],
    limits: [
      'decided: id of at most 255 characters',
      'decided: name of at most 255 characters',
      'decided: at most 10 documents',
      'decided: at most 3 MB',
      'decided: at most 4 MB together',
    ],
  },
  {
    id: '2.2 phone',
    rules: ['object', 'country_code (string)', 'number (string)', 'decided: no other members'],
    limits: ['decided: number of at most 40 characters'],
  },
  { id: '2.2 email', rules: ['string', 'decided: email format'], limits: ['decided: at most 254 characters'] },
  ...['country', 'nation'].map((type) => ({ id: `2.2 ${type}`, rules: ['string', 'a country code'] })),
  {
    id: '2.2 location',
    rules: ['object', 'country (string)', 'state (string)', 'city (string)', 'decided: no other members'],
    limits: ['decided: each of at most 255 characters'],
  },
  ...['participants', 'leads'].map((type) => ({
    id: `2.2 ${type}`,
    rules: ['array', 'array of objects', 'decided: id is a string or a number, name a string'],
    promises: ['open to other members'],
    limits: [
      'decided: at most 100',
      'decided: id and name of at most 255 characters',
      'decided: at most 20,000 characters of JSON',
      'decided: at most 20 levels deep',
    ],
  })),
];

/**
 * Every row of the specification, section by section, in its order and with the text of its columns. A row that begins
 * with `decided` is a decision of ours. Sections 3, 5 and 6 have no rows; section 9 is in the paths of section 4.
 */
export const ROWS: readonly Row[] = [
  {
    id: '1 registration',
    rules: ['of type trader'],
    promises: ['a one-time password through the chosen channel'],
  },
  ...forVersions((version) => [
    {
      id: `1 ${version} account`,
      rules: ['for an existing client, identified by user_id'],
      promises: ["returns the new account's login and passwords"],
    },
  ]),

  {
    id: '2.1 email',
    rules: ['string', 'required', 'email format'],
    limits: ['decided: at most 254 characters', 'decided: at most 64 characters before the @'],
  },
  { id: '2.1 type', rules: ['string', 'required', 'the value trader'] },
  {
    id: '2.1 name',
    rules: [
      'string',
      'required',
      'decided: no control characters',
      'decided: no invisible characters, and none that change the direction',
      'decided: a letter or a digit',
    ],
    limits: ['decided: a maximum length'],
  },
  { id: '2.1 phone', rules: ['object', 'decided: no other members'], promises: ['not required'] },
  {
    id: '2.1 phone.country_code',
    rules: [
      'string',
      'decided: a dial code, with or without +',
      'decided: required by sms, call and whatsapp',
      'decided: of a country that the deployment serves',
    ],
    promises: ['not required'],
    limits: ['decided: at most 7 characters after the +'],
  },
  {
    id: '2.1 phone.number',
    rules: [
      'string',
      'decided: a valid number of the dial code',
      'decided: required by sms, call and whatsapp',
      'decided: a mobile number, for a call also a fixed line',
    ],
    promises: ['not required'],
    limits: ['decided: at most 40 characters'],
  },
  {
    id: '2.1 otp_type',
    rules: ['string', 'one of email, sms, call, whatsapp'],
    promises: ['default email'],
  },
  {
    id: '2.1 password',
    rules: ['string', 'required', 'decided: not only white space', 'decided: not a common password'],
    limits: ['decided: 8 to 128 characters'],
  },
  { id: '2.1 repeat_password', rules: ['string', 'required', 'the password repeated'] },
  { id: '2.1 form_id', rules: ['string', 'required', 'id of the registration form'], limits: ['length 8'] },
  {
    id: '2.1 referrer_id',
    rules: ['string', 'referral code of the referrer'],
    promises: ['not required'],
    limits: ['length 8'],
  },
  {
    id: '2.1 custom_fields',
    rules: [
      'keys of the registration form at the root',
      'decided: required by the form',
      'decided: a consent that must be given',
    ],
    promises: ['not required'],
    limits: ['decided: at most 200 kB of JSON beside the documents'],
  },
  {
    id: '2.1 language',
    rules: ['string', 'language code'],
    promises: ['not required', 'language of the message'],
    limits: ['decided: at most 64 characters'],
  },

  { id: '2.1 OTP type email', rules: [], promises: ['always'] },
  ...['sms', 'call', 'whatsapp'].map((channel) => ({
    id: `2.1 OTP type ${channel}`,
    rules: ['only when a messaging-provider integration is installed'],
  })),

  ...FORM_ROWS.map((row) => ({ ...row, promises: [...(row.promises ?? []), BLANK] })),

  ...ACCOUNT_ROWS,

  {
    id: '4.1 registration',
    rules: ['method and path', 'request body', 'the path begins with /public/v1'],
    promises: ['success status 204', 'no body', 'delivered through the channel named by otp_type'],
  },
  ...forVersions((version) => [
    {
      id: `${version === 'tp5' ? '4.2' : '4.3'} ${version} account`,
      rules: ['method and path', 'path variable', 'request body', 'the path begins with /public/v1'],
      promises: ['success status 200', 'success body'],
    },
    {
      id: `7 ${version}_connection_not_found`,
      rules: ['no connection is found for the given connection_id'],
    },
  ]),

  {
    id: '8 leverage',
    rules: [],
    limits: ['minimum 1', 'maximum 5000'],
  },
  ...['form_id', 'referrer_id', 'user_id', 'account_type_id', 'rebate_user_id'].map((name) => ({
    id: `8 ${name}`,
    rules: [],
    limits: ['length 8'],
  })),
  ...['master_password', 'investor_password'].map((role) => ({
    id: `8 ${role}`,
    rules: [],
    limits: ['tp5: length 8 to 15', 'tp4: length 5 to 15'],
  })),
  {
    id: '8 size limits',
    rules: [],
    limits: [
      'decided: a registration of 5.9 MB',
      ...VERSIONS.map((version) => `decided: a ${version} account of 64 KB`),
    ],
  },
];

function forVersions(rows: (version: Version) => Row[]): Row[] {
  return VERSIONS.flatMap(rows);
}
