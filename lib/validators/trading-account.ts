import * as v from 'valibot';
import { loginSchema } from './logins.ts';
import { PASSWORD_RULES, tradingPasswordSchema } from './passwords.ts';
import { closedObject, IdSchema, LanguageSchema, line, NumberSchema, rule } from './primitives.ts';

/** The version of a trading platform, as in paths and error types. */
export type PlatformVersion = keyof typeof PASSWORD_RULES;

/** Bytes of the largest body of a request for an account. */
export const MAX_ACCOUNT_BYTES = 65_536;

/** The id of a client in the path (specification, 2.3). */
export const UserIdSchema = v.pipe(IdSchema, v.description('Unique id of the client.'), v.examples(['CLIENT01']));

/** The body of a request for a trading account (specification, 2.3), with the rules of the platform version. */
export function tradingAccountRequestSchema(version: PlatformVersion) {
  return closedObject({
    ...accountFields(version),
    ...recordFields(version),
    ...passwordFields(version),
    ...switchesAndNotices(),
  });
}
export type TradingAccountRequest = v.InferOutput<ReturnType<typeof tradingAccountRequestSchema>>;

/** The server of the account, and its properties there. */
function accountFields(version: PlatformVersion) {
  return {
    connection_id: v.pipe(
      line(1, 255),
      v.description('Id of the trading-platform server which hosts the account.'),
      v.examples([version === 'tp5' ? 'tp5-live-1' : 'tp4-gw-2']),
    ),
    group: v.pipe(
      line(1, 64),
      v.description('Group of the account: a platform group name.'),
      v.examples([version === 'tp5' ? 'real\\standard' : 'standard']),
    ),
    leverage: v.pipe(
      NumberSchema,
      v.integer(rule('integer', 'must be an integer')),
      v.minValue(1, rule('minimum', 'must be at least 1')),
      v.maxValue(5000, rule('maximum', 'must be at most 5000')),
      v.description('Account leverage.'),
      v.examples([100]),
    ),
    login: v.exactOptional(
      v.pipe(
        loginSchema(version),
        v.description('Custom account login; the platform chooses one when absent.'),
        v.examples([700123]),
      ),
    ),
  };
}

/** The CRM records that the account belongs to. */
function recordFields(version: PlatformVersion) {
  return {
    account_type_id: v.exactOptional(
      v.pipe(
        IdSchema,
        v.description('Account type of the CRM; required when creating and funding a demo account.'),
        v.examples([version === 'tp5' ? 'ATLIVE05' : 'ATLIVE04']),
      ),
    ),
    rebate_user_id: v.exactOptional(
      v.pipe(IdSchema, v.description('CRM user that receives the commission.'), v.examples(['CLIENT02'])),
    ),
  };
}

function passwordFields(version: PlatformVersion) {
  const password = (role: string) =>
    v.exactOptional(
      v.pipe(
        tradingPasswordSchema(version),
        v.description(`The ${role} password; generated when absent. It ${PASSWORD_RULES[version].detail}.`),
        v.metadata({ format: 'password' }),
        v.examples([role === 'master' ? 'Tr4de-It-Now' : 'L00k-Only-Pls']),
      ),
    );
  return { master_password: password('master'), investor_password: password('investor') };
}

function switchesAndNotices() {
  const flag = (meaning: string) => v.exactOptional(v.pipe(v.boolean(), v.description(meaning)));
  return {
    enable_readonly: flag('When true, trading on the account is disallowed.'),
    enable_rebate: flag('When true, the account is set as a commission-receiving account.'),
    send_email: flag('Send the CRM user an email about the account creation.'),
    send_pop_up: flag('Send the CRM user an in-app popup about the account creation.'),
    language: v.exactOptional(
      v.pipe(LanguageSchema, v.description('User language for the email or popup, a BCP 47 tag.'), v.examples(['en'])),
    ),
  };
}

/** The answer to an opened account (specification, 2.4). */
export const TradingAccountAnswerSchema = v.object({
  login: v.pipe(loginSchema('tp5'), v.description('Account login.'), v.examples([700123])),
  master_password: v.pipe(v.string(), v.nonEmpty(), v.description('Master password.'), v.examples(['Tr4de-It-Now'])),
  investor_password: v.pipe(
    v.string(),
    v.nonEmpty(),
    v.description('Investor password.'),
    v.examples(['L00k-Only-Pls']),
  ),
});
export type TradingAccountAnswer = v.InferOutput<typeof TradingAccountAnswerSchema>;
