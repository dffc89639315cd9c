import { expect } from 'vitest';
import { newSource } from '../support/gateway-events.ts';
import { checkAnswer } from '../support/openapi.ts';
import { ACCOUNT_ERRORS } from './account-errors.ts';
import { JSON_TYPE, newEmail, newKey, sendAnyRequest, sendRequest } from './caller.ts';
import { type Case, type ErrorCase, meets, ofError, type Section, withFault } from './cases.ts';
import { checkProblem } from './checks.ts';
import { openAccount } from './promises.ts';
import { REGISTRATION_ERRORS } from './registration-errors.ts';
import { SEVERAL_ERRORS } from './several-errors.ts';
import { type Change, OPERATIONS, VERSIONS } from './table.ts';

const LOGIN_TAKEN = VERSIONS.map((operation) =>
  meets({ operation, says: 'a login that is in use', answer: '409 login_taken' }, async (world) => {
    const change = { operation, body: { login: 555_555 } };
    await openAccount(world, change);
    checkProblem(await sendRequest(world, change), '409 login_taken');
  }),
);

const NEVER_SETTLED: Case = meets(
  { operation: 'tp4', says: 'a retry that cannot be settled', answer: '409 account_outcome_unknown' },
  async (world) => {
    const change: Change = { operation: 'tp4', body: { connection_id: 'tp4-plugin' }, headers: newKey() };
    const source = newSource();
    const first = await withFault(world, 'tp4-plugin', { kind: 'reply_lost', times: 1 }, () =>
      sendRequest(world, change, { source }),
    );
    checkProblem(first, '504 account_outcome_unknown');
    const again = await sendRequest(world, change, { source });
    checkProblem(again, '409 account_outcome_unknown');
    expect(again.body?.operation_id).toBe(first.body?.operation_id);
  },
);

const CONFIRM = '/public/v1/account/register/confirm';

const NOT_ACCEPTED = meets(
  { operation: 'registration', says: 'a code that nobody got', answer: '400 code_not_accepted' },
  async (world) => {
    const body = { otp_type: 'email', email: newEmail(), code: '000000', password: 'correct horse battery' };
    const headers = { ...JSON_TYPE, 'x-forwarded-for': newSource() };
    const answer = await sendAnyRequest(world, 'POST', CONFIRM, JSON.stringify(body), headers);
    checkAnswer(CONFIRM, answer.status, answer.headers, answer.text);
    checkProblem(answer, '400 code_not_accepted');
  },
);

/** One request of each operation with several errors; `fields.test.ts` has all of them. */
function severalErrors(): ErrorCase[] {
  const shown = OPERATIONS.map((operation) => SEVERAL_ERRORS.find((one) => one.operation === operation));
  return shown.flatMap((one) => (one === undefined ? [] : [{ ...one, answer: '400 validation_failed' }]));
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
