import { domainToASCII, domainToUnicode } from 'node:url';
import * as v from 'valibot';
import { normalizedString, violationMessage } from './primitives.ts';
import { trimInvisible } from './typed-text.ts';

/** RFC 5321, 4.5.3.1: a path of 256 octets has two angle brackets. */
const MAX_CHARACTERS = 254;
const MAX_LOCAL_PART = 64;
/**
 * RFC 5322, 3.2.3: a dot-atom, less what mail servers read as a route (`%`, `!`) and as an encoded word (`=?`). Quoted
 * local parts and ones outside ASCII, which SES cannot send to, are refused too.
 */
const LOCAL_PART = /^(?!.*=\?)[\w#$&'*+/=?^`{|}~-]+(?:\.[\w#$&'*+/=?^`{|}~-]+)*$/;
/** The only ASCII characters are letters, digits, hyphen and dot. IDNA decides about all others. */
const TYPED_DOMAIN = /^[A-Za-z0-9.\u0080-\uffff-]+$/;
/** A domain of at least two labels. The last one starts with a letter. */
const ASCII_DOMAIN = /^(?=.{1,253}$)(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z](?:[a-z0-9-]{0,61}[a-z0-9])$/;

const TOO_LONG = violationMessage('length', `must be at most ${MAX_CHARACTERS} characters`);
const NO_ADDRESS = violationMessage('format', 'must be an email address');

/**
 * An email address: local part in ASCII, domain international or not. It is read without white space around it, and its
 * domain in the Unicode form of UTS 46 (non-transitional).
 */
export const EmailSchema = v.pipe(
  // The sent domain may be shorter than the typed one, which may be in full width.
  normalizedString(4 * MAX_CHARACTERS, TOO_LONG, readEmail),
  v.rawCheck(({ dataset, addIssue }) => {
    const message = dataset.typed ? emailError(dataset.value) : undefined;
    if (message !== undefined) addIssue({ message });
  }),
  // Generators compile patterns with RE2, which has no lookahead.
  v.metadata({ format: 'idn-email', maxLength: MAX_CHARACTERS, pattern: "^[\\w.#$&'*+/=?^\\x60{|}~-]+@[^@]+$" }),
);

/** A domain that IDNA refuses stays as it was typed. */
function readEmail(typed: string): string {
  const email = trimInvisible(typed);
  const { local, domain } = split(email);
  if (ASCII_DOMAIN.test(domain) && !domain.includes('xn--')) return email;
  const ascii = TYPED_DOMAIN.test(domain) ? domainToASCII(domain) : '';
  return ascii === '' ? email : `${local}@${domainToUnicode(ascii)}`;
}

function emailError(email: string): string | undefined {
  const { local, domain } = split(email);
  const ascii = asciiDomain(domain);
  if (local.length + 1 + (ascii || domain.toLowerCase()).length > MAX_CHARACTERS) return TOO_LONG;
  const isAddress =
    local.length <= MAX_LOCAL_PART && LOCAL_PART.test(local) && TYPED_DOMAIN.test(domain) && ASCII_DOMAIN.test(ascii);
  return isAddress ? undefined : NO_ADDRESS;
}

/** A domain in punycode and lower case; empty if IDNA refuses it. IDNA leaves most domains unchanged, and is slow. */
function asciiDomain(domain: string): string {
  return ASCII_DOMAIN.test(domain) && !domain.includes('xn--') ? domain : domainToASCII(domain);
}

function split(email: string): { local: string; domain: string } {
  const at = email.lastIndexOf('@');
  return at === -1 ? { local: email, domain: '' } : { local: email.slice(0, at), domain: email.slice(at + 1) };
}

/** The address as mail contains it: local part as typed, domain in punycode. A domain that IDNA refuses stays. */
export function asciiEmail(email: string): string {
  const { local, domain } = split(email);
  return `${local}@${asciiDomain(domain) || domain.toLowerCase()}`;
}

/** The address in its look-up form: lower case, domain in punycode. */
export function emailKey(email: string): string {
  return asciiEmail(email).toLowerCase();
}

/** Mail providers that give one mailbox several addresses. */
const SEVERAL_ADDRESSES: readonly {
  domains: RegExp;
  /** The domain that all these domains count as. */
  domain: string;
  /** The local part as the provider compares it. */
  compared?: (local: string) => string;
}[] = [
  { domains: /^(?:gmail|googlemail)\.com$/, domain: 'gmail.com', compared: (local) => local.replaceAll('.', '') },
  {
    domains: /^(?:proton\.me|pm\.me|protonmail\.(?:com|ch))$/,
    domain: 'proton.me',
    compared: (local) => local.replaceAll(/[._-]/g, ''),
  },
  {
    // Each domain is named: mails to these are not counted by domain, and anybody may own `yandex` under another ending.
    domains:
      /^(?:ya\.ru|yandex\.(?:az|by|co\.il|com|com\.am|com\.ge|com\.tr|ee|fi|fr|kg|kz|lt|lv|md|pl|ru|tj|tm|ua|uz))$/,
    domain: 'yandex.ru',
    compared: (local) => local.replaceAll('-', '.'),
  },
  { domains: /^(?:icloud|me|mac)\.com$/, domain: 'icloud.com' },
];

/** Fastmail: mail to `anything@ann.fastmail.com` goes to `ann@fastmail.com`. */
const FASTMAIL = /^([\w-]+)\.(fastmail\.(?:com?\.)?[a-z]{2,3})$/;

/**
 * The address as limits count it: spellings that one mailbox receives are one. Plus tags are dropped, and dots, hyphens
 * and domains that the large mail providers treat alike become equal.
 * @param key in its look-up form
 */
export function foldedEmail(key: string): string {
  const { local, domain } = split(key);
  const [, user, fastmail] = FASTMAIL.exec(domain) ?? [];
  if (user !== undefined) return `${user}@${fastmail}`;
  const tag = local.indexOf('+');
  const untagged = tag > 0 ? local.slice(0, tag) : local;
  const provider = SEVERAL_ADDRESSES.find(({ domains }) => domains.test(domain));
  if (provider === undefined) return `${untagged}@${domain}`;
  return `${provider.compared?.(untagged) ?? untagged}@${provider.domain}`;
}
