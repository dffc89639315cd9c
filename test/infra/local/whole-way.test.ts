import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { CHROMIUM, launchChromium } from '../../../infra/local/chromium.ts';
import { type LocalService, startService } from '../../../infra/local/service.ts';
import { inChromium } from '../../support/chromium.ts';
import { checkEvent } from '../../support/events.ts';

const PERSON = { name: 'Nia Newman', email: 'nia@example.com', password: 'correct horse' };

let service: LocalService;
beforeAll(async () => {
  service = await startService();
});
afterAll(() => service.close());

describe.skipIf(CHROMIUM === undefined)(inChromium('a person on the whole way'), () => {
  let browser: Browser;
  let site: Page;
  let outbox: Page;
  beforeAll(async () => {
    browser = await launchChromium();
    const context = await browser.newContext({ permissions: ['clipboard-read', 'clipboard-write'] });
    context.setDefaultTimeout(10_000);
    [site, outbox] = [await context.newPage(), await context.newPage()];
    await outbox.goto(`${service.url}/_local`);
    await site.goto(`${service.url}/_local/register`);
  });
  afterAll(() => browser?.close());

  it('registers, and finds the code in the outbox', async () => {
    await site.getByLabel('Name').fill(PERSON.name);
    await site.getByLabel('E-mail', { exact: true }).fill(PERSON.email);
    await site.getByLabel('Password').fill(PERSON.password);
    await site.getByRole('button', { name: 'Register' }).click();
    await site.getByRole('heading', { name: 'We have sent you a code' }).waitFor();
    await outbox.getByRole('heading', { name: `E-mail to ${PERSON.email}` }).waitFor();
    expect(await outbox.locator('.digits').textContent()).toMatch(/^\d{6}$/);
  });

  it('gives a wrong code and is refused', async () => {
    const code = await outbox.locator('.digits').textContent();
    await site.getByLabel('Code', { exact: true }).fill(code === '123456' ? '654321' : '123456');
    await site.getByRole('button', { name: 'Confirm' }).click();
    await site.getByText('The service answered 400.').waitFor();
    expect(service.bus.list()).toEqual([]);
  });

  it('gives the code and becomes a client, of whom the CRM has heard', async () => {
    await site.getByLabel('Code', { exact: true }).fill((await outbox.locator('.digits').textContent()) ?? '');
    await site.getByRole('button', { name: 'Confirm' }).click();
    await site.getByRole('heading', { name: 'You are registered' }).waitFor();
    const crm = outbox.getByRole('region', { name: 'CRM' });
    await crm.getByText(PERSON.email).waitFor();
    await crm.getByText('RegistrationConfirmed').waitFor();
    expect(service.bus.list()).toMatchObject([{ 'detail-type': 'RegistrationConfirmed' }]);
    for (const word of [PERSON.email, PERSON.name, PERSON.password]) {
      expect(JSON.stringify(service.bus.list())).not.toContain(word);
    }
  });

  it('has an account opened by the call that the page gives, and logs in to the trading server', async () => {
    await outbox.getByRole('button', { name: 'Copy a call that opens an account' }).click();
    const clipboard = () => outbox.evaluate<string>('navigator.clipboard.readText()');
    await expect.poll(clipboard).toContain('/tp5/accounts');
    const { stdout } = await promisify(execFile)('sh', ['-c', await clipboard()]);
    expect(stdout).toMatch(/^HTTP\/1\.1 200/);
    const { login, master_password: password } = JSON.parse(stdout.slice(stdout.indexOf('{')));
    const account = outbox.getByRole('list', { name: 'Accounts on tp5-live-1' }).getByRole('listitem').first();
    await account.getByText(String(login)).waitFor();
    expect(await account.textContent()).toContain(PERSON.name);
    const answer = await fetch(`${service.url}/_local/platforms/tp5-live-1/login`, {
      method: 'POST',
      body: JSON.stringify({ login, password }),
    });
    expect(await answer.json()).toEqual({ access: 'master' });
    await expect.poll(() => service.bus.list().length).toBe(2);
    for (const event of service.bus.list()) checkEvent(event['detail-type'], event.detail, event.source);
  });
});
