import * as v from 'valibot';
import { OTP_TYPES } from './validators/otp-types.ts';

/**
 * What a function is told by its environment. This is the only file that reads it, once, at cold start: a bad
 * deployment dies there, with every fault listed by the variable's name (never its value).
 */

const word = v.pipe(v.string(), v.minLength(1, 'must not be empty'));
const amount = v.pipe(v.string(), v.regex(/^\d{1,6}(\.\d{1,5})?$/, 'must be an amount such as 0.25'));

function json<const S extends v.GenericSchema>(schema: S) {
  return v.pipe(
    v.string(),
    v.rawTransform(({ dataset, addIssue, NEVER }) => {
      try {
        return JSON.parse(dataset.value) as unknown;
      } catch {
        addIssue({ message: 'must be JSON' });
        return NEVER;
      }
    }),
    schema,
  );
}

const seconds = v.pipe(v.number(), v.integer(), v.minValue(1));
/** One database item counts up to a hundred (`lib/records/sliding-window.ts`). */
const count = v.pipe(seconds, v.maxValue(100, 'must be at most 100'));

/** The limits of a registration; every one is a setting of the deployment, and absent ones are the service's own. */
const LimitsSchema = v.strictObject({
  resendSeconds: v.exactOptional(v.pipe(v.array(seconds), v.minLength(1), v.maxLength(9))),
  recipientPerHour: v.exactOptional(count),
  recipientPerDay: v.exactOptional(count),
  sourcePer10Minutes: v.exactOptional(count),
  sourcePerHour: v.exactOptional(count),
  prefixPerHour: v.exactOptional(count),
});

const commonEntries = {
  STAGE: word,
  BRAND_NAME: word,
  BRAND_SUPPORT_EMAIL: word,
  BRAND_COLOR: v.pipe(v.string(), v.regex(/^#[0-9a-fA-F]{6}$/, 'must be a colour such as #0b5cad')),
  SENDER_ADDRESS: v.pipe(v.string(), v.includes('@', 'must be an e-mail address')),
  SES_CONFIGURATION_SET: v.optional(word),
  CRM_TABLE: word,
  OPERATIONS_TABLE: word,
};

const RegistrationEnvironment = v.object({
  ...commonEntries,
  REGISTRATIONS_TABLE: word,
  LIMITS_TABLE: word,
  DOCUMENTS_BUCKET: word,
  PEPPER_SECRET: word,
  LIMITS: v.optional(json(LimitsSchema), '{}'),
  CHANNELS: v.pipe(
    v.string(),
    v.transform((list) => list.split(',')),
    v.array(v.picklist(OTP_TYPES, 'must list email, sms, call or whatsapp')),
    v.includes('email', 'must list email'),
  ),
  SMS_SENDER_ID: v.optional(
    v.pipe(v.string(), v.regex(/^(?=.*[A-Za-z])[A-Za-z0-9]{1,11}$/, 'must be 1 to 11 letters and digits')),
  ),
  SMS_MAX_PRICE: v.optional(amount),
  SMS_ORIGINATION_NUMBER: v.optional(word),
  SMS_ENTITY_ID: v.optional(word),
  SMS_TEMPLATE_ID: v.optional(word),
  WEB_OTP_DOMAIN: v.optional(word),
  CALL_ORIGINATION_IDENTITY: v.optional(word),
  CALL_CONFIGURATION_SET: v.optional(word),
  CALL_MAX_PRICE_PER_MINUTE: v.optional(
    v.pipe(v.string(), v.regex(/^\d{1,2}(\.\d{1,5})?$/, 'must be an amount below 100')),
  ),
  CALL_PROTECT_CONFIGURATION: v.optional(word),
  WHATSAPP_PHONE_NUMBER_ID: v.optional(word),
  WHATSAPP_CODE_TEMPLATE: v.optional(word),
  WHATSAPP_NOTICE_TEMPLATE: v.optional(word),
  WHATSAPP_API_VERSION: v.optional(word, 'v20.0'),
});

const AccountEnvironment = v.object({
  ...commonEntries,
  ACCOUNTS_TABLE: word,
  PASSWORD_SECRET: word,
  NOTIFICATIONS_TOPIC_ARN: word,
  SETTLE_SECONDS: v.optional(
    v.pipe(v.string(), v.regex(/^\d{1,4}$/, 'must be whole seconds'), v.transform(Number)),
    '60',
  ),
});

class ConfigurationError extends Error {
  override readonly name = 'ConfigurationError';
}

/** What a channel needs beside being named in CHANNELS. */
const NEEDED_BY_CHANNEL = {
  call: ['CALL_ORIGINATION_IDENTITY'],
  whatsapp: ['WHATSAPP_PHONE_NUMBER_ID', 'WHATSAPP_CODE_TEMPLATE', 'WHATSAPP_NOTICE_TEMPLATE'],
} as const;

/** @throws ConfigurationError with every fault */
export function registrationConfig(environment: NodeJS.ProcessEnv = process.env) {
  const { values: env, faults } = parse(RegistrationEnvironment, environment);
  for (const [channel, names] of Object.entries(NEEDED_BY_CHANNEL)) {
    if (!(environment.CHANNELS ?? '').split(',').includes(channel)) continue;
    for (const name of names) if (!environment[name]) faults.push(`${name}: is required by the channel ${channel}`);
  }
  if (env === undefined || faults.length > 0) throw new ConfigurationError(faults.join('; '));
  return {
    ...common(env),
    registrationsTable: env.REGISTRATIONS_TABLE,
    limitsTable: env.LIMITS_TABLE,
    documentsBucket: env.DOCUMENTS_BUCKET,
    pepperSecret: env.PEPPER_SECRET,
    limits: env.LIMITS,
    channels: env.CHANNELS,
    sms: {
      senderId: env.SMS_SENDER_ID,
      maxPrice: env.SMS_MAX_PRICE,
      originationNumber: env.SMS_ORIGINATION_NUMBER,
      entityId: env.SMS_ENTITY_ID,
      templateId: env.SMS_TEMPLATE_ID,
      webOtpDomain: env.WEB_OTP_DOMAIN,
    },
    call: {
      originationIdentity: env.CALL_ORIGINATION_IDENTITY ?? '',
      configurationSet: env.CALL_CONFIGURATION_SET,
      maxPricePerMinute: env.CALL_MAX_PRICE_PER_MINUTE,
      protectConfiguration: env.CALL_PROTECT_CONFIGURATION,
    },
    whatsapp: {
      phoneNumberId: env.WHATSAPP_PHONE_NUMBER_ID ?? '',
      codeTemplate: env.WHATSAPP_CODE_TEMPLATE ?? '',
      noticeTemplate: env.WHATSAPP_NOTICE_TEMPLATE ?? '',
      apiVersion: env.WHATSAPP_API_VERSION,
    },
  };
}

/** @throws ConfigurationError with every fault */
export function accountConfig(environment: NodeJS.ProcessEnv = process.env) {
  const { values: env, faults } = parse(AccountEnvironment, environment);
  if (env === undefined) throw new ConfigurationError(faults.join('; '));
  return {
    ...common(env),
    accountsTable: env.ACCOUNTS_TABLE,
    passwordSecret: env.PASSWORD_SECRET,
    notificationsTopicArn: env.NOTIFICATIONS_TOPIC_ARN,
    settleSeconds: env.SETTLE_SECONDS,
  };
}

function common(env: v.InferOutput<v.ObjectSchema<typeof commonEntries, undefined>>) {
  return {
    stage: env.STAGE,
    brand: { name: env.BRAND_NAME, supportEmail: env.BRAND_SUPPORT_EMAIL, color: env.BRAND_COLOR },
    email: { senderAddress: env.SENDER_ADDRESS, configurationSet: env.SES_CONFIGURATION_SET },
    crmTable: env.CRM_TABLE,
    operationsTable: env.OPERATIONS_TABLE,
  };
}

function parse<S extends v.GenericSchema>(schema: S, environment: NodeJS.ProcessEnv) {
  const present = Object.fromEntries(Object.entries(environment).filter(([, value]) => value !== ''));
  const result = v.safeParse(schema, present);
  const faults = (result.issues ?? []).map((issue) => {
    const path = (issue.path ?? []).map(({ key }) => String(key)).join('.');
    // valibot's own messages quote the value, which may be a secret's name: only ours are shown.
    const known =
      issue.kind === 'schema' && issue.type !== 'picklist' ? 'is missing or of the wrong kind' : issue.message;
    return `${path}: ${known}`;
  });
  return { values: result.success ? (result.output as v.InferOutput<S>) : undefined, faults };
}
