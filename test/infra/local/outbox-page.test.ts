import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { ScanCommand } from '@aws-sdk/lib-dynamodb';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { localClient } from '../../../infra/local/aws.ts';
import { CHROMIUM } from '../../../infra/local/chromium.ts';
import { databaseClient } from '../../../lib/aws/dynamodb.ts';
import { inChromium } from '../../support/chromium.ts';
import { HOSTILE, OutboxPage } from '../../support/outbox-page.ts';

const outbox = new OutboxPage();

describe('the files of the outbox page', () => {
  it('come with a policy that allows nothing from elsewhere, nothing inline and no markup made of text', async () => {
    for (const path of ['/_local', '/_local/', '/_local/outbox']) {
      const answer = await fetch(outbox.service.url + path, { headers: { accept: 'text/html' } });
      const policy = answer.headers.get('content-security-policy');
      for (const rule of ["default-src 'none'", "script-src 'self'", "require-trusted-types-for 'script'"]) {
        expect(policy).toContain(rule);
      }
      expect(policy).not.toContain('unsafe');
      const html = await answer.text();
      expect(html).not.toMatch(/(src|href)="(?!\/_local\/|#)/);
    }
  });

  it('are all there, and no others', async () => {
    const html = await (await fetch(`${outbox.service.url}/_local`)).text();
    const linked = [...html.matchAll(/(?:src|href)="(\/_local\/pages\/[^"]+)"/g)].map((match) => match[1]);
    expect(linked.length).toBeGreaterThan(2);
    for (const path of linked) expect((await fetch(outbox.service.url + path)).status).toBe(200);
    for (const path of ['/_local/pages/tsconfig.json', '/_local/pages/..%2foutbox.ts']) {
      expect((await fetch(outbox.service.url + path)).status).toBe(404);
    }
  });

  it('show a mail alone with a policy that runs and loads nothing', async () => {
    outbox.service.outbox.clear();
    outbox.service.outbox.record({ kind: 'email', to: 'ann@example.com', text: 'Hello', html: '<p>Hello</p>' });
    const [message] = outbox.service.outbox.list();
    const answer = await fetch(`${outbox.service.url}/_local/outbox/${message?.id}/mail`);
    expect(answer.headers.get('content-security-policy')).toMatch(/^default-src 'none';.*sandbox allow-same-origin/);
    expect(await answer.text()).toBe('<p>Hello</p>');
    expect((await fetch(`${outbox.service.url}/_local/outbox/none/mail`)).status).toBe(404);
  });
});

describe.skipIf(CHROMIUM === undefined)(inChromium('the outbox page'), () => {
  outbox.inBrowser();

  const card = (to: string) =>
    outbox.page.getByRole('article').filter({ has: outbox.page.getByRole('heading', { name: to }) });
  const clipboard = () => outbox.page.evaluate<string>('navigator.clipboard.readText()');
  const said = () => outbox.page.locator('#announcer');

  describe('that stays open', () => {
    beforeAll(() => outbox.load());
    beforeEach(() => outbox.clear());

    it('shows the mail of a registration without reloading, and copies its code', async () => {
      await outbox.page.evaluate('window.notReloaded = true');
      expect(await outbox.register({ email: 'live@example.com' })).toBe(204);
      const mail = card('live@example.com');
      await mail.getByText('Your Example Broker verification code').waitFor();
      const code = (await mail.locator('.digits').textContent()) ?? '';
      expect(code).toMatch(/^\d{6}$/);
      expect(outbox.service.outbox.list()[0]?.text).toContain(code);
      await mail.getByRole('button', { name: 'Copy code' }).click();
      await mail.getByRole('button', { name: 'Copied' }).waitFor();
      expect(await clipboard()).toBe(code);
      expect(await outbox.page.evaluate('window.notReloaded')).toBe(true);
    });

    it('shows a mail as it is read and, on demand, whole and as text', async () => {
      await outbox.register({ email: 'reader@example.com', language: 'ar' });
      const mail = card('reader@example.com');
      const frame = mail.frameLocator('iframe');
      await frame.getByRole('heading', { name: 'تأكيد التسجيل' }).waitFor();
      const height = async () => (await mail.locator('.paper').boundingBox())?.height ?? 0;
      const folded = await height();
      await mail.getByRole('button', { name: 'Show the whole mail' }).click();
      expect(await height()).toBeGreaterThan(folded + 100);
      // Nothing is cut: the frame is as high as the mail in it.
      const cut = 'contentDocument.documentElement.scrollHeight > document.querySelector("iframe").clientHeight';
      expect(await outbox.page.evaluate(`document.querySelector("iframe").${cut}`)).toBe(false);
      await mail.getByRole('button', { name: 'Text' }).click();
      await mail.getByText('تأكيد التسجيل').waitFor();
      expect(await mail.locator('.paper').isVisible()).toBe(false);
    });

    it('shows texts, calls and WhatsApp messages with their codes, and says each to a screen reader', async () => {
      for (const [place, otp_type] of ['sms', 'call', 'whatsapp'].entries()) {
        await outbox.register({ otp_type, phone: { country_code: '44', number: `740012340${place}` } });
        const message = card(`+44740012340${place}`);
        const code = (await message.locator('.digits').textContent()) ?? '';
        expect(outbox.service.outbox.list()[place]?.text).toContain(code);
        await expect.poll(() => said().textContent()).toContain(`to +44740012340${place}. Code ${[...code].join(' ')}`);
      }
      await outbox.page.getByText('What is spoken').waitFor();
      expect(
        await outbox.page.getByRole('heading', { level: 3, name: /^(SMS|Call|WhatsApp) to/ }).allTextContents(),
      ).toEqual(['WhatsApp to +447400123402', 'Call to +447400123401', 'SMS to +447400123400']);
    });

    it('shows no code for the notice to an owner', async () => {
      await outbox.register({ email: 'ann@example.com' });
      await card('ann@example.com').getByText('You already have an account with Example Broker').waitFor();
      expect(await outbox.page.locator('.digits').count()).toBe(0);
    });

    it('shows an account as it is opened, with its mail and its popup', async () => {
      expect(await outbox.openAccount({ send_email: true, send_pop_up: true })).toBe(200);
      const login = String(outbox.service.platforms.get('tp5-live-1')?.accounts().at(-1)?.login);
      const account = outbox.page.getByRole('list', { name: 'Accounts on tp5-live-1' }).getByRole('listitem').first();
      await account.getByText(login).waitFor();
      expect(await account.textContent()).toMatch(/Ann Lee.*real\\standard.*1:200.*ann@example\.com/);
      await card('ann@example.com').getByText(`Example Broker: your trading account ${login}`).waitFor();
      await card('client CLIENT01').getByText(`The login of your new account is ${login}.`).waitFor();
      expect(await outbox.page.locator('.digits').count()).toBe(0);
    });

    it('shows what people typed as text, and runs nothing that a mail brings', async () => {
      outbox.service.outbox.record({
        kind: 'email',
        to: HOSTILE,
        subject: HOSTILE,
        text: HOSTILE,
        html: `${HOSTILE}<p>Read me</p>`,
        language: '"><b>',
      });
      outbox.service.outbox.record({ kind: 'popup', to: HOSTILE, subject: HOSTILE, text: HOSTILE });
      outbox.service.outbox.record({ kind: 'sms', to: HOSTILE, text: HOSTILE });
      expect(await outbox.openAccount({}, 'HOSTILE1')).toBe(200);
      await outbox.page
        .getByRole('list', { name: 'Accounts on tp5-live-1' })
        .getByText(HOSTILE, { exact: true })
        .waitFor();
      await outbox.page.getByRole('article').nth(2).frameLocator('iframe').getByText('Read me').waitFor();
      expect(await outbox.page.getByText(HOSTILE, { exact: true }).count()).toBeGreaterThanOrEqual(7);
      expect(await outbox.page.locator('main img, main script').count()).toBe(0);
      expect(await outbox.page.title()).toBe('Outbox');
    });

    it('says what to do when nothing was sent: calls that work as they are copied', async () => {
      await outbox.page.getByRole('heading', { name: 'Nothing was sent yet' }).waitFor();
      await outbox.page.getByRole('button', { name: 'Copy the call' }).first().click();
      await expect.poll(clipboard).toContain('curl');
      const { stdout } = await promisify(execFile)('sh', ['-c', await clipboard()]);
      expect(stdout).toMatch(/^HTTP\/1\.1 204/);
      await card('nia@example.com').waitFor();
      expect(await outbox.page.getByRole('heading', { name: 'Nothing was sent yet' }).isVisible()).toBe(false);
    });

    it('shows the events that the CRM hears, and the clients that it makes', async () => {
      expect(await outbox.register({ email: 'crm@example.com' })).toBe(204);
      const client = databaseClient(localClient(outbox.service.environment, 'AWS_ENDPOINT_URL_DYNAMODB'));
      const { Items = [] } = await client.send(new ScanCommand({ TableName: 'registrations' }));
      client.destroy();
      const registration = Items.find(({ email }) => email === 'crm@example.com');
      const told = { id: registration?.registration_id, email_taken: false };
      outbox.service.bus.deliver({
        version: '0',
        id: 'e-1',
        'detail-type': 'RegistrationConfirmed',
        source: 'broker.api',
        account: '000000000000',
        time: new Date().toISOString(),
        region: 'eu-west-1',
        resources: [],
        detail: told,
      });
      const crm = outbox.page.getByRole('region', { name: 'CRM' });
      await crm.getByText('crm@example.com').waitFor();
      await crm.getByText('RegistrationConfirmed').click();
      await crm.getByText(`"id": "${told.id}"`).waitFor();
      await expect.poll(() => said().textContent()).toBe('Event RegistrationConfirmed');
      await crm.getByRole('button', { name: 'Copy a call that opens an account' }).click();
      await expect.poll(clipboard).toContain('/tp5/accounts');
      const { stdout } = await promisify(execFile)('sh', ['-c', await clipboard()]);
      expect(stdout).toMatch(/^HTTP\/1\.1 200/);
    });

    it('clears the outbox', async () => {
      await outbox.register({ email: 'gone@example.com' });
      await outbox.page.getByRole('button', { name: 'Clear', exact: true }).click();
      await outbox.page.getByRole('heading', { name: 'Nothing was sent yet' }).waitFor();
      expect(outbox.service.outbox.list()).toEqual([]);
    });

    it('goes on by itself when the service was stopped and started again', async () => {
      const { port } = outbox.service;
      await outbox.service.close();
      await outbox.page.getByText('Connection lost, trying again…').waitFor();
      await outbox.start(port);
      await outbox.page.getByText('Live', { exact: true }).waitFor();
      await outbox.register({ email: 'again@example.com' });
      await card('again@example.com').waitFor();
      expect(await outbox.page.getByRole('article').count()).toBe(1);
    });
  });

  describe('that was just loaded', () => {
    beforeEach(() => outbox.load());

    it('shows the channel that is chosen, and counts all', async () => {
      await outbox.register({ email: 'filter@example.com' });
      await outbox.register({ otp_type: 'sms', phone: { country_code: '44', number: '7400123410' } });
      await outbox.page.getByRole('radio', { name: 'All 2' }).waitFor();
      await outbox.page.getByRole('radio', { name: 'SMS 1' }).check();
      expect(await outbox.page.getByRole('article').count()).toBe(1);
      expect(await card('+447400123410').count()).toBe(1);
      await outbox.page.keyboard.press('ArrowRight');
      await outbox.page.getByText('No call was sent yet.').waitFor();
      expect(await outbox.page.getByRole('article').count()).toBe(0);
      await outbox.register({ email: 'later@example.com' });
      await outbox.page.getByRole('radio', { name: 'E-mails 2' }).check();
      expect(await outbox.page.getByRole('article').count()).toBe(2);
    });

    it('keeps what is open and where the focus stands when messages come', async () => {
      await outbox.register({ email: 'older@example.com' });
      await card('older@example.com').getByRole('button', { name: 'Text' }).click();
      await outbox.register({ email: 'newer@example.com' });
      await card('newer@example.com').waitFor();
      expect(await card('older@example.com').locator('pre').isVisible()).toBe(true);
      expect(await outbox.page.evaluate('document.activeElement.textContent')).toBe('Text');
    });

    it('names every control, and orders its headings and parts', async () => {
      await outbox.register({ email: 'named@example.com' });
      await outbox.openAccount();
      await card('named@example.com').frameLocator('iframe').getByRole('heading').waitFor();
      for (const disclosure of await outbox.page.locator('.disclosure').all()) await disclosure.click();
      const tree = await outbox.page.locator('body').ariaSnapshot();
      const controls = /^\s*- (button|link|switch|radio|combobox|spinbutton|form|group|heading|navigation)\b(?! ")/m;
      expect(tree).not.toMatch(controls);
      expect(await outbox.page.getByTitle('The mail to named@example.com').count()).toBe(1);
      for (const part of ['banner', 'main', 'region "Messages"', 'region "Trading servers"', 'region "Faults"']) {
        expect(tree).toContain(`- ${part}`);
      }
      const headings = '[...document.querySelectorAll("h1, h2, h3, h4")].filter((it) => it.checkVisibility())';
      const levels = await outbox.page.evaluate<number[]>(`${headings}.map(({ tagName }) => Number(tagName[1]))`);
      expect(levels[0]).toBe(1);
      for (const [place, level] of levels.entries()) expect(level - (levels[place - 1] ?? 0)).toBeLessThanOrEqual(1);
      const ids = await outbox.page.evaluate<string[]>('[...document.querySelectorAll("[id]")].map(({ id }) => id)');
      expect(ids).toEqual([...new Set(ids)]);
    });

    it('is walked through with the Tab key in the order of the page, each stop in sight', async () => {
      await outbox.register({
        email: 'tab@example.com',
        otp_type: 'sms',
        phone: { country_code: '44', number: '7400123420' },
      });
      await card('+447400123420').waitFor();
      const stops: string[] = [];
      for (let stop = 0; stop < 11; stop += 1) {
        await outbox.page.keyboard.press('Tab');
        stops.push(
          await outbox.page.evaluate(
            '(document.activeElement.ariaLabel ?? document.activeElement.textContent).trim() || document.activeElement.value',
          ),
        );
        expect(await outbox.page.evaluate('document.activeElement.matches(":focus-visible")')).toBe(true);
      }
      expect(stops.slice(0, 9)).toEqual([
        'Registration page',
        'API reference',
        'Messages 1',
        expect.stringMatching(/^Servers/),
        expect.stringMatching(/^CRM/),
        'Faults',
        'Clear',
        'all',
        'Copy code',
      ]);
      await outbox.page.getByRole('link', { name: 'Faults' }).focus();
      await outbox.page.keyboard.press('Enter');
      await outbox.page.keyboard.press('Tab');
      expect(await outbox.page.evaluate('document.activeElement.textContent')).toContain('ses');
    });

    it('shows one part at a time on a phone, none of them wider than the screen', async () => {
      await outbox.register({ email: `${'long.'.repeat(11)}name@${'mail.'.repeat(20)}example.com` });
      await outbox.page.setViewportSize({ width: 360, height: 740 });
      await outbox.page.getByRole('article').waitFor();
      for (const part of ['Messages', 'Trading servers', 'CRM', 'Faults']) {
        await outbox.page.getByRole('link', { name: part.replace('Trading s', 'S') }).click();
        await outbox.page.getByRole('heading', { level: 2, name: part }).waitFor();
        expect(await outbox.page.getByRole('region').count()).toBe(1);
        expect(await outbox.page.evaluate('document.documentElement.scrollWidth')).toBe(360);
      }
    });
  });
});
