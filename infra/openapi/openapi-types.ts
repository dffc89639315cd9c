/**
 * The service in TypeScript, for integrators: made from the OpenAPI document by `npm run openapi`, never edited by
 * hand. This file stands alone and may be copied; `client.ts` has short names for what is used most.
 */

/** OneOf type helpers */
type Without<T, U> = { [P in Exclude<keyof T, keyof U>]?: never };
type XOR<T, U> = (T | U) extends object ? (Without<T, U> & U) | (Without<U, T> & T) : T | U;
type OneOf<T extends any[]> = T extends [infer Only] ? Only : T extends [infer A, infer B, ...infer Rest] ? OneOf<[XOR<A, B>, ...Rest]> : never;

export interface paths {
  "/public/v1/account/register/request": {
    /**
     * Send registration request for OTP
     * @description Accepts a registration request for a new user and sends a one-time password through the channel named by `otp_type`: six digits, valid for 10 minutes. The 3 newest registrations of a channel and address stand side by side, each with its own code, password and fields.
     *
     * Fields of the registration form stand at the root of the body, beside the fixed fields, each under its key in the form.
     *
     * The answer does not tell whether the address is a client's already: then its owner gets a notice instead of a code.
     *
     * Pages of the origins that the deployment names may call it (CORS).
     *
     * Sizes, at most:
     *
     * - the body: 5,900,000 bytes
     * - 10 documents, of 3 MB each and 4 MB together when decoded (1 MB is 1024² bytes)
     * - all other fields of the form together, as JSON: 200,000 bytes
     * - 10,000 members in one object or array, 101,000 in all, and 32 objects and arrays within each other
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
     * For the same `Idempotency-Key` never a second account is opened, also where answers get lost. Without a key an answer that got lost cannot be asked for again: send one.
     *
     * A mail or popup that fails changes nothing in the answer, once the account exists.
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
     * For the same `Idempotency-Key` never a second account is opened, also where answers get lost. Without a key an answer that got lost cannot be asked for again: send one.
     *
     * A mail or popup that fails changes nothing in the answer, once the account exists.
     *
     * The body may have 65,536 bytes.
     */
    post: operations["createTp4Account"];
  };
  "/public/v1/account/register/confirm": {
    /**
     * Confirm a registration by its one-time password
     * @description An extension: only deployments with the setting `confirmation` have it; at others the gateway answers 404 `Not Found`.
     *
     * Takes the one-time password of a registration and confirms it; the broker then makes a client of the person.
     *
     * Code and password must be those of one of the 3 newest registrations of this channel and address. A code may be guessed 5 times, and who does not know the password uses up no guess.
     *
     * Every refusal is the same `code_not_accepted`: it does not tell whether there is a registration, nor whether the address is a client's.
     *
     * After a lost answer send the same body again: for 24 hours the answer is 204 again. An `Idempotency-Key` is not needed, and not kept.
     *
     * At most 10 requests in 10 minutes from a source address, right or wrong. The body may have 10,000 bytes.
     *
     * Pages of the origins that the deployment names may call it (CORS).
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
      /** @description The phone of the user. Both members are required when `otp_type` is `sms`, `call` or `whatsapp`. */
      phone?: {
        /** @description Phone country code: a dial code, with or without `+`. */
        country_code?: string;
        /** @description Phone number; a national trunk zero, spaces and dashes are fine. */
        number?: string;
      };
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
      [key: string]: components["schemas"]["CustomFieldValue"] | undefined;
    };
    /**
     * @description The value of a field of the registration form, under the field's key. Its format depends on the type that the field has in the form:
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
     * | document | array of `{ id, name, doc }`, `doc` base64-encoded | A request may have at most 10 documents, of 3 MB each and 4 MB together when decoded (1 MB is 1024² bytes). The form may list the media types that it accepts, which are told from the content. |
     * | phone | object `{ country_code, number }` | A valid number in the country of its dial code. |
     * | email | string |  |
     * | country, nation | string, a country code | ISO 3166-1 alpha-2. |
     * | location | object `{ country, state, city }` |  |
     * | participants, leads | array of objects, `id` and `name` among their members | Other members are kept as they are. |
     */
    CustomFieldValue: components["schemas"]["TextValue"] | components["schemas"]["NumberValue"] | components["schemas"]["NumericStringValue"] | components["schemas"]["BooleanValue"] | components["schemas"]["ChoiceValue"] | components["schemas"]["AnyValue"] | components["schemas"]["ChoicesValue"] | components["schemas"]["DateValue"] | components["schemas"]["DocumentsValue"] | components["schemas"]["PhoneValue"] | components["schemas"]["EmailValue"] | components["schemas"]["CountryValue"] | components["schemas"]["LocationValue"] | components["schemas"]["PeopleValue"];
    /** @description Form fields of type text, textarea, description: string. */
    TextValue: string;
    /** @description Form fields of type number: number. */
    NumberValue: number;
    /** @description Form fields of type number_string: numeric string. A decimal number in a string. */
    NumericStringValue: string;
    /** @description Form fields of type boolean: boolean. */
    BooleanValue: boolean;
    /** @description Form fields of type radio, select: string. One of the options, where the form lists them. */
    ChoiceValue: string;
    /** @description Form fields of type dynamicSelect: any value. At most 20,000 characters of JSON, nested at most 20 levels deep. */
    AnyValue: unknown;
    /** @description Form fields of type multiselect, checkbox: array of strings. Each one of the options, where the form lists them. */
    ChoicesValue: string[];
    /**
     * Format: date
     * @description Form fields of type date: string, YYYY-MM-DD. A date of the calendar.
     */
    DateValue: string;
    /** @description Form fields of type document: array of `{ id, name, doc }`, `doc` base64-encoded. A request may have at most 10 documents, of 3 MB each and 4 MB together when decoded (1 MB is 1024² bytes). The form may list the media types that it accepts, which are told from the content. */
    DocumentsValue: {
        /** @description Id of the document, as the form gives it. */
        id: string;
        /** @description Name of the file. */
        name: string;
        /** @description The content, base64-encoded. */
        doc: string;
      }[];
    /** @description Form fields of type phone: object `{ country_code, number }`. A valid number in the country of its dial code. */
    PhoneValue: {
      /** @description The dial code, with or without `+`. */
      country_code: string;
      /** @description The number; a national trunk zero, spaces and dashes are fine. */
      number: string;
    };
    /**
     * Format: idn-email
     * @description Form fields of type email: string.
     */
    EmailValue: string;
    /** @description Form fields of type country, nation: string, a country code. ISO 3166-1 alpha-2. */
    CountryValue: string;
    /** @description Form fields of type location: object `{ country, state, city }`. */
    LocationValue: {
      /** @description The country. */
      country: string;
      /**
       * @description The state or region; may be empty.
       * @default
       */
      state?: string;
      /** @description The city. */
      city: string;
    };
    /** @description Form fields of type participants, leads: array of objects, `id` and `name` among their members. Other members are kept as they are. */
    PeopleValue: ({
        /** @description Id of the person. */
        id?: string | number;
        /** @description Name of the person. */
        name?: string;
        [key: string]: unknown;
      })[];
    /** @description The channel and the address that the one-time password went to, that password, and the own one. */
    ConfirmationRequest: OneOf<[{
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
    }, {
      /**
       * @description The channel that the registration named.
       * @enum {string}
       */
      otp_type: "sms" | "call" | "whatsapp";
      /** @description The phone of the registration. */
      phone: {
        /** @description The dial code, with or without `+`. */
        country_code: string;
        /** @description The number; a national trunk zero, spaces and dashes are fine. */
        number: string;
      };
      /** @description The one-time password of the message. */
      code: string;
      /**
       * Format: password
       * @description The password of the registration.
       */
      password: string;
    }]>;
    /** @description The account to open, with the password rules of platform version 5. */
    Tp5AccountRequest: {
      /** @description Id of the trading-platform server which hosts the account. */
      connection_id: string;
      /** @description Group of the account: a platform group name. */
      group: string;
      /** @description Account leverage. */
      leverage: number;
      /** @description Custom account login; the platform chooses one when absent. */
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
      /** @description Account leverage. */
      leverage: number;
      /** @description Custom account login; the platform chooses one when absent. */
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
      /** @description Account login. */
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
    /** @description One fault of the request. */
    Fault: components["schemas"]["BodyFault"] | components["schemas"]["ParameterFault"] | components["schemas"]["HeaderFault"];
    /** @description A fault in the body, as a JSON Pointer (RFC 6901) in a URI fragment. */
    BodyFault: {
      /** @description Where the fault is: in the body, as a JSON Pointer (RFC 6901) in a URI fragment. */
      pointer: string;
      rule: components["schemas"]["Rule"];
      /** @description A sentence about the field, for people; never the value that was sent. */
      detail: string;
    };
    /** @description A fault in a path parameter, by its name. */
    ParameterFault: {
      /** @description Where the fault is: in a path parameter, by its name. */
      parameter: string;
      /**
       * @description The rule that is broken; a stable word.
       * @enum {string}
       */
      rule: "characters" | "length";
      /** @description A sentence about the field, for people; never the value that was sent. */
      detail: string;
    };
    /** @description A fault in a request header, by its name. */
    HeaderFault: {
      /** @description Where the fault is: in a request header, by its name. */
      header: string;
      /**
       * @description The rule that is broken; a stable word.
       * @enum {string}
       */
      rule: "required" | "format" | "not_supported";
      /** @description A sentence about the field, for people; never the value that was sent. */
      detail: string;
    };
    /**
     * malformed_json
     * @description The body is empty, or not JSON, or not an object at the root.
     *
     * Answered by `requestRegistration`, `createTp5Account`, `createTp4Account`, `confirmRegistration`.
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
       * @description The HTTP status.
       * @constant
       */
      status: 400;
      /** @description The same as the header `x-request-id`. */
      request_id: string;
    };
    /**
     * validation_failed
     * @description A field, the path parameter or a header breaks its rule; `errors` lists every fault of the request at once.
     *
     * Answered by `requestRegistration`, `createTp5Account`, `createTp4Account`, `confirmRegistration`.
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
       * @description The HTTP status.
       * @constant
       */
      status: 400;
      /** @description The same as the header `x-request-id`. */
      request_id: string;
      /** @description A sentence about this occurrence; never a value that was sent. */
      detail?: string;
      /** @description Every fault, in the order of the fields (at most 100 of the body). */
      errors: components["schemas"]["Fault"][];
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
       * @description The HTTP status.
       * @constant
       */
      status: 400;
      /** @description The same as the header `x-request-id`. */
      request_id: string;
    };
    /**
     * otp_type_unavailable
     * @description This deployment has no integration for that channel; `available` lists those that it has.
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
     * @description No connection is found for the given `connection_id`, or it is one of the other platform version.
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
       * @description The HTTP status.
       * @constant
       */
      status: 400;
      /** @description The same as the header `x-request-id`. */
      request_id: string;
    };
    /**
     * tp4_connection_not_found
     * @description No connection is found for the given `connection_id`, or it is one of the other platform version.
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
       * @description The HTTP status.
       * @constant
       */
      status: 400;
      /** @description The same as the header `x-request-id`. */
      request_id: string;
    };
    /**
     * password_rejected
     * @description The platform refused a password that keeps the rules of its version, because its group asks for more.
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
       * @description The HTTP status.
       * @constant
       */
      status: 400;
      /** @description The same as the header `x-request-id`. */
      request_id: string;
    };
    /**
     * code_not_accepted
     * @description A wrong, expired or used code, no guesses left, no such registration, or a wrong password: one answer for all. The person asks for a new code.
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
       * @description The HTTP status.
       * @constant
       */
      status: 400;
      /** @description The same as the header `x-request-id`. */
      request_id: string;
    };
    /**
     * not_supported_by_connection
     * @description This connection's protocol cannot do what was asked, such as a `login` of one's own; `errors` names the fields. Nothing was sent to the platform.
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
       * @description The HTTP status.
       * @constant
       */
      status: 400;
      /** @description The same as the header `x-request-id`. */
      request_id: string;
      /** @description Every fault, in the order of the fields (at most 100 of the body). */
      errors: components["schemas"]["Fault"][];
    };
    /**
     * captcha_failed
     * @description The deployment asks for a captcha, and its provider refused the `captcha-token`: wrong, expired or used. Have a new one solved.
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
       * @description The HTTP status.
       * @constant
       */
      status: 409;
      /** @description The same as the header `x-request-id`. */
      request_id: string;
    };
    /**
     * request_in_progress
     * @description A request with the same `Idempotency-Key` is being worked on. Try again after `Retry-After`.
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
       * @description The HTTP status.
       * @constant
       */
      status: 409;
      /** @description The same as the header `x-request-id`. */
      request_id: string;
    };
    /**
     * payload_too_large
     * @description The body is over its limit; or, of a registration, a document or all fields of the form together: then `errors` names it.
     *
     * Answered by `requestRegistration`, `createTp5Account`, `createTp4Account`, `confirmRegistration`.
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
       * @description The HTTP status.
       * @constant
       */
      status: 413;
      /** @description The same as the header `x-request-id`. */
      request_id: string;
      /** @description A sentence about this occurrence; never a value that was sent. */
      detail?: string;
      /** @description Every fault, in the order of the fields (at most 100 of the body). */
      errors?: components["schemas"]["Fault"][];
    };
    /**
     * unsupported_media_type
     * @description The content type is not `application/json` or a `+json` type.
     *
     * Answered by `requestRegistration`, `createTp5Account`, `createTp4Account`, `confirmRegistration`.
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
       * @description The HTTP status.
       * @constant
       */
      status: 422;
      /** @description The same as the header `x-request-id`. */
      request_id: string;
    };
    /**
     * too_many_requests
     * @description A limit is reached: see the operation. Try again after `Retry-After`.
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
       * @description The HTTP status.
       * @constant
       */
      status: 429;
      /** @description The same as the header `x-request-id`. */
      request_id: string;
    };
    /**
     * internal_error
     * @description A fault of ours. Safe to repeat, with the same `Idempotency-Key` where there was one.
     *
     * Answered by `requestRegistration`, `createTp5Account`, `createTp4Account`, `confirmRegistration`.
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
       * @description The HTTP status.
       * @constant
       */
      status: 500;
      /** @description The same as the header `x-request-id`. */
      request_id: string;
    };
    /**
     * otp_delivery_failed
     * @description The message provider refused or failed, and nothing was sent. Safe to repeat.
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
       * @description The HTTP status.
       * @constant
       */
      status: 502;
      /** @description The same as the header `x-request-id`. */
      request_id: string;
    };
    /**
     * platform_refused
     * @description The platform refused the service: credentials, permissions, or an address that it does not admit. A matter for the broker's operators. No account was opened.
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
       * @description The HTTP status.
       * @constant
       */
      status: 503;
      /** @description The same as the header `x-request-id`. */
      request_id: string;
    };
    /**
     * login_range_exhausted
     * @description The platform, or the range of logins that the connection has for itself, has no login left. No account was opened.
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
       * @description The HTTP status.
       * @constant
       */
      status: 503;
      /** @description The same as the header `x-request-id`. */
      request_id: string;
    };
    /**
     * account_limit_reached
     * @description The platform's licence admits no further account. No account was opened.
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
       * @description The HTTP status.
       * @constant
       */
      status: 503;
      /** @description The same as the header `x-request-id`. */
      request_id: string;
    };
    /**
     * account_outcome_unknown
     * @description 504: The platform may have opened the account and did not say so in time. A request with an `Idempotency-Key` may be repeated with the same key: never a second account is opened; `Retry-After` comes where a repeat may find out more. Do not repeat a request that had no key, which may open a second account: have the operation `operation_id` looked into. 409: A repeated request whose outcome is still unknown and cannot be looked up; an operator must settle the operation `operation_id`.
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
    /** @description An answer that the gateway gives by itself, without asking the service. */
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
    /** @description Nothing may be stored. */
    CacheControl: "no-store";
    /**
     * @description Names the request in the log and in traces; also `request_id` of a problem.
     * @example JKJaXmPLvHcESHA=
     */
    RequestId: string;
    /** @description The content type is what it says. */
    NoSniff: "nosniff";
    /** @description There when this is the answer to an earlier request with the same `Idempotency-Key`. */
    IdempotentReplayed: "true";
  };
  pathItems: never;
}

export type $defs = Record<string, never>;

export type external = Record<string, never>;

export interface operations {

  /**
   * Send registration request for OTP
   * @description Accepts a registration request for a new user and sends a one-time password through the channel named by `otp_type`: six digits, valid for 10 minutes. The 3 newest registrations of a channel and address stand side by side, each with its own code, password and fields.
   *
   * Fields of the registration form stand at the root of the body, beside the fixed fields, each under its key in the form.
   *
   * The answer does not tell whether the address is a client's already: then its owner gets a notice instead of a code.
   *
   * Pages of the origins that the deployment names may call it (CORS).
   *
   * Sizes, at most:
   *
   * - the body: 5,900,000 bytes
   * - 10 documents, of 3 MB each and 4 MB together when decoded (1 MB is 1024² bytes)
   * - all other fields of the form together, as JSON: 200,000 bytes
   * - 10,000 members in one object or array, 101,000 in all, and 32 objects and arrays within each other
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
       * @description - `malformed_json`: The body is empty, or not JSON, or not an object at the root.
       * - `validation_failed`: A field, the path parameter or a header breaks its rule; `errors` lists every fault of the request at once.
       * - `form_not_found`: No form has this `form_id`.
       * - `referrer_not_found`: No client has this referral code.
       * - `otp_type_unavailable`: This deployment has no integration for that channel; `available` lists those that it has.
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
      /** @description - `captcha_failed`: The deployment asks for a captcha, and its provider refused the `captcha-token`: wrong, expired or used. Have a new one solved. */
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
      /** @description - `request_in_progress`: A request with the same `Idempotency-Key` is being worked on. Try again after `Retry-After`. */
      409: {
        headers: {
          "cache-control": components["headers"]["CacheControl"];
          "x-request-id": components["headers"]["RequestId"];
          "x-content-type-options": components["headers"]["NoSniff"];
          /**
           * @description After how many seconds to try again.
           * @example 60
           */
          "retry-after": number;
        };
        content: {
          "application/problem+json": components["schemas"]["RequestInProgress"];
        };
      };
      /**
       * @description - `payload_too_large`: The body is over its limit; or, of a registration, a document or all fields of the form together: then `errors` names it.
       * - `Request Too Long` (the gateway's own answer): the request is over the limits of the gateway.
       */
      413: {
        headers: {
          /** @description Nothing may be stored. */
          "cache-control"?: "no-store";
          /**
           * @description Names the request in the log and in traces; also `request_id` of a problem.
           * @example JKJaXmPLvHcESHA=
           */
          "x-request-id"?: string;
          /** @description The content type is what it says. */
          "x-content-type-options"?: "nosniff";
        };
        content: {
          "application/problem+json": components["schemas"]["PayloadTooLarge"];
          "application/json": components["schemas"]["GatewayMessage"];
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
       * @description - `too_many_requests`: A limit is reached: see the operation. Try again after `Retry-After`.
       * - `Too Many Requests` (the gateway's own answer): the gateway is throttling.
       */
      429: {
        headers: {
          /** @description Nothing may be stored. */
          "cache-control"?: "no-store";
          /**
           * @description Names the request in the log and in traces; also `request_id` of a problem.
           * @example JKJaXmPLvHcESHA=
           */
          "x-request-id"?: string;
          /** @description The content type is what it says. */
          "x-content-type-options"?: "nosniff";
          /**
           * @description After how many seconds to try again.
           * @example 60
           */
          "retry-after"?: number;
        };
        content: {
          "application/problem+json": components["schemas"]["TooManyRequests"];
          "application/json": components["schemas"]["GatewayMessage"];
        };
      };
      /**
       * @description - `internal_error`: A fault of ours. Safe to repeat, with the same `Idempotency-Key` where there was one.
       * - `Internal Server Error` (the gateway's own answer): the function has crashed.
       */
      500: {
        headers: {
          /** @description Nothing may be stored. */
          "cache-control"?: "no-store";
          /**
           * @description Names the request in the log and in traces; also `request_id` of a problem.
           * @example JKJaXmPLvHcESHA=
           */
          "x-request-id"?: string;
          /** @description The content type is what it says. */
          "x-content-type-options"?: "nosniff";
        };
        content: {
          "application/problem+json": components["schemas"]["InternalError"];
          "application/json": components["schemas"]["GatewayMessage"];
        };
      };
      /** @description - `otp_delivery_failed`: The message provider refused or failed, and nothing was sent. Safe to repeat. */
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
   * For the same `Idempotency-Key` never a second account is opened, also where answers get lost. Without a key an answer that got lost cannot be asked for again: send one.
   *
   * A mail or popup that fails changes nothing in the answer, once the account exists.
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
       * @description - `malformed_json`: The body is empty, or not JSON, or not an object at the root.
       * - `validation_failed`: A field, the path parameter or a header breaks its rule; `errors` lists every fault of the request at once.
       * - `tp5_connection_not_found`: No connection is found for the given `connection_id`, or it is one of the other platform version.
       * - `account_type_not_found`: The `account_type_id` is unknown, or of the other platform version.
       * - `account_type_required`: The connection is a demo one and `account_type_id` is absent.
       * - `rebate_user_not_found`: No client has this `rebate_user_id`.
       * - `group_not_found`: The platform does not know the group, or the connection does not offer it.
       * - `password_rejected`: The platform refused a password that keeps the rules of its version, because its group asks for more.
       * - `Bad Request` (the gateway's own answer): the path is not well encoded.
       */
      400: {
        headers: {
          /** @description Nothing may be stored. */
          "cache-control"?: "no-store";
          /**
           * @description Names the request in the log and in traces; also `request_id` of a problem.
           * @example JKJaXmPLvHcESHA=
           */
          "x-request-id"?: string;
          /** @description The content type is what it says. */
          "x-content-type-options"?: "nosniff";
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
       * - `request_in_progress`: A request with the same `Idempotency-Key` is being worked on. Try again after `Retry-After`.
       * - `account_outcome_unknown`: A repeated request whose outcome is still unknown and cannot be looked up; an operator must settle the operation `operation_id`.
       */
      409: {
        headers: {
          "cache-control": components["headers"]["CacheControl"];
          "x-request-id": components["headers"]["RequestId"];
          "x-content-type-options": components["headers"]["NoSniff"];
          /**
           * @description After how many seconds to try again.
           * @example 60
           */
          "retry-after"?: number;
        };
        content: {
          "application/problem+json": components["schemas"]["LoginTaken"] | components["schemas"]["RequestInProgress"] | components["schemas"]["AccountOutcomeUnknown"];
        };
      };
      /**
       * @description - `payload_too_large`: The body is over its limit; or, of a registration, a document or all fields of the form together: then `errors` names it.
       * - `Request Too Long` (the gateway's own answer): the request is over the limits of the gateway.
       */
      413: {
        headers: {
          /** @description Nothing may be stored. */
          "cache-control"?: "no-store";
          /**
           * @description Names the request in the log and in traces; also `request_id` of a problem.
           * @example JKJaXmPLvHcESHA=
           */
          "x-request-id"?: string;
          /** @description The content type is what it says. */
          "x-content-type-options"?: "nosniff";
        };
        content: {
          "application/problem+json": components["schemas"]["PayloadTooLarge"];
          "application/json": components["schemas"]["GatewayMessage"];
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
       * @description - `internal_error`: A fault of ours. Safe to repeat, with the same `Idempotency-Key` where there was one.
       * - `Internal Server Error` (the gateway's own answer): the function has crashed.
       */
      500: {
        headers: {
          /** @description Nothing may be stored. */
          "cache-control"?: "no-store";
          /**
           * @description Names the request in the log and in traces; also `request_id` of a problem.
           * @example JKJaXmPLvHcESHA=
           */
          "x-request-id"?: string;
          /** @description The content type is what it says. */
          "x-content-type-options"?: "nosniff";
        };
        content: {
          "application/problem+json": components["schemas"]["InternalError"];
          "application/json": components["schemas"]["GatewayMessage"];
        };
      };
      /** @description - `platform_refused`: The platform refused the service: credentials, permissions, or an address that it does not admit. A matter for the broker's operators. No account was opened. */
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
       * - `login_range_exhausted`: The platform, or the range of logins that the connection has for itself, has no login left. No account was opened.
       * - `account_limit_reached`: The platform's licence admits no further account. No account was opened.
       * - `Service Unavailable` (the gateway's own answer): the function did not answer in time.
       */
      503: {
        headers: {
          /** @description Nothing may be stored. */
          "cache-control"?: "no-store";
          /**
           * @description Names the request in the log and in traces; also `request_id` of a problem.
           * @example JKJaXmPLvHcESHA=
           */
          "x-request-id"?: string;
          /** @description The content type is what it says. */
          "x-content-type-options"?: "nosniff";
          /**
           * @description After how many seconds to try again.
           * @example 60
           */
          "retry-after"?: number;
        };
        content: {
          "application/problem+json": components["schemas"]["PlatformUnavailable"] | components["schemas"]["LoginRangeExhausted"] | components["schemas"]["AccountLimitReached"];
          "application/json": components["schemas"]["GatewayMessage"];
        };
      };
      /** @description - `account_outcome_unknown`: The platform may have opened the account and did not say so in time. A request with an `Idempotency-Key` may be repeated with the same key: never a second account is opened; `Retry-After` comes where a repeat may find out more. Do not repeat a request that had no key, which may open a second account: have the operation `operation_id` looked into. */
      504: {
        headers: {
          "cache-control": components["headers"]["CacheControl"];
          "x-request-id": components["headers"]["RequestId"];
          "x-content-type-options": components["headers"]["NoSniff"];
          /**
           * @description After how many seconds to try again.
           * @example 60
           */
          "retry-after"?: number;
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
   * For the same `Idempotency-Key` never a second account is opened, also where answers get lost. Without a key an answer that got lost cannot be asked for again: send one.
   *
   * A mail or popup that fails changes nothing in the answer, once the account exists.
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
       * @description - `malformed_json`: The body is empty, or not JSON, or not an object at the root.
       * - `validation_failed`: A field, the path parameter or a header breaks its rule; `errors` lists every fault of the request at once.
       * - `tp4_connection_not_found`: No connection is found for the given `connection_id`, or it is one of the other platform version.
       * - `account_type_not_found`: The `account_type_id` is unknown, or of the other platform version.
       * - `account_type_required`: The connection is a demo one and `account_type_id` is absent.
       * - `rebate_user_not_found`: No client has this `rebate_user_id`.
       * - `group_not_found`: The platform does not know the group, or the connection does not offer it.
       * - `password_rejected`: The platform refused a password that keeps the rules of its version, because its group asks for more.
       * - `not_supported_by_connection`: This connection's protocol cannot do what was asked, such as a `login` of one's own; `errors` names the fields. Nothing was sent to the platform.
       * - `Bad Request` (the gateway's own answer): the path is not well encoded.
       */
      400: {
        headers: {
          /** @description Nothing may be stored. */
          "cache-control"?: "no-store";
          /**
           * @description Names the request in the log and in traces; also `request_id` of a problem.
           * @example JKJaXmPLvHcESHA=
           */
          "x-request-id"?: string;
          /** @description The content type is what it says. */
          "x-content-type-options"?: "nosniff";
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
       * - `request_in_progress`: A request with the same `Idempotency-Key` is being worked on. Try again after `Retry-After`.
       * - `account_outcome_unknown`: A repeated request whose outcome is still unknown and cannot be looked up; an operator must settle the operation `operation_id`.
       */
      409: {
        headers: {
          "cache-control": components["headers"]["CacheControl"];
          "x-request-id": components["headers"]["RequestId"];
          "x-content-type-options": components["headers"]["NoSniff"];
          /**
           * @description After how many seconds to try again.
           * @example 60
           */
          "retry-after"?: number;
        };
        content: {
          "application/problem+json": components["schemas"]["LoginTaken"] | components["schemas"]["RequestInProgress"] | components["schemas"]["AccountOutcomeUnknown"];
        };
      };
      /**
       * @description - `payload_too_large`: The body is over its limit; or, of a registration, a document or all fields of the form together: then `errors` names it.
       * - `Request Too Long` (the gateway's own answer): the request is over the limits of the gateway.
       */
      413: {
        headers: {
          /** @description Nothing may be stored. */
          "cache-control"?: "no-store";
          /**
           * @description Names the request in the log and in traces; also `request_id` of a problem.
           * @example JKJaXmPLvHcESHA=
           */
          "x-request-id"?: string;
          /** @description The content type is what it says. */
          "x-content-type-options"?: "nosniff";
        };
        content: {
          "application/problem+json": components["schemas"]["PayloadTooLarge"];
          "application/json": components["schemas"]["GatewayMessage"];
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
       * @description - `internal_error`: A fault of ours. Safe to repeat, with the same `Idempotency-Key` where there was one.
       * - `Internal Server Error` (the gateway's own answer): the function has crashed.
       */
      500: {
        headers: {
          /** @description Nothing may be stored. */
          "cache-control"?: "no-store";
          /**
           * @description Names the request in the log and in traces; also `request_id` of a problem.
           * @example JKJaXmPLvHcESHA=
           */
          "x-request-id"?: string;
          /** @description The content type is what it says. */
          "x-content-type-options"?: "nosniff";
        };
        content: {
          "application/problem+json": components["schemas"]["InternalError"];
          "application/json": components["schemas"]["GatewayMessage"];
        };
      };
      /** @description - `platform_refused`: The platform refused the service: credentials, permissions, or an address that it does not admit. A matter for the broker's operators. No account was opened. */
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
       * - `login_range_exhausted`: The platform, or the range of logins that the connection has for itself, has no login left. No account was opened.
       * - `Service Unavailable` (the gateway's own answer): the function did not answer in time.
       */
      503: {
        headers: {
          /** @description Nothing may be stored. */
          "cache-control"?: "no-store";
          /**
           * @description Names the request in the log and in traces; also `request_id` of a problem.
           * @example JKJaXmPLvHcESHA=
           */
          "x-request-id"?: string;
          /** @description The content type is what it says. */
          "x-content-type-options"?: "nosniff";
          /**
           * @description After how many seconds to try again.
           * @example 60
           */
          "retry-after"?: number;
        };
        content: {
          "application/problem+json": components["schemas"]["PlatformUnavailable"] | components["schemas"]["LoginRangeExhausted"];
          "application/json": components["schemas"]["GatewayMessage"];
        };
      };
      /** @description - `account_outcome_unknown`: The platform may have opened the account and did not say so in time. A request with an `Idempotency-Key` may be repeated with the same key: never a second account is opened; `Retry-After` comes where a repeat may find out more. Do not repeat a request that had no key, which may open a second account: have the operation `operation_id` looked into. */
      504: {
        headers: {
          "cache-control": components["headers"]["CacheControl"];
          "x-request-id": components["headers"]["RequestId"];
          "x-content-type-options": components["headers"]["NoSniff"];
          /**
           * @description After how many seconds to try again.
           * @example 60
           */
          "retry-after"?: number;
        };
        content: {
          "application/problem+json": components["schemas"]["AccountOutcomeUnknown"];
        };
      };
    };
  };
  /**
   * Confirm a registration by its one-time password
   * @description An extension: only deployments with the setting `confirmation` have it; at others the gateway answers 404 `Not Found`.
   *
   * Takes the one-time password of a registration and confirms it; the broker then makes a client of the person.
   *
   * Code and password must be those of one of the 3 newest registrations of this channel and address. A code may be guessed 5 times, and who does not know the password uses up no guess.
   *
   * Every refusal is the same `code_not_accepted`: it does not tell whether there is a registration, nor whether the address is a client's.
   *
   * After a lost answer send the same body again: for 24 hours the answer is 204 again. An `Idempotency-Key` is not needed, and not kept.
   *
   * At most 10 requests in 10 minutes from a source address, right or wrong. The body may have 10,000 bytes.
   *
   * Pages of the origins that the deployment names may call it (CORS).
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
       * @description - `malformed_json`: The body is empty, or not JSON, or not an object at the root.
       * - `validation_failed`: A field, the path parameter or a header breaks its rule; `errors` lists every fault of the request at once.
       * - `code_not_accepted`: A wrong, expired or used code, no guesses left, no such registration, or a wrong password: one answer for all. The person asks for a new code.
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
       * @description - `payload_too_large`: The body is over its limit; or, of a registration, a document or all fields of the form together: then `errors` names it.
       * - `Request Too Long` (the gateway's own answer): the request is over the limits of the gateway.
       */
      413: {
        headers: {
          /** @description Nothing may be stored. */
          "cache-control"?: "no-store";
          /**
           * @description Names the request in the log and in traces; also `request_id` of a problem.
           * @example JKJaXmPLvHcESHA=
           */
          "x-request-id"?: string;
          /** @description The content type is what it says. */
          "x-content-type-options"?: "nosniff";
        };
        content: {
          "application/problem+json": components["schemas"]["PayloadTooLarge"];
          "application/json": components["schemas"]["GatewayMessage"];
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
       * @description - `too_many_requests`: A limit is reached: see the operation. Try again after `Retry-After`.
       * - `Too Many Requests` (the gateway's own answer): the gateway is throttling.
       */
      429: {
        headers: {
          /** @description Nothing may be stored. */
          "cache-control"?: "no-store";
          /**
           * @description Names the request in the log and in traces; also `request_id` of a problem.
           * @example JKJaXmPLvHcESHA=
           */
          "x-request-id"?: string;
          /** @description The content type is what it says. */
          "x-content-type-options"?: "nosniff";
          /**
           * @description After how many seconds to try again.
           * @example 60
           */
          "retry-after"?: number;
        };
        content: {
          "application/problem+json": components["schemas"]["TooManyRequests"];
          "application/json": components["schemas"]["GatewayMessage"];
        };
      };
      /**
       * @description - `internal_error`: A fault of ours. Safe to repeat, with the same `Idempotency-Key` where there was one.
       * - `Internal Server Error` (the gateway's own answer): the function has crashed.
       */
      500: {
        headers: {
          /** @description Nothing may be stored. */
          "cache-control"?: "no-store";
          /**
           * @description Names the request in the log and in traces; also `request_id` of a problem.
           * @example JKJaXmPLvHcESHA=
           */
          "x-request-id"?: string;
          /** @description The content type is what it says. */
          "x-content-type-options"?: "nosniff";
        };
        content: {
          "application/problem+json": components["schemas"]["InternalError"];
          "application/json": components["schemas"]["GatewayMessage"];
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
