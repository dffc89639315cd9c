import { expect } from 'vitest';
import { bodyOf, call, JSON_TYPE, newSource, PATHS, request } from './caller.ts';
import { breaks, type Case, decided, keeps } from './cases.ts';
import { checkNotFound, checkProblem, checkViolations } from './checks.ts';
import { accepted, openAccount, register } from './promises.ts';
import { CLIENT } from './records.ts';
import { OPERATIONS, type Operation, PHONE_CHANNELS, VERSIONS, type Version } from './table.ts';
import type { Section } from './walk.ts';

const ROWS = { registration: '4.1 registration', tp5: '4.2 tp5 account', tp4: '4.3 tp4 account' } as const;
const pathOf = (operation: Operation) => PATHS[operation].replace('{user_id}', CLIENT.id);

/** The gateway refuses every other method and path. */
function elsewhere(operation: Operation): Case[] {
  const row = ROWS[operation];
  const path = pathOf(operation);
  const unknown = (rule: string, method: string, wrong: string) =>
    breaks(row, rule, `${method} ${wrong} is unknown`, async (world) => {
      const body = method === 'GET' || method === 'HEAD' ? undefined : JSON.stringify(bodyOf({ operation }));
      checkNotFound(await request(world, method, wrong, body, JSON_TYPE), method);
    });
  return [
    ...['GET', 'HEAD', 'PUT', 'OPTIONS'].map((method) => unknown('method and path', method, path)),
    ...[`${path}/`, path.toUpperCase()].map((wrong) => unknown('method and path', 'POST', wrong)),
    ...['', '/public/v2', '/public/V1'].map((wrong) =>
      unknown('the path begins with /public/v1', 'POST', path.replace('/public/v1', wrong)),
    ),
  ];
}

function bodies(operation: Operation): Case[] {
  const row = ROWS[operation];
  const path = pathOf(operation);
  return [
    keeps(row, 'method and path', `POST ${path} is the one`, async (world) => {
      const headers = { ...JSON_TYPE, 'x-forwarded-for': newSource() };
      const answer = await request(world, 'POST', `${path}?a=1`, JSON.stringify(bodyOf({ operation })), headers);
      expect(answer.status).toBe(operation === 'registration' ? 204 : 200);
    }),
    breaks(row, 'request body', 'none at all is refused', async (world) => {
      checkProblem(await call(world, { operation }, { raw: '' }), 400, 'malformed_json');
    }),
    breaks(row, 'request body', 'the one of another operation is refused', async (world) => {
      const other = operation === 'registration' ? 'tp5' : 'registration';
      const raw = JSON.stringify(bodyOf({ operation: other }));
      checkProblem(await call(world, { operation }, { raw }), 400, 'validation_failed');
    }),
    ...['application/json; charset=utf-8', 'application/vnd.broker+json'].map((type) =>
      keeps(row, 'request body', `${type} is JSON`, (world) =>
        accepted(world, { operation, headers: { 'content-type': type } }),
      ),
    ),
  ];
}

const REGISTRATION: readonly Case[] = [
  keeps(ROWS.registration, 'success status 204', 'and nothing else', (world) =>
    accepted(world, { operation: 'registration' }),
  ),
  keeps(ROWS.registration, 'no body', 'neither a type of one nor a length', async (world) => {
    const { text, headers } = await call(world, { operation: 'registration' });
    expect([text, headers.get('content-type'), headers.get('content-length')]).toEqual(['', null, null]);
  }),
  ...['email', ...PHONE_CHANNELS].map((otp_type) =>
    keeps(ROWS.registration, 'delivered through the channel named by otp_type', otp_type, (world) =>
      accepted(world, { operation: 'registration', body: { otp_type } }),
    ),
  ),
];

function account(operation: Version): Case[] {
  const row = ROWS[operation];
  return [
    breaks(row, 'path variable', 'of seven characters is refused', async (world) => {
      const answer = await call(world, { operation, userId: 'CLIENT1' });
      checkViolations(answer, [{ parameter: 'user_id', rule: 'length' }]);
    }),
    keeps(row, 'success status 200', 'and nothing else', (world) => accepted(world, { operation })),
    keeps(row, 'success body', 'is JSON of exactly three members', (world) => accepted(world, { operation })),
    keeps(
      `7 ${operation}_connection_not_found`,
      'no connection is found for the given connection_id',
      'one that is found',
      (world) => accepted(world, { operation }),
    ),
  ];
}

const NOWHERE = decided('no route but the three answers, and the gateway says so itself', async (world) => {
  for (const path of ['/public/v1', '/public/v1/users', '/public/v1/account/register', '/nothing', '/public']) {
    checkNotFound(await request(world, 'POST', path, '{}', JSON_TYPE));
  }
});

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

export const ENDPOINT_SECTIONS: readonly Section[] = [
  {
    title: '4: the endpoints',
    cases: [
      ...OPERATIONS.flatMap((operation) => [...elsewhere(operation), ...bodies(operation)]),
      ...REGISTRATION,
      ...VERSIONS.flatMap(account),
      NOWHERE,
    ],
  },
  { title: '8: the sizes of bodies', cases: OF_SIZES },
];
