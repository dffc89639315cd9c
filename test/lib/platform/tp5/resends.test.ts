import { describe, expect, it } from 'vitest';
import { failureOf } from '../../../support/outcomes.ts';
import { openWebApiAccount, scriptedServer } from '../../../support/web-api.ts';

/** An answer: an HTTP status, or a return code. */
type Scripted = { status: number } | { retcode: number };

/** A server that answers each `user/add` as the list says. */
async function answeringServer(...answers: Scripted[]) {
  return scriptedServer((request, response) => {
    const next = request.path.startsWith('/api/user/add') ? answers.shift() : { retcode: 13 };
    if (next === undefined) return response.destroy();
    if ('status' in next) return response.writeHead(next.status).end('refused');
    return response.end(JSON.stringify({ retcode: String(next.retcode), answer: { Login: '5001' } }));
  });
}

const REPEATED: Scripted[] = [
  ...[3_004, 8, 3, 3_003, 3_006, 1_001, 10, 13].map((retcode) => ({ retcode })),
  ...[401, 403, 404, 415, 500].map((status) => ({ status })),
];

describe('an opening whose first answer proves nothing (415)', () => {
  it.each(REPEATED)('has an unknown outcome if its repeat is answered with %o', async (repeat) => {
    // 401 and 403 are repeated in a new session.
    const server = await answeringServer({ status: 415 }, repeat, repeat);
    expect(await failureOf(openWebApiAccount(server))).toMatchObject({
      kind: 'account_outcome_unknown',
      proof: 'nothing',
    });
  });

  it('has an unknown outcome if the server ends the connection that repeats it', async () => {
    const server = await answeringServer({ status: 415 });
    expect((await failureOf(openWebApiAccount(server))).kind).toBe('account_outcome_unknown');
  });

  it('succeeds if its repeat is executed', async () => {
    const server = await answeringServer({ status: 415 }, { retcode: 0 });
    expect(await openWebApiAccount(server)).toEqual({ login: 5_001 });
  });
});

describe('an opening whose first answer proves that nothing was done (code 3)', () => {
  it('has a taken login if its repeat says so', async () => {
    const server = await answeringServer({ retcode: 3 }, { retcode: 3_004 });
    expect((await failureOf(openWebApiAccount(server))).kind).toBe('login_taken');
  });

  it.each([{ status: 403 }, { retcode: 8 }, { retcode: 1_001 }])(
    'is refused for its content if its repeat is answered with %o: the login is looked up before its key is free',
    async (repeat) => {
      const server = await answeringServer({ retcode: 3 }, repeat, repeat);
      expect((await failureOf(openWebApiAccount(server))).proof).toBe('content');
    },
  );
});

describe.each([401, 403])('HTTP %i after a command', (status) => {
  it('is repeated once in a new session', async () => {
    const server = await answeringServer({ status }, { retcode: 0 });
    expect(await openWebApiAccount(server)).toEqual({ login: 5_001 });
  });

  it('is a refusal of rights in the new session too', async () => {
    const server = await answeringServer({ status }, { status });
    expect(await failureOf(openWebApiAccount(server))).toMatchObject({ reason: 'forbidden', proof: 'not_served' });
  });
});
