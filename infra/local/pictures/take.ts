import { fileURLToPath } from 'node:url';
import { chromium, type Page } from 'playwright-core';
import { startService } from '../service.ts';

/**
 * Takes the pictures of the guide to the registration page: the form, the step of the code, and the same in Arabic. The
 * environment variable `CHROMIUM` names another browser.
 */

const service = await startService();
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium' });

async function take(page: Page, name: string): Promise<void> {
  const path = fileURLToPath(new URL(`./${name}.png`, import.meta.url));
  await page.locator('.registration').screenshot({ path, animations: 'disabled' });
}

for (const [locale, code] of [
  ['en-GB', 'code'],
  ['ar', 'arabic'],
] as const) {
  const page = await browser.newPage({ locale, viewport: { width: 460, height: 820 } });
  await page.goto(`${service.url}/_local/register?form=FORM0002&email=${code}@example.com`);
  await page.locator('[id="#/password"]').fill('short');
  await page.locator('form button[type=submit]').click();
  if (locale === 'en-GB') await take(page, 'form');
  await page.locator('[id="#/name"]').fill('Nia Newman');
  for (const name of ['password', 'repeat_password'])
    await page.locator(`[id="#/${name}"]`).fill('one horse, four batteries');
  await page.locator('form button[type=submit]').click();
  await page.locator('[id="#/code"]').fill('123 45');
  await take(page, code);
}

await browser.close();
await service.close();
