import { describe, expect, it } from 'vitest';
import { whatsAppSender } from '../../../lib/aws/social.ts';
import { answering, clientOf, failureOf, patient } from '../../support/senders.ts';

const MESSAGE = {
  to: '+447400123456',
  phoneNumberId: 'phone-number-id-0a1b2c',
  template: { name: 'one_time_password', language: 'en_US', components: [] },
};

describe('A failure of the WhatsApp service', () => {
  it.each([
    [429, 'ThrottledRequestException', 'retryable'],
    [400, 'LimitExceededException', 'over_budget'],
    [400, 'InvalidParametersException', 'misconfigured'],
    [400, 'ValidationException', 'misconfigured'],
    [403, 'AccessDeniedException', 'misconfigured'],
    [403, 'AccessDeniedByMetaException', 'misconfigured'],
    [404, 'ResourceNotFoundException', 'misconfigured'],
    [500, 'InternalServiceException', 'unknown_outcome'],
    [502, 'DependencyException', 'unknown_outcome'],
  ])('%i %s is %s', async (status, name, kind) => {
    const server = await answering((_, response) =>
      response
        .writeHead(status, { 'content-type': 'application/json', 'x-amzn-errortype': name })
        .end(JSON.stringify({ message: 'text' })),
    );
    expect(await failureOf(whatsAppSender(clientOf(server))(MESSAGE, patient()))).toMatchObject({ kind, reason: name });
    expect(server.seen.requests).toBe(1);
  });
});
