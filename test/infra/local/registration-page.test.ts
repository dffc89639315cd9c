import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { CHROMIUM, launchChromium } from '../../../infra/local/chromium.ts';
import { type LocalService, startService } from '../../../infra/local/service.ts';
import { inChromium } from '../../support/chromium.ts';

let service: LocalService;
beforeAll(async () => {
  const captcha = JSON.stringify({ provider: 'turnstile', secret: 'local/captcha' });
  const limits = JSON.stringify({ sourcePer10Minutes: 100, sourcePerHour: 100 });
  service = await startService({ environment: { CAPTCHA: captcha, LIMITS: limits } });
});
afterAll(() => service.close());

describe('the local provider of captchas', () => {
  it('gives a token to whoever solved the riddle', async () => {
    const asked = await fetch(`${service.url}/_local/captcha`);
    expect(await asked.json()).toEqual({ needed: true });
    const solved = await fetch(`${service.url}/_local/captcha`, { method: 'POST' });
    expect(await solved.json()).toEqual({ token: expect.stringMatching(/^local\./) });
  });
});

describe.skipIf(CHROMIUM === undefined)(inChromium('the registration page'), () => {
  let browser: Browser;
  let page: Page;
  const complaints: string[] = [];
  beforeAll(async () => {
    browser = await launchChromium();
    page = await browser.newPage();
    page.on('pageerror', ({ message }) => complaints.push(message));
  });
  afterAll(() => browser?.close());
  beforeEach(async () => {
    service.outbox.clear();
    complaints.length = 0;
    await page.goto(`${service.url}/_local/register`);
    await page.getByLabel('Name').fill('Nia Newman');
    await page.getByLabel('E-mail', { exact: true }).fill('nia@example.com');
    await page.getByLabel('Password').fill('correct horse');
  });
  const press = () => page.getByRole('button', { name: 'Register' }).click();

  it('sends a code to who solved the captcha', async () => {
    await page.getByLabel('I am a person').check();
    await press();
    await page.getByRole('heading', { name: 'We have sent you a code' }).waitFor();
    expect(service.outbox.list()).toMatchObject([{ kind: 'email', to: 'nia@example.com' }]);
    expect(service.captcha?.requests).toBe(1);
    expect(await page.getByLabel('I am a person').isChecked()).toBe(false);
    expect(complaints).toEqual([]);
  });

  it('shows what the service finds wrong', async () => {
    await page.getByLabel('SMS').check();
    await page.getByLabel('Phone', { exact: true }).fill('123');
    await press();
    await page.getByText('The service answered 400.').waitFor();
    expect(await page.getByRole('listitem').allTextContents()).toEqual([
      'captcha-token is required',
      expect.stringMatching(/^phone\/number must be /),
    ]);
    expect(service.outbox.list()).toEqual([]);
    expect(complaints).toEqual([]);
  });

  it('sends texts to the phone', async () => {
    await page.getByLabel('SMS').check();
    await page.getByLabel('Phone', { exact: true }).fill('07400 123456');
    await page.getByLabel('I am a person').check();
    await press();
    await page.getByRole('heading', { name: 'We have sent you a code' }).waitFor();
    expect(service.outbox.list()).toMatchObject([{ kind: 'sms', to: '+447400123456' }]);
  });

  it('fits a phone', async () => {
    await page.setViewportSize({ width: 360, height: 740 });
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(360);
  });
});
