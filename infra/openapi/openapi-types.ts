/**
 * The bodies and answers of the service in TypeScript, for integrators: made from the OpenAPI document by
 * `npm run openapi`, never edited by hand. This file stands alone and may be copied.
 */

/**
 * The value of a field of the registration form, under the field's key. Its format depends on the type that the field has in the form:
 *
 * | Field type | JSON value | Rule |
 * | --- | --- | --- |
 * | text, textarea, description | string |  |
 * | number | number |  |
 * | number_string | numeric string | A decimal number in a string. |
 * | boolean | boolean |  |
 * | radio, select | string | One of the options, where the form lists them. |
 * | dynamicSelect | any value | At most 20,000 characters of JSON, nested at most 20 levels deep. |
 * | multiselect, checkbox | array of strings | Each one of the options, where the form lists them. |
 * | date | string, YYYY-MM-DD | A date of the calendar. |
 * | document | array of `{ id, name, doc }`, `doc` base64-encoded | A request may have at most 10 documents, of 3 MB each and 4 MB together, decoded. The form may list the media types that it accepts, which are told from the content. |
 * | phone | object `{ country_code, number }` | A valid number in the country of its dial code. |
 * | email | string |  |
 * | country, nation | string, a country code | ISO 3166-1 alpha-2. |
 * | location | object `{ country, state, city }` |  |
 * | participants, leads | array of objects, `id` and `name` among their members | Other members are kept as they are. |
 */
export type CustomFieldValue =
  | TextValue
  | NumberValue
  | NumericStringValue
  | BooleanValue
  | ChoiceValue
  | AnyValue
  | ChoicesValue
  | DateValue
  | DocumentsValue
  | PhoneValue
  | EmailValue
  | CountryValue
  | LocationValue
  | PeopleValue;
/**
 * Form fields of type text, textarea, description: string.
 */
export type TextValue = string;
/**
 * Form fields of type number: number.
 */
export type NumberValue = number;
/**
 * Form fields of type number_string: numeric string. A decimal number in a string.
 */
export type NumericStringValue = string;
/**
 * Form fields of type boolean: boolean.
 */
export type BooleanValue = boolean;
/**
 * Form fields of type radio, select: string. One of the options, where the form lists them.
 */
export type ChoiceValue = string;
/**
 * Form fields of type dynamicSelect: any value. At most 20,000 characters of JSON, nested at most 20 levels deep.
 */
export type AnyValue = unknown;
/**
 * Form fields of type multiselect, checkbox: array of strings. Each one of the options, where the form lists them.
 *
 * @maxItems 500
 */
export type ChoicesValue = string[];
/**
 * Form fields of type date: string, YYYY-MM-DD. A date of the calendar.
 */
export type DateValue = string;
/**
 * Form fields of type document: array of `{ id, name, doc }`, `doc` base64-encoded. A request may have at most 10 documents, of 3 MB each and 4 MB together, decoded. The form may list the media types that it accepts, which are told from the content.
 *
 * @maxItems 10
 */
export type DocumentsValue = {
  /**
   * Id of the document, as the form gives it.
   */
  id: string;
  /**
   * Name of the file.
   */
  name: string;
  /**
   * The content, base64-encoded.
   */
  doc: string;
}[];
/**
 * Form fields of type email: string.
 */
export type EmailValue = string;
/**
 * Form fields of type country, nation: string, a country code. ISO 3166-1 alpha-2.
 */
export type CountryValue = string;
/**
 * Form fields of type participants, leads: array of objects, `id` and `name` among their members. Other members are kept as they are.
 *
 * @maxItems 100
 */
export type PeopleValue = {
  /**
   * Id of the person.
   */
  id?: string;
  /**
   * Name of the person.
   */
  name?: string;
  [k: string]: unknown;
}[];
/**
 * One fault of the request.
 */
export type Fault = BodyFault | ParameterFault | HeaderFault;
/**
 * The rule that is broken; a stable word.
 *
 * | Rule | Meaning |
 * | --- | --- |
 * | required | a required field is absent or empty |
 * | type | the value has another JSON type |
 * | unknown_field | neither a field of the request nor of the form |
 * | one_of | not one of the values that may be chosen |
 * | format | not of the format |
 * | characters | holds a character that is not allowed |
 * | length | too short or too long |
 * | minimum | too small |
 * | maximum | too large |
 * | integer | not a whole number |
 * | password_mismatch | `repeat_password` differs from `password` |
 * | complexity | a password without the kinds of characters that its platform version asks for |
 * | phone | not a valid number in the country of its dial code |
 * | date | not a date of the calendar |
 * | country | not an ISO 3166-1 alpha-2 code |
 * | language | not a BCP 47 language tag |
 * | base64 | not base64 |
 * | media_type | a document of a kind that the form does not accept |
 * | too_many | an array with too many elements |
 * | nesting | nested too deeply |
 * | size | too large in bytes |
 * | not_supported | the protocol of the connection cannot do it |
 * | not_offered | the trading platform does not accept this value |
 * | reserved | the login is reserved on another trading server |
 */
export type Rule =
  | 'required'
  | 'type'
  | 'unknown_field'
  | 'one_of'
  | 'format'
  | 'characters'
  | 'length'
  | 'minimum'
  | 'maximum'
  | 'integer'
  | 'password_mismatch'
  | 'complexity'
  | 'phone'
  | 'date'
  | 'country'
  | 'language'
  | 'base64'
  | 'media_type'
  | 'too_many'
  | 'nesting'
  | 'size'
  | 'not_supported'
  | 'not_offered'
  | 'reserved';

/**
 * What each operation takes and answers, by its `operationId`.
 */
export interface Operations {
  /**
   * Send registration request for OTP
   */
  requestRegistration: {
    body: RegistrationRequest;
    problem:
      | MalformedJson
      | ValidationFailed
      | FormNotFound
      | ReferrerNotFound
      | OtpTypeUnavailable
      | RequestInProgress
      | PayloadTooLarge
      | UnsupportedMediaType
      | IdempotencyKeyReused
      | TooManyRequests
      | InternalError
      | OtpDeliveryFailed;
  };
  /**
   * Create trading account, platform version 5
   */
  createTp5Account: {
    body: Tp5AccountRequest;
    answer: TradingAccount;
    problem:
      | MalformedJson
      | ValidationFailed
      | Tp5ConnectionNotFound
      | AccountTypeNotFound
      | AccountTypeRequired
      | RebateUserNotFound
      | GroupNotFound
      | PasswordRejected
      | UserNotFound
      | LoginTaken
      | RequestInProgress
      | PayloadTooLarge
      | UnsupportedMediaType
      | IdempotencyKeyReused
      | InternalError
      | PlatformRefused
      | PlatformUnavailable
      | LoginRangeExhausted
      | AccountLimitReached
      | AccountOutcomeUnknown;
  };
  /**
   * Create trading account, platform version 4
   */
  createTp4Account: {
    body: Tp4AccountRequest;
    answer: TradingAccount;
    problem:
      | MalformedJson
      | ValidationFailed
      | Tp4ConnectionNotFound
      | AccountTypeNotFound
      | AccountTypeRequired
      | RebateUserNotFound
      | GroupNotFound
      | PasswordRejected
      | NotSupportedByConnection
      | UserNotFound
      | LoginTaken
      | RequestInProgress
      | PayloadTooLarge
      | UnsupportedMediaType
      | IdempotencyKeyReused
      | InternalError
      | PlatformRefused
      | PlatformUnavailable
      | AccountOutcomeUnknown;
  };
}
/**
 * A registration request. Fields of the registration form stand beside the fixed fields, each under its key in the form.
 */
export interface RegistrationRequest {
  /**
   * The email of the user.
   */
  email: string;
  /**
   * The type of user.
   */
  type: 'trader';
  /**
   * The name of the user.
   */
  name: string;
  /**
   * The phone of the user. Both members are required when `otp_type` is `sms`, `call` or `whatsapp`.
   */
  phone?: {
    /**
     * Phone country code: a dial code, with or without `+`.
     */
    country_code?: string;
    /**
     * Phone number; a national trunk zero, spaces and dashes are fine.
     */
    number?: string;
  };
  /**
   * Channel used to deliver the one-time password. `email` is always available, the others only when a messaging-provider integration is installed.
   */
  otp_type?: 'email' | 'sms' | 'call' | 'whatsapp';
  /**
   * The password of the user.
   */
  password: string;
  /**
   * The password repeated.
   */
  repeat_password: string;
  /**
   * Id of the registration form.
   */
  form_id: string;
  /**
   * Referral code of the referrer.
   */
  referrer_id?: string;
  /**
   * Language of the message, a BCP 47 tag.
   */
  language?: string;
  [k: string]: CustomFieldValue;
}
/**
 * Form fields of type phone: object `{ country_code, number }`. A valid number in the country of its dial code.
 */
export interface PhoneValue {
  /**
   * The dial code, with or without `+`.
   */
  country_code: string;
  /**
   * The number; a national trunk zero, spaces and dashes are fine.
   */
  number: string;
}
/**
 * Form fields of type location: object `{ country, state, city }`.
 */
export interface LocationValue {
  /**
   * The country.
   */
  country: string;
  /**
   * The state or region.
   */
  state: string;
  /**
   * The city.
   */
  city: string;
}
/**
 * The body is empty, or not JSON, or not an object at the root.
 *
 * Answered by `requestRegistration`, `createTp5Account`, `createTp4Account`.
 */
export interface MalformedJson {
  /**
   * The stable word to switch on.
   */
  type: 'malformed_json';
  /**
   * What the type means, for people.
   */
  title: string;
  /**
   * The HTTP status.
   */
  status: 400;
  /**
   * The same as the header `x-request-id`.
   */
  request_id: string;
}
/**
 * A field, the path parameter or the `Idempotency-Key` breaks its rule; `errors` lists every fault of the request at once.
 *
 * Answered by `requestRegistration`, `createTp5Account`, `createTp4Account`.
 */
export interface ValidationFailed {
  /**
   * The stable word to switch on.
   */
  type: 'validation_failed';
  /**
   * What the type means, for people.
   */
  title: string;
  /**
   * The HTTP status.
   */
  status: 400;
  /**
   * The same as the header `x-request-id`.
   */
  request_id: string;
  /**
   * A sentence about this occurrence; never a value that was sent.
   */
  detail?: string;
  /**
   * Every fault, in the order of the fields (at most 100 of the body).
   *
   * @minItems 1
   */
  errors: Fault[];
}
/**
 * A fault in the body, as a JSON Pointer (RFC 6901) in a URI fragment.
 */
export interface BodyFault {
  /**
   * Where the fault is: in the body, as a JSON Pointer (RFC 6901) in a URI fragment.
   */
  pointer: string;
  rule: Rule;
  /**
   * A sentence about the field, for people; never the value that was sent.
   */
  detail: string;
}
/**
 * A fault in a path parameter, by its name.
 */
export interface ParameterFault {
  /**
   * Where the fault is: in a path parameter, by its name.
   */
  parameter: string;
  /**
   * The rule that is broken; a stable word.
   */
  rule: 'characters' | 'length';
  /**
   * A sentence about the field, for people; never the value that was sent.
   */
  detail: string;
}
/**
 * A fault in a request header, by its name.
 */
export interface HeaderFault {
  /**
   * Where the fault is: in a request header, by its name.
   */
  header: string;
  /**
   * The rule that is broken; a stable word.
   */
  rule: 'format';
  /**
   * A sentence about the field, for people; never the value that was sent.
   */
  detail: string;
}
/**
 * No form has this `form_id`.
 *
 * Answered by `requestRegistration`.
 */
export interface FormNotFound {
  /**
   * The stable word to switch on.
   */
  type: 'form_not_found';
  /**
   * What the type means, for people.
   */
  title: string;
  /**
   * The HTTP status.
   */
  status: 400;
  /**
   * The same as the header `x-request-id`.
   */
  request_id: string;
}
/**
 * No client has this referral code.
 *
 * Answered by `requestRegistration`.
 */
export interface ReferrerNotFound {
  /**
   * The stable word to switch on.
   */
  type: 'referrer_not_found';
  /**
   * What the type means, for people.
   */
  title: string;
  /**
   * The HTTP status.
   */
  status: 400;
  /**
   * The same as the header `x-request-id`.
   */
  request_id: string;
}
/**
 * This deployment has no integration for that channel; `available` lists those that it has.
 *
 * Answered by `requestRegistration`.
 */
export interface OtpTypeUnavailable {
  /**
   * The stable word to switch on.
   */
  type: 'otp_type_unavailable';
  /**
   * What the type means, for people.
   */
  title: string;
  /**
   * The HTTP status.
   */
  status: 400;
  /**
   * The same as the header `x-request-id`.
   */
  request_id: string;
  /**
   * The channels that this deployment has.
   *
   * @minItems 1
   */
  available: ('email' | 'sms' | 'call' | 'whatsapp')[];
}
/**
 * A request with the same `Idempotency-Key` is being worked on. Try again after `Retry-After`.
 *
 * Answered by `requestRegistration`, `createTp5Account`, `createTp4Account`.
 */
export interface RequestInProgress {
  /**
   * The stable word to switch on.
   */
  type: 'request_in_progress';
  /**
   * What the type means, for people.
   */
  title: string;
  /**
   * The HTTP status.
   */
  status: 409;
  /**
   * The same as the header `x-request-id`.
   */
  request_id: string;
}
/**
 * The body is over its limit; or, of a registration, a document or all fields of the form together: then `errors` names it.
 *
 * Answered by `requestRegistration`, `createTp5Account`, `createTp4Account`.
 */
export interface PayloadTooLarge {
  /**
   * The stable word to switch on.
   */
  type: 'payload_too_large';
  /**
   * What the type means, for people.
   */
  title: string;
  /**
   * The HTTP status.
   */
  status: 413;
  /**
   * The same as the header `x-request-id`.
   */
  request_id: string;
  /**
   * A sentence about this occurrence; never a value that was sent.
   */
  detail?: string;
  /**
   * Every fault, in the order of the fields (at most 100 of the body).
   *
   * @minItems 1
   */
  errors?: Fault[];
}
/**
 * The content type is not `application/json` or a `+json` type.
 *
 * Answered by `requestRegistration`, `createTp5Account`, `createTp4Account`.
 */
export interface UnsupportedMediaType {
  /**
   * The stable word to switch on.
   */
  type: 'unsupported_media_type';
  /**
   * What the type means, for people.
   */
  title: string;
  /**
   * The HTTP status.
   */
  status: 415;
  /**
   * The same as the header `x-request-id`.
   */
  request_id: string;
}
/**
 * The `Idempotency-Key` was used with another body within the last 24 hours.
 *
 * Answered by `requestRegistration`, `createTp5Account`, `createTp4Account`.
 */
export interface IdempotencyKeyReused {
  /**
   * The stable word to switch on.
   */
  type: 'idempotency_key_reused';
  /**
   * What the type means, for people.
   */
  title: string;
  /**
   * The HTTP status.
   */
  status: 422;
  /**
   * The same as the header `x-request-id`.
   */
  request_id: string;
}
/**
 * A limit of the registration is reached. Try again after `Retry-After`.
 *
 * Answered by `requestRegistration`.
 */
export interface TooManyRequests {
  /**
   * The stable word to switch on.
   */
  type: 'too_many_requests';
  /**
   * What the type means, for people.
   */
  title: string;
  /**
   * The HTTP status.
   */
  status: 429;
  /**
   * The same as the header `x-request-id`.
   */
  request_id: string;
}
/**
 * A fault of ours. Safe to repeat with the same `Idempotency-Key`.
 *
 * Answered by `requestRegistration`, `createTp5Account`, `createTp4Account`.
 */
export interface InternalError {
  /**
   * The stable word to switch on.
   */
  type: 'internal_error';
  /**
   * What the type means, for people.
   */
  title: string;
  /**
   * The HTTP status.
   */
  status: 500;
  /**
   * The same as the header `x-request-id`.
   */
  request_id: string;
}
/**
 * The message provider refused or failed, and nothing was sent. Safe to repeat.
 *
 * Answered by `requestRegistration`.
 */
export interface OtpDeliveryFailed {
  /**
   * The stable word to switch on.
   */
  type: 'otp_delivery_failed';
  /**
   * What the type means, for people.
   */
  title: string;
  /**
   * The HTTP status.
   */
  status: 502;
  /**
   * The same as the header `x-request-id`.
   */
  request_id: string;
}
/**
 * The account to open, with the password rules of platform version 5.
 */
export interface Tp5AccountRequest {
  /**
   * Id of the trading-platform server which hosts the account.
   */
  connection_id: string;
  /**
   * Group of the account: a platform group name.
   */
  group: string;
  /**
   * Account leverage.
   */
  leverage: number;
  /**
   * Custom account login; the platform chooses one when absent.
   */
  login?: number;
  /**
   * Account type of the CRM; required when creating and funding a demo account.
   */
  account_type_id?: string;
  /**
   * CRM user that receives the commission.
   */
  rebate_user_id?: string;
  /**
   * The master password; generated when absent. It must hold a lowercase letter, an uppercase letter, a digit and a special character.
   */
  master_password?: string;
  /**
   * The investor password; generated when absent. It must hold a lowercase letter, an uppercase letter, a digit and a special character.
   */
  investor_password?: string;
  /**
   * When true, trading on the account is disallowed.
   */
  enable_readonly?: boolean;
  /**
   * When true, the account is set as a commission-receiving account.
   */
  enable_rebate?: boolean;
  /**
   * Send the CRM user an email about the account creation.
   */
  send_email?: boolean;
  /**
   * Send the CRM user an in-app popup about the account creation.
   */
  send_pop_up?: boolean;
  /**
   * User language for the email or popup, a BCP 47 tag.
   */
  language?: string;
}
/**
 * The account that was opened.
 */
export interface TradingAccount {
  /**
   * Account login.
   */
  login: number;
  /**
   * Master password.
   */
  master_password: string;
  /**
   * Investor password.
   */
  investor_password: string;
}
/**
 * No connection is found for the given `connection_id`, or it is one of the other platform version.
 *
 * Answered by `createTp5Account`.
 */
export interface Tp5ConnectionNotFound {
  /**
   * The stable word to switch on.
   */
  type: 'tp5_connection_not_found';
  /**
   * What the type means, for people.
   */
  title: string;
  /**
   * The HTTP status.
   */
  status: 400;
  /**
   * The same as the header `x-request-id`.
   */
  request_id: string;
}
/**
 * The `account_type_id` is unknown, or of the other platform version.
 *
 * Answered by `createTp5Account`, `createTp4Account`.
 */
export interface AccountTypeNotFound {
  /**
   * The stable word to switch on.
   */
  type: 'account_type_not_found';
  /**
   * What the type means, for people.
   */
  title: string;
  /**
   * The HTTP status.
   */
  status: 400;
  /**
   * The same as the header `x-request-id`.
   */
  request_id: string;
}
/**
 * The connection is a demo one and `account_type_id` is absent.
 *
 * Answered by `createTp5Account`, `createTp4Account`.
 */
export interface AccountTypeRequired {
  /**
   * The stable word to switch on.
   */
  type: 'account_type_required';
  /**
   * What the type means, for people.
   */
  title: string;
  /**
   * The HTTP status.
   */
  status: 400;
  /**
   * The same as the header `x-request-id`.
   */
  request_id: string;
}
/**
 * No client has this `rebate_user_id`.
 *
 * Answered by `createTp5Account`, `createTp4Account`.
 */
export interface RebateUserNotFound {
  /**
   * The stable word to switch on.
   */
  type: 'rebate_user_not_found';
  /**
   * What the type means, for people.
   */
  title: string;
  /**
   * The HTTP status.
   */
  status: 400;
  /**
   * The same as the header `x-request-id`.
   */
  request_id: string;
}
/**
 * The platform does not know the group, or the connection does not offer it.
 *
 * Answered by `createTp5Account`, `createTp4Account`.
 */
export interface GroupNotFound {
  /**
   * The stable word to switch on.
   */
  type: 'group_not_found';
  /**
   * What the type means, for people.
   */
  title: string;
  /**
   * The HTTP status.
   */
  status: 400;
  /**
   * The same as the header `x-request-id`.
   */
  request_id: string;
}
/**
 * The platform refused a password that keeps the rules of its version, because its group asks for more.
 *
 * Answered by `createTp5Account`, `createTp4Account`.
 */
export interface PasswordRejected {
  /**
   * The stable word to switch on.
   */
  type: 'password_rejected';
  /**
   * What the type means, for people.
   */
  title: string;
  /**
   * The HTTP status.
   */
  status: 400;
  /**
   * The same as the header `x-request-id`.
   */
  request_id: string;
}
/**
 * No client has this `user_id`.
 *
 * Answered by `createTp5Account`, `createTp4Account`.
 */
export interface UserNotFound {
  /**
   * The stable word to switch on.
   */
  type: 'user_not_found';
  /**
   * What the type means, for people.
   */
  title: string;
  /**
   * The HTTP status.
   */
  status: 404;
  /**
   * The same as the header `x-request-id`.
   */
  request_id: string;
}
/**
 * The custom `login` is in use.
 *
 * Answered by `createTp5Account`, `createTp4Account`.
 */
export interface LoginTaken {
  /**
   * The stable word to switch on.
   */
  type: 'login_taken';
  /**
   * What the type means, for people.
   */
  title: string;
  /**
   * The HTTP status.
   */
  status: 409;
  /**
   * The same as the header `x-request-id`.
   */
  request_id: string;
}
/**
 * The platform refused the service: credentials, permissions, or an address that it does not admit. A matter for the broker's operators. No account was opened.
 *
 * Answered by `createTp5Account`, `createTp4Account`.
 */
export interface PlatformRefused {
  /**
   * The stable word to switch on.
   */
  type: 'platform_refused';
  /**
   * What the type means, for people.
   */
  title: string;
  /**
   * The HTTP status.
   */
  status: 502;
  /**
   * The same as the header `x-request-id`.
   */
  request_id: string;
}
/**
 * The platform cannot be reached or is busy. No account was opened; safe to repeat after `Retry-After`.
 *
 * Answered by `createTp5Account`, `createTp4Account`.
 */
export interface PlatformUnavailable {
  /**
   * The stable word to switch on.
   */
  type: 'platform_unavailable';
  /**
   * What the type means, for people.
   */
  title: string;
  /**
   * The HTTP status.
   */
  status: 503;
  /**
   * The same as the header `x-request-id`.
   */
  request_id: string;
}
/**
 * The platform has no login left to give. No account was opened.
 *
 * Answered by `createTp5Account`.
 */
export interface LoginRangeExhausted {
  /**
   * The stable word to switch on.
   */
  type: 'login_range_exhausted';
  /**
   * What the type means, for people.
   */
  title: string;
  /**
   * The HTTP status.
   */
  status: 503;
  /**
   * The same as the header `x-request-id`.
   */
  request_id: string;
}
/**
 * The platform's licence admits no further account. No account was opened.
 *
 * Answered by `createTp5Account`.
 */
export interface AccountLimitReached {
  /**
   * The stable word to switch on.
   */
  type: 'account_limit_reached';
  /**
   * What the type means, for people.
   */
  title: string;
  /**
   * The HTTP status.
   */
  status: 503;
  /**
   * The same as the header `x-request-id`.
   */
  request_id: string;
}
/**
 * 504: The platform may have opened the account and did not say so in time. A request with an `Idempotency-Key` may be repeated with the same key: never a second account is opened; `Retry-After` comes where a repeat may find out more. Do not repeat a request that had no key, which may open a second account: have the operation `operation_id` looked into. 409: A repeated request whose outcome is still unknown and cannot be looked up; an operator must settle the operation `operation_id`.
 *
 * Answered by `createTp5Account`, `createTp4Account`.
 */
export interface AccountOutcomeUnknown {
  /**
   * The stable word to switch on.
   */
  type: 'account_outcome_unknown';
  /**
   * What the type means, for people.
   */
  title: string;
  /**
   * The HTTP status.
   */
  status: 504 | 409;
  /**
   * The same as the header `x-request-id`.
   */
  request_id: string;
  /**
   * A sentence about this occurrence; never a value that was sent.
   */
  detail?: string;
  /**
   * The operation, by which the broker's operators find it.
   */
  operation_id: string;
}
/**
 * The account to open, with the password rules of platform version 4.
 */
export interface Tp4AccountRequest {
  /**
   * Id of the trading-platform server which hosts the account.
   */
  connection_id: string;
  /**
   * Group of the account: a platform group name.
   */
  group: string;
  /**
   * Account leverage.
   */
  leverage: number;
  /**
   * Custom account login; the platform chooses one when absent.
   */
  login?: number;
  /**
   * Account type of the CRM; required when creating and funding a demo account.
   */
  account_type_id?: string;
  /**
   * CRM user that receives the commission.
   */
  rebate_user_id?: string;
  /**
   * The master password; generated when absent. It must hold at least two of: lowercase letters, uppercase letters, digits.
   */
  master_password?: string;
  /**
   * The investor password; generated when absent. It must hold at least two of: lowercase letters, uppercase letters, digits.
   */
  investor_password?: string;
  /**
   * When true, trading on the account is disallowed.
   */
  enable_readonly?: boolean;
  /**
   * When true, the account is set as a commission-receiving account.
   */
  enable_rebate?: boolean;
  /**
   * Send the CRM user an email about the account creation.
   */
  send_email?: boolean;
  /**
   * Send the CRM user an in-app popup about the account creation.
   */
  send_pop_up?: boolean;
  /**
   * User language for the email or popup, a BCP 47 tag.
   */
  language?: string;
}
/**
 * No connection is found for the given `connection_id`, or it is one of the other platform version.
 *
 * Answered by `createTp4Account`.
 */
export interface Tp4ConnectionNotFound {
  /**
   * The stable word to switch on.
   */
  type: 'tp4_connection_not_found';
  /**
   * What the type means, for people.
   */
  title: string;
  /**
   * The HTTP status.
   */
  status: 400;
  /**
   * The same as the header `x-request-id`.
   */
  request_id: string;
}
/**
 * This connection's protocol cannot do what was asked, such as a `login` of one's own; `errors` names the fields. Nothing was sent to the platform.
 *
 * Answered by `createTp4Account`.
 */
export interface NotSupportedByConnection {
  /**
   * The stable word to switch on.
   */
  type: 'not_supported_by_connection';
  /**
   * What the type means, for people.
   */
  title: string;
  /**
   * The HTTP status.
   */
  status: 400;
  /**
   * The same as the header `x-request-id`.
   */
  request_id: string;
  /**
   * Every fault, in the order of the fields (at most 100 of the body).
   *
   * @minItems 1
   */
  errors: Fault[];
}

/** Every error of the service; `type` tells them apart. */
export type Problem = Operations[keyof Operations]['problem'];
