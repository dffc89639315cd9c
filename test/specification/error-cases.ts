import { expect } from 'vitest';
import { checkAnswer } from '../support/openapi.ts';
import { scriptedTcp } from '../support/scripted-tcp.ts';
import { ACCOUNT_ERRORS } from './account-errors.ts';
import { call, JSON_TYPE, newEmail, newKey, newSource, request } from './caller.ts';
import { type Case, type ErrorCase, error, meets, ofError, withFault } from './cases.ts';
import { checkProblem } from './checks.ts';
import { openAccount } from './promises.ts';
import { RECORDS } from './records.ts';
import { REGISTRATION_ERRORS } from './registration-errors.ts';
import { SEVERAL_ERRORS } from './several-errors.ts';
import { type Change, listed, OPERATIONS, VERSIONS } from './table.ts';
import type { Part, Section } from './walk.ts';

const LOGIN_TAKEN = VERSIONS.map((operation) =>
  meets({ operation, says: 'a login that is in use', status: 409, type: 'login_taken' }, async (world) => {
    const change = { operation, body: { login: 555_555 } };
    await openAccount(world, change);
    checkProblem(await call(world, change), 409, 'login_taken');
  }),
);

const NEVER_SETTLED: Case = meets(
  { operation: 'tp4', says: 'a retry that cannot be settled', status: 409, type: 'account_outcome_unknown' },
  async (world) => {
    const change: Change = { operation: 'tp4', body: { connection_id: 'tp4-plugin' }, headers: newKey() };
    const source = newSource();
    const first = await withFault(world, 'tp4-plugin', { kind: 'reply_lost', times: 1 }, () =>
      call(world, change, { source }),
    );
    checkProblem(first, 504, 'account_outcome_unknown');
    const again = await call(world, change, { source });
    checkProblem(again, 409, 'account_outcome_unknown');
    expect(again.body?.operation_id).toBe(first.body?.operation_id);
  },
);

const CONFIRM = '/public/v1/account/register/confirm';

const NOT_ACCEPTED = meets(
  { operation: 'registration', says: 'a code that nobody got', status: 400, type: 'code_not_accepted' },
  async (world) => {
    const body = { otp_type: 'email', email: newEmail(), code: '000000', password: 'correct horse battery' };
    const headers = { ...JSON_TYPE, 'x-forwarded-for': newSource() };
    const answer = await request(world, 'POST', CONFIRM, JSON.stringify(body), headers);
    checkAnswer(CONFIRM, answer.status, answer.headers, answer.text);
    checkProblem(answer, 400, 'code_not_accepted');
  },
);

/** One request of each operation with several errors; `fields.test.ts` has all of them. */
function severalErrors(): ErrorCase[] {
  const shown = OPERATIONS.map((operation) => SEVERAL_ERRORS.find((one) => one.operation === operation));
  return shown.flatMap((one) => (one === undefined ? [] : [{ ...one, status: 400, type: 'validation_failed' }]));
}

export const ERROR_SECTIONS: readonly Section[] = [
  {
    title: '7, and the errors where it is silent',
    cases: [
      ...[...REGISTRATION_ERRORS, ...ACCOUNT_ERRORS, ...severalErrors()].map(ofError),
      ...LOGIN_TAKEN,
      NEVER_SETTLED,
      NOT_ACCEPTED,
    ],
  },
];

const STRICT_SERVER = { id: 'tp4-strict', platform: 'tp4', protocol: 'interface-gateway', host: '127.0.0.1' } as const;

/** None of the simulated servers refuses a leverage of 1 to 5000, as real ones may. */
export function choosyPlatform(): Part {
  let platform: Awaited<ReturnType<typeof scriptedTcp>> | undefined;
  return {
    title: 'With a platform that takes some leverages only',
    async begin() {
      platform = await scriptedTcp((socket) => socket.end('ERROR\r\ninvalid LEVERAGE\r\nend\r\n'));
      const place = {
        ...STRICT_SERVER,
        port: platform.port,
        demo: false,
        logins: { from: 1, to: 9_999 },
        secret: STRICT_SERVER.id,
        code_page: 'windows-1252',
      } as const;
      return {
        records: { ...RECORDS, connections: [place], local_secrets: { [STRICT_SERVER.id]: { master: 'secret' } } },
      };
    },
    end: () => platform?.close(),
    sections: [
      {
        title: '2.3: the request for a trading account',
        cases: [
          ofError(
            error('tp4', '400 validation_failed', 'a leverage that the platform does not offer', {
              body: { connection_id: STRICT_SERVER.id },
              violations: listed('not_offered@#/leverage'),
            }),
          ),
        ],
      },
    ],
  };
}
