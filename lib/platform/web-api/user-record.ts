import * as v from 'valibot';
import { type AccountOrder, PlatformFailure } from '../platform.ts';
import { LoginSchema, type WebApiAnswer } from './answers.ts';

/** ENABLED, PASSWORD, TRAILING, EXPERT, 0x80 and REPORTS. */
const RIGHTS = 0x1e3;
const TRADE_DISABLED = 0x4;
/** In UTF-16 units. The server would cut inside a character. */
const NAME_UNITS = 127;

/** The record of `user/add`, all in strings. Passwords are only in the body. */
export function userRecord(order: AccountOrder): Record<string, string> {
  return {
    PassMain: order.masterPassword,
    PassInvestor: order.investorPassword,
    Group: order.group,
    Name: cut(order.name.replace(/\p{Cc}+/gu, ' '), NAME_UNITS),
    Leverage: String(order.leverage),
    Rights: String(order.readonly ? RIGHTS | TRADE_DISABLED : RIGHTS),
    Email: order.email,
    Comment: order.operationId,
    ...(order.login === undefined ? {} : { Login: String(order.login) }),
    ...(order.phone === undefined ? {} : { Phone: order.phone }),
    ...(order.country === undefined ? {} : { Country: order.country }),
  };
}

/** Cuts at the end of a grapheme. */
function cut(value: string, units: number): string {
  if (value.length <= units) return value;
  let kept = '';
  for (const { segment } of new Intl.Segmenter().segment(value)) {
    if (kept.length + segment.length > units) break;
    kept += segment;
  }
  return kept;
}

const NewUserSchema = v.object({ Login: LoginSchema });

/** Newer servers name the login at the root too. @throws PlatformFailure `account_outcome_unknown` without a login */
export function newLogin({ answer, login }: WebApiAnswer): number {
  const user = v.safeParse(NewUserSchema, answer);
  if (user.success) return user.output.Login;
  const root = v.safeParse(LoginSchema, login);
  if (root.success) return root.output;
  throw new PlatformFailure('account_outcome_unknown', { reason: 'login_missing' });
}
