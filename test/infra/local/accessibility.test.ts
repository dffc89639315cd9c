import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { AxeResults } from 'axe-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { findCode } from '../../../infra/local/outbox.ts';
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

/** What a person types, by the label of its field. */
function personOf({ width, colorScheme }: (typeof VIEWS)[number]): Record<string, string> {
  const password = 'one horse, four batteries';
  const email = `${colorScheme}.${width}@example.com`;
  return { Name: 'Nia Newman', Email: email, Password: password, 'Repeat password': password };
}

let service: LocalService;
beforeAll(async () => {
  service = await startService();
});
afterAll(() => service.close());

describe.skipIf(CHROMIUM === undefined)(inChromium('axe has no critical or serious finding in'), () => {
  const browser = new TestBrowser();
  const page = () => browser.page;
  const press = (name: string) => page().getByRole('button', { name, exact: true }).click();

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

  it.each(VIEWS)('each step of a registration, $width pixels wide, $colorScheme', async (view) => {
    service.outbox.clear();
    await open('/_local/register?form=FORMFULL', view);
    await page().evaluate('sessionStorage.clear()');
    await page().reload();
    await press('Register');
    await page().locator('small.alert').first().waitFor();
    expect(await findings(), 'the form with its errors').toEqual([]);

    await page().goto(`${service.url}/_local/register?form=FORM0002`);
    for (const [label, value] of Object.entries(personOf(view))) {
      await page().getByLabel(label, { exact: true }).first().fill(value);
    }
    await press('Register');
    await page().getByRole('heading', { name: 'We have sent you a code' }).waitFor();
    expect(await findings(), 'the code').toEqual([]);

    const [mail] = service.outbox.list();
    await page()
      .getByLabel('Code', { exact: true })
      .first()
      .fill((mail && findCode(mail)) ?? '');
    await press('Confirm');
    await page().getByRole('heading', { name: 'You are registered' }).waitFor();
    expect(await findings(), 'the end').toEqual([]);
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
