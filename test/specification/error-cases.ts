import { expect } from 'vitest';
import { newSource } from '../support/gateway-events.ts';
import { checkAnswer } from '../support/openapi.ts';
import { CONFIRM_PATH } from '../support/registration-world.ts';
import { ACCOUNT_ERRORS } from './account-errors.ts';
import { JSON_TYPE, newEmail, newKey, sendAnyRequest, sendRequest } from './caller.ts';
import { type Case, type ErrorCase, meets, ofError, type Section, withFault } from './cases.ts';
import { checkProblem } from './checks.ts';
import { openAccount, registerAndCheck } from './promises.ts';
import { CLIENT } from './records.ts';
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
  { operation: 'tp4', says: 'a retry that cannot be settled', answer: '504 account_outcome_unknown' },
  async (world) => {
    const change: Change = { operation: 'tp4', body: { connection_id: 'tp4-plugin' }, headers: newKey() };
    const source = newSource();
    const first = await withFault(world, 'tp4-plugin', { kind: 'reply_lost', times: 1 }, () =>
      sendRequest(world, change, { source }),
    );
    checkProblem(first, '504 account_outcome_unknown');
    const again = await sendRequest(world, change, { source });
    checkProblem(again, '504 account_outcome_unknown');
    expect(again.body?.operation_id).toBe(first.body?.operation_id);
  },
);

/** `test/functions/registration.test.ts` and `test/lib/registration/confirmation.test.ts` have the other answers. */
const CONFIRMATIONS = (
  [
    ['a wrong code', '400 code_not_accepted', newEmail(), () => '000000'],
    ["the code of a client's address", '409 already_registered', CLIENT.email, (text) => /\d{6}/.exec(text)?.[0]],
  ] as const satisfies [string, string, string, (text: string) => string | undefined][]
).map(([says, expected, email, codeOf]) =>
  meets({ operation: 'registration', says, answer: expected }, async (world) => {
    const { message, kept } = await registerAndCheck(world, { operation: 'registration', body: { email } });
    const body = { registration_id: kept?.registration_id, code: codeOf(message.text) };
    const headers = { ...JSON_TYPE, 'x-forwarded-for': newSource() };
    const answer = await sendAnyRequest(world, 'POST', CONFIRM_PATH, JSON.stringify(body), headers);
    checkAnswer(CONFIRM_PATH, answer.status, answer.headers, answer.text);
    checkProblem(answer, expected);
  }),
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
      ...CONFIRMATIONS,
    ],
  },
];
