import { type ErrorCase, MANY_TIMES } from './errors.ts';
import { CLIENT, keyOf } from './records.ts';
import { choicesOf, textFile } from './samples.ts';
import { type Fault, OPERATIONS, type Operation } from './table.ts';

/** Some bodies that are not JSON objects; `test/lib/http` has all of them, and of the media types. */
const MALFORMED = ['', '{', '[]', '{"__proto__":1}'];
const OTHER_TYPES = ['', 'text/plain'];

function ofEveryOperation(operation: Operation): ErrorCase[] {
  return [
    ...MALFORMED.map(
      (raw): ErrorCase => ({
        operation,
        says: `the body ${JSON.stringify(raw)}`,
        status: 400,
        type: 'malformed_json',
        raw,
      }),
    ),
    ...OTHER_TYPES.map(
      (type): ErrorCase => ({
        operation,
        says: type === '' ? 'no content type' : `the content type ${type}`,
        headers: { 'content-type': type },
        status: 415,
        type: 'unsupported_media_type',
      }),
    ),
    {
      operation,
      says: 'a database that refuses',
      goesWrong: ['dynamodb', { kind: 'refused', times: MANY_TIMES }],
      status: 500,
      type: 'internal_error',
    },
  ];
}

const MEGABYTE = 1024 * 1024;
const withDocuments = (...sizes: number[]) => ({ [keyOf('document')]: sizes.map(textFile) });
const size = (below: string): Fault => ({ pointer: `#/${keyOf('document')}${below}`, rule: 'size' });

const OF_REGISTRATION: readonly ErrorCase[] = (
  [
    {
      says: 'a form_id that no form has',
      body: { form_id: 'NOSUCHID' },
      status: 400,
      type: 'form_not_found',
      stands: { row: '2.1 form_id', rule: 'id of the registration form' },
    },
    {
      says: "a client's id as the form_id",
      body: { form_id: CLIENT.id },
      status: 400,
      type: 'form_not_found',
    },
    {
      says: 'a referral code that no client has',
      body: { referrer_id: 'NOSUCHID' },
      status: 400,
      type: 'referrer_not_found',
      stands: { row: '2.1 referrer_id', rule: 'referral code of the referrer' },
    },
    {
      says: "a client's id as the referrer_id",
      body: { referrer_id: CLIENT.id },
      status: 400,
      type: 'referrer_not_found',
    },
    {
      says: 'a document of more than 3 MB',
      body: withDocuments(1_000, 3 * MEGABYTE + 1),
      status: 413,
      type: 'payload_too_large',
      faults: [size('/1/doc')],
      stands: { row: '2.2 document', rule: 'decided: at most 3 MB' },
    },
    {
      says: 'documents of more than 4 MB together',
      body: withDocuments(2 * MEGABYTE, 2 * MEGABYTE, 1, 1),
      status: 413,
      type: 'payload_too_large',
      faults: [size('/2/doc')],
      stands: { row: '2.2 document', rule: 'decided: at most 4 MB together' },
    },
    ...(
      [
        ['200,001 bytes of JSON in fields of the form', choicesOf(200_001)],
        ['more than 200 kB in fewer characters', { [keyOf('multiselect')]: new Array(11).fill('й'.repeat(10_000)) }],
      ] as const
    ).map(([says, body]) => ({
      says,
      body,
      status: 413,
      type: 'payload_too_large',
      faults: [{ pointer: '#', rule: 'size' }],
      stands: { row: '2.1 custom_fields', rule: 'decided: at most 200 kB of JSON beside the documents' },
    })),
    {
      says: 'a body of 5,900,001 bytes',
      raw: '{}'.padEnd(5_900_001),
      status: 413,
      type: 'payload_too_large',
      stands: { row: '8 size limits', rule: 'decided: a registration of 5.9 MB' },
    },
    ...(
      [
        ['email', 'ses'],
        ['sms', 'sns'],
        ['call', 'voice'],
        ['whatsapp', 'whatsapp'],
      ] as const
    ).map(([otp_type, service]) => ({
      says: `otp_type ${otp_type} that its service refuses`,
      body: { otp_type },
      goesWrong: [service, { kind: 'refused', times: MANY_TIMES }],
      status: 502,
      type: 'otp_delivery_failed',
    })),
    {
      says: 'a store of documents that is down',
      body: withDocuments(10),
      goesWrong: ['s3', { kind: 'refused', times: MANY_TIMES }],
      status: 500,
      type: 'internal_error',
    },
  ] as Omit<ErrorCase, 'operation'>[]
).map((one) => ({ ...one, operation: 'registration' }));

/** Errors of every operation, and of the registration, that one request alone can meet. */
export const REGISTRATION_ERRORS: readonly ErrorCase[] = [...OPERATIONS.flatMap(ofEveryOperation), ...OF_REGISTRATION];
