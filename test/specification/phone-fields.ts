import { PHONE } from './samples.ts';
import { ABSENT, each, type Field, named, PHONE_CHANNELS } from './table.ts';

const operation = 'registration' as const;

const phone = (member: 'country_code' | 'number', more: object = {}) => ({
  at: `phone/${member}`,
  carried: (value: unknown) => ({ phone: { ...PHONE, [member]: value }, ...more }),
});

/** Section 2.1: the phone. */
export const PHONE_FIELDS: Field[] = [
  {
    row: '2.1 phone',
    operation,
    at: 'phone',
    type: 'object',
    required: false,
    values: {
      object: { good: [{}, PHONE] },
      'decided: no other members': {
        bad: [
          [{ ...PHONE, extension: '1' }, 'unknown_field@/extension'],
          [{ extension: '1', type: 'home' }, 'unknown_field@/extension', 'unknown_field@/type'],
        ],
      },
    },
  },
  {
    row: '2.1 phone.country_code',
    operation,
    ...phone('country_code'),
    type: 'string',
    required: false,
    values: {
      'decided: a dial code, with or without +': {
        good: ['44', '+44'],
        bad: each('format', 'GB', '0044', '++44', '44x', '+', ' 44', '12345678901'),
      },
      'decided: at most 7 characters after the +': {
        good: ['44     ', '+44 - - '],
        bad: each('format', '44      ', '+44 - - -'),
      },
    },
  },
  {
    row: '2.1 phone.number',
    operation,
    ...phone('number'),
    type: 'string',
    required: false,
    values: {
      'decided: a valid number of the dial code': {
        good: ['7400123456', '07400 123456', '(07400) 12-34-56', '+44 7400 123456', ''],
        bad: [
          ...each(
            'phone',
            '1',
            '74001',
            '74001234567890',
            'call me',
            '7400123456 ext. 7',
            '+33612345678',
            '0'.repeat(40),
          ),
        ],
      },
      'decided: at most 40 characters': {
        good: [named('40 characters', `7400${' '.repeat(30)}123456`)],
        bad: [[named('41 characters', `7400${' '.repeat(31)}123456`), 'length']],
      },
    },
  },
  ...PHONE_CHANNELS.flatMap((otp_type): Field[] =>
    (['country_code', 'number'] as const).map((member) => ({
      row: `2.1 phone.${member}`,
      operation,
      ...phone(member, { otp_type }),
      values: {
        'decided: required by sms, call and whatsapp': {
          bad: [
            [named(`its absence with ${otp_type}`, ABSENT), 'required'],
            [named(`"" with ${otp_type}`, ''), 'required'],
          ],
        },
      },
    })),
  ),
  ...PHONE_CHANNELS.map(
    (otp_type): Field => ({
      row: '2.1 phone.number',
      operation,
      ...phone('number', { otp_type }),
      values: {
        'decided: a mobile number, for a call also a fixed line': {
          good: otp_type === 'call' ? [named('a fixed line', '2071234567')] : [],
          bad: [
            [named(`a premium number with ${otp_type}`, '9098790000'), 'number_type'],
            ...(otp_type === 'call'
              ? []
              : [[named(`a fixed line with ${otp_type}`, '2071234567'), 'number_type'] as const]),
          ],
        },
      },
    }),
  ),
];
