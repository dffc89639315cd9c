import { createHash } from 'node:crypto';
import type { TextProtocolConnection } from '../../records/crm-records.ts';
import type { Violation, ViolationRule } from '../../validators/primitives.ts';
import { type AccountOrder, countryText, PlatformFailure } from '../platform.ts';
import type { Bytes, CodePage } from './encoding.ts';

/** The maximum bytes of each value, without the final NUL. A server truncates longer values silently. */
const KEPT = { master: 254, group: 15, password: 15, name: 127, email: 47, country: 31, comment: 63, phone: 31 };
/** The longest command line that every server reads. */
const MAX_LINE = 1_023;
/** The largest login that the platform can hold. */
const MAX_LOGIN = 2_147_483_647;
/** The maximum deposit of the web-registration plug-in. */
const MAX_DEPOSIT = 100_000_000;
/** Smaller deposits are ignored. */
const MIN_DEPOSIT = 0.01;

/** Every key that a server of either dialect looks for. */
const KEYS = [
  ...['MASTER', 'IP', 'GROUP', 'LOGIN', 'NAME', 'PASSWORD', 'INVESTOR', 'EMAIL', 'COUNTRY', 'STATE', 'CITY', 'ADDRESS'],
  ...['COMMENT', 'PHONE', 'PHONE_PASSWORD', 'STATUS', 'ZIPCODE', 'ID', 'LEVERAGE', 'AGENT', 'SEND_REPORTS', 'DEPOSIT'],
  ...['READONLY', 'ENABLE', 'CHANGE_PASSWORD', 'BALANCE', 'BALCOMMENT', 'LANGUAGE', 'OTP', 'COLOR', 'INTEREST_RATE'],
  ...['LIMIT', 'CREDITWAY', 'CREDITDETAIL', 'BNSCODE', 'BNSDAY', 'BNSRATE'],
];

type Parameters = [key: string, value: Bytes][];

/** A server of the text protocols, with what its commands need. */
export interface TextServer {
  connection: TextProtocolConnection;
  master: string;
  page: CodePage;
}

/** The fields of the order that the protocol does not support or cannot transmit. */
export function orderViolations(connection: TextProtocolConnection, order: AccountOrder): Violation[] {
  const { protocol } = connection;
  const violations: Violation[] = [];
  const add = (pointer: string, rule: ViolationRule, detail: string) => violations.push({ pointer, rule, detail });
  const numbered = hasGroupNumbers(connection);
  if (protocol === 'web-registration' && order.login !== undefined) {
    add('#/login', 'not_supported', 'cannot be chosen on this connection');
  } else if (order.login !== undefined && order.login > MAX_LOGIN) {
    add('#/login', 'not_supported', `must be at most ${MAX_LOGIN} on this connection`);
  }
  if (numbered && order.readonly) add('#/enable_readonly', 'not_supported', 'is not possible on this connection');
  if (numbered && hasDeposit(order) && (!order.group.startsWith('demo') || (order.deposit ?? 0) > MAX_DEPOSIT)) {
    add('#/account_type_id', 'not_supported', 'names an account type whose deposit this connection cannot make');
  }
  const passwords = { '#/master_password': order.masterPassword, '#/investor_password': order.investorPassword };
  for (const [pointer, password] of Object.entries(passwords)) {
    if (!/^[\x20-\x7e]*$/.test(password) || /[|=]/.test(password)) {
      add(pointer, 'characters', 'must be printable ASCII without | and = on this connection');
    } else if (password.length > KEPT.password) {
      add(pointer, 'length', `must be at most ${KEPT.password} characters on this connection`);
    }
  }
  return violations;
}

/**
 * `WNEWACCOUNT`. Personal data never prevents the opening: the name is transliterated if needed, email and phone may be
 * omitted. Group and passwords are transmitted exactly or refused.
 * @throws PlatformFailure `group_not_found`, `platform_refused`: nothing was sent
 */
export async function openingCommand(server: TextServer, order: AccountOrder): Promise<Buffer> {
  const { connection, page } = server;
  const gateway = connection.protocol === 'interface-gateway';
  const whole = (text: string | undefined, limit: number) => {
    const bytes = page.encode(text ?? '') ?? '';
    return bytes.length > limit ? '' : bytes;
  };
  const name = await page.approximate(order.name, KEPT.name);
  const country = order.country === undefined ? '' : countryText(order.country, connection);
  return command(server, 'NEWACCOUNT', [
    ['IP', visitorAddress(order.operationId)],
    ['GROUP', groupValue(server, order.group)],
    ...(gateway && order.login !== undefined ? ([['LOGIN', String(order.login)]] as Parameters) : []),
    ['NAME', name === '' ? 'Client' : name],
    ['PASSWORD', order.masterPassword],
    ['INVESTOR', order.investorPassword],
    ['EMAIL', whole(order.email, KEPT.email)],
    ['COUNTRY', await page.approximate(country, KEPT.country)],
    ['STATE', ''],
    ['CITY', ''],
    ['ADDRESS', ''],
    ['COMMENT', order.operationId],
    ['PHONE', whole(order.phone, KEPT.phone)],
    ['PHONE_PASSWORD', ''],
    ['STATUS', ''],
    ['ZIPCODE', ''],
    ['ID', ''],
    ['LEVERAGE', String(order.leverage)],
    ['AGENT', ''],
    // Statements by email, as with the default rights of tp5.
    ['SEND_REPORTS', '1'],
    ...(gateway && !hasGroupNumbers(connection)
      ? gatewayParameters(order)
      : ([['DEPOSIT', amount(order)]] as Parameters)),
  ]);
}

/** The last value is a number: some gateways add the line's end to the last value. */
function gatewayParameters(order: AccountOrder): Parameters {
  const funding: Parameters = [
    ['BALCOMMENT', order.operationId],
    ['BALANCE', amount(order)],
  ];
  return [...(hasDeposit(order) ? funding : []), ['READONLY', order.readonly ? '1' : '0']];
}

/** `WCHKACCOUNT`: whether a login exists; creates nothing. */
export function checkAccountCommand(server: TextServer, login: number): Buffer {
  return command(server, 'CHKACCOUNT', [['LOGIN', String(login)]]);
}

/**
 * Builds every command. A server finds a parameter by the first `KEY=` anywhere in the line and reads up to `|`. So no
 * value may contain a protocol byte, and each key must be found at its own position.
 */
function command(server: TextServer, verb: string, parameters: Parameters): Buffer {
  let line = `${commandPrefix(server)}${verb} MASTER=${masterValue(server)}`;
  const places = new Map([['MASTER', line.indexOf('MASTER=')]]);
  for (const [key, value] of parameters) {
    if (!/^[\x20-<>-{}~\x80-\xff]*$/.test(value)) throw unsendable('value_not_transmittable');
    places.set(key, line.length + 1);
    line += `|${key}=${value}`;
  }
  if (line.length > MAX_LINE) throw unsendable('command_too_long');
  // Only the master password may contain `=`, as in Base64, but no key before it.
  if (KEYS.some((key) => line.indexOf(`${key}=`) !== (places.get(key) ?? -1))) throw unsendable('master_holds_a_key');
  return Buffer.from(`${line}\nQUIT\n`, 'latin1');
}

/** The letter before every command. */
export function commandPrefix({ connection: { prefix = 'W' } }: Pick<TextServer, 'connection'>): 'W' | 'Z' {
  return prefix;
}

function masterValue({ master, page }: TextServer): Bytes {
  const parts = master.split('=').map((part) => page.encode(part));
  const value = parts.join('=');
  if (parts.includes(undefined) || value.length > KEPT.master) throw unsendable('master_not_transmittable');
  return value;
}

/** The plug-in, and gateways with its commands, know groups by their numbers. */
function hasGroupNumbers({ groups }: TextProtocolConnection): boolean {
  return groups !== undefined && !Array.isArray(groups);
}

/** A group's number or name. A truncated or changed name could be another group. */
function groupValue({ connection, page }: TextServer, group: string): Bytes {
  const { groups } = connection;
  if (groups !== undefined && !Array.isArray(groups)) {
    const index = Object.hasOwn(groups, group) ? groups[group] : undefined;
    if (index === undefined) throw new PlatformFailure('group_not_found', { reason: 'group_not_offered' });
    return String(index);
  }
  const name = page.encode(group);
  if (
    name === undefined ||
    name === '' ||
    name.length > KEPT.group ||
    (groups !== undefined && !groups.includes(group))
  ) {
    throw new PlatformFailure('group_not_found', { reason: 'group_not_offered' });
  }
  return name;
}

/**
 * `IP=` is the visitor of a web form, and the plug-in limits openings by visitor. Here the API limits its own callers,
 * so each operation is its own visitor with a private network address. Repeating an operation still meets the plug-in's
 * limit.
 */
function visitorAddress(operationId: string): Bytes {
  const [a, b, c] = createHash('sha256').update(operationId).digest();
  return `10.${a}.${b}.${c}`;
}

function hasDeposit({ deposit }: AccountOrder): boolean {
  return deposit !== undefined && deposit >= MIN_DEPOSIT;
}

function amount(order: AccountOrder): Bytes {
  return hasDeposit(order) ? (order.deposit ?? 0).toFixed(2) : '0';
}

function unsendable(reason: string): PlatformFailure {
  return new PlatformFailure('platform_refused', { reason });
}
