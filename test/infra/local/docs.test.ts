import type { Browser, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { CHROMIUM, launchChromium } from '../../../infra/local/chromium.ts';
import { DEMO_RECORDS } from '../../../infra/local/demo-records.ts';
import { type LocalService, startService } from '../../../infra/local/service.ts';
import { inChromium } from '../../support/chromium.ts';

let service: LocalService;
beforeAll(async () => {
  service = await startService();
});
afterAll(async () => {
  await service.close();
});

describe('the API reference over HTTP', () => {
  it('is where the root leads to', async () => {
    const answer = await fetch(service.url, { redirect: 'manual' });
    expect([answer.status, answer.headers.get('location')]).toEqual([302, '/_local/docs']);
  });

  it('is a page that loads nothing from elsewhere', async () => {
    const answer = await fetch(`${service.url}/_local/docs`);
    expect(answer.headers.get('content-type')).toBe('text/html; charset=utf-8');
    expect(answer.headers.get('content-security-policy')).toContain("default-src 'none'; script-src 'self'");
    const html = await answer.text();
    const loaded = [...html.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, path = '']) => path);
    expect(loaded).not.toHaveLength(0);
    for (const path of loaded) {
      expect(path).toMatch(/^\/_local/);
      expect((await fetch(`${service.url}${path}`)).status).toBe(200);
    }
  });

  it.each([
    ['swagger-ui.css', 'text/css; charset=utf-8', 'no-cache'],
    ['swagger-ui-bundle.js', 'text/javascript; charset=utf-8', 'no-cache'],
    ['docs.css', 'text/css; charset=utf-8', 'no-store'],
    ['docs.js', 'text/javascript; charset=utf-8', 'no-store'],
  ])('serves %s with its content type', async (name, type, caching) => {
    const answer = await fetch(`${service.url}/_local/pages/${name}`);
    expect([answer.status, answer.headers.get('content-type'), answer.headers.get('cache-control')]).toEqual([
      200,
      type,
      caching,
    ]);
    expect((await answer.arrayBuffer()).byteLength).toBe(Number(answer.headers.get('content-length')));
  });

  it('does not send the viewer again to a browser that has it', async () => {
    const path = `${service.url}/_local/pages/swagger-ui-bundle.js`;
    const etag = (await fetch(path)).headers.get('etag') ?? '';
    expect((await fetch(path, { headers: { 'if-none-match': etag } })).status).toBe(304);
    expect((await fetch(path, { headers: { 'if-none-match': '"older"' } })).status).toBe(200);
  });

  it.each(['package.json', '..%2fpackage.json', '%2e%2e%2fpackage.json', 'index.html'])(
    'serves no other file of the viewer: %s',
    async (name) => {
      expect((await fetch(`${service.url}/_local/pages/${name}`)).status).toBe(404);
    },
  );

  it('shows the document with the address that was called as its server', async () => {
    for (const origin of [service.url, service.url.replace('localhost', '127.0.0.1')]) {
      const document = (await (await fetch(`${origin}/_local/openapi.json`)).json()) as Record<string, unknown>;
      expect(document).toMatchObject({ openapi: '3.1.1', servers: [{ url: origin }] });
      expect(Object.keys(document.paths ?? {})).toHaveLength(4);
    }
  });
});

describe.skipIf(CHROMIUM === undefined)(inChromium('the API reference in a browser'), () => {
  const PHONE = 390;
  const DESK = 1280;
  const PATHS = ['/register/request', '/tp5/accounts', '/tp4/accounts'];
  let browser: Browser;
  let page: Page;
  /** What the pages complain of. */
  const complaints: string[] = [];

  beforeAll(async () => {
    browser = await launchChromium();
    page = await browser.newPage({ viewport: { width: DESK, height: 900 } });
    page.on('console', (message) => {
      if (['error', 'warning'].includes(message.type())) complaints.push(message.text());
    });
    page.on('pageerror', (error) => complaints.push(error.message));
    page.on('request', (request) => {
      const { origin } = new URL(request.url());
      if (origin !== service.url && origin !== 'null') complaints.push(`calls ${origin}`);
    });
    await unfold();
  });
  afterAll(async () => {
    await browser.close();
  });
  afterEach(() => {
    expect(complaints).toEqual([]);
  });

  /** Loads the page and unfolds all that can be. It takes long, so the tests share it. */
  async function unfold(): Promise<void> {
    await page.goto(service.url);
    await page.locator('.opblock').first().waitFor();
    for (const path of PATHS) await operationOf(path).locator('.opblock-summary-control').click();
    for (const path of PATHS) await operationOf(path).locator('.execute').waitFor();
  }

  function operationOf(path: string) {
    return page.locator('.opblock', { hasText: path });
  }

  it.each([
    ['a phone', PHONE],
    ['a desk', DESK],
  ])('fits %s, unfolded', async (_, width) => {
    await page.setViewportSize({ width, height: 900 });
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(width);
  });

  it('sends a registration that is tried out, and the code arrives', async () => {
    const operation = operationOf('/register/request');
    await operation.locator('.execute').click();
    const status = operation.locator('.live-responses-table .response .response-col_status').first();
    await status.waitFor();
    expect(await status.textContent()).toMatch(/^204/);
    expect(service.outbox.list().map(({ to }) => to)).toContain('maria@example.com');
  });

  it('opens an account that is tried out, and repeats it by its Idempotency-Key', async () => {
    await page.setViewportSize({ width: PHONE, height: 900 });
    const operation = operationOf('/tp5/accounts');
    const live = operation.locator('.live-responses-table');
    const execute = async () => {
      const [request] = await Promise.all([
        page.waitForRequest((sent) => sent.method() === 'POST'),
        operation.locator('.execute').click(),
      ]);
      const response = await request.response();
      const account = (await response?.json()) as { login: number };
      await live.getByText(String(account.login)).waitFor();
      return { headers: await request.allHeaders(), account, answered: await response?.allHeaders() };
    };

    const first = await execute();
    expect(first.headers).toMatchObject({ 'content-type': 'application/json' });
    for (const name of ['idempotency-key', 'authorization']) expect(first.headers).not.toHaveProperty(name);

    await operation.locator('input[placeholder="Idempotency-Key"]').fill('2f0b8c1d-94a6-4e37-b5d2-8c7e1a3f6049');
    const second = await execute();
    const third = await execute();
    expect(third.answered).toMatchObject({ 'idempotent-replayed': 'true' });
    expect(third.account).toEqual(second.account);
    expect(second.account).not.toEqual(first.account);
    expect(service.platforms.get('tp5-live-1')?.accounts()).toHaveLength(2);
  });

  it('shows all the examples of the document where the service has the demo records', async () => {
    const names = operationOf('/tp4/accounts').locator('.opblock-section-request-body .examples-select option');
    expect(await names.count()).toBe(3);
  });

  it('shows examples that go with other records where those were loaded', async () => {
    const [tp4 = expect.fail()] = DEMO_RECORDS.connections.filter(({ id }) => id === 'tp4-live-1');
    await service.close();
    service = await startService({
      records: {
        forms: [{ id: 'OTHERFRM', fields: [] }],
        clients: [{ id: 'OTHER001', email: 'eva@example.com', name: 'Eva Novak' }],
        account_types: [],
        connections: [{ ...tp4, id: 'other-tp4' }],
        local_secrets: {},
      },
    });
    await unfold();
    const bodyOf = (path: string) => operationOf(path).locator('textarea').inputValue();
    const send = async (path: string, body: string) => {
      const headers = { 'content-type': 'application/json' };
      return (await fetch(`${service.url}/public/v1/${path}`, { method: 'POST', headers, body })).status;
    };
    const user = await operationOf('/tp4/accounts').locator('input[placeholder="user_id"]').inputValue();
    expect(await send('account/register/request', await bodyOf('/register/request'))).toBe(204);
    expect(await send(`users/${user}/tp4/accounts`, await bodyOf('/tp4/accounts'))).toBe(200);
    expect(service.platforms.get('other-tp4')?.accounts()).toHaveLength(1);
    // No call is known that would work there.
    expect(JSON.parse(await bodyOf('/tp5/accounts'))).toMatchObject({ connection_id: '<connection_id>' });
    expect(await page.locator('body').textContent()).not.toMatch(/demo records|CLIENT01|tp5-live-1/);
  });
});
