import * as v from 'valibot';
import { describe, expect, it } from 'vitest';
import { ConfirmationBodySchema, ConfirmationRequestSchema } from '../../../lib/validators/confirmation.ts';
import { CUSTOM_FIELD_TYPES } from '../../../lib/validators/field-values.ts';
import type { Form } from '../../../lib/validators/form.ts';
import { checkCustomFields, registrationRequestSchema } from '../../../lib/validators/registration.ts';
import { tradingAccountRequestSchema, UserIdSchema } from '../../../lib/validators/trading-account.ts';
import { registrationBody } from '../../support/gateway-events.ts';

type Body = Record<string, unknown>;

const FORM: Form = { id: 'FORM0001', fields: CUSTOM_FIELD_TYPES.map((type) => ({ key: type, type })) };
const REGISTRATION = registrationRequestSchema(['GB']);
const VALID: Body = {
  ...registrationBody(1),
  phone: { country_code: '44', number: '7400123456' },
  referrer_id: 'REFANN01',
  language: 'en',
};
const ACCOUNT = { connection_id: 'tp5-live-1', group: 'real', leverage: 100 };

/** Checks a body as the route does: its fixed fields, and the fields of a form with every type. */
async function checkRegistration(body: Body): Promise<void> {
  await v.safeParseAsync(REGISTRATION, body);
  await checkCustomFields(FORM, body);
}

/** Every place of a route's body that may hold a text, with the reading of that body. */
const PLACES: [place: string, read: (text: string) => unknown][] = [
  ...Object.keys(VALID).map((name): [string, (text: string) => unknown] => [
    name,
    (text) => checkRegistration({ ...VALID, [name]: text }),
  ]),
  ['both passwords', (text) => checkRegistration({ ...VALID, password: text, repeat_password: text })],
  ['phone/country_code', (text) => checkRegistration({ ...VALID, phone: { country_code: text, number: '1' } })],
  [
    'phone/number of a message',
    (text) => checkRegistration({ ...VALID, otp_type: 'sms', phone: { country_code: '44', number: text } }),
  ],
  ...CUSTOM_FIELD_TYPES.flatMap((type): [string, (text: string) => unknown][] => [
    [`a field of type ${type}`, (text) => checkRegistration({ ...VALID, [type]: text })],
    [`an element of ${type}`, (text) => checkRegistration({ ...VALID, [type]: [text] })],
    [`a member of ${type}`, (text) => checkRegistration({ ...VALID, [type]: everyMember(text) })],
    [`a member of an element of ${type}`, (text) => checkRegistration({ ...VALID, [type]: [everyMember(text)] })],
  ]),
  ['the name of a member', (text) => checkRegistration({ ...VALID, [text]: 'x' })],
  ...Object.keys(ConfirmationBodySchema.entries).map((name): [string, (text: string) => unknown] => [
    `${name} of a confirmation`,
    (text) => v.safeParse(ConfirmationRequestSchema, { [name]: text }),
  ]),
  ...(['tp5', 'tp4'] as const).flatMap((version) =>
    Object.keys(tradingAccountRequestSchema(version).pipe[1].entries).map(
      (name): [string, (text: string) => unknown] => [
        `${name} of a ${version} account`,
        (text) => v.safeParse(tradingAccountRequestSchema(version), { ...ACCOUNT, [name]: text }),
      ],
    ),
  ),
  ['user_id', (text) => v.safeParse(UserIdSchema, text)],
];

function everyMember(text: string): Body {
  const names = ['country_code', 'number', 'country', 'state', 'city', 'id', 'name', 'doc', 'more'];
  return Object.fromEntries(names.map((name) => [name, text]));
}

const BYTES = 200_000;
const fill = (unit: string) => unit.repeat(BYTES / Buffer.byteLength(unit));
const LETTERS = fill('n');
const HOSTILE: [kind: string, text: string][] = [
  ['combining marks', fill('\u0301')],
  ['combining marks of two classes', fill('\u0316\u0301')],
  ['letters with marks', fill('e\u0301')],
  ['white space', fill(' ')],
  ['invisible marks', fill('\u200b')],
  ['digits', fill('1')],
  ['brackets', fill('(')],
  ['opened and closed brackets', fill('()')],
  ['pluses', fill('+')],
  ['dots', fill('.')],
  ['slashes', fill('/')],
];

/** The processor time in milliseconds: the smallest of a few, because other work of the process counts too. */
async function processorTime(read: () => unknown): Promise<number> {
  const times: number[] = [];
  for (let run = 0; run < 3; run += 1) {
    const start = process.cpuUsage();
    await read();
    const { user, system } = process.cpuUsage(start);
    times.push((user + system) / 1_000);
  }
  return Math.min(...times);
}

describe('The processor time of a text of 200 kB', () => {
  it.each(PLACES)('is at most three times that of plain letters: %s', async (_, read) => {
    const letters = await processorTime(() => read(LETTERS));
    const slow: string[] = [];
    for (const [kind, text] of HOSTILE) {
      // Below 30 ms the clock, the compiler and the garbage collector decide. What grows with the square takes seconds.
      const most = 3 * Math.max(letters, 10);
      const time = await processorTime(() => read(text));
      if (time > most) slow.push(`${kind}: ${Math.round(time)} ms, letters: ${Math.round(letters)} ms`);
    }
    expect(slow).toEqual([]);
  });
});

/** Texts of the longest length that is read, all of them in one body. */
const READ_UNITS = 1_016;
const ofLength = (unit: string) => unit.repeat(READ_UNITS / unit.length);
const READ: [kind: string, text: string][] = [
  ['white space inside', `a${' '.repeat(READ_UNITS - 2)}a`],
  ['pairs of isolates around white space', `${'\u2066'.repeat(254)}a${' '.repeat(506)}a${'\u2069'.repeat(254)}`],
  ['opened and never closed isolates', `${'\u2066'.repeat(READ_UNITS - 1)}a`],
  ['direction marks', `a${'\u200e'.repeat(READ_UNITS - 2)}a`],
  ['invisible marks inside', `a${'\u200b'.repeat(READ_UNITS - 2)}a`],
  ['combining marks of two classes', ofLength('\u0316\u0301')],
  ['joiners', ofLength('\u0915\u200d')],
];
/** 200 kB of names. */
const people = (name: string) => Array.from({ length: 100 }, () => ({ id: '1', name }));

describe('The processor time of many texts as long as any that is read', () => {
  it.each<[string, (text: string) => Body]>([
    ['names of participants', (name) => ({ participants: people(name) })],
    [
      'names of documents',
      (name) => ({ document: Array.from({ length: 10 }, () => ({ id: name, name, doc: 'AA==' })) }),
    ],
    [
      'a place, an email and a phone',
      (text) => ({ location: everyMember(text), email: text, phone: everyMember(text) }),
    ],
    ['fixed fields', (text) => ({ name: text, email: text, password: text, repeat_password: text, language: text })],
  ])('is at most three times that of plain letters: %s', async (_, bodyOf) => {
    const read = (text: string) => processorTime(() => checkRegistration({ ...VALID, ...bodyOf(text) }));
    const letters = await read(ofLength('n'));
    const slow: string[] = [];
    for (const [kind, text] of READ) {
      const time = await read(text);
      if (time > 3 * Math.max(letters, 10))
        slow.push(`${kind}: ${Math.round(time)} ms, letters: ${Math.round(letters)} ms`);
    }
    expect(slow).toEqual([]);
  });
});
