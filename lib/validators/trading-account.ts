import * as v from 'valibot';
import { PASSWORD_RULES, tradingPasswordSchema } from './passwords.ts';
import {
  boundedLine,
  closedObject,
  documented,
  IdSchema,
  LanguageSchema,
  loginSchema,
  readBody,
  wholeNumber,
} from './primitives.ts';

/** The version of a trading platform, as in paths and error types. */
export type PlatformVersion = keyof typeof PASSWORD_RULES;

/** Bytes of the largest body of a request for an account. */
export const MAX_ACCOUNT_BYTES = 65_536;

/** The id of a client in the path (specification, 2.3). */
export const UserIdSchema = documented(IdSchema, 'Unique id of the client.', 'CLIENT01');

const EXAMPLES = {
  tp5: { connection: 'tp5-live-1', group: 'real\\standard', accountType: 'ATLIVE05' },
  tp4: { connection: 'tp4-gw-2', group: 'standard', accountType: 'ATLIVE04' },
};

/** The body of a request for a trading account (specification, 2.3), with the rules of the platform version. */
export function tradingAccountBodySchema(version: PlatformVersion) {
  const { connection, group, accountType } = EXAMPLES[version];
  const flag = (meaning: string) => v.exactOptional(documented(v.boolean(), meaning));
  const password = (role: string, example: string) =>
    v.exactOptional(
      documented(
        tradingPasswordSchema(version),
        `The ${role} password; generated when absent. It ${PASSWORD_RULES[version].detail}.`,
        example,
      ),
    );

  return closedObject({
    connection_id: documented(
      boundedLine(1, 64),
      'Id of the trading-platform server which hosts the account.',
      connection,
    ),
    group: documented(boundedLine(1, 64), 'Group of the account: a platform group name.', group),
    leverage: documented(wholeNumber(1, 5000), 'Account leverage.', 100),
    login: v.exactOptional(
      documented(loginSchema(version), 'Custom account login; the platform chooses one when absent.', 700123),
    ),
    account_type_id: v.exactOptional(
      documented(IdSchema, 'Account type of the CRM; required when creating and funding a demo account.', accountType),
    ),
    rebate_user_id: v.exactOptional(documented(IdSchema, 'CRM user that receives the commission.', 'CLIENT02')),
    master_password: password('master', 'Tr4de-It-Now'),
    investor_password: password('investor', 'L00k-Only-Pls'),
    enable_readonly: flag('When true, trading on the account is disallowed.'),
    enable_rebate: flag('When true, the account is set as a commission-receiving account.'),
    send_email: flag('Send the CRM user an email about the account creation.'),
    send_pop_up: flag('Send the CRM user an in-app popup about the account creation.'),
    language: v.exactOptional(documented(LanguageSchema, 'User language for the email or popup, a BCP 47 tag.', 'en')),
  });
}
/** A request for a trading account. Fields that were left empty are absent. */
export function tradingAccountRequestSchema(version: PlatformVersion) {
  const body = tradingAccountBodySchema(version);
  return v.pipe(readBody(Object.keys(body.entries)), body);
}
export type TradingAccountRequest = v.InferOutput<ReturnType<typeof tradingAccountRequestSchema>>;

const passwordAnswer = v.pipe(v.string(), v.nonEmpty());
/** The answer to an opened account (specification, 2.4). */
export const TradingAccountAnswerSchema = v.object({
  login: documented(loginSchema('tp5'), 'Account login.', 700123),
  master_password: documented(passwordAnswer, 'Master password.', 'Tr4de-It-Now'),
  investor_password: documented(passwordAnswer, 'Investor password.', 'L00k-Only-Pls'),
});
export type TradingAccountAnswer = v.InferOutput<typeof TradingAccountAnswerSchema>;
