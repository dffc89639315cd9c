import { expect } from 'vitest';
import { bodyOf, JSON_TYPE, PATHS, request } from './caller.ts';
import { breaks, type Case, keeps, ofField } from './cases.ts';
import { checkNotFound } from './checks.ts';
import { FIELDS, overHttp } from './fields.ts';
import { openAccount } from './promises.ts';
import { DEMO_PLACES, SPANISH_CLIENT } from './records.ts';
import { VERSIONS, type Version } from './table.ts';
import { type Section, sideBySide } from './walk.ts';

/** Section 1, of the accounts. */
const PURPOSE: readonly Case[] = VERSIONS.map((operation) =>
  keeps(
    `1 ${operation} account`,
    "returns the new account's login and passwords",
    'two accounts have two logins and four passwords',
    async (world) => {
      const one = (await openAccount(world, { operation })).answer.body;
      const other = (await openAccount(world, { operation })).answer.body;
      expect(new Set([...Object.values(one ?? {}), ...Object.values(other ?? {})]).size).toBe(6);
    },
  ),
);

/** Section 2.3, beyond single fields. */
function whole(operation: Version): Case[] {
  const named = 'user language for the email or popup';
  const spoken =
    (language: string | undefined, expected: string): Case['run'] =>
    async (world) => {
      const body = { send_email: true, send_pop_up: true, ...(language === undefined ? {} : { language }) };
      const { messages } = await openAccount(world, { operation, userId: SPANISH_CLIENT.id, body });
      expect(messages.map((message) => message.language)).toEqual([expected, expected]);
    };
  return [
    keeps(`2.3 language, ${operation}`, named, "absent, it is the client's own", spoken(undefined, 'es')),
    keeps(`2.3 language, ${operation}`, named, 'given, it goes before it', spoken('de-AT', 'de')),
    breaks(`2.3 user_id, ${operation}`, 'required', 'a path without it is unknown', async (world) => {
      const path = PATHS[operation].replace('{user_id}', '');
      checkNotFound(await request(world, 'POST', path, JSON.stringify(bodyOf({ operation })), JSON_TYPE));
    }),
  ];
}

const CONNECTION = 'id of a trading-platform server as given by this API';

/** Section 2.3, connections and groups that host accounts. */
const PLACES: readonly Case[] = [
  keeps('2.3 connection_id, tp5', CONNECTION, 'tp5-demo hosts it', (world) => {
    const { connection_id, group, funded } = DEMO_PLACES.tp5;
    return openAccount(world, { operation: 'tp5', body: { connection_id, group, account_type_id: funded } });
  }),
  ...(
    [
      ['tp5', 'real\\strict'],
      ['tp4', 'strict'],
    ] as const
  ).map(([operation, group]) =>
    keeps(`2.3 group, ${operation}`, 'platform group name', `${group} is the account's group`, (world) =>
      openAccount(world, { operation, body: { group } }),
    ),
  ),
  ...['tp4-plugin', DEMO_PLACES.tp4.connection_id, 'tp4-gateway-demo'].map((connection_id) =>
    keeps('2.3 connection_id, tp4', CONNECTION, `${connection_id} hosts it`, (world) => {
      const onDemo = { connection_id, group: 'demoforex', account_type_id: DEMO_PLACES.tp4.funded };
      const body = connection_id.endsWith('demo') ? onDemo : { connection_id, group: 'standard' };
      return openAccount(world, { operation: 'tp4', body });
    }),
  ),
];

/** What generated passwords hold, by the rules of the version. */
const GENERATED = {
  tp5: [/[a-z]/, /[A-Z]/, /\d/, /[^A-Za-z\d]/],
  // Two of the three kinds.
  tp4: [/(?=.*[a-z])(?=.*[A-Z\d])|(?=.*[A-Z])(?=.*\d)/],
} as const;

/** Section 2.4. */
function answers(operation: Version): Case[] {
  const generated = 'absent, one is made that keeps the rules of the version';
  return [
    ...['master_password', 'investor_password'].flatMap((name) => [
      keeps(`2.4 ${name}, ${operation}`, 'string', generated, async (world) => {
        const { answer } = await openAccount(world, { operation });
        const password = String(answer.body?.[name]);
        expect(password).toMatch(/^[^0O1lI|=\\"'&<>\s]{12}$/);
        for (const rule of GENERATED[operation]) expect(password).toMatch(rule);
      }),
      keeps(`2.4 ${name}, ${operation}`, 'string', 'given, it is the one that was given', (world) =>
        openAccount(world, { operation, body: { [name]: 'aB3$given' } }),
      ),
    ]),
    keeps(`2.4 login, ${operation}`, 'number', 'the one that the platform chose', (world) =>
      openAccount(world, { operation }),
    ),
    keeps(`2.4 login, ${operation}`, 'number', 'the one that was asked for', (world) =>
      openAccount(world, { operation, body: { login: 31_337 } }),
    ),
  ];
}

const VALUES = '2.3: the request for a trading account';

export const ACCOUNT_SECTIONS: readonly Section[] = [
  { title: '1: what the service does', cases: PURPOSE },
  ...sideBySide(VALUES, overHttp(FIELDS[VALUES]).map(ofField)),
  { title: '2.3: the request for a trading account as a whole', cases: [...VERSIONS.flatMap(whole), ...PLACES] },
  { title: '2.4: the answer', cases: VERSIONS.flatMap(answers) },
];
