/**
 * The service in TypeScript, for integrators: made from the OpenAPI document by `npm run openapi`, never edited by
 * hand. This file stands alone and may be copied; `client.ts` has short names for what is used most.
 */

export interface paths {
  "/public/v1/account/register/request": {
    /**
     * Send registration request for OTP
     * @description Accepts a registration request for a new user and sends a one-time password through the channel named by `otp_type`: six digits, valid for 10 minutes. The 3 newest registrations of a channel and address are kept, each with its own code, password and fields.
     *
     * Fields of the registration form are at the root of the body, next to the fixed fields, each under its key in the form.
     *
     * The answer does not reveal whether the address already belongs to a client. The owner of such an address gets a notice and no code.
     *
     * Pages of the configured origins may call it (CORS).
     *
     * Sizes, at most:
     *
     * - the body: 5,900,000 bytes
     * - 10 documents, of 3 MB each and 4 MB together when decoded (1 MB is 1024² bytes)
     * - all other fields of the form together, as JSON: 200,000 bytes
     * - 10,000 members in one object or array, 101,000 in all, and 32 levels of nesting
     *
     * Limits (settings of the deployment; these are the defaults):
     *
     * - the next message to the same recipient after 60, 120, 300, 900 seconds
     * - 5 messages an hour to a recipient
     * - 10 messages in 24 hours to a recipient
     * - 5 requests in 10 minutes from a source address (IPv6: a /64)
     * - 20 requests an hour from a source address
     * - 20 source addresses (/64) of one /48 of IPv6 in an hour of the clock
     * - 10 messages an hour to a phone prefix (the number less its last four digits)
     * - 50 messages an hour to a country, for each phone channel
     * - 50 messages an hour to a mail domain (public mail providers apart)
     * - 30 unknown form ids and referral codes in 10 minutes from a source address
     */
    post: operations["requestRegistration"];
  };
  "/public/v1/users/{user_id}/tp5/accounts": {
    /**
     * Create trading account, platform version 5
     * @description Opens a trading account on a trading-platform server of version `tp5` for an existing client, and returns its login and passwords. Absent passwords are generated; no password is ever kept.
     *
     * One `Idempotency-Key` never opens a second account, even if answers are lost. Without a key a lost answer cannot be requested again: send one.
     *
     * A mail or popup that fails does not change the answer.
     *
     * The body may have 65,536 bytes.
     */
    post: operations["createTp5Account"];
  };
  "/public/v1/users/{user_id}/tp4/accounts": {
    /**
     * Create trading account, platform version 4
     * @description Opens a trading account on a trading-platform server of version `tp4` for an existing client, and returns its login and passwords. Absent passwords are generated; no password is ever kept.
     *
     * One `Idempotency-Key` never opens a second account, even if answers are lost. Without a key a lost answer cannot be requested again: send one.
     *
     * A mail or popup that fails does not change the answer.
     *
     * The body may have 65,536 bytes.
     */
    post: operations["createTp4Account"];
  };
  "/public/v1/account/register/confirm": {
    /**
     * Confirm a registration by its one-time password
     * @description An extension: only deployments with the setting `confirmation` have it. On others the gateway answers 404 `Not Found`.
     *
     * Confirms a registration by its one-time password. The broker then makes the person a client.
     *
     * Code and password must belong to one of the 3 newest registrations of this channel and address. A code allows 5 guesses. A wrong password uses no guess.
     *
     * Every refusal is the same `code_not_accepted`. It does not reveal whether there is a registration, or whether the address belongs to a client.
     *
     * After a lost answer, send the same body again: for 24 hours the answer is 204 again. No `Idempotency-Key` is needed.
     *
     * At most 10 requests in 10 minutes from a source address, right or wrong. The body may have 10,000 bytes.
     *
     * Pages of the configured origins may call it (CORS).
     */
    post: operations["confirmRegistration"];
  };
}

export type webhooks = Record<string, never>;

export interface components {
  schemas: {
    /** @description A registration request. Fields of the registration form are at the root too, each under its key in the form. A field that is left empty (`""`, or an object of empty strings) counts as absent. */
    RegistrationRequest: {
      /**
       * Format: idn-email
       * @description The email of the user.
       */
      email: string;
      /**
       * @description The type of user.
       * @constant
       */
      type: "trader";
      /** @description The name of the user, with a letter or a digit. */
      name: string;
      phone?: components["schemas"]["RegistrationPhone"];
      /**
       * @description Channel used to deliver the one-time password. `email` is always available, the others only when a messaging-provider integration is installed.
       * @default email
       * @enum {string}
       */
      otp_type?: "email" | "sms" | "call" | "whatsapp";
      /**
       * Format: password
       * @description The password of the user.
       */
      password: string;
      /**
       * Format: password
       * @description The password repeated.
       */
      repeat_password: string;
      /** @description Id of the registration form. */
      form_id: string;
      /** @description Referral code of the referrer. */
      referrer_id?: string;
      /** @description Language of the message, a BCP 47 tag; `pt_BR` is read as `pt-BR`. */
      language?: string;
      [key: string]: unknown;
    };
    /** @description The phone of the user. Both members are required when `otp_type` is `sms`, `call` or `whatsapp`. */
    RegistrationPhone: {
      /** @description Phone country code: a dial code, with or without `+`. */
      country_code?: string;
      /** @description Phone number; a national trunk zero, spaces and dashes are fine. */
      number?: string;
    };
    /** @description The channel and the address of the registration, the one-time password, and its own password. */
    ConfirmationRequest: components["schemas"]["EmailConfirmation"] | components["schemas"]["PhoneConfirmation"];
    /** @description Confirms a registration whose one-time password went to an email address. */
    EmailConfirmation: {
      /**
       * @description The channel that the registration named.
       * @constant
       */
      otp_type: "email";
      /**
       * Format: idn-email
       * @description The email of the registration.
       */
      email: string;
      /** @description The one-time password of the message. */
      code: string;
      /**
       * Format: password
       * @description The password of the registration.
       */
      password: string;
    };
    /** @description Confirms a registration whose one-time password went to a phone. */
    PhoneConfirmation: {
      /**
       * @description The channel that the registration named.
       * @enum {string}
       */
      otp_type: "sms" | "call" | "whatsapp";
      phone: components["schemas"]["ConfirmationPhone"];
      /** @description The one-time password of the message. */
      code: string;
      /**
       * Format: password
       * @description The password of the registration.
       */
      password: string;
    };
    /** @description The phone of the registration. */
    ConfirmationPhone: {
      /** @description The dial code, with or without `+`. */
      country_code: string;
      /** @description The number; a national trunk zero, spaces and dashes are fine. */
      number: string;
    };
    /** @description The account to open, with the password rules of platform version 5. */
    Tp5AccountRequest: {
      /** @description Id of the trading-platform server which hosts the account. */
      connection_id: string;
      /** @description Group of the account: a platform group name. */
      group: string;
      /**
       * Format: int32
       * @description Account leverage.
       */
      leverage: number;
      /**
       * Format: int64
       * @description Custom account login; the platform chooses one when absent.
       */
      login?: number;
      /** @description Account type of the CRM; required when creating and funding a demo account. */
      account_type_id?: string;
      /** @description CRM user that receives the commission. */
      rebate_user_id?: string;
      /**
       * Format: password
       * @description The master password; generated when absent. It must hold a lowercase letter, an uppercase letter, a digit and a special character.
       */
      master_password?: string;
      /**
       * Format: password
       * @description The investor password; generated when absent. It must hold a lowercase letter, an uppercase letter, a digit and a special character.
       */
      investor_password?: string;
      /** @description When true, trading on the account is disallowed. */
      enable_readonly?: boolean;
      /** @description When true, the account is set as a commission-receiving account. */
      enable_rebate?: boolean;
      /** @description Send the CRM user an email about the account creation. */
      send_email?: boolean;
      /** @description Send the CRM user an in-app popup about the account creation. */
      send_pop_up?: boolean;
      /** @description User language for the email or popup, a BCP 47 tag. */
      language?: string;
    };
    /** @description The account to open, with the password rules of platform version 4. */
    Tp4AccountRequest: {
      /** @description Id of the trading-platform server which hosts the account. */
      connection_id: string;
      /** @description Group of the account: a platform group name. */
      group: string;
      /**
       * Format: int32
       * @description Account leverage.
       */
      leverage: number;
      /**
       * Format: int32
       * @description Custom account login; the platform chooses one when absent.
       */
      login?: number;
      /** @description Account type of the CRM; required when creating and funding a demo account. */
      account_type_id?: string;
      /** @description CRM user that receives the commission. */
      rebate_user_id?: string;
      /**
       * Format: password
       * @description The master password; generated when absent. It must hold at least two of: lowercase letters, uppercase letters, digits.
       */
      master_password?: string;
      /**
       * Format: password
       * @description The investor password; generated when absent. It must hold at least two of: lowercase letters, uppercase letters, digits.
       */
      investor_password?: string;
      /** @description When true, trading on the account is disallowed. */
      enable_readonly?: boolean;
      /** @description When true, the account is set as a commission-receiving account. */
      enable_rebate?: boolean;
      /** @description Send the CRM user an email about the account creation. */
      send_email?: boolean;
      /** @description Send the CRM user an in-app popup about the account creation. */
      send_pop_up?: boolean;
      /** @description User language for the email or popup, a BCP 47 tag. */
      language?: string;
    };
    /** @description The account that was opened. */
    TradingAccount: {
      /**
       * Format: int64
       * @description Account login.
       */
      login: number;
      /** @description Master password. */
      master_password: string;
      /** @description Investor password. */
      investor_password: string;
    };
    /**
     * @description The rule that is broken; a stable word.
     *
     * | Rule | Meaning |
     * | --- | --- |
     * | required | a required field is absent or empty |
     * | type | the value has another JSON type |
     * | unknown_field | neither a field of the request nor of the form |
     * | one_of | not one of the values that may be chosen |
     * | format | not of the format |
     * | characters | holds a character that is not allowed, or lacks one that is needed |
     * | length | too short or too long |
     * | minimum | too small |
     * | maximum | too large |
     * | integer | not a whole number |
     * | password_mismatch | `repeat_password` differs from `password` |
     * | common | a password that many people use |
     * | complexity | a password without the kinds of characters that its platform version asks for |
     * | phone | not a valid number in the country of its dial code |
     * | number_type | a number of a kind that gets no messages, such as a premium-rate one |
     * | country_not_served | a number of a country that this deployment does not serve |
     * | date | not a date of the calendar |
     * | country | not an ISO 3166-1 alpha-2 code |
     * | language | not a BCP 47 language tag |
     * | must_be_true | a consent that the form asks for and that was not given |
     * | base64 | not base64 |
     * | media_type | a document of a kind that the form does not accept |
     * | too_many | an array or an object with too many members |
     * | nesting | nested too deeply |
     * | size | too large in bytes |
     * | not_supported | the protocol of the connection, or of a header the caller's token, does not allow it |
     * | not_offered | the trading platform does not accept this value |
     * | reserved | the login is reserved on another trading server |
     * @enum {string}
     */
    Rule: "required" | "type" | "unknown_field" | "one_of" | "format" | "characters" | "length" | "minimum" | "maximum" | "integer" | "password_mismatch" | "common" | "complexity" | "phone" | "number_type" | "country_not_served" | "date" | "country" | "language" | "must_be_true" | "base64" | "media_type" | "too_many" | "nesting" | "size" | "not_supported" | "not_offered" | "reserved";
    /** @description One violation: of the body (`pointer`), of a path parameter (`parameter`) or of a header (`header`). */
    Violation: {
      /** @description The field of the body, as a JSON Pointer (RFC 6901) in a URI fragment. */
      pointer?: string;
      /** @description The name of the path parameter. */
      parameter?: string;
      /** @description The name of the header. */
      header?: string;
      rule: components["schemas"]["Rule"];
      /** @description A sentence about the field, for people; never the value that was sent. */
      detail: string;
    };
    /**
     * malformed_json
     * @description The body is empty, not JSON, not UTF-8, or not an object at the root.
     *
     * Answered by `requestRegistration`, `confirmRegistration`, `createTp5Account`, `createTp4Account`.
     */
    MalformedJson: {
      /**
       * @description The stable word to switch on.
       * @constant
       */
      type: "malformed_json";
      /** @description What the type means, for people. */
      title: string;
      /**
       * Format: int32
       * @description The HTTP status.
       * @constant
       */
      status: 400;
      /** @description The same as the header `x-request-id`. */
      request_id: string;
    };
    /**
     * validation_failed
     * @description A field, the path parameter or a header breaks its rule. `errors` lists every violation.
     *
     * Answered by `requestRegistration`, `confirmRegistration`, `createTp5Account`, `createTp4Account`.
     */
    ValidationFailed: {
      /**
       * @description The stable word to switch on.
       * @constant
       */
      type: "validation_failed";
      /** @description What the type means, for people. */
      title: string;
      /**
       * Format: int32
       * @description The HTTP status.
       * @constant
       */
      status: 400;
      /** @description The same as the header `x-request-id`. */
      request_id: string;
      /** @description A sentence about this occurrence; never a value that was sent. */
      detail?: string;
      /** @description Every violation, in the order of the fields (at most 100 of the body). */
      errors: components["schemas"]["Violation"][];
    };
    /**
     * form_not_found
     * @description No form has this `form_id`.
     *
     * Answered by `requestRegistration`.
     */
    FormNotFound: {
      /**
       * @description The stable word to switch on.
       * @constant
       */
      type: "form_not_found";
      /** @description What the type means, for people. */
      title: string;
      /**
       * Format: int32
       * @description The HTTP status.
       * @constant
       */
      status: 400;
      /** @description The same as the header `x-request-id`. */
      request_id: string;
    };
    /**
     * referrer_not_found
     * @description No client has this referral code.
     *
     * Answered by `requestRegistration`.
     */
    ReferrerNotFound: {
      /**
       * @description The stable word to switch on.
       * @constant
       */
      type: "referrer_not_found";
      /** @description What the type means, for people. */
      title: string;
      /**
       * Format: int32
       * @description The HTTP status.
       * @constant
       */
      status: 400;
      /** @description The same as the header `x-request-id`. */
      request_id: string;
    };
    /**
     * otp_type_unavailable
     * @description This deployment has no integration for that channel. `available` lists those that it has.
     *
     * Answered by `requestRegistration`.
     */
    OtpTypeUnavailable: {
      /**
       * @description The stable word to switch on.
       * @constant
       */
      type: "otp_type_unavailable";
      /** @description What the type means, for people. */
      title: string;
      /**
       * Format: int32
       * @description The HTTP status.
       * @constant
       */
      status: 400;
      /** @description The same as the header `x-request-id`. */
      request_id: string;
      /** @description The channels that this deployment has. */
      available: ("email" | "sms" | "call" | "whatsapp")[];
    };
    /**
     * tp5_connection_not_found
     * @description No `tp5` connection has this `connection_id`.
     *
     * Answered by `createTp5Account`.
     */
    Tp5ConnectionNotFound: {
      /**
       * @description The stable word to switch on.
       * @constant
       */
      type: "tp5_connection_not_found";
      /** @description What the type means, for people. */
      title: string;
      /**
       * Format: int32
       * @description The HTTP status.
       * @constant
       */
      status: 400;
      /** @description The same as the header `x-request-id`. */
      request_id: string;
    };
    /**
     * tp4_connection_not_found
     * @description No `tp4` connection has this `connection_id`.
     *
     * Answered by `createTp4Account`.
     */
    Tp4ConnectionNotFound: {
      /**
       * @description The stable word to switch on.
       * @constant
       */
      type: "tp4_connection_not_found";
      /** @description What the type means, for people. */
      title: string;
      /**
       * Format: int32
       * @description The HTTP status.
       * @constant
       */
      status: 400;
      /** @description The same as the header `x-request-id`. */
      request_id: string;
    };
    /**
     * account_type_not_found
     * @description The `account_type_id` is unknown, or of the other platform version.
     *
     * Answered by `createTp5Account`, `createTp4Account`.
     */
    AccountTypeNotFound: {
      /**
       * @description The stable word to switch on.
       * @constant
       */
      type: "account_type_not_found";
      /** @description What the type means, for people. */
      title: string;
      /**
       * Format: int32
       * @description The HTTP status.
       * @constant
       */
      status: 400;
      /** @description The same as the header `x-request-id`. */
      request_id: string;
    };
    /**
     * account_type_required
     * @description The connection is a demo one and `account_type_id` is absent.
     *
     * Answered by `createTp5Account`, `createTp4Account`.
     */
    AccountTypeRequired: {
      /**
       * @description The stable word to switch on.
       * @constant
       */
      type: "account_type_required";
      /** @description What the type means, for people. */
      title: string;
      /**
       * Format: int32
       * @description The HTTP status.
       * @constant
       */
      status: 400;
      /** @description The same as the header `x-request-id`. */
      request_id: string;
    };
    /**
     * rebate_user_not_found
     * @description No client has this `rebate_user_id`.
     *
     * Answered by `createTp5Account`, `createTp4Account`.
     */
    RebateUserNotFound: {
      /**
       * @description The stable word to switch on.
       * @constant
       */
      type: "rebate_user_not_found";
      /** @description What the type means, for people. */
      title: string;
      /**
       * Format: int32
       * @description The HTTP status.
       * @constant
       */
      status: 400;
      /** @description The same as the header `x-request-id`. */
      request_id: string;
    };
    /**
     * group_not_found
     * @description The platform does not know the group, or the connection does not offer it.
     *
     * Answered by `createTp5Account`, `createTp4Account`.
     */
    GroupNotFound: {
      /**
       * @description The stable word to switch on.
       * @constant
       */
      type: "group_not_found";
      /** @description What the type means, for people. */
      title: string;
      /**
       * Format: int32
       * @description The HTTP status.
       * @constant
       */
      status: 400;
      /** @description The same as the header `x-request-id`. */
      request_id: string;
    };
    /**
     * password_rejected
     * @description The password keeps the rules of its version, but the group on the platform asks for more.
     *
     * Answered by `createTp5Account`, `createTp4Account`.
     */
    PasswordRejected: {
      /**
       * @description The stable word to switch on.
       * @constant
       */
      type: "password_rejected";
      /** @description What the type means, for people. */
      title: string;
      /**
       * Format: int32
       * @description The HTTP status.
       * @constant
       */
      status: 400;
      /** @description The same as the header `x-request-id`. */
      request_id: string;
    };
    /**
     * code_not_accepted
     * @description The code is wrong, expired or used, no guesses are left, there is no such registration, or the password is wrong.
     *
     * Answered by `confirmRegistration`.
     */
    CodeNotAccepted: {
      /**
       * @description The stable word to switch on.
       * @constant
       */
      type: "code_not_accepted";
      /** @description What the type means, for people. */
      title: string;
      /**
       * Format: int32
       * @description The HTTP status.
       * @constant
       */
      status: 400;
      /** @description The same as the header `x-request-id`. */
      request_id: string;
    };
    /**
     * not_supported_by_connection
     * @description This connection's protocol cannot do what was asked. `errors` names the fields. Nothing was sent to the platform.
     *
     * Answered by `createTp4Account`.
     */
    NotSupportedByConnection: {
      /**
       * @description The stable word to switch on.
       * @constant
       */
      type: "not_supported_by_connection";
      /** @description What the type means, for people. */
      title: string;
      /**
       * Format: int32
       * @description The HTTP status.
       * @constant
       */
      status: 400;
      /** @description The same as the header `x-request-id`. */
      request_id: string;
      /** @description Every violation, in the order of the fields (at most 100 of the body). */
      errors: components["schemas"]["Violation"][];
    };
    /**
     * captcha_failed
     * @description The deployment requires a captcha, and its provider refused the `captcha-token`.
     *
     * Answered by `requestRegistration`.
     */
    CaptchaFailed: {
      /**
       * @description The stable word to switch on.
       * @constant
       */
      type: "captcha_failed";
      /** @description What the type means, for people. */
      title: string;
      /**
       * Format: int32
       * @description The HTTP status.
       * @constant
       */
      status: 403;
      /** @description The same as the header `x-request-id`. */
      request_id: string;
    };
    /**
     * user_not_found
     * @description No client has this `user_id`.
     *
     * Answered by `createTp5Account`, `createTp4Account`.
     */
    UserNotFound: {
      /**
       * @description The stable word to switch on.
       * @constant
       */
      type: "user_not_found";
      /** @description What the type means, for people. */
      title: string;
      /**
       * Format: int32
       * @description The HTTP status.
       * @constant
       */
      status: 404;
      /** @description The same as the header `x-request-id`. */
      request_id: string;
    };
    /**
     * login_taken
     * @description The custom `login` is in use.
     *
     * Answered by `createTp5Account`, `createTp4Account`.
     */
    LoginTaken: {
      /**
       * @description The stable word to switch on.
       * @constant
       */
      type: "login_taken";
      /** @description What the type means, for people. */
      title: string;
      /**
       * Format: int32
       * @description The HTTP status.
       * @constant
       */
      status: 409;
      /** @description The same as the header `x-request-id`. */
      request_id: string;
    };
    /**
     * request_in_progress
     * @description A request with the same `Idempotency-Key` is being processed. Try again after `Retry-After`.
     *
     * Answered by `requestRegistration`, `createTp5Account`, `createTp4Account`.
     */
    RequestInProgress: {
      /**
       * @description The stable word to switch on.
       * @constant
       */
      type: "request_in_progress";
      /** @description What the type means, for people. */
      title: string;
      /**
       * Format: int32
       * @description The HTTP status.
       * @constant
       */
      status: 409;
      /** @description The same as the header `x-request-id`. */
      request_id: string;
    };
    /**
     * payload_too_large
     * @description The body exceeds its limit. If a document or the custom fields exceed theirs, `errors` names them.
     *
     * Answered by `requestRegistration`, `confirmRegistration`, `createTp5Account`, `createTp4Account`.
     */
    PayloadTooLarge: {
      /**
       * @description The stable word to switch on.
       * @constant
       */
      type: "payload_too_large";
      /** @description What the type means, for people. */
      title: string;
      /**
       * Format: int32
       * @description The HTTP status.
       * @constant
       */
      status: 413;
      /** @description The same as the header `x-request-id`. */
      request_id: string;
      /** @description A sentence about this occurrence; never a value that was sent. */
      detail?: string;
      /** @description Every violation, in the order of the fields (at most 100 of the body). */
      errors?: components["schemas"]["Violation"][];
    };
    /**
     * unsupported_media_type
     * @description The content type is not `application/json` or a `+json` type.
     *
     * Answered by `requestRegistration`, `confirmRegistration`, `createTp5Account`, `createTp4Account`.
     */
    UnsupportedMediaType: {
      /**
       * @description The stable word to switch on.
       * @constant
       */
      type: "unsupported_media_type";
      /** @description What the type means, for people. */
      title: string;
      /**
       * Format: int32
       * @description The HTTP status.
       * @constant
       */
      status: 415;
      /** @description The same as the header `x-request-id`. */
      request_id: string;
    };
    /**
     * idempotency_key_reused
     * @description The `Idempotency-Key` was used with another body within the last 24 hours.
     *
     * Answered by `requestRegistration`, `createTp5Account`, `createTp4Account`.
     */
    IdempotencyKeyReused: {
      /**
       * @description The stable word to switch on.
       * @constant
       */
      type: "idempotency_key_reused";
      /** @description What the type means, for people. */
      title: string;
      /**
       * Format: int32
       * @description The HTTP status.
       * @constant
       */
      status: 422;
      /** @description The same as the header `x-request-id`. */
      request_id: string;
    };
    /**
     * too_many_requests
     * @description A limit of the operation is reached. Try again after `Retry-After`.
     *
     * Answered by `requestRegistration`, `confirmRegistration`.
     */
    TooManyRequests: {
      /**
       * @description The stable word to switch on.
       * @constant
       */
      type: "too_many_requests";
      /** @description What the type means, for people. */
      title: string;
      /**
       * Format: int32
       * @description The HTTP status.
       * @constant
       */
      status: 429;
      /** @description The same as the header `x-request-id`. */
      request_id: string;
    };
    /**
     * internal_error
     * @description An error of the service. Safe to repeat, with the same `Idempotency-Key` if there was one.
     *
     * Answered by `requestRegistration`, `confirmRegistration`, `createTp5Account`, `createTp4Account`.
     */
    InternalError: {
      /**
       * @description The stable word to switch on.
       * @constant
       */
      type: "internal_error";
      /** @description What the type means, for people. */
      title: string;
      /**
       * Format: int32
       * @description The HTTP status.
       * @constant
       */
      status: 500;
      /** @description The same as the header `x-request-id`. */
      request_id: string;
    };
    /**
     * otp_delivery_failed
     * @description The message provider refused or failed. Certainly nothing was sent; safe to repeat.
     *
     * Answered by `requestRegistration`.
     */
    OtpDeliveryFailed: {
      /**
       * @description The stable word to switch on.
       * @constant
       */
      type: "otp_delivery_failed";
      /** @description What the type means, for people. */
      title: string;
      /**
       * Format: int32
       * @description The HTTP status.
       * @constant
       */
      status: 502;
      /** @description The same as the header `x-request-id`. */
      request_id: string;
    };
    /**
     * platform_refused
     * @description The platform refused the service: credentials, permissions or address. An operator must fix it. No account was opened.
     *
     * Answered by `createTp5Account`, `createTp4Account`.
     */
    PlatformRefused: {
      /**
       * @description The stable word to switch on.
       * @constant
       */
      type: "platform_refused";
      /** @description What the type means, for people. */
      title: string;
      /**
       * Format: int32
       * @description The HTTP status.
       * @constant
       */
      status: 502;
      /** @description The same as the header `x-request-id`. */
      request_id: string;
    };
    /**
     * platform_unavailable
     * @description The platform cannot be reached or is busy. No account was opened; safe to repeat after `Retry-After`.
     *
     * Answered by `createTp5Account`, `createTp4Account`.
     */
    PlatformUnavailable: {
      /**
       * @description The stable word to switch on.
       * @constant
       */
      type: "platform_unavailable";
      /** @description What the type means, for people. */
      title: string;
      /**
       * Format: int32
       * @description The HTTP status.
       * @constant
       */
      status: 503;
      /** @description The same as the header `x-request-id`. */
      request_id: string;
    };
    /**
     * login_range_exhausted
     * @description The platform, or the login range of the connection, has no free login left. No account was opened.
     *
     * Answered by `createTp5Account`, `createTp4Account`.
     */
    LoginRangeExhausted: {
      /**
       * @description The stable word to switch on.
       * @constant
       */
      type: "login_range_exhausted";
      /** @description What the type means, for people. */
      title: string;
      /**
       * Format: int32
       * @description The HTTP status.
       * @constant
       */
      status: 503;
      /** @description The same as the header `x-request-id`. */
      request_id: string;
    };
    /**
     * account_limit_reached
     * @description The platform's license allows no further account. No account was opened.
     *
     * Answered by `createTp5Account`.
     */
    AccountLimitReached: {
      /**
       * @description The stable word to switch on.
       * @constant
       */
      type: "account_limit_reached";
      /** @description What the type means, for people. */
      title: string;
      /**
       * Format: int32
       * @description The HTTP status.
       * @constant
       */
      status: 503;
      /** @description The same as the header `x-request-id`. */
      request_id: string;
    };
    /**
     * account_outcome_unknown
     * @description 504: The platform may have opened the account and did not answer in time. Repeat with the same `Idempotency-Key`, after `Retry-After` if it is present. Without a key do not repeat: a second account could be opened. 409: The outcome cannot be determined automatically. An operator must decide the operation `operation_id`.
     *
     * Answered by `createTp5Account`, `createTp4Account`.
     */
    AccountOutcomeUnknown: {
      /**
       * @description The stable word to switch on.
       * @constant
       */
      type: "account_outcome_unknown";
      /** @description What the type means, for people. */
      title: string;
      /**
       * Format: int32
       * @description The HTTP status.
       * @enum {integer}
       */
      status: 504 | 409;
      /** @description The same as the header `x-request-id`. */
      request_id: string;
      /** @description A sentence about this occurrence; never a value that was sent. */
      detail?: string;
      /**
       * Format: uuid
       * @description The operation, by which the broker's operators find it.
       */
      operation_id: string;
    };
    /** @description An answer of the gateway itself. The service did not see the request, or did not answer in time. */
    GatewayMessage: {
      /** @description What is wrong. */
      message: string;
    };
  };
  responses: never;
  parameters: {
    /**
     * @description Unique id of the client.
     * @example CLIENT01
     */
    UserId: string;
    /** @description Makes a request safe to repeat: 1 to 255 visible ASCII characters, optionally in double quotes, such as a UUID. See *Safe repeats* above. */
    IdempotencyKey?: string;
    /** @description What the widget of the captcha gave the page. Needed where the deployment asks for a captcha. */
    CaptchaToken?: string;
  };
  requestBodies: never;
  headers: {
    /** @description No answer may be stored. On every answer of the service. */
    CacheControl: "no-store";
    /**
     * @description The request in logs and traces; also `request_id` of a problem. On every answer of the service.
     * @example JKJaXmPLvHcESHA=
     */
    RequestId: string;
    /** @description The content type is as declared. On every answer of the service. */
    NoSniff: "nosniff";
    /** @description Present if this is the answer to an earlier request with the same `Idempotency-Key`. */
    IdempotentReplayed: "true";
    /**
     * @description The seconds to wait before the next try.
     * @example 60
     */
    RetryAfter: number;
  };
  pathItems: never;
}

export type $defs = Record<string, never>;

export type external = Record<string, never>;

export interface operations {

  /**
   * Send registration request for OTP
   * @description Accepts a registration request for a new user and sends a one-time password through the channel named by `otp_type`: six digits, valid for 10 minutes. The 3 newest registrations of a channel and address are kept, each with its own code, password and fields.
   *
   * Fields of the registration form are at the root of the body, next to the fixed fields, each under its key in the form.
   *
   * The answer does not reveal whether the address already belongs to a client. The owner of such an address gets a notice and no code.
   *
   * Pages of the configured origins may call it (CORS).
   *
   * Sizes, at most:
   *
   * - the body: 5,900,000 bytes
   * - 10 documents, of 3 MB each and 4 MB together when decoded (1 MB is 1024² bytes)
   * - all other fields of the form together, as JSON: 200,000 bytes
   * - 10,000 members in one object or array, 101,000 in all, and 32 levels of nesting
   *
   * Limits (settings of the deployment; these are the defaults):
   *
   * - the next message to the same recipient after 60, 120, 300, 900 seconds
   * - 5 messages an hour to a recipient
   * - 10 messages in 24 hours to a recipient
   * - 5 requests in 10 minutes from a source address (IPv6: a /64)
   * - 20 requests an hour from a source address
   * - 20 source addresses (/64) of one /48 of IPv6 in an hour of the clock
   * - 10 messages an hour to a phone prefix (the number less its last four digits)
   * - 50 messages an hour to a country, for each phone channel
   * - 50 messages an hour to a mail domain (public mail providers apart)
   * - 30 unknown form ids and referral codes in 10 minutes from a source address
   */
  requestRegistration: {
    parameters: {
      header?: {
        "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
        "captcha-token"?: components["parameters"]["CaptchaToken"];
      };
    };
    requestBody: {
      content: {
        "application/json": components["schemas"]["RegistrationRequest"];
      };
    };
    responses: {
      /** @description The request is accepted, and the one-time password is sent. */
      204: {
        headers: {
          "cache-control": components["headers"]["CacheControl"];
          "x-request-id": components["headers"]["RequestId"];
          "x-content-type-options": components["headers"]["NoSniff"];
          "idempotent-replayed": components["headers"]["IdempotentReplayed"];
        };
        content: never;
      };
      /**
       * @description - `malformed_json`: The body is empty, not JSON, not UTF-8, or not an object at the root.
       * - `validation_failed`: A field, the path parameter or a header breaks its rule. `errors` lists every violation.
       * - `form_not_found`: No form has this `form_id`.
       * - `referrer_not_found`: No client has this referral code.
       * - `otp_type_unavailable`: This deployment has no integration for that channel. `available` lists those that it has.
       */
      400: {
        headers: {
          "cache-control": components["headers"]["CacheControl"];
          "x-request-id": components["headers"]["RequestId"];
          "x-content-type-options": components["headers"]["NoSniff"];
        };
        content: {
          "application/problem+json": components["schemas"]["MalformedJson"] | components["schemas"]["ValidationFailed"] | components["schemas"]["FormNotFound"] | components["schemas"]["ReferrerNotFound"] | components["schemas"]["OtpTypeUnavailable"];
        };
      };
      /** @description - `captcha_failed`: The deployment requires a captcha, and its provider refused the `captcha-token`. */
      403: {
        headers: {
          "cache-control": components["headers"]["CacheControl"];
          "x-request-id": components["headers"]["RequestId"];
          "x-content-type-options": components["headers"]["NoSniff"];
        };
        content: {
          "application/problem+json": components["schemas"]["CaptchaFailed"];
        };
      };
      /** @description - `request_in_progress`: A request with the same `Idempotency-Key` is being processed. Try again after `Retry-After`. */
      409: {
        headers: {
          "cache-control": components["headers"]["CacheControl"];
          "x-request-id": components["headers"]["RequestId"];
          "x-content-type-options": components["headers"]["NoSniff"];
          "retry-after": components["headers"]["RetryAfter"];
        };
        content: {
          "application/problem+json": components["schemas"]["RequestInProgress"];
        };
      };
      /**
       * @description - `payload_too_large`: The body exceeds its limit. If a document or the custom fields exceed theirs, `errors` names them.
       * - `Request Too Long` (the gateway's own answer): the request exceeds the limits of the gateway.
       */
      413: {
        headers: {
          "cache-control": components["headers"]["CacheControl"];
          "x-request-id": components["headers"]["RequestId"];
          "x-content-type-options": components["headers"]["NoSniff"];
        };
        content: {
          "application/json": components["schemas"]["PayloadTooLarge"] | components["schemas"]["GatewayMessage"];
          "application/problem+json": components["schemas"]["PayloadTooLarge"];
        };
      };
      /** @description - `unsupported_media_type`: The content type is not `application/json` or a `+json` type. */
      415: {
        headers: {
          "cache-control": components["headers"]["CacheControl"];
          "x-request-id": components["headers"]["RequestId"];
          "x-content-type-options": components["headers"]["NoSniff"];
        };
        content: {
          "application/problem+json": components["schemas"]["UnsupportedMediaType"];
        };
      };
      /** @description - `idempotency_key_reused`: The `Idempotency-Key` was used with another body within the last 24 hours. */
      422: {
        headers: {
          "cache-control": components["headers"]["CacheControl"];
          "x-request-id": components["headers"]["RequestId"];
          "x-content-type-options": components["headers"]["NoSniff"];
        };
        content: {
          "application/problem+json": components["schemas"]["IdempotencyKeyReused"];
        };
      };
      /**
       * @description - `too_many_requests`: A limit of the operation is reached. Try again after `Retry-After`.
       * - `Too Many Requests` (the gateway's own answer): the gateway is throttling.
       */
      429: {
        headers: {
          "cache-control": components["headers"]["CacheControl"];
          "x-request-id": components["headers"]["RequestId"];
          "x-content-type-options": components["headers"]["NoSniff"];
          "retry-after": components["headers"]["RetryAfter"];
        };
        content: {
          "application/json": components["schemas"]["TooManyRequests"] | components["schemas"]["GatewayMessage"];
          "application/problem+json": components["schemas"]["TooManyRequests"];
        };
      };
      /**
       * @description - `internal_error`: An error of the service. Safe to repeat, with the same `Idempotency-Key` if there was one.
       * - `Internal Server Error` (the gateway's own answer): the function has crashed.
       */
      500: {
        headers: {
          "cache-control": components["headers"]["CacheControl"];
          "x-request-id": components["headers"]["RequestId"];
          "x-content-type-options": components["headers"]["NoSniff"];
        };
        content: {
          "application/json": components["schemas"]["InternalError"] | components["schemas"]["GatewayMessage"];
          "application/problem+json": components["schemas"]["InternalError"];
        };
      };
      /** @description - `otp_delivery_failed`: The message provider refused or failed. Certainly nothing was sent; safe to repeat. */
      502: {
        headers: {
          "cache-control": components["headers"]["CacheControl"];
          "x-request-id": components["headers"]["RequestId"];
          "x-content-type-options": components["headers"]["NoSniff"];
        };
        content: {
          "application/problem+json": components["schemas"]["OtpDeliveryFailed"];
        };
      };
      /** @description - `Service Unavailable` (the gateway's own answer): the function did not answer in time. */
      503: {
        content: {
          "application/json": components["schemas"]["GatewayMessage"];
        };
      };
    };
  };
  /**
   * Create trading account, platform version 5
   * @description Opens a trading account on a trading-platform server of version `tp5` for an existing client, and returns its login and passwords. Absent passwords are generated; no password is ever kept.
   *
   * One `Idempotency-Key` never opens a second account, even if answers are lost. Without a key a lost answer cannot be requested again: send one.
   *
   * A mail or popup that fails does not change the answer.
   *
   * The body may have 65,536 bytes.
   */
  createTp5Account: {
    parameters: {
      header?: {
        "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
      };
      path: {
        user_id: components["parameters"]["UserId"];
      };
    };
    requestBody: {
      content: {
        "application/json": components["schemas"]["Tp5AccountRequest"];
      };
    };
    responses: {
      /** @description The account is open. */
      200: {
        headers: {
          "cache-control": components["headers"]["CacheControl"];
          "x-request-id": components["headers"]["RequestId"];
          "x-content-type-options": components["headers"]["NoSniff"];
          "idempotent-replayed": components["headers"]["IdempotentReplayed"];
        };
        content: {
          "application/json": components["schemas"]["TradingAccount"];
        };
      };
      /**
       * @description - `malformed_json`: The body is empty, not JSON, not UTF-8, or not an object at the root.
       * - `validation_failed`: A field, the path parameter or a header breaks its rule. `errors` lists every violation.
       * - `tp5_connection_not_found`: No `tp5` connection has this `connection_id`.
       * - `account_type_not_found`: The `account_type_id` is unknown, or of the other platform version.
       * - `account_type_required`: The connection is a demo one and `account_type_id` is absent.
       * - `rebate_user_not_found`: No client has this `rebate_user_id`.
       * - `group_not_found`: The platform does not know the group, or the connection does not offer it.
       * - `password_rejected`: The password keeps the rules of its version, but the group on the platform asks for more.
       * - `Bad Request` (the gateway's own answer): the path is not well encoded.
       */
      400: {
        headers: {
          "cache-control": components["headers"]["CacheControl"];
          "x-request-id": components["headers"]["RequestId"];
          "x-content-type-options": components["headers"]["NoSniff"];
        };
        content: {
          "application/problem+json": components["schemas"]["MalformedJson"] | components["schemas"]["ValidationFailed"] | components["schemas"]["Tp5ConnectionNotFound"] | components["schemas"]["AccountTypeNotFound"] | components["schemas"]["AccountTypeRequired"] | components["schemas"]["RebateUserNotFound"] | components["schemas"]["GroupNotFound"] | components["schemas"]["PasswordRejected"];
          "application/json": components["schemas"]["GatewayMessage"];
        };
      };
      /** @description - `Unauthorized` (the gateway's own answer): the token is absent, expired or not valid. */
      401: {
        content: {
          "application/json": components["schemas"]["GatewayMessage"];
        };
      };
      /** @description - `Forbidden` (the gateway's own answer): the signature is absent or not valid, the principal may not invoke the route, or the token lacks the scope. */
      403: {
        content: {
          "application/json": components["schemas"]["GatewayMessage"];
        };
      };
      /** @description - `user_not_found`: No client has this `user_id`. */
      404: {
        headers: {
          "cache-control": components["headers"]["CacheControl"];
          "x-request-id": components["headers"]["RequestId"];
          "x-content-type-options": components["headers"]["NoSniff"];
        };
        content: {
          "application/problem+json": components["schemas"]["UserNotFound"];
        };
      };
      /**
       * @description - `login_taken`: The custom `login` is in use.
       * - `request_in_progress`: A request with the same `Idempotency-Key` is being processed. Try again after `Retry-After`.
       * - `account_outcome_unknown`: The outcome cannot be determined automatically. An operator must decide the operation `operation_id`.
       */
      409: {
        headers: {
          "cache-control": components["headers"]["CacheControl"];
          "x-request-id": components["headers"]["RequestId"];
          "x-content-type-options": components["headers"]["NoSniff"];
          "retry-after": components["headers"]["RetryAfter"];
        };
        content: {
          "application/problem+json": components["schemas"]["LoginTaken"] | components["schemas"]["RequestInProgress"] | components["schemas"]["AccountOutcomeUnknown"];
        };
      };
      /**
       * @description - `payload_too_large`: The body exceeds its limit. If a document or the custom fields exceed theirs, `errors` names them.
       * - `Request Too Long` (the gateway's own answer): the request exceeds the limits of the gateway.
       */
      413: {
        headers: {
          "cache-control": components["headers"]["CacheControl"];
          "x-request-id": components["headers"]["RequestId"];
          "x-content-type-options": components["headers"]["NoSniff"];
        };
        content: {
          "application/json": components["schemas"]["PayloadTooLarge"] | components["schemas"]["GatewayMessage"];
          "application/problem+json": components["schemas"]["PayloadTooLarge"];
        };
      };
      /** @description - `unsupported_media_type`: The content type is not `application/json` or a `+json` type. */
      415: {
        headers: {
          "cache-control": components["headers"]["CacheControl"];
          "x-request-id": components["headers"]["RequestId"];
          "x-content-type-options": components["headers"]["NoSniff"];
        };
        content: {
          "application/problem+json": components["schemas"]["UnsupportedMediaType"];
        };
      };
      /** @description - `idempotency_key_reused`: The `Idempotency-Key` was used with another body within the last 24 hours. */
      422: {
        headers: {
          "cache-control": components["headers"]["CacheControl"];
          "x-request-id": components["headers"]["RequestId"];
          "x-content-type-options": components["headers"]["NoSniff"];
        };
        content: {
          "application/problem+json": components["schemas"]["IdempotencyKeyReused"];
        };
      };
      /** @description - `Too Many Requests` (the gateway's own answer): the gateway is throttling. */
      429: {
        content: {
          "application/json": components["schemas"]["GatewayMessage"];
        };
      };
      /**
       * @description - `internal_error`: An error of the service. Safe to repeat, with the same `Idempotency-Key` if there was one.
       * - `Internal Server Error` (the gateway's own answer): the function has crashed.
       */
      500: {
        headers: {
          "cache-control": components["headers"]["CacheControl"];
          "x-request-id": components["headers"]["RequestId"];
          "x-content-type-options": components["headers"]["NoSniff"];
        };
        content: {
          "application/json": components["schemas"]["InternalError"] | components["schemas"]["GatewayMessage"];
          "application/problem+json": components["schemas"]["InternalError"];
        };
      };
      /** @description - `platform_refused`: The platform refused the service: credentials, permissions or address. An operator must fix it. No account was opened. */
      502: {
        headers: {
          "cache-control": components["headers"]["CacheControl"];
          "x-request-id": components["headers"]["RequestId"];
          "x-content-type-options": components["headers"]["NoSniff"];
        };
        content: {
          "application/problem+json": components["schemas"]["PlatformRefused"];
        };
      };
      /**
       * @description - `platform_unavailable`: The platform cannot be reached or is busy. No account was opened; safe to repeat after `Retry-After`.
       * - `login_range_exhausted`: The platform, or the login range of the connection, has no free login left. No account was opened.
       * - `account_limit_reached`: The platform's license allows no further account. No account was opened.
       * - `Service Unavailable` (the gateway's own answer): the function did not answer in time.
       */
      503: {
        headers: {
          "cache-control": components["headers"]["CacheControl"];
          "x-request-id": components["headers"]["RequestId"];
          "x-content-type-options": components["headers"]["NoSniff"];
          "retry-after": components["headers"]["RetryAfter"];
        };
        content: {
          "application/json": components["schemas"]["PlatformUnavailable"] | components["schemas"]["LoginRangeExhausted"] | components["schemas"]["AccountLimitReached"] | components["schemas"]["GatewayMessage"];
          "application/problem+json": components["schemas"]["PlatformUnavailable"] | components["schemas"]["LoginRangeExhausted"] | components["schemas"]["AccountLimitReached"];
        };
      };
      /** @description - `account_outcome_unknown`: The platform may have opened the account and did not answer in time. Repeat with the same `Idempotency-Key`, after `Retry-After` if it is present. Without a key do not repeat: a second account could be opened. */
      504: {
        headers: {
          "cache-control": components["headers"]["CacheControl"];
          "x-request-id": components["headers"]["RequestId"];
          "x-content-type-options": components["headers"]["NoSniff"];
          "retry-after": components["headers"]["RetryAfter"];
        };
        content: {
          "application/problem+json": components["schemas"]["AccountOutcomeUnknown"];
        };
      };
    };
  };
  /**
   * Create trading account, platform version 4
   * @description Opens a trading account on a trading-platform server of version `tp4` for an existing client, and returns its login and passwords. Absent passwords are generated; no password is ever kept.
   *
   * One `Idempotency-Key` never opens a second account, even if answers are lost. Without a key a lost answer cannot be requested again: send one.
   *
   * A mail or popup that fails does not change the answer.
   *
   * The body may have 65,536 bytes.
   */
  createTp4Account: {
    parameters: {
      header?: {
        "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
      };
      path: {
        user_id: components["parameters"]["UserId"];
      };
    };
    requestBody: {
      content: {
        "application/json": components["schemas"]["Tp4AccountRequest"];
      };
    };
    responses: {
      /** @description The account is open. */
      200: {
        headers: {
          "cache-control": components["headers"]["CacheControl"];
          "x-request-id": components["headers"]["RequestId"];
          "x-content-type-options": components["headers"]["NoSniff"];
          "idempotent-replayed": components["headers"]["IdempotentReplayed"];
        };
        content: {
          "application/json": components["schemas"]["TradingAccount"];
        };
      };
      /**
       * @description - `malformed_json`: The body is empty, not JSON, not UTF-8, or not an object at the root.
       * - `validation_failed`: A field, the path parameter or a header breaks its rule. `errors` lists every violation.
       * - `tp4_connection_not_found`: No `tp4` connection has this `connection_id`.
       * - `account_type_not_found`: The `account_type_id` is unknown, or of the other platform version.
       * - `account_type_required`: The connection is a demo one and `account_type_id` is absent.
       * - `rebate_user_not_found`: No client has this `rebate_user_id`.
       * - `group_not_found`: The platform does not know the group, or the connection does not offer it.
       * - `password_rejected`: The password keeps the rules of its version, but the group on the platform asks for more.
       * - `not_supported_by_connection`: This connection's protocol cannot do what was asked. `errors` names the fields. Nothing was sent to the platform.
       * - `Bad Request` (the gateway's own answer): the path is not well encoded.
       */
      400: {
        headers: {
          "cache-control": components["headers"]["CacheControl"];
          "x-request-id": components["headers"]["RequestId"];
          "x-content-type-options": components["headers"]["NoSniff"];
        };
        content: {
          "application/problem+json": components["schemas"]["MalformedJson"] | components["schemas"]["ValidationFailed"] | components["schemas"]["Tp4ConnectionNotFound"] | components["schemas"]["AccountTypeNotFound"] | components["schemas"]["AccountTypeRequired"] | components["schemas"]["RebateUserNotFound"] | components["schemas"]["GroupNotFound"] | components["schemas"]["PasswordRejected"] | components["schemas"]["NotSupportedByConnection"];
          "application/json": components["schemas"]["GatewayMessage"];
        };
      };
      /** @description - `Unauthorized` (the gateway's own answer): the token is absent, expired or not valid. */
      401: {
        content: {
          "application/json": components["schemas"]["GatewayMessage"];
        };
      };
      /** @description - `Forbidden` (the gateway's own answer): the signature is absent or not valid, the principal may not invoke the route, or the token lacks the scope. */
      403: {
        content: {
          "application/json": components["schemas"]["GatewayMessage"];
        };
      };
      /** @description - `user_not_found`: No client has this `user_id`. */
      404: {
        headers: {
          "cache-control": components["headers"]["CacheControl"];
          "x-request-id": components["headers"]["RequestId"];
          "x-content-type-options": components["headers"]["NoSniff"];
        };
        content: {
          "application/problem+json": components["schemas"]["UserNotFound"];
        };
      };
      /**
       * @description - `login_taken`: The custom `login` is in use.
       * - `request_in_progress`: A request with the same `Idempotency-Key` is being processed. Try again after `Retry-After`.
       * - `account_outcome_unknown`: The outcome cannot be determined automatically. An operator must decide the operation `operation_id`.
       */
      409: {
        headers: {
          "cache-control": components["headers"]["CacheControl"];
          "x-request-id": components["headers"]["RequestId"];
          "x-content-type-options": components["headers"]["NoSniff"];
          "retry-after": components["headers"]["RetryAfter"];
        };
        content: {
          "application/problem+json": components["schemas"]["LoginTaken"] | components["schemas"]["RequestInProgress"] | components["schemas"]["AccountOutcomeUnknown"];
        };
      };
      /**
       * @description - `payload_too_large`: The body exceeds its limit. If a document or the custom fields exceed theirs, `errors` names them.
       * - `Request Too Long` (the gateway's own answer): the request exceeds the limits of the gateway.
       */
      413: {
        headers: {
          "cache-control": components["headers"]["CacheControl"];
          "x-request-id": components["headers"]["RequestId"];
          "x-content-type-options": components["headers"]["NoSniff"];
        };
        content: {
          "application/json": components["schemas"]["PayloadTooLarge"] | components["schemas"]["GatewayMessage"];
          "application/problem+json": components["schemas"]["PayloadTooLarge"];
        };
      };
      /** @description - `unsupported_media_type`: The content type is not `application/json` or a `+json` type. */
      415: {
        headers: {
          "cache-control": components["headers"]["CacheControl"];
          "x-request-id": components["headers"]["RequestId"];
          "x-content-type-options": components["headers"]["NoSniff"];
        };
        content: {
          "application/problem+json": components["schemas"]["UnsupportedMediaType"];
        };
      };
      /** @description - `idempotency_key_reused`: The `Idempotency-Key` was used with another body within the last 24 hours. */
      422: {
        headers: {
          "cache-control": components["headers"]["CacheControl"];
          "x-request-id": components["headers"]["RequestId"];
          "x-content-type-options": components["headers"]["NoSniff"];
        };
        content: {
          "application/problem+json": components["schemas"]["IdempotencyKeyReused"];
        };
      };
      /** @description - `Too Many Requests` (the gateway's own answer): the gateway is throttling. */
      429: {
        content: {
          "application/json": components["schemas"]["GatewayMessage"];
        };
      };
      /**
       * @description - `internal_error`: An error of the service. Safe to repeat, with the same `Idempotency-Key` if there was one.
       * - `Internal Server Error` (the gateway's own answer): the function has crashed.
       */
      500: {
        headers: {
          "cache-control": components["headers"]["CacheControl"];
          "x-request-id": components["headers"]["RequestId"];
          "x-content-type-options": components["headers"]["NoSniff"];
        };
        content: {
          "application/json": components["schemas"]["InternalError"] | components["schemas"]["GatewayMessage"];
          "application/problem+json": components["schemas"]["InternalError"];
        };
      };
      /** @description - `platform_refused`: The platform refused the service: credentials, permissions or address. An operator must fix it. No account was opened. */
      502: {
        headers: {
          "cache-control": components["headers"]["CacheControl"];
          "x-request-id": components["headers"]["RequestId"];
          "x-content-type-options": components["headers"]["NoSniff"];
        };
        content: {
          "application/problem+json": components["schemas"]["PlatformRefused"];
        };
      };
      /**
       * @description - `platform_unavailable`: The platform cannot be reached or is busy. No account was opened; safe to repeat after `Retry-After`.
       * - `login_range_exhausted`: The platform, or the login range of the connection, has no free login left. No account was opened.
       * - `Service Unavailable` (the gateway's own answer): the function did not answer in time.
       */
      503: {
        headers: {
          "cache-control": components["headers"]["CacheControl"];
          "x-request-id": components["headers"]["RequestId"];
          "x-content-type-options": components["headers"]["NoSniff"];
          "retry-after": components["headers"]["RetryAfter"];
        };
        content: {
          "application/json": components["schemas"]["PlatformUnavailable"] | components["schemas"]["LoginRangeExhausted"] | components["schemas"]["GatewayMessage"];
          "application/problem+json": components["schemas"]["PlatformUnavailable"] | components["schemas"]["LoginRangeExhausted"];
        };
      };
      /** @description - `account_outcome_unknown`: The platform may have opened the account and did not answer in time. Repeat with the same `Idempotency-Key`, after `Retry-After` if it is present. Without a key do not repeat: a second account could be opened. */
      504: {
        headers: {
          "cache-control": components["headers"]["CacheControl"];
          "x-request-id": components["headers"]["RequestId"];
          "x-content-type-options": components["headers"]["NoSniff"];
          "retry-after": components["headers"]["RetryAfter"];
        };
        content: {
          "application/problem+json": components["schemas"]["AccountOutcomeUnknown"];
        };
      };
    };
  };
  /**
   * Confirm a registration by its one-time password
   * @description An extension: only deployments with the setting `confirmation` have it. On others the gateway answers 404 `Not Found`.
   *
   * Confirms a registration by its one-time password. The broker then makes the person a client.
   *
   * Code and password must belong to one of the 3 newest registrations of this channel and address. A code allows 5 guesses. A wrong password uses no guess.
   *
   * Every refusal is the same `code_not_accepted`. It does not reveal whether there is a registration, or whether the address belongs to a client.
   *
   * After a lost answer, send the same body again: for 24 hours the answer is 204 again. No `Idempotency-Key` is needed.
   *
   * At most 10 requests in 10 minutes from a source address, right or wrong. The body may have 10,000 bytes.
   *
   * Pages of the configured origins may call it (CORS).
   */
  confirmRegistration: {
    requestBody: {
      content: {
        "application/json": components["schemas"]["ConfirmationRequest"];
      };
    };
    responses: {
      /** @description The registration is confirmed. */
      204: {
        headers: {
          "cache-control": components["headers"]["CacheControl"];
          "x-request-id": components["headers"]["RequestId"];
          "x-content-type-options": components["headers"]["NoSniff"];
        };
        content: never;
      };
      /**
       * @description - `malformed_json`: The body is empty, not JSON, not UTF-8, or not an object at the root.
       * - `validation_failed`: A field, the path parameter or a header breaks its rule. `errors` lists every violation.
       * - `code_not_accepted`: The code is wrong, expired or used, no guesses are left, there is no such registration, or the password is wrong.
       */
      400: {
        headers: {
          "cache-control": components["headers"]["CacheControl"];
          "x-request-id": components["headers"]["RequestId"];
          "x-content-type-options": components["headers"]["NoSniff"];
        };
        content: {
          "application/problem+json": components["schemas"]["MalformedJson"] | components["schemas"]["ValidationFailed"] | components["schemas"]["CodeNotAccepted"];
        };
      };
      /** @description - `Not Found` (the gateway's own answer): the deployment does not have this operation. */
      404: {
        content: {
          "application/json": components["schemas"]["GatewayMessage"];
        };
      };
      /**
       * @description - `payload_too_large`: The body exceeds its limit. If a document or the custom fields exceed theirs, `errors` names them.
       * - `Request Too Long` (the gateway's own answer): the request exceeds the limits of the gateway.
       */
      413: {
        headers: {
          "cache-control": components["headers"]["CacheControl"];
          "x-request-id": components["headers"]["RequestId"];
          "x-content-type-options": components["headers"]["NoSniff"];
        };
        content: {
          "application/json": components["schemas"]["PayloadTooLarge"] | components["schemas"]["GatewayMessage"];
          "application/problem+json": components["schemas"]["PayloadTooLarge"];
        };
      };
      /** @description - `unsupported_media_type`: The content type is not `application/json` or a `+json` type. */
      415: {
        headers: {
          "cache-control": components["headers"]["CacheControl"];
          "x-request-id": components["headers"]["RequestId"];
          "x-content-type-options": components["headers"]["NoSniff"];
        };
        content: {
          "application/problem+json": components["schemas"]["UnsupportedMediaType"];
        };
      };
      /**
       * @description - `too_many_requests`: A limit of the operation is reached. Try again after `Retry-After`.
       * - `Too Many Requests` (the gateway's own answer): the gateway is throttling.
       */
      429: {
        headers: {
          "cache-control": components["headers"]["CacheControl"];
          "x-request-id": components["headers"]["RequestId"];
          "x-content-type-options": components["headers"]["NoSniff"];
          "retry-after": components["headers"]["RetryAfter"];
        };
        content: {
          "application/json": components["schemas"]["TooManyRequests"] | components["schemas"]["GatewayMessage"];
          "application/problem+json": components["schemas"]["TooManyRequests"];
        };
      };
      /**
       * @description - `internal_error`: An error of the service. Safe to repeat, with the same `Idempotency-Key` if there was one.
       * - `Internal Server Error` (the gateway's own answer): the function has crashed.
       */
      500: {
        headers: {
          "cache-control": components["headers"]["CacheControl"];
          "x-request-id": components["headers"]["RequestId"];
          "x-content-type-options": components["headers"]["NoSniff"];
        };
        content: {
          "application/json": components["schemas"]["InternalError"] | components["schemas"]["GatewayMessage"];
          "application/problem+json": components["schemas"]["InternalError"];
        };
      };
      /** @description - `Service Unavailable` (the gateway's own answer): the function did not answer in time. */
      503: {
        content: {
          "application/json": components["schemas"]["GatewayMessage"];
        };
      };
    };
  };
}
