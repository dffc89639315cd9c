import { expect } from 'vitest';
import { newSource } from '../support/gateway-events.ts';
import { bodyOf, JSON_TYPE, PATHS, sendAnyRequest, sendRequest } from './caller.ts';
import { breaks, type Case, decided, keeps, type Section } from './cases.ts';
import { checkNotFound, checkProblem } from './checks.ts';
import { openAccount, registerAndCheck } from './promises.ts';
import { CLIENT } from './records.ts';
import { ENDPOINTS } from './rows.ts';
import { OPERATIONS, type Operation, VERSIONS } from './table.ts';

/** The method, the path and the body of an operation. `test/lib/http/endpoint.test.ts` has all media types. */
function endpoint(operation: Operation): Case[] {
  const row = ENDPOINTS[operation];
  const path = PATHS[operation].replace('{user_id}', CLIENT.id);
  const unknown = (rule: string, method: string, wrong: string) =>
    breaks(`${row}: ${rule}`, `${method} ${wrong} is unknown`, async (world) => {
      const body = method === 'GET' ? undefined : JSON.stringify(bodyOf({ operation }));
      checkNotFound(await sendAnyRequest(world, method, wrong, body, JSON_TYPE));
    });
  return [
    ...['GET', 'PUT', 'OPTIONS'].map((method) => unknown('method and path', method, path)),
    ...[`${path}/`, path.toUpperCase()].map((wrong) => unknown('method and path', 'POST', wrong)),
    ...['', '/public/v2', '/public/V1'].map((wrong) =>
      unknown('the path begins with /public/v1', 'POST', path.replace('/public/v1', wrong)),
    ),
    keeps([`${row}: method and path`, `${row}: request body`], `POST ${path} with JSON is the one`, async (world) => {
      const headers = { 'content-type': 'application/json; charset=utf-8', 'x-forwarded-for': newSource() };
      const answer = await sendAnyRequest(world, 'POST', `${path}?a=1`, JSON.stringify(bodyOf({ operation })), headers);
      expect(answer.status).toBe(operation === 'registration' ? 204 : 200);
    }),
    breaks(`${row}: request body`, 'the one of another operation is refused', async (world) => {
      const other = operation === 'registration' ? 'tp5' : 'registration';
      const raw = JSON.stringify(bodyOf({ operation: other }));
      checkProblem(await sendRequest(world, { operation }, { raw }), '400 validation_failed');
    }),
  ];
}

const NOWHERE = decided('no route but the three answers, and the gateway says so itself', async (world) => {
  for (const path of ['/public/v1', '/public/v1/users', '/public/v1/account/register', '/nothing', '/public']) {
    checkNotFound(await sendAnyRequest(world, 'POST', path, '{}', JSON_TYPE));
  }
});

const SIZES: readonly Case[] = [
  ...VERSIONS.map((operation) =>
    keeps(`8 size limits: decided: a ${operation} account of 64 KB`, 'a body of 65,536 bytes is accepted', (world) => {
      const body = bodyOf({ operation });
      return openAccount(world, { operation, body }, { raw: JSON.stringify(body).padEnd(65_536) });
    }),
  ),
  keeps('8 size limits: decided: a registration of 5.9 MB', 'a body of 5,900,000 bytes is accepted', (world) => {
    const operation = 'registration';
    const body = bodyOf({ operation });
    return registerAndCheck(world, { operation, body }, { raw: JSON.stringify(body).padEnd(5_900_000) });
  }),
];

export const ENDPOINT_SECTIONS: readonly Section[] = [
  { title: '4: the endpoints', cases: [...OPERATIONS.flatMap(endpoint), NOWHERE] },
  { title: '8: the sizes of bodies', cases: SIZES },
];
