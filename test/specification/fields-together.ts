import { CUSTOM_FIELD_TYPES, exampleValue } from '../../lib/validators/field-values.ts';
import type { FormField } from '../../lib/validators/form.ts';
import { field } from './fixed-fields.ts';
import { CONSENT_FORM, DEMANDING_FORM, keyOf, MORE_KEYS } from './records.ts';
import { choicesOf } from './samples.ts';
import { ABSENT, each, type Field, type FieldCase, listed, named, PHONE_CHANNELS, readAs } from './table.ts';

const operation = 'registration' as const;

/** Values that leave a required field empty. */
const EMPTY: Partial<Record<FormField['type'], readonly unknown[]>> = {
  dynamicSelect: [null, [], {}, { id: '', label: '' }],
  multiselect: [[], [''], ['', '']],
  checkbox: [[], [''], ['', '']],
  document: [[]],
  phone: [
    {},
    { country_code: '', number: '' },
    { country_code: '44', number: null },
    { country_code: '44', number: ' \t' },
  ],
  location: [{}, { country: '', state: '', city: '' }],
  participants: [[]],
  leads: [[]],
};

/** The other members of the root. */
export const ROOT_FIELDS: Field[] = [
  field('custom_fields', {
    required: false,
    values: {
      'keys of the registration form at the root': {
        good: [readAs({}, ABSENT), readAs({ k3y_text: null }, ABSENT)],
        bad: each('unknown_field', { k3y_text: 'x' }, 'x', []),
      },
    },
  }),
  ...['Email', 'user_id', 'k3y_TEXT', '', 'constructor', 'toString'].map(
    (key): Field => ({
      row: '2.1 custom_fields',
      operation,
      at: encodeURIComponent(key),
      carried: (value) => Object.fromEntries([[key, value]]),
      values: {
        'keys of the registration form at the root': {
          bad: [[named(`a key ${JSON.stringify(key)} that the form has not`, 'x'), 'unknown_field']],
        },
      },
    }),
  ),
  field('custom_fields', {
    carried: () => choicesOf(200_000),
    values: {
      'decided: at most 200 kB of JSON beside the documents': { good: [named('200,000 bytes', choicesOf(200_000))] },
    },
  }),
  {
    row: '2.1 custom_fields',
    operation,
    at: keyOf('boolean'),
    carried: (value) => ({ form_id: CONSENT_FORM, [keyOf('boolean')]: value }),
    values: {
      'decided: a consent that must be given': {
        good: [true],
        bad: [...each('must_be_true', false), ...each('required', ABSENT, '', null), ...each('type', 'true')],
      },
    },
  },
  ...CUSTOM_FIELD_TYPES.flatMap((type): Field[] => {
    const others = CUSTOM_FIELD_TYPES.filter((other) => other !== type);
    const filled = Object.fromEntries(others.map((other) => [keyOf(other), exampleValue(other)]));
    return [
      {
        row: '2.1 custom_fields',
        operation,
        at: keyOf(type),
        carried: (value) => ({ form_id: DEMANDING_FORM, ...filled, [keyOf(type)]: value }),
        values: {
          'decided: required by the form': {
            good: [named(`an example of ${type}`, exampleValue(type))],
            bad: each(
              'required',
              ...['', ...(EMPTY[type] ?? [])].map((value) => named(`${JSON.stringify(value)} for ${type}`, value)),
            ),
          },
        },
      },
    ];
  }),
  {
    row: '2.1 custom_fields',
    operation,
    at: 'a~1b~0c%20d%25%C3%A9',
    carried: (value) => ({ [MORE_KEYS.escaped]: value }),
    values: {
      'keys of the registration form at the root': {
        good: [named('a key that a JSON Pointer has to escape', true)],
        bad: [[named('a wrong value under a key that a JSON Pointer has to escape', 'yes'), 'type']],
      },
    },
  },
];

const BRITISH = { country_code: '44', number: '7400123456' };
const CANADIAN = { country_code: '1', number: '4165551234' };

/** Numbers that get messages, with their dial codes, and in E.164. */
const AS_PEOPLE_WRITE = [
  ['81', '０９０－１２３４－５６７８', '+819012345678'],
  ['91', '९८७६५ ४३२१०', '+919876543210'],
  ['971', '٠٥٠ ١٢٣ ٤٥٦٧', '+971501234567'],
  ['44', '07400\u2212123\u2013456', '+447400123456'],
  ['44', "07400'123'456", '+447400123456'],
  ['44', '07400’123’456', '+447400123456'],
  ['44', '\u200e+44 7400 123456\u202c', '+447400123456'],
  ['44', '[0]7400 123.456', '+447400123456'],
  ['44', '0044 7400 123456', '+447400123456'],
  ['44', '447400123456', '+447400123456'],
  ['49', '4915123456789', '+4915123456789'],
  ['52', '1 55 1234 5678', '+525512345678'],
  ['52', '+52 1 55 1234 5678', '+525512345678'],
  ['54', '11 2345 6789', '+5491123456789'],
  ['54', '011 15 2345 6789', '+5491123456789'],
] as const;

/** Values of two fields that must agree. */
export const AGREEING_FIELDS: FieldCase[] = [
  {
    row: '2.1 repeat_password',
    rule: 'the password repeated',
    says: 'the same letters in other code points',
    operation,
    body: { password: 'éàdçxûöz', repeat_password: 'éàdçxûöz'.normalize('NFD') },
    violations: [],
  },
  ...[...PHONE_CHANNELS].map((otp_type) => ({
    row: '2.1 phone.number',
    rule: 'decided: a valid number for a message',
    says: `a number of a possible length that no plan knows with ${otp_type}`,
    operation,
    body: { otp_type, phone: { country_code: '1', number: '555 123 4567' } },
    violations: listed('phone@#/phone/number'),
  })),
  {
    row: '2.1 phone.number',
    rule: 'decided: a number of a possible length for the dial code',
    says: 'a number that no plan knows, and that gets no message',
    operation,
    body: { phone: { country_code: '1', number: '555 123 4567' } },
    violations: [],
  },
  ...AS_PEOPLE_WRITE.map(([country_code, number, e164]) => ({
    row: '2.1 phone.number',
    rule: 'decided: read as people write it',
    says: `the number ${JSON.stringify(number)} next to ${country_code}`,
    operation,
    body: { otp_type: 'sms', phone: { country_code, number } },
    readAs: { e164 },
    violations: [],
  })),
  ...PHONE_CHANNELS.map((otp_type) => ({
    row: '2.1 phone.number',
    rule: 'decided: a mobile number, for a call also a fixed line',
    says: `a number of a satellite network with ${otp_type}`,
    operation,
    body: { otp_type, phone: { country_code: '870', number: '773123456' } },
    violations: listed('number_type@#/phone/number'),
  })),
];

/** Of a deployment that sends messages to British numbers alone. */
export const SERVED_COUNTRIES: FieldCase[] = [...PHONE_CHANNELS, 'email'].flatMap((otp_type) =>
  [BRITISH, CANADIAN].map((phone) => ({
    row: '2.1 phone.country_code',
    rule: 'decided: of a country that the deployment serves',
    says: `the number +${phone.country_code}${phone.number} with ${otp_type}, where only GB is served,`,
    operation,
    body: { otp_type, phone },
    served: ['GB'],
    violations: phone === CANADIAN && otp_type !== 'email' ? listed('country_not_served@#/phone/country_code') : [],
  })),
);
