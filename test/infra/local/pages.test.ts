import { createHash } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type LocalService, startService } from '../../../infra/local/service.ts';
import { getText } from '../../support/local-service.ts';

let service: LocalService;
beforeAll(async () => {
  service = await startService();
});
afterAll(() => service.close());

const HTML = { accept: 'text/html' };
const PAGES = ['/_local', '/_local/', '/_local/outbox', '/_local/register', '/_local/register/'];

/** The files that a page names, with those of its import map. */
function linkedFiles(html: string): string[] {
  return [...html.matchAll(/(?:src|href)="([^"]+)"|":"(\/[^"]+)"/g)].map(([, link, mapped]) => link ?? mapped ?? '');
}

describe('the pages of the local service', () => {
  it.each(PAGES)('%s loads files of this service only, and its policy allows no others', async (path) => {
    const { headers, text } = await getText(service, path, HTML);
    expect(headers.get('content-type')).toBe('text/html; charset=utf-8');
    const files = linkedFiles(text);
    expect(files.length).toBeGreaterThan(4);
    for (const file of files) {
      expect(file).toMatch(/^\/_local\/(pages|register)\//);
      expect((await getText(service, file)).status).toBe(200);
    }
    // Of inline scripts it allows the import map alone.
    const [, map = ''] = /<script type="importmap">(.*)<\/script>/.exec(text) ?? [];
    const hash = createHash('sha256').update(map).digest('base64');
    const policy = headers.get('content-security-policy');
    expect(policy).toContain(`default-src 'none'; script-src 'self' 'sha256-${hash}'; connect-src 'self'`);
    expect(policy).toContain("require-trusted-types-for 'script'; trusted-types 'none'");
    expect(policy).not.toContain('unsafe');
  });

  it.each([
    ['pico.css', 'text/css; charset=utf-8'],
    ['preact.js', 'text/javascript; charset=utf-8'],
    ['icons.svg', 'image/svg+xml; charset=utf-8'],
  ])('have the file %s', async (name, type) => {
    const { status, headers } = await getText(service, `/_local/pages/${name}`);
    expect([status, headers.get('content-type'), headers.get('cache-control')]).toEqual([200, type, 'no-store']);
  });

  it.each(['package.json', 'tsconfig.json', '..%2foutbox.ts', '%2e%2e%2fpages.ts', 'index.html'])(
    'have no other file: %s',
    async (name) => {
      expect((await getText(service, `/_local/pages/${name}`)).status).toBe(404);
    },
  );

  it('show a mail with a policy that allows no script and no request', async () => {
    service.outbox.record({ kind: 'email', to: 'ann@example.com', text: 'Hello', html: '<p>Hello</p>' });
    const { headers, text } = await getText(service, '/_local/outbox/1/mail');
    expect(headers.get('content-security-policy')).toMatch(/^default-src 'none';.*sandbox allow-same-origin/);
    expect(text).toBe('<p>Hello</p>');
    expect((await getText(service, '/_local/outbox/none/mail')).status).toBe(404);
  });
});
