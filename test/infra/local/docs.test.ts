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
  const browser = new TestBrowser();

  beforeAll(async () => {
    // Rendering takes seconds, and only once.
    await fetch(`${service.url}/_local/docs`);
    await browser.page.goto(service.url);
  });

  it('shows an operation with its path, its fields and an example of the demo records', async () => {
    await browser.page.evaluate('location.hash = "#/trading-accounts/createtp5account"');
    await browser.page.getByText('/public/v1/users/{user_id}/tp5/accounts').first().waitFor();
    await browser.page.getByText('Idempotency-Key').first().waitFor();
    await browser.page.getByText('"tp5-live-1"').first().waitFor();
  });

  it('leads to the outbox of the service that was called', async () => {
    expect(await browser.page.getByRole('link', { name: 'outbox' }).getAttribute('href')).toBe(`${service.url}/_local`);
  });

  it('fits a phone', async () => {
    await browser.page.setViewportSize({ width: 390, height: 900 });
    expect(await browser.page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(390);
  });
});
