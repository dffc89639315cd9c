import { once } from '../once.ts';

/** Public mail providers that the list of `email-providers` lacks. */
const MORE = ['fastmail.com', 'sohu.com', 'tutanota.com', 'tuta.io', 'tuta.com', 'mail.bg', 'ziggo.nl', 'duck.com'];
/** Domains of that list that have no mailboxes (RFC 2606, 3). */
const EXAMPLES = ['example.com', 'example.net', 'example.org', 'test.com', 'yourdomain.com', 'mydomain.com'];

/** Loaded while a request waits for other things: the list is long. */
const providers = import('email-providers/all.json', { with: { type: 'json' } }).then(
  ({ default: all }): ReadonlySet<string> => new Set(all),
);

/** The list of public suffixes. Loaded on first use: most addresses are at public providers. */
const suffixes = once(() => import('tldts-icann'));

/**
 * The domain that the mails of an address count for: the registrable one, so `a.acme.co.uk` and `b.acme.co.uk` are one.
 * Undefined at a public mail provider, whose people have nothing in common.
 * @param domain in lower case and punycode
 */
export async function countedDomain(domain: string): Promise<string | undefined> {
  if (MORE.includes(domain) || (!EXAMPLES.includes(domain) && (await providers).has(domain))) return undefined;
  // A domain with one dot is registrable, or is a suffix such as co.uk. Both count for themselves.
  if (/^[^.]+\.[^.]+$/.test(domain)) return domain;
  const { getDomain } = await suffixes();
  return getDomain(domain) ?? domain;
}
