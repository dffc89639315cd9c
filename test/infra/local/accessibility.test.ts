import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { AxeResults } from 'axe-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type LocalService, startService } from '../../../infra/local/service.ts';
import { CHROMIUM, inChromium, TestBrowser } from '../../support/chromium.ts';
import { PHONE, postJson, register } from '../../support/local-service.ts';

const AXE = readFileSync(fileURLToPath(import.meta.resolve('axe-core/axe.min.js')), 'utf8');
const VIEWS = [
  { width: 1280, colorScheme: 'light' },
  { width: 390, colorScheme: 'dark' },
] as const;
/** The places of the reference: the errors, and each operation. */
const PLACES = [
  '/section/errors',
  '/registration/requestregistration',
  '/registration/confirmregistration',
  '/trading-accounts/createtp5account',
  '/trading-accounts/createtp4account',
  '/webhooks/receiveregistrationconfirmed',
  '/webhooks/receiveaccountopened',
];

let service: LocalService;
beforeAll(async () => {
  service = await startService();
});
afterAll(() => service.close());

describe.skipIf(CHROMIUM === undefined)(inChromium('axe has no critical or serious finding in'), () => {
  const browser = new TestBrowser();
  const page = () => browser.page;

  async function open(path: string, { width, colorScheme }: (typeof VIEWS)[number]): Promise<void> {
    await page().setViewportSize({ width, height: 900 });
    await page().emulateMedia({ colorScheme, reducedMotion: 'reduce' });
    await page().goto(service.url + path);
  }

  /** The rule and the element of each finding, as the page is now, or a part of it. */
  async function findings(part = 'html'): Promise<string[]> {
    await page().evaluate(AXE);
    const { violations } = await page().evaluate<AxeResults>(
      `axe.run(${JSON.stringify(part)}, { resultTypes: ["violations"], iframes: false })`,
    );
    return violations
      .filter(({ impact }) => impact === 'serious' || impact === 'critical')
      .flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html}`));
  }

  it.each(VIEWS)('the outbox, unfolded, $width pixels wide, $colorScheme', async (view) => {
    await register(service, { email: 'nia@example.com', otp_type: 'email' });
    await register(service, { email: 'nia.phone@example.com', otp_type: 'sms', phone: PHONE });
    const account = { connection_id: 'tp5-live-1', group: 'real\\standard', leverage: 200, send_email: true };
    await postJson(service, '/public/v1/users/CLIENT01/tp5/accounts', account);
    await open('/_local', view);
    await page().getByRole('article').first().waitFor();
    await page().evaluate('for (const details of document.querySelectorAll("details")) details.open = true');
    expect(await findings()).toEqual([]);
  });

  // Rendering takes seconds, and only once.
  beforeAll(() => fetch(`${service.url}/_local/docs`));

  it.each(VIEWS)('the reference, with each operation, $width pixels wide, $colorScheme', async (view) => {
    await open('/_local/docs', view);
    await page().locator('[data-section-id="/"]').first().waitFor();
    expect(await findings(), 'the start').toEqual([]);
    for (const place of PLACES) {
      const section = `[data-section-id="${place}"]`;
      await page().evaluate(`location.hash = ${JSON.stringify(`#${place}`)}`);
      await page().locator(section).first().waitFor();
      expect(await findings(section), place).toEqual([]);
    }
  });
});
