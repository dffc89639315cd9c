import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type LocalService, startService } from '../../../infra/local/service.ts';
import { CHROMIUM, inChromium, TestBrowser } from '../../support/chromium.ts';

let service: LocalService;
beforeAll(async () => {
  service = await startService();
});
afterAll(() => service.close());

it('the document of the API reference names the address that was called as its server', async () => {
  for (const url of [service.url, service.url.replace('localhost', '127.0.0.1')]) {
    const document = await (await fetch(`${url}/_local/openapi.json`)).json();
    expect(document).toMatchObject({ servers: [{ url }], paths: { '/public/v1/account/register/confirm': {} } });
  }
});

describe.skipIf(CHROMIUM === undefined)(inChromium('the API reference in a browser'), () => {
  const PATH = '/tp5/accounts';
  const browser = new TestBrowser();
  const operation = () => browser.page.locator('.opblock', { hasText: PATH });

  /** Unfolding takes long, so the tests share the page. */
  beforeAll(async () => {
    await browser.page.goto(service.url);
    await browser.page.locator('.opblock').first().waitFor();
    await operation().locator('.opblock-summary-control').click();
    await operation().locator('.execute').waitFor();
  });

  it('fits a phone, unfolded', async () => {
    await browser.page.setViewportSize({ width: 390, height: 900 });
    expect(await browser.page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(390);
  });

  it('follows the color scheme of the system', async () => {
    const isDark = () => browser.page.evaluate('document.documentElement.classList.contains("dark-mode")');
    await browser.page.emulateMedia({ colorScheme: 'dark' });
    await expect.poll(isDark).toBe(true);
    await browser.page.emulateMedia({ colorScheme: 'light' });
    await expect.poll(isDark).toBe(false);
  });

  it('opens an account, and repeats the answer by its Idempotency-Key', async () => {
    const execute = async () => {
      const [request] = await Promise.all([
        browser.page.waitForRequest((sent) => sent.method() === 'POST'),
        operation().locator('.execute').click(),
      ]);
      const response = await request.response();
      const account = (await response?.json()) as { login: number };
      await operation().locator('.live-responses-table').getByText(String(account.login)).waitFor();
      return { headers: await request.allHeaders(), account, answered: await response?.allHeaders() };
    };

    const first = await execute();
    expect(first.headers).toMatchObject({ 'content-type': 'application/json' });
    for (const name of ['idempotency-key', 'authorization']) expect(first.headers).not.toHaveProperty(name);

    const key = operation().locator('input[placeholder="Idempotency-Key"]');
    await key.fill('2f0b8c1d-94a6-4e37-b5d2-8c7e1a3f6049');
    const second = await execute();
    const third = await execute();
    expect(third.answered).toMatchObject({ 'idempotent-replayed': 'true' });
    expect(third.account).toEqual(second.account);
    expect(second.account).not.toEqual(first.account);
    expect(service.platforms.get('tp5-live-1')?.accounts()).toHaveLength(2);
  });
});
