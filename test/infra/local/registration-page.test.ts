import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { DEMO_RECORDS } from '../../../infra/local/demo-records.ts';
import { findCode } from '../../../infra/local/outbox.ts';
import { type LocalService, startService } from '../../../infra/local/service.ts';
import { CUSTOM_FIELD_TYPES } from '../../../lib/validators/field-values.ts';
import { CHROMIUM, inChromium, TestBrowser } from '../../support/chromium.ts';
import { checkEvent } from '../../support/events.ts';
import { axeFindings } from '../../support/registration-tab.ts';

const PERSON = { name: 'Nia Newman', password: 'one horse, four batteries' };
const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGNgYGBgAAAABQABh6FO1AAAAABJRU5ErkJggg==';
let service: LocalService;
beforeAll(async () => {
  service = await startService({
    records: DEMO_RECORDS,
    settings: {
      captcha: { provider: 'turnstile', secret: 'local/captcha' },
      limits: { sourceRequestsPer10Minutes: 100, sourceRequestsPerHour: 100, sourceMessagesPer10Minutes: 100 },
    },
  });
});
afterAll(() => service.close());

describe.skipIf(CHROMIUM === undefined)(inChromium('the registration page'), () => {
  const browser = new TestBrowser({ locale: 'en-GB' });
  const page = () => browser.page;
  const field = (label: string) => page().getByLabel(label, { exact: true }).first();
  const group = (name: string) => page().getByRole('group', { name }).first();
  const press = (name: string) => page().getByRole('button', { name, exact: true }).click();

  /** Opens the page as a person who has not been there. */
  async function visit(formId: string): Promise<void> {
    await page().goto(`${service.url}/_local/register?form=${formId}`);
    await page().evaluate('sessionStorage.clear()');
    await page().reload();
  }

  /** Opens the page and fills in the fixed fields. */
  async function open(formId: string, email = `${formId}@example.com`): Promise<void> {
    service.outbox.clear();
    await visit(formId);
    await field('Name').fill(PERSON.name);
    await field('Email').fill(email);
    await field('Password').fill(PERSON.password);
    await field('Repeat password').fill(PERSON.password);
  }

  /** Solves the captcha, which each request needs again. */
  async function solve(): Promise<void> {
    const token = page().waitForResponse('**/_local/captcha');
    await field('I am a person').check();
    await token;
  }

  /** Solves the captcha and sends the form. @returns the body of the request */
  async function submit(): Promise<Record<string, unknown>> {
    await solve();
    const sent = page().waitForRequest('**/register/request');
    await press('Register');
    return (await sent).postDataJSON();
  }

  it('renders every type of field, documents among them, and sends the values as the API expects them', async () => {
    await open('FORMFULL');
    await field('Occupation').fill('Teacher');
    await field('textarea (optional)').fill('Two\nlines');
    await field('description (optional)').fill('A description');
    await field('number (optional)').fill('-1.5');
    await field('number_string (optional)').fill('0.25');
    await field('boolean (optional)').check();
    await group('Do you trade already?').getByLabel('yes').check();
    await field('Experience (optional)').selectOption('pro');
    await field('dynamicSelect (optional)').fill('Anything');
    for (const market of ['indices', 'fx']) await group('Markets').getByLabel(market).check();
    await group('Consents').getByLabel('news').check();
    await group('Consents').getByLabel('terms').check();
    await group('Consents').getByLabel('news').uncheck();
    await field('date (optional)').fill('1990-05-17');
    await group('phone').getByLabel('Country code').selectOption('DE');
    await group('phone').getByLabel('Number').fill('01512 3456789');
    await field('email (optional)').fill('second@example.com');
    await field('country (optional)').selectOption('Germany');
    await field('nation (optional)').selectOption('France');
    await group('location').getByLabel('Country').selectOption('Germany');
    await group('location').getByLabel('City').fill('Berlin');
    for (const [list, name] of [
      ['participants', 'Ann'],
      ['leads', 'Bob'],
    ] as const) {
      await group(list).getByRole('button', { name: 'Add' }).click();
      await group(`${list} 1`).getByLabel('Id').fill('7');
      await group(`${list} 1`).getByLabel('Name').fill(name);
    }
    await group('leads').getByRole('button', { name: 'Add' }).click();
    await group('leads').getByRole('button', { name: 'Remove' }).click();
    await press('Continue');
    const image = { name: 'passport.png', mimeType: 'image/png', buffer: Buffer.from(PNG, 'base64') };
    for (const name of ['passport.png', 'back.png'])
      await field('Proof of identity (optional)').setInputFiles({ ...image, name });

    const body = await submit();
    expect(body).toEqual({
      ...PERSON,
      email: 'FORMFULL@example.com',
      repeat_password: PERSON.password,
      type: 'trader',
      otp_type: 'email',
      form_id: 'FORMFULL',
      language: 'en-GB',
      field_text: 'Teacher',
      field_textarea: 'Two\nlines',
      field_description: 'A description',
      field_number: -1.5,
      field_number_string: '0.25',
      field_boolean: true,
      field_radio: 'yes',
      field_select: 'pro',
      field_dynamicSelect: 'Anything',
      field_multiselect: ['fx', 'indices'],
      field_checkbox: ['terms'],
      field_date: '1990-05-17',
      field_document: [
        { id: '1', name: 'passport.png', doc: PNG },
        { id: '2', name: 'back.png', doc: PNG },
      ],
      field_phone: { country_code: '+49', number: '01512 3456789' },
      field_email: 'second@example.com',
      field_country: 'DE',
      field_nation: 'FR',
      field_location: { country: 'DE', city: 'Berlin' },
      field_participants: [{ id: '7', name: 'Ann' }],
      field_leads: [{ id: '7', name: 'Bob' }],
    });
    for (const type of CUSTOM_FIELD_TYPES) expect(body).toHaveProperty(`field_${type}`);
    await page().getByRole('heading', { name: 'Enter the code' }).waitFor();
  });

  describe('and the outbox, from the registration to an account', () => {
    let outbox: Page;
    const email = 'walk@example.com';
    beforeAll(async () => {
      outbox = await browser.newPage();
      await outbox.goto(`${service.url}/_local`);
      await outbox.getByText('● Live').waitFor();
    });

    it('registers a person by a captcha and a text to the phone', async () => {
      await open('FORM0002', email);
      await group('Send my code by').getByLabel('SMS').check();
      await field('Country code').selectOption('GB');
      await field('Number').fill('07400 123499');
      const checks = service.captcha?.requests ?? 0;
      await submit();
      await page().getByRole('heading', { name: 'Enter the code' }).waitFor();
      expect(service.captcha?.requests).toBe(checks + 1);
      expect(service.outbox.list()).toMatchObject([{ kind: 'sms', to: '+447400123499' }]);
      await outbox.getByRole('heading', { name: 'SMS to +447400123499' }).waitFor();
    });

    it('refuses a wrong code', async () => {
      const code = await outbox.locator('.digits').textContent();
      await field('Code').fill(code === '123456' ? '654321' : '123456');
      await page().getByRole('alert').getByText('The code is wrong or no longer valid.').waitFor();
      expect(service.bus.list()).toEqual([]);
    });

    it('goes back to the form, which has all values, and sends another code by mail', async () => {
      await press('Back');
      expect(await field('Number').inputValue()).toBe('07400 123499');
      await group('Send my code by').getByLabel('Email').check();
      await submit();
      await outbox.getByRole('heading', { name: `Email to ${email}` }).waitFor();
    });

    it('confirms the code, and the CRM creates a client', async () => {
      const mail = service.outbox.list().at(-1);
      await field('Code').fill((mail && findCode(mail)) ?? '');
      await page().getByRole('heading', { name: 'You are registered' }).waitFor();
      const crm = outbox.getByRole('region', { name: 'CRM' });
      await crm.getByText(email).first().waitFor();
      await crm.getByText('RegistrationConfirmed').waitFor();
      await crm.getByText('delivered', { exact: true }).waitFor();
      expect(await axeFindings(outbox, 'html')).toEqual([]);
      expect(service.crm?.received()).toMatchObject([{ data: { email, name: PERSON.name } }]);
      expect(service.bus.list()).toMatchObject([{ 'detail-type': 'RegistrationConfirmed' }]);
      for (const typed of [email, PERSON.name, PERSON.password]) {
        expect(JSON.stringify(service.bus.list())).not.toContain(typed);
      }
    });

    it('opens an account by the call that the page copies, and its password logs in', async () => {
      await outbox.bringToFront();
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
});
