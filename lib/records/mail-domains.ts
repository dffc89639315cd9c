/** Public mail providers that the list of `email-providers` lacks. */
const MORE = new Set([
  'fastmail.com',
  'sohu.com',
  'tutanota.com',
  'tuta.io',
  'tuta.com',
  'mail.bg',
  'ziggo.nl',
  'duck.com',
]);
/** In the list, but nobody's mailbox (RFC 2606, 3). */
const NOBODYS = new Set(['example.com', 'example.net', 'example.org', 'test.com', 'yourdomain.com', 'mydomain.com']);

/** Read beside whatever a request has to wait for first: the list is long. */
const providers = import('email-providers/all.json', { with: { type: 'json' } }).then(
  ({ default: all }): ReadonlySet<string> => new Set(all),
);

/** Whether everybody can have an address there: such a domain's people have nothing in common. */
export async function isPublicProvider(domain: string): Promise<boolean> {
  return MORE.has(domain) || (!NOBODYS.has(domain) && (await providers).has(domain));
}
