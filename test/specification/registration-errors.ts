import { SENDING_SERVICES } from '../../infra/local/stand-ins/senders.ts';
import { type ErrorCase, error, MANY_TIMES, type ServiceFault } from './cases.ts';
import { CLIENT, keyOf } from './records.ts';
import { ENDPOINTS } from './rows.ts';
import { choicesOf, textFile } from './samples.ts';
import { listed, OPERATIONS, type Operation } from './table.ts';

const refused = (target: string): ServiceFault => [target, { kind: 'refused', times: MANY_TIMES }];

/** `test/lib/http` has all bodies that are not JSON objects, and all media types. */
function ofEveryOperation(operation: Operation): ErrorCase[] {
  return [
    error(operation, '400 malformed_json', 'no body', { raw: '', breaks: `${ENDPOINTS[operation]}: request body` }),
    error(operation, '415 unsupported_media_type', 'the content type text/plain', {
      headers: { 'content-type': 'text/plain' },
    }),
    error(operation, '500 internal_error', 'a database that refuses', { fault: refused('dynamodb') }),
  ];
}

const MEGABYTE = 1024 * 1024;
const operation = 'registration';
const DOCUMENTS = keyOf('document');
const withDocuments = (...sizes: number[]) => ({ [DOCUMENTS]: sizes.map(textFile) });
const tooLarge = (place: string, says: string, more: Partial<ErrorCase>) =>
  error(operation, '413 payload_too_large', says, { ...more, breaks: place });
const TOO_MANY_BYTES = {
  '200,001 bytes of JSON in fields of the form': choicesOf(200_001),
  'more than 200 kB in fewer characters': { [keyOf('multiselect')]: new Array(11).fill('й'.repeat(10_000)) },
};

const OF_REGISTRATION: readonly ErrorCase[] = [
  error(operation, '400 form_not_found', 'a form_id that no form has', {
    body: { form_id: 'NOSUCHID' },
    breaks: '2.1 form_id: id of the registration form',
  }),
  error(operation, '400 form_not_found', "a client's id as the form_id", { body: { form_id: CLIENT.id } }),
  error(operation, '400 referrer_not_found', 'a referral code that no client has', {
    body: { referrer_id: 'NOSUCHID' },
    breaks: '2.1 referrer_id: referral code of the referrer',
  }),
  error(operation, '400 referrer_not_found', "a client's id as the referrer_id", { body: { referrer_id: CLIENT.id } }),
  tooLarge('2.2 document: decided: at most 3 MB', 'a document of more than 3 MB', {
    body: withDocuments(1_000, 3 * MEGABYTE + 1),
    violations: listed(`size@#/${DOCUMENTS}/1/doc`),
  }),
  tooLarge('2.2 document: decided: at most 4 MB together', 'documents of more than 4 MB together', {
    body: withDocuments(2 * MEGABYTE, 2 * MEGABYTE, 1, 1),
    violations: listed(`size@#/${DOCUMENTS}/2/doc`),
  }),
  ...Object.entries(TOO_MANY_BYTES).map(([says, body]) =>
    tooLarge('2.1 custom_fields: decided: at most 200 kB of JSON beside the documents', says, {
      body,
      violations: listed('size@#'),
    }),
  ),
  tooLarge('8 size limits: decided: a registration of 5.9 MB', 'a body of 5,900,001 bytes', {
    raw: '{}'.padEnd(5_900_001),
  }),
  ...Object.entries(SENDING_SERVICES).map(([otp_type, service]) =>
    error(operation, '502 otp_delivery_failed', `otp_type ${otp_type} that its service refuses`, {
      body: { otp_type },
      fault: refused(service),
    }),
  ),
  error(operation, '500 internal_error', 'a store of documents that is down', {
    body: withDocuments(10),
    fault: refused('s3'),
  }),
];

/** Errors of every operation, and of the registration, that one request alone can cause. */
export const REGISTRATION_ERRORS: readonly ErrorCase[] = [...OPERATIONS.flatMap(ofEveryOperation), ...OF_REGISTRATION];
