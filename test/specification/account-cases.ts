import { expect } from 'vitest';
import { bodyOf, JSON_TYPE, PATHS, sendAnyRequest } from './caller.ts';
import { breaks, type Case, keeps, ofFields, type Section } from './cases.ts';
import { checkNotFound } from './checks.ts';
import { FIELDS, overHttp } from './fields.ts';
import { openAccount } from './promises.ts';
import { DEMO_PLACES, SPANISH_CLIENT } from './records.ts';
import { ENDPOINTS } from './rows.ts';
import { VERSIONS, type Version } from './table.ts';

/** What generated passwords hold, by the rules of the version. */
const GENERATED = {
  tp5: [/[a-z]/, /[A-Z]/, /\d/, /[^A-Za-z\d]/],
  // Two of the three kinds.
  tp4: [/(?=.*[a-z])(?=.*[A-Z\d])|(?=.*[A-Z])(?=.*\d)/],
} as const;

/** Sections 1, 2.4, 4 and 7: every request for an account that is accepted. */
function opened(operation: Version): Case {
  const places = [
    `1 ${operation} account: returns the new account's login and passwords`,
    `2.4 login, ${operation}: number`,
    `2.4 master_password, ${operation}: string`,
    `2.4 investor_password, ${operation}: string`,
    `${ENDPOINTS[operation]}: success status 200`,
    `${ENDPOINTS[operation]}: success body`,
    `7 ${operation}_connection_not_found: no connection is found for the given connection_id`,
  ];
  return keeps(places, 'two accounts have two logins and four passwords by the rules of the version', async (world) => {
    const all: unknown[] = [];
    for (const _ of ['one', 'other']) {
      const { master_password, investor_password, login } = (await openAccount(world, { operation })).answer.body ?? {};
      all.push(login, master_password, investor_password);
      for (const password of [master_password, investor_password]) {
        expect(password).toMatch(/^[^0O1lI|=\\"'&<>\s]{12}$/);
        for (const rule of GENERATED[operation]) expect(password).toMatch(rule);
      }
    }
    expect(new Set(all).size).toBe(6);
  });
}

/** Section 2.3, beyond single fields. */
function whole(operation: Version): Case[] {
  const language = `2.3 language, ${operation}: user language for the email or popup`;
  const spoken =
    (given: object, expected: string): Case['run'] =>
    async (world) => {
      const body = { send_email: true, send_pop_up: true, ...given };
      const { messages } = await openAccount(world, { operation, userId: SPANISH_CLIENT.id, body });
      expect(messages.map((message) => message.language)).toEqual([expected, expected]);
    };
  const passwords = { master_password: 'aB3$given', investor_password: 'aB3$other' };
  const noUser = [`2.3 user_id, ${operation}: required`, `${ENDPOINTS[operation]}: path variable`];
  return [
    keeps(language, "absent, it is the client's own", spoken({}, 'es')),
    keeps(language, 'given, it goes before it', spoken({ language: 'de-AT' }, 'de')),
    keeps(
      Object.keys(passwords).map((name) => `2.4 ${name}, ${operation}: string`),
      'given, it is the one that was given',
      (world) => openAccount(world, { operation, body: passwords }),
    ),
    breaks(noUser, 'a path without it is unknown', async (world) => {
      const path = PATHS[operation].replace('{user_id}', '');
      checkNotFound(await sendAnyRequest(world, 'POST', path, JSON.stringify(bodyOf({ operation })), JSON_TYPE));
    }),
  ];
}

/** Section 2.3: the kinds of tp4 connections that no other case opens an account on. */
const PLACES: readonly Case[] = [
  { connection_id: 'tp4-plugin', group: 'standard' },
  { connection_id: 'tp4-gateway-demo', group: 'demoforex', account_type_id: DEMO_PLACES.tp4.funded },
].map((body) =>
  keeps(
    '2.3 connection_id, tp4: id of a trading-platform server as given by this API',
    `${body.connection_id} hosts it`,
    (world) => openAccount(world, { operation: 'tp4', body }),
  ),
);

const VALUES = '2.3: the request for a trading account';

export const ACCOUNT_SECTIONS: readonly Section[] = [
  { title: '1, 2.4, 4 and 7: an account', cases: VERSIONS.map(opened) },
  ...ofFields(VALUES, overHttp(FIELDS[VALUES])),
  { title: '2.3: the request for a trading account as a whole', cases: [...VERSIONS.flatMap(whole), ...PLACES] },
];
