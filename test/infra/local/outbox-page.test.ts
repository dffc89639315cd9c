import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { DEMO_RECORDS } from '../../../infra/local/demo-records.ts';
import { findCode } from '../../../infra/local/outbox.ts';
import { type LocalService, startService } from '../../../infra/local/service.ts';
import { CHROMIUM, inChromium, TestBrowser } from '../../support/chromium.ts';
import { postJson, register } from '../../support/local-service.ts';

const HOSTILE = '<img src=x onerror="document.title=\'taken\'"><script>document.title="taken"</script>';
const RECORDS = {
  ...DEMO_RECORDS,
  clients: [...DEMO_RECORDS.clients, { id: 'HOSTILE1', email: 'mallory@example.com', name: HOSTILE }],
};

let service: LocalService;
beforeAll(async () => {
  service = await startService({ records: RECORDS });
});
afterAll(() => service.close());

let people = 0;
/** Registers a new person. @returns the status of the answer */
async function registerPerson(change: object = {}): Promise<number> {
  people += 1;
  return (await register(service, { email: `nia.${people}@example.com`, ...change })).status;
}

async function openAccount(change: object = {}, user = 'CLIENT01'): Promise<number> {
  const body = { connection_id: 'tp5-live-1', group: 'real\\standard', leverage: 200, ...change };
  return (await postJson(service, `/public/v1/users/${user}/tp5/accounts`, body)).status;
}

describe.skipIf(CHROMIUM === undefined)(inChromium('the outbox page'), () => {
  const browser = new TestBrowser();
  const page = () => browser.page;
  const card = (to: string) =>
    page()
      .getByRole('article')
      .filter({ has: page().getByRole('heading', { name: to }) });
  const clipboard = () => page().evaluate<string>('navigator.clipboard.readText()');
  const announced = () => page().locator('#announcer').textContent();
  const toggle = (target: string) => page().getByRole('switch', { name: `Make ${target} fail` });
  const faultForm = (target: string) => page().getByRole('form', { name: `Fault of ${target}` });

  /** Opens the fields of a target. */
  const unfold = (target: string) => page().locator('summary', { hasText: target }).click();

  /** Clears messages and faults, and waits until the page shows it. */
  async function clear(): Promise<void> {
    service.outbox.clear();
    await fetch(`${service.url}/_local/faults`, { method: 'DELETE' });
    await page().getByText('● Live').waitFor();
    await page().getByRole('heading', { name: 'Nothing was sent yet' }).waitFor();
  }

  async function load(): Promise<void> {
    await page().setViewportSize({ width: 1280, height: 900 });
    await page().goto(`${service.url}/_local`);
    await clear();
  }

  describe('that stays open', () => {
    beforeAll(load);
    beforeEach(clear);

    it('shows the mail of a registration without reloading, and copies its code', async () => {
      await page().evaluate('window.notReloaded = true');
      expect(await registerPerson({ email: 'live@example.com' })).toBe(204);
      const mail = card('live@example.com');
      await mail.getByText('Your Example Broker verification code').waitFor();
      const code = (await mail.locator('.digits').textContent()) ?? '';
      expect(code).toMatch(/^\d{6}$/);
      expect(service.outbox.list()[0]?.text).toContain(code);
      await mail.getByRole('button', { name: 'Copy code' }).click();
      await mail.getByRole('button', { name: 'Copied' }).waitFor();
      expect(await clipboard()).toBe(code);
      expect(await page().evaluate('window.notReloaded')).toBe(true);
    });

    it('shows a mail as a mail program does and, on demand, whole and as text', async () => {
      await registerPerson({ email: 'reader@example.com', language: 'ar' });
      const mail = card('reader@example.com');
      await mail.frameLocator('iframe').getByRole('heading', { name: 'تأكيد التسجيل' }).waitFor();
      const height = async () => (await mail.locator('.paper').boundingBox())?.height ?? 0;
      const folded = await height();
      await mail.getByRole('button', { name: 'Show the whole mail' }).click();
      await expect.poll(height).toBeGreaterThan(folded + 100);
      // The frame is as high as the mail in it.
      const isCut = 'contentDocument.documentElement.scrollHeight > document.querySelector("iframe").clientHeight';
      expect(await page().evaluate(`document.querySelector("iframe").${isCut}`)).toBe(false);
      await mail.getByRole('button', { name: 'Text' }).click();
      await mail.getByText('تأكيد التسجيل').waitFor();
      expect(await mail.locator('.paper').isVisible()).toBe(false);
    });

    it('shows texts, calls and WhatsApp messages with their codes, and announces each to a screen reader', async () => {
      for (const [index, otp_type] of ['sms', 'call', 'whatsapp'].entries()) {
        const number = `740012340${index}`;
        await registerPerson({ otp_type, phone: { country_code: '44', number } });
        const code = (await card(`+44${number}`).locator('.digits').textContent()) ?? '';
        expect(service.outbox.list()[index]?.text).toContain(code);
        await expect.poll(announced).toContain(`to +44${number}. Code ${[...code].join(' ')}`);
      }
      await page().getByText('What is spoken').waitFor();
      const titles = page().getByRole('heading', { level: 3, name: /^(SMS|Call|WhatsApp) to/ });
      expect(await titles.allTextContents()).toEqual([
        'WhatsApp to +447400123402',
        'Call to +447400123401',
        'SMS to +447400123400',
      ]);
    });

    it('shows an account when it is opened, with its mail and its popup', async () => {
      expect(await openAccount({ send_email: true, send_pop_up: true })).toBe(200);
      const login = String(service.platforms.get('tp5-live-1')?.accounts().at(-1)?.login);
      const account = page().getByRole('list', { name: 'Accounts on tp5-live-1' }).getByRole('listitem').first();
      await account.getByText(login).waitFor();
      expect(await account.textContent()).toMatch(/Ann Lee.*real\\standard.*1:200.*ann@example\.com/);
      await card('ann@example.com').getByText(`Example Broker: your trading account ${login}`).waitFor();
      await card('client CLIENT01').getByText(`The login of your new account is ${login}.`).waitFor();
      expect(await page().locator('.digits').count()).toBe(0);
    });

    it('shows user input as text, and runs no script of a mail', async () => {
      service.outbox.record({
        kind: 'email',
        to: HOSTILE,
        subject: HOSTILE,
        text: HOSTILE,
        html: `${HOSTILE}<p>Read me</p>`,
        language: '"><b>',
      });
      service.outbox.record({ kind: 'popup', to: HOSTILE, subject: HOSTILE, text: HOSTILE });
      service.outbox.record({ kind: 'sms', to: HOSTILE, text: HOSTILE });
      expect(await openAccount({}, 'HOSTILE1')).toBe(200);
      const accounts = page().getByRole('list', { name: 'Accounts on tp5-live-1' });
      await accounts.getByText(HOSTILE, { exact: true }).waitFor();
      await page().getByRole('article').nth(2).frameLocator('iframe').getByText('Read me').waitFor();
      expect(await page().getByText(HOSTILE).count()).toBeGreaterThanOrEqual(7);
      expect(await page().locator('main img, main script').count()).toBe(0);
      expect(await page().title()).toBe('Outbox');
    });

    it('suggests calls when nothing was sent, and they work unchanged', async () => {
      await page().getByRole('button', { name: 'Copy the call' }).first().click();
      await expect.poll(clipboard).toContain('curl');
      const { stdout } = await promisify(execFile)('sh', ['-c', await clipboard()]);
      expect(stdout).toMatch(/^HTTP\/1\.1 204/);
      await card('nia@example.com').waitFor();
      expect(await page().getByRole('heading', { name: 'Nothing was sent yet' }).count()).toBe(0);
    });

    it('shows the deliveries to the CRM, those that fail too, and the clients that it creates', async () => {
      const crm = page().getByRole('region', { name: 'CRM' });
      await crm.getByRole('button', { name: 'Make it fail' }).click();
      await expect.poll(() => service.faults('crm').list()).toMatchObject([{ kind: 'refused' }]);
      const email = 'crm@example.com';
      const registered = await register(service, { email });
      const mail = service.outbox.list().at(-1);
      const body = { registration_id: registered.headers.get('registration-id'), code: mail && findCode(mail) };
      const confirmed = await postJson(service, '/public/v1/account/register/confirm', body);
      expect(confirmed.status).toBe(204);
      await crm.getByText(/^failed once, next try/).waitFor();
      await expect.poll(announced).toBe('Event RegistrationConfirmed');
      await crm.getByRole('button', { name: 'Repair it, and deliver now' }).click();
      await crm.getByText('delivered, tried 2 times').waitFor();
      await crm.getByText(email).first().waitFor();
      await crm.getByText('RegistrationConfirmed').click();
      await crm.getByText(`"email": "${email}"`).waitFor();
    });

    it('makes the next call fail by a switch, which goes off when the fault is used up', async () => {
      await toggle('ses').click();
      await page().getByText('refused, once').waitFor();
      expect(await registerPerson()).toBe(502);
      await expect.poll(() => toggle('ses').isChecked()).toBe(false);
      expect(await registerPerson()).toBe(204);
    });
  });

  describe('that was just loaded', () => {
    beforeEach(load);

    it('shows the messages of the chosen kind, and counts all', async () => {
      await registerPerson({ email: 'filter@example.com' });
      await registerPerson({ otp_type: 'sms', phone: { country_code: '44', number: '7400123410' } });
      const messages = page().getByRole('region', { name: 'Messages' }).getByRole('article');
      await page().getByRole('radio', { name: 'All 2' }).waitFor();
      await page().getByRole('radio', { name: 'SMS 1' }).check();
      await expect.poll(() => messages.count()).toBe(1);
      expect(await card('+447400123410').count()).toBe(1);
      await page().keyboard.press('ArrowRight');
      await page().getByText('No message of this kind was sent yet.').waitFor();
      expect(await messages.count()).toBe(0);
      await registerPerson({ email: 'later@example.com' });
      await page().getByRole('radio', { name: 'Emails 2' }).check();
      await expect.poll(() => messages.count()).toBe(2);
    });

    it('shows one part at a time on a phone, none of them wider than the screen', async () => {
      await registerPerson({ email: `${'long.'.repeat(11)}name@${'mail.'.repeat(20)}example.com` });
      await page().setViewportSize({ width: 360, height: 740 });
      await page().getByRole('article').first().waitFor();
      for (const part of ['Messages', 'Trading servers', 'CRM', 'Faults']) {
        await page()
          .getByRole('link', { name: part.replace('Trading s', 'S') })
          .click();
        await page().getByRole('heading', { level: 2, name: part }).waitFor();
        await expect.poll(() => page().getByRole('region').count()).toBe(1);
        expect(await page().evaluate('document.documentElement.scrollWidth')).toBe(360);
      }
    });

    it('sets the kind of a fault, its times and its code, and clears all', async () => {
      await unfold('tp5-live-1 works');
      await faultForm('tp5-live-1').getByLabel('Fault').selectOption('return code');
      await faultForm('tp5-live-1').getByRole('spinbutton', { name: 'Return code' }).fill('1002');
      await faultForm('tp5-live-1').getByLabel('Times').fill('2');
      await toggle('tp5-live-1').click();
      await page().getByText('return code 1002, 2 times').waitFor();
      expect(service.faults('tp5-live-1').list()).toEqual([{ kind: 'retcode', times: 2, after: 0, code: 1002 }]);
      // Refused before any command: the second time is still to come.
      expect(await openAccount()).toBe(502);
      await page().getByText('return code 1002, once').waitFor();

      expect(await faultForm('tp5-live-1').getByLabel('Times').isVisible()).toBe(false);
      await page().getByRole('button', { name: 'Clear all' }).click();
      await page().getByText('tp5-live-1 works').waitFor();
      expect(service.faults('tp5-live-1').list()).toEqual([]);
      expect(await openAccount()).toBe(200);
    });
  });
});
