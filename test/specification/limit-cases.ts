import { bodyOf } from './caller.ts';
import { type Case, keeps, ofField } from './cases.ts';
import { openAccount, register } from './promises.ts';
import { CLIENT, DEMO_PLACES, FORM } from './records.ts';
import { type Fault, VERSIONS, type Version } from './table.ts';
import type { Section } from './walk.ts';

/** A member of a body with an id of eight characters, and a good one. */
const IDS = {
  form_id: ['registration', FORM],
  referrer_id: ['registration', CLIENT.referral_code],
  account_type_id: ['tp5', DEMO_PLACES.tp5.unfunded],
  rebate_user_id: ['tp5', CLIENT.id],
} as const;

const OF_IDS = Object.entries(IDS).flatMap(([name, [operation, good]]) => {
  const wrong = [{ pointer: `#/${name}`, rule: 'length' }];
  const value = (says: string, id: string, faults: Fault[]) =>
    ofField({ row: `8 ${name}`, rule: 'length 8', says, operation, body: { [name]: id }, faults });
  return [
    value('7 characters', good.slice(1), wrong),
    value('9 characters', `${good}1`, wrong),
    value('8 characters', good, []),
  ];
});

function ofAccounts(operation: Version): Case[] {
  const wrong = [{ parameter: 'user_id', rule: 'length' }];
  const user = (says: string, userId: string, faults: Fault[]) =>
    ofField({ row: '8 user_id', rule: 'length 8', says: `${says} (${operation})`, operation, userId, faults });
  const leverage = (rule: string, value: number, ...broken: string[]) => {
    const faults = broken.map((one) => ({ pointer: '#/leverage', rule: one }));
    return ofField({
      row: '8 leverage',
      rule,
      says: `${value} (${operation})`,
      operation,
      body: { leverage: value },
      faults,
    });
  };
  return [
    user('7 characters', 'CLIENT1', wrong),
    user('9 characters', 'CLIENT001', wrong),
    user('8 characters', CLIENT.id, []),
    leverage('minimum 1', 1),
    leverage('minimum 1', 0, 'minimum'),
    leverage('maximum 5000', 5000),
    leverage('maximum 5000', 5001, 'maximum'),
    ...['master_password', 'investor_password'].flatMap((name) => ofPassword(operation, name)),
  ];
}

function ofPassword(operation: Version, name: string): Case[] {
  const [least, most] = operation === 'tp5' ? [8, 15] : [5, 15];
  return [least - 1, least, most, most + 1].map((length) =>
    ofField({
      row: `8 ${name}`,
      rule: `${operation}: length ${least} to ${most}`,
      says: `${length} characters`,
      operation,
      body: { [name]: `aB3$${'x'.repeat(length - 4)}` },
      faults: length < least || length > most ? [{ pointer: `#/${name}`, rule: 'length' }] : [],
    }),
  );
}

const OF_SIZES: readonly Case[] = [
  ...VERSIONS.map((operation) =>
    keeps(
      '8 size limits',
      `decided: a ${operation} account of 64 KB`,
      'a body of 65,536 bytes is accepted',
      (world) => {
        const body = bodyOf({ operation });
        return openAccount(world, { operation, body }, { raw: JSON.stringify(body).padEnd(65_536) });
      },
    ),
  ),
  keeps('8 size limits', 'decided: a registration of 5.9 MB', 'a body of 5,900,000 bytes is accepted', (world) => {
    const operation = 'registration';
    const body = bodyOf({ operation });
    return register(world, { operation, body }, { raw: JSON.stringify(body).padEnd(5_900_000) });
  }),
];

export const LIMIT_SECTIONS: readonly Section[] = [
  { title: '8: the limits of the fields', cases: [...OF_IDS, ...VERSIONS.flatMap(ofAccounts), ...OF_SIZES] },
];
