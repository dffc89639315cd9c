import { fileURLToPath } from 'node:url';
import { chromium, type Page } from 'playwright-core';
import { startService } from '../service.ts';

/**
 * Takes the pictures of the guide to the registration page: the form, the step of the code, and the same in Arabic. The
 * environment variable `CHROMIUM` names another browser.
 */

const service = await startService();
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium' });

/** Opens the page of a form as a person with this language. */
async function open(locale: string): Promise<Page> {
  const page = await browser.newPage({ locale, viewport: { width: 460, height: 820 } });
  await page.goto(`${service.url}/_local/register?form=FORM0002&email=nia@example.com`);
  await page.locator('.heading').waitFor();
  return page;
}

async function take(page: Page, name: string): Promise<void> {
  const path = fileURLToPath(new URL(`./${name}.png`, import.meta.url));
  await page.locator('.registration').screenshot({ path, animations: 'disabled' });
}

/** Registers, and leaves the page at the step of the code. */
async function register(page: Page): Promise<void> {
  await page.locator('[id="#/name"]').fill('Nia Newman');
  for (const name of ['password', 'repeat_password'])
    await page.locator(`[id="#/${name}"]`).fill('one horse, four batteries');
  await page.locator('form button[type=submit]').click();
  await page.locator('[id="#/code"]').waitFor();
}

const english = await open('en-GB');
await english.locator('[id="#/password"]').fill('short');
await english.locator('form button[type=submit]').click();
await take(english, 'form');
await register(english);
await take(english, 'code');

const arabic = await open('ar');
await arabic.locator('[id="#/email"]').fill('nour@example.com');
await register(arabic);
await arabic.locator('[id="#/code"]').fill('123 45');
await take(arabic, 'arabic');

await browser.close();
await service.close();
