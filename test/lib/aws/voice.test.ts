import { describe, expect, it } from 'vitest';
import { voiceCaller } from '../../../lib/aws/voice.ts';
import { answering, clientOf, failureOf, patient } from '../../support/senders.ts';

const CALL = {
  to: '+447400123456',
  from: '+441234567890',
  ssml: '<speak>123456</speak>',
  voiceId: 'JOANNA',
  timeToLiveSeconds: 600,
} as const;

describe('A failure of the voice service', () => {
  it.each([
    ['ConflictException', 'DESTINATION_PHONE_NUMBER_OPTED_OUT', 'opted_out'],
    ['ConflictException', 'DESTINATION_PHONE_NUMBER_BLOCKED_BY_PROTECT_NUMBER_OVERRIDE', 'refused_recipient'],
    ['ConflictException', 'DESTINATION_COUNTRY_BLOCKED_BY_PROTECT_CONFIGURATION', 'blocked_country'],
    ['ConflictException', 'DESTINATION_PHONE_NUMBER_NOT_VERIFIED', 'misconfigured'],
    ['ConflictException', 'NUMBER_CAPABILITIES_MISMATCH', 'misconfigured'],
    ['ServiceQuotaExceededException', 'MONTHLY_SPEND_LIMIT_REACHED_FOR_VOICE', 'over_budget'],
    ['ServiceQuotaExceededException', 'DAILY_DESTINATION_CALL_LIMIT', 'over_budget'],
    ['ValidationException', 'PRICE_OVER_THRESHOLD', 'over_budget'],
    ['ValidationException', 'DESTINATION_COUNTRY_BLOCKED', 'blocked_country'],
    ['ValidationException', 'COUNTRY_NOT_ENABLED', 'blocked_country'],
    ['ValidationException', 'VOICE_CAPABILITY_NOT_AVAILABLE', 'misconfigured'],
    ['AccessDeniedException', 'ACCOUNT_DISABLED', 'misconfigured'],
    ['ResourceNotFoundException', undefined, 'misconfigured'],
    ['ThrottlingException', undefined, 'retryable'],
    ['UnrecognizedClientException', undefined, 'misconfigured'],
  ])('%s %s is %s', async (name, Reason, kind) => {
    const failure = await failureWith(400, {
      __type: `com.amazonaws.pinpointsmsvoicev2#${name}`,
      Message: 'text',
      Reason,
    });
    expect(failure).toMatchObject({ kind, reason: Reason === undefined ? name : `${name}.${Reason}` });
  });

  it('about the number itself is a refused recipient', async () => {
    const failure = await failureWith(400, {
      __type: 'ValidationException',
      Message: 'text',
      Reason: 'FIELD_VALIDATION_FAILED',
      Fields: [{ Name: 'DestinationPhoneNumber', Message: 'text' }],
    });
    expect(failure.kind).toBe('refused_recipient');
  });

  it('inside the service leaves the outcome unknown', async () => {
    const failure = await failureWith(500, { __type: 'InternalServerException', Message: 'text', RequestId: '1' });
    expect(failure).toMatchObject({ kind: 'unknown_outcome', reason: 'InternalServerException' });
  });
});

async function failureWith(status: number, body: object) {
  const server = await answering((_, response) =>
    response.writeHead(status, { 'content-type': 'application/x-amz-json-1.0' }).end(JSON.stringify(body)),
  );
  const failure = await failureOf(voiceCaller(clientOf(server))(CALL, patient()));
  expect(server.seen.requests).toBe(1);
  return failure;
}
