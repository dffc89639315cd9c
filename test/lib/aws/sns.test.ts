import { describe, expect, it } from 'vitest';
import { snsPublisher } from '../../../lib/aws/sns.ts';
import { answering, clientOf, failureOf, patient } from '../../support/senders.ts';

const TEXT = { phoneNumber: '+447400123456', message: '123456', attributes: {} };

describe('A failure of SNS', () => {
  it.each([
    [400, 'OptedOut', '', 'opted_out', 'OptedOutException'],
    [
      400,
      'InvalidParameter',
      'Invalid parameter: PhoneNumber Reason: +44 is not valid to publish to',
      'refused_recipient',
      'InvalidParameterException',
    ],
    [400, 'InvalidParameter', 'Invalid parameter: Message too long', 'misconfigured', 'InvalidParameterException'],
    [400, 'ParameterValueInvalid', '', 'misconfigured', 'InvalidParameterValueException'],
    [400, 'UserError', '', 'misconfigured', 'UserErrorException'],
    [403, 'AuthorizationError', '', 'misconfigured', 'AuthorizationErrorException'],
    [404, 'NotFound', 'Topic does not exist', 'misconfigured', 'NotFoundException'],
    [400, 'KMSAccessDenied', '', 'misconfigured', 'KMSAccessDeniedException'],
    [400, 'KMSThrottling', '', 'retryable', 'KMSThrottlingException'],
    [429, 'Throttled', 'Rate exceeded', 'retryable', 'ThrottledException'],
    [400, 'Throttling', 'Rate exceeded', 'retryable', 'Throttling'],
    [500, 'InternalError', '', 'unknown_outcome', 'InternalErrorException'],
  ])('%i %s "%s" is %s', async (status, code, message, kind, reason) => {
    const server = await answering((_, response) =>
      response
        .writeHead(status, { 'content-type': 'text/xml' })
        .end(
          `<ErrorResponse xmlns="http://sns.amazonaws.com/doc/2010-03-31/"><Error><Type>Sender</Type><Code>${code}</Code><Message>${message}</Message></Error><RequestId>1</RequestId></ErrorResponse>`,
        ),
    );
    expect(await failureOf(snsPublisher(clientOf(server))(TEXT, patient()))).toMatchObject({ kind, reason });
    expect(server.seen.requests).toBe(1);
  });
});
