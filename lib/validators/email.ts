import { domainToASCII } from 'node:url';
import * as v from 'valibot';
import { rule } from './primitives.ts';

/** RFC 5321, 4.5.3.1: a path of 256 octets has two angle brackets. */
const MAX_CHARACTERS = 254;
const LONGEST_LOCAL_PART = 64;
/**
 * RFC 5322, 3.2.3: a dot-atom, less what mail servers read as a route (`%`, `!`) and as an encoded word (`=?`). Quoted
 * local parts and such beyond ASCII, which SES cannot send to, are refused too.
 */
const LOCAL_PART = /^(?!.*=\?)[\w#$&'*+/=?^`{|}~-]+(?:\.[\w#$&'*+/=?^`{|}~-]+)*$/;
/** Of ASCII only letters, digits, hyphen and dot; everything beyond it is for IDNA to judge. */
const TYPED_DOMAIN = /^[A-Za-z0-9.\u0080-\uffff-]+$/;
/** IDNA changes nothing in these, and the only ones that it refuses, with a number at the end, no address has either. */
const PLAIN_DOMAIN = /^[a-z0-9.-]+$/;
/** At least two labels, the last of which is no number. */
const ASCII_DOMAIN = /^(?=.{1,253}$)(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z](?:[a-z0-9-]{0,61}[a-z0-9])$/;

/** An e-mail address: local part in ASCII, domain international or not; nothing is trimmed. */
export const EmailSchema = v.pipe(
  v.string(),
  v.rawCheck(({ dataset, addIssue }) => {
    const message = dataset.typed ? faultOf(dataset.value) : undefined;
    if (message !== undefined) addIssue({ message });
  }),
  // Generators compile patterns with RE2, which knows no lookahead.
  v.metadata({ format: 'idn-email', maxLength: MAX_CHARACTERS, pattern: "^[\\w.#$&'*+/=?^\\x60{|}~-]+@[^@]+$" }),
);

const TOO_LONG = rule('length', `must be at most ${MAX_CHARACTERS} characters`);
const NO_ADDRESS = rule('format', 'must be an e-mail address');

function faultOf(email: string): string | undefined {
  if (email.length > MAX_CHARACTERS) return TOO_LONG;
  const { local, domain } = split(email);
  const ascii = inAscii(domain);
  if (local.length + 1 + (ascii || domain.toLowerCase()).length > MAX_CHARACTERS) return TOO_LONG;
  const isAddress =
    local.length <= LONGEST_LOCAL_PART &&
    LOCAL_PART.test(local) &&
    TYPED_DOMAIN.test(domain) &&
    ASCII_DOMAIN.test(ascii);
  return isAddress ? undefined : NO_ADDRESS;
}

function split(email: string): { local: string; domain: string } {
  const at = email.lastIndexOf('@');
  return at === -1 ? { local: email, domain: '' } : { local: email.slice(0, at), domain: email.slice(at + 1) };
}

/** The address as mail carries it: local part as typed, domain in punycode. */
export function asciiEmail(email: string): string {
  const { local, domain } = split(email);
  return `${local}@${inAscii(domain) || domain.toLowerCase()}`;
}

/** The domain in punycode and lower case; empty where there is none of it. Most are it already: IDNA takes its time. */
function inAscii(domain: string): string {
  return PLAIN_DOMAIN.test(domain) ? domain : domainToASCII(domain);
}

/** The address as it is looked up: lower case, domain in punycode. */
export function emailKey(email: string): string {
  return asciiEmail(email).toLowerCase();
}

/**
 * The address as limits count it: spellings that one mailbox receives are one. The plus-tag goes everywhere, dots in
 * the local part go at Gmail, which ignores them, and its other name becomes `gmail.com`.
 * @param key as it is looked up
 */
export function foldedEmail(key: string): string {
  const { local, domain } = split(key);
  const tag = local.indexOf('+');
  const untagged = tag > 0 ? local.slice(0, tag) : local;
  return domain === 'gmail.com' || domain === 'googlemail.com'
    ? `${untagged.replaceAll('.', '')}@gmail.com`
    : `${untagged}@${domain}`;
}
