import { DynamoDBClient, ListTablesCommand } from '@aws-sdk/client-dynamodb';
import { describe, expect, it } from 'vitest';
import { AwsFailure } from '../../../lib/aws/failure.ts';
import type { DeliveryFailureKind } from '../../../lib/messages/message.ts';
import { type Channel, OTP_TYPES } from '../../../lib/validators/otp-types.ts';
import { AWS_CHANNELS } from '../../support/aws-channels.ts';
import { failureOf, NEVER_ABORTED } from '../../support/outcomes.ts';
import { answeringServer } from '../../support/senders.ts';
import { clientSettings } from '../../support/servers.ts';

const CODE = '123456';
/** The channels whose service of AWS answers in XML. */
const ANSWER_XML: readonly Channel[] = ['email', 'sms'];

/** An error as the service of a channel writes it; of `call`, the text is the reason. */
function errorOf(channel: Channel, code: string, text: string): [type: string, body: string] {
  if (ANSWER_XML.includes(channel)) {
    const members = `<Type>Sender</Type><Code>${code}</Code><Message>${text}</Message>`;
    return ['text/xml', `<ErrorResponse><Error>${members}</Error></ErrorResponse>`];
  }
  const error =
    channel === 'call'
      ? { __type: `com.amazonaws.pinpointsmsvoicev2#${code}`, Message: 'text', ...(text !== '' && { Reason: text }) }
      : { __type: code, message: text || 'text' };
  return ['application/json', JSON.stringify(error)];
}

async function failureWith(channel: Channel, status: number, [type, body]: readonly [type: string, body: string]) {
  const server = await answeringServer((_, response) => response.writeHead(status, { 'content-type': type }).end(body));
  const to = channel === 'email' ? 'ann@example.org' : '+447400123456';
  const sent = AWS_CHANNELS[channel](clientSettings(server.url)).send(to, CODE, 'en', NEVER_ABORTED);
  const failure = await failureOf(sent);
  expect(server.seen.requests).toBe(1);
  return failure;
}

type Row = readonly [status: number, code: string, text: string, kind: DeliveryFailureKind, reason?: string];

/** Every error that the service of a channel names. */
const ROWS: Readonly<Record<Channel, readonly [Row, ...Row[]]>> = {
  email: [
    [400, 'Throttling', 'Maximum sending rate exceeded.', 'throttled'],
    [400, 'Throttling', 'Daily message quota exceeded.', 'over_budget'],
    [400, 'ThrottlingException', 'Maximum sending rate exceeded.', 'throttled'],
    [400, 'MessageRejected', 'Email address is not verified. The following …', 'misconfigured'],
    [400, 'MessageRejected', 'Address blacklisted.', 'refused_recipient'],
    [400, 'MessageRejected', 'The recipient is on the suppression list of the account.', 'refused_recipient'],
    [400, 'MessageRejected', 'Sending paused for this account. For more information, …', 'misconfigured'],
    [400, 'MessageRejected', 'Sending suspended for this account.', 'misconfigured'],
    [400, 'MessageRejected', 'Message content contained a virus.', 'refused_message'],
    [400, 'MessageRejected', 'Configuration set is paused.', 'misconfigured'],
    [400, 'MessageRejected', '', 'misconfigured'],
    [400, 'InvalidParameterValue', 'Local address contains control or whitespace', 'refused_recipient'],
    [400, 'InvalidParameterValue', "Missing final '@domain'", 'refused_recipient'],
    [400, 'InvalidParameterValue', 'Invalid tag name', 'misconfigured'],
    [400, 'MailFromDomainNotVerifiedException', '', 'misconfigured'],
    [400, 'ConfigurationSetDoesNotExist', '', 'misconfigured', 'ConfigurationSetDoesNotExistException'],
    [400, 'ConfigurationSetSendingPausedException', '', 'misconfigured'],
    [400, 'AccountSendingPausedException', '', 'misconfigured'],
    [400, 'AccessDenied', '', 'misconfigured'],
    [400, 'ValidationError', '', 'misconfigured'],
  ],
  sms: [
    [400, 'OptedOut', '', 'opted_out', 'OptedOutException'],
    [
      ...([400, 'InvalidParameter', 'Invalid parameter: PhoneNumber Reason: +44 is not valid to publish to'] as const),
      ...(['refused_recipient', 'InvalidParameterException'] as const),
    ],
    [400, 'InvalidParameter', 'Invalid parameter: Message too long', 'refused_message', 'InvalidParameterException'],
    [400, 'ParameterValueInvalid', '', 'misconfigured', 'InvalidParameterValueException'],
    [400, 'UserError', '', 'misconfigured', 'UserErrorException'],
    [403, 'AuthorizationError', '', 'misconfigured', 'AuthorizationErrorException'],
    [404, 'NotFound', 'Topic does not exist', 'misconfigured', 'NotFoundException'],
    [400, 'KMSAccessDenied', '', 'misconfigured', 'KMSAccessDeniedException'],
    [400, 'KMSThrottling', '', 'throttled', 'KMSThrottlingException'],
    [429, 'Throttled', 'Rate exceeded', 'throttled', 'ThrottledException'],
    [400, 'Throttling', 'Rate exceeded', 'throttled'],
    [500, 'InternalError', '', 'unknown_outcome', 'InternalErrorException'],
  ],
  call: [
    [400, 'ConflictException', 'DESTINATION_PHONE_NUMBER_OPTED_OUT', 'opted_out'],
    [400, 'ConflictException', 'DESTINATION_PHONE_NUMBER_BLOCKED_BY_PROTECT_NUMBER_OVERRIDE', 'refused_recipient'],
    [400, 'ConflictException', 'DESTINATION_COUNTRY_BLOCKED_BY_PROTECT_CONFIGURATION', 'blocked_country'],
    [400, 'ConflictException', 'DESTINATION_PHONE_NUMBER_NOT_VERIFIED', 'misconfigured'],
    [400, 'ConflictException', 'NUMBER_CAPABILITIES_MISMATCH', 'misconfigured'],
    [400, 'ServiceQuotaExceededException', 'MONTHLY_SPEND_LIMIT_REACHED_FOR_VOICE', 'over_budget'],
    [400, 'ServiceQuotaExceededException', 'DAILY_DESTINATION_CALL_LIMIT', 'over_budget'],
    [400, 'ValidationException', 'PRICE_OVER_THRESHOLD', 'over_budget'],
    [400, 'ValidationException', 'DESTINATION_COUNTRY_BLOCKED', 'blocked_country'],
    [400, 'ValidationException', 'COUNTRY_NOT_ENABLED', 'blocked_country'],
    [400, 'ValidationException', 'VOICE_CAPABILITY_NOT_AVAILABLE', 'misconfigured'],
    [400, 'AccessDeniedException', 'ACCOUNT_DISABLED', 'misconfigured'],
    [400, 'ResourceNotFoundException', '', 'misconfigured'],
    [400, 'ThrottlingException', '', 'throttled'],
    [400, 'UnrecognizedClientException', '', 'misconfigured'],
    [500, 'InternalServerException', '', 'unknown_outcome'],
  ],
  whatsapp: [
    [429, 'ThrottledRequestException', '', 'throttled'],
    [400, 'LimitExceededException', '', 'over_budget'],
    [400, 'InvalidParametersException', '', 'refused_message'],
    [
      400,
      'InvalidParametersException',
      '(#131026) Receiver is incapable of receiving this message',
      'refused_recipient',
    ],
    [400, 'ValidationException', '', 'refused_message'],
    [403, 'AccessDeniedException', '', 'misconfigured'],
    [403, 'AccessDeniedByMetaException', '', 'misconfigured'],
    [404, 'ResourceNotFoundException', '', 'misconfigured'],
    [500, 'InternalServiceException', '', 'unknown_outcome'],
    [502, 'DependencyException', '', 'unknown_outcome'],
  ],
};

describe.each(OTP_TYPES)('A failure of the service of %s', (channel) => {
  it.each(ROWS[channel].map((row) => [row.slice(0, 4).join(' '), row] as const))('%s', async (_, row) => {
    const [status, code, text, kind, reason = code] = row;
    const named = channel === 'call' && text !== '' ? `${code}.${text}` : reason;
    expect(await failureWith(channel, status, errorOf(channel, code, text))).toMatchObject({ kind, reason: named });
  });
});

it.each([
  ['DestinationPhoneNumber', 'refused_recipient'],
  ['MessageBody', 'refused_message'],
  ['VoiceId', 'misconfigured'],
])('A failure of the service of calls about its field %s is %s', async (Name, kind) => {
  const Fields = [{ Name, Message: 'text' }];
  const body = { __type: 'ValidationException', Message: 'text', Reason: 'FIELD_VALIDATION_FAILED', Fields };
  const failure = await failureWith('call', 400, ['application/x-amz-json-1.0', JSON.stringify(body)]);
  expect(failure.kind).toBe(kind);
});

it.each([
  [new AwsFailure('NoSecretString'), 'NoSecretString'],
  [Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' }), 'ECONNRESET'],
  [Object.assign(new Error('no'), { name: 'ThrottlingException' }), 'ThrottlingException'],
  // The SDK's words for a connection that is not made in time. That of the network has a system call.
  [Object.assign(new Error('did not establish a connection'), { name: 'TimeoutError' }), 'no_connection_in_time'],
  [Object.assign(new Error('connect'), { code: 'ETIMEDOUT', syscall: 'connect' }), 'ETIMEDOUT'],
  ['hunter2', 'unknown'],
])('A failure of %s has the reason %s and no other message', (error, reason) => {
  expect(AwsFailure.from(error)).toMatchObject({ reason, message: reason });
});

it('A call that a service of AWS accepts and never answers fails with the reason no_answer_in_time', async () => {
  const silent = await answeringServer(() => {});
  const requestHandler = { requestTimeout: 50, throwOnRequestTimeout: true };
  const client = new DynamoDBClient({ ...clientSettings(silent.url), maxAttempts: 1, requestHandler });
  const failure: unknown = await AwsFailure.translate(client.send(new ListTablesCommand({}))).catch((error) => error);
  expect(failure).toMatchObject({ reason: 'no_answer_in_time' });
});
