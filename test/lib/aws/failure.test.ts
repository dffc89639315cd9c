import { expect, it } from 'vitest';
import { AwsFailure } from '../../../lib/aws/failure.ts';

it.each([
  [new AwsFailure('NoSecretString'), 'NoSecretString'],
  [Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' }), 'ECONNRESET'],
  [Object.assign(new Error('no'), { name: 'ThrottlingException' }), 'ThrottlingException'],
  ['hunter2', 'unknown'],
])('A failure of %s has the reason %s and no other message', (error, reason) => {
  expect(AwsFailure.from(error)).toMatchObject({ reason, message: reason });
});
