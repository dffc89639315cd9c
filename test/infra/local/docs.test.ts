import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type LocalService, startService } from '../../../infra/local/service.ts';
import { CHROMIUM, inChromium, TestBrowser } from '../../support/chromium.ts';

let service: LocalService;
beforeAll(async () => {
  service = await startService();
});
afterAll(() => service.close());

it('The API reference of the local service names the called address as its server', async () => {
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

  it('The API reference of the local service shows an operation with its path, its fields and an example of the demo records', async () => {
    await browser.page.evaluate('location.hash = "#/trading-accounts/createtp5account"');
    await browser.page.getByText('/public/v1/users/{user_id}/tp5/accounts').first().waitFor();
    await browser.page.getByText('Idempotency-Key').first().waitFor();
    await browser.page.getByText('"tp5-live-1"').first().waitFor();
  });

  it('The API reference of the local service links to the outbox of the called service', async () => {
    expect(await browser.page.getByRole('link', { name: 'outbox' }).getAttribute('href')).toBe(`${service.url}/_local`);
  });

  it('The API reference of the local service fits the screen of a phone', async () => {
    await browser.page.setViewportSize({ width: 390, height: 900 });
    expect(await browser.page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(390);
  });
});
