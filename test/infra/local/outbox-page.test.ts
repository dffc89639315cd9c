import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { ScanCommand } from '@aws-sdk/lib-dynamodb';
import { type Browser, chromium, type Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { localClient } from '../../../infra/local/aws.ts';
import { CHROMIUM } from '../../../infra/local/chromium.ts';
import { DEMO_RECORDS } from '../../../infra/local/demo-records.ts';
import { type LocalService, startService } from '../../../infra/local/service.ts';
import { databaseClient } from '../../../lib/aws/dynamodb.ts';
import { inChromium } from '../../support/chromium.ts';
import { checked } from '../../support/openapi.ts';

const REGISTRATION = {
  email: 'nia@example.com',
  type: 'trader',
  name: 'Nia Newman',
  otp_type: 'email',
  password: 'correct horse',
  repeat_password: 'correct horse',
  form_id: 'FORM0002',
};
const HOSTILE = '<img src=x onerror="document.title=\'taken\'"><script>document.title="taken"</script>';
const RECORDS = {
  ...DEMO_RECORDS,
  clients: [...DEMO_RECORDS.clients, { id: 'HOSTILE1', email: 'mallory@example.com', name: HOSTILE }],
};

let service: LocalService;
let callers = 0;

beforeAll(async () => {
  service = await startService({ records: RECORDS });
});
afterAll(() => service.close());

async function post(path: string, body: object): Promise<number> {
  callers += 1;
  const headers = { 'content-type': 'application/json', 'x-forwarded-for': `203.0.113.${callers}` };
  const answer = await checked(
    await fetch(service.url + path, { method: 'POST', headers, body: JSON.stringify(body) }),
  );
  return answer.status;
}

function register(change: object = {}): Promise<number> {
  return post('/public/v1/account/register/request', {
    ...REGISTRATION,
    email: `nia.${callers}@example.com`,
    ...change,
  });
}

function openAccount(change: object = {}, user = 'CLIENT01'): Promise<number> {
  const body = { connection_id: 'tp5-live-1', group: 'real\\standard', leverage: 200, ...change };
  return post(`/public/v1/users/${user}/tp5/accounts`, body);
}

describe('the files of the outbox page', () => {
  it('come with a policy that allows nothing from elsewhere, nothing inline and no markup made of text', async () => {
    for (const path of ['/_local', '/_local/', '/_local/outbox']) {
      const answer = await fetch(service.url + path, { headers: { accept: 'text/html' } });
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
    const html = await (await fetch(`${service.url}/_local`)).text();
    const linked = [...html.matchAll(/(?:src|href)="(\/_local\/pages\/[^"]+)"/g)].map((match) => match[1]);
    expect(linked.length).toBeGreaterThan(2);
    for (const path of linked) expect((await fetch(service.url + path)).status).toBe(200);
    for (const path of ['/_local/pages/tsconfig.json', '/_local/pages/..%2foutbox.ts']) {
      expect((await fetch(service.url + path)).status).toBe(404);
    }
  });

  it('show a mail alone with a policy that runs and loads nothing', async () => {
    service.outbox.clear();
    service.outbox.record({ kind: 'email', to: 'ann@example.com', text: 'Hello', html: '<p>Hello</p>' });
    const [message] = service.outbox.list();
    const answer = await fetch(`${service.url}/_local/outbox/${message?.id}/mail`);
    expect(answer.headers.get('content-security-policy')).toMatch(/^default-src 'none';.*sandbox allow-same-origin/);
    expect(await answer.text()).toBe('<p>Hello</p>');
    expect((await fetch(`${service.url}/_local/outbox/none/mail`)).status).toBe(404);
  });
});

describe.skipIf(CHROMIUM === undefined)(inChromium('the outbox page'), () => {
  let browser: Browser;
  let page: Page;
  const errors: string[] = [];

  beforeAll(async () => {
    browser = await chromium.launch({ executablePath: CHROMIUM ?? '', args: ['--no-sandbox'] });
    const context = await browser.newContext({ permissions: ['clipboard-read', 'clipboard-write'] });
    context.setDefaultTimeout(8_000);
    page = await context.newPage();
    page.on('pageerror', ({ message }) => errors.push(message));
  });
  afterAll(() => browser?.close());

  beforeEach(async () => {
    service.outbox.clear();
    await fetch(`${service.url}/_local/faults`, { method: 'DELETE' });
    await page.setViewportSize({ width: 1280, height: 900 });
    // By way of another page, so that what stands after a # is gone too.
    await page.goto('about:blank');
    await page.goto(`${service.url}/_local`);
    await page.getByText('Live', { exact: true }).waitFor();
  });
  afterEach(() => {
    expect(errors).toEqual([]);
  });

  const card = (to: string) => page.getByRole('article').filter({ has: page.getByRole('heading', { name: to }) });
  const clipboard = () => page.evaluate<string>('navigator.clipboard.readText()');
  const said = () => page.locator('#announcer');

  it('shows the mail of a registration without reloading, and copies its code', async () => {
    await page.evaluate('window.notReloaded = true');
    expect(await register({ email: 'live@example.com' })).toBe(204);
    const mail = card('live@example.com');
    await mail.getByText('Your Example Broker verification code').waitFor();
    const code = (await mail.locator('.digits').textContent()) ?? '';
    expect(code).toMatch(/^\d{6}$/);
    expect(service.outbox.list()[0]?.text).toContain(code);
    await mail.getByRole('button', { name: 'Copy code' }).click();
    await mail.getByRole('button', { name: 'Copied' }).waitFor();
    expect(await clipboard()).toBe(code);
    expect(await page.evaluate('window.notReloaded')).toBe(true);
  });

  it('shows a mail as it is read and, on demand, whole and as text', async () => {
    await register({ email: 'reader@example.com', language: 'ar' });
    const mail = card('reader@example.com');
    const frame = mail.frameLocator('iframe');
    await frame.getByRole('heading', { name: 'تأكيد التسجيل' }).waitFor();
    const height = async () => (await mail.locator('.paper').boundingBox())?.height ?? 0;
    const folded = await height();
    await mail.getByRole('button', { name: 'Show the whole mail' }).click();
    expect(await height()).toBeGreaterThan(folded + 100);
    // Nothing is cut: the frame is as high as the mail in it.
    const cut = 'contentDocument.documentElement.scrollHeight > document.querySelector("iframe").clientHeight';
    expect(await page.evaluate(`document.querySelector("iframe").${cut}`)).toBe(false);
    await mail.getByRole('button', { name: 'Text' }).click();
    await mail.getByText('تأكيد التسجيل').waitFor();
    expect(await mail.locator('.paper').isVisible()).toBe(false);
  });

  it('shows texts, calls and WhatsApp messages with their codes, and says each to a screen reader', async () => {
    for (const [place, otp_type] of ['sms', 'call', 'whatsapp'].entries()) {
      await register({ otp_type, phone: { country_code: '44', number: `740012340${place}` } });
      const message = card(`+44740012340${place}`);
      const code = (await message.locator('.digits').textContent()) ?? '';
      expect(service.outbox.list()[place]?.text).toContain(code);
      await expect.poll(() => said().textContent()).toContain(`to +44740012340${place}. Code ${[...code].join(' ')}`);
    }
    await page.getByText('What is spoken').waitFor();
    expect(await page.getByRole('heading', { level: 3, name: /^(SMS|Call|WhatsApp) to/ }).allTextContents()).toEqual([
      'WhatsApp to +447400123402',
      'Call to +447400123401',
      'SMS to +447400123400',
    ]);
  });

  it('shows no code for the notice to an owner', async () => {
    await register({ email: 'ann@example.com' });
    await card('ann@example.com').getByText('You already have an account with Example Broker').waitFor();
    expect(await page.locator('.digits').count()).toBe(0);
  });

  it('shows an account as it is opened, with its mail and its popup', async () => {
    expect(await openAccount({ send_email: true, send_pop_up: true })).toBe(200);
    const login = String(service.platforms.get('tp5-live-1')?.accounts().at(-1)?.login);
    const account = page.getByRole('list', { name: 'Accounts on tp5-live-1' }).getByRole('listitem').first();
    await account.getByText(login).waitFor();
    expect(await account.textContent()).toMatch(/Ann Lee.*real\\standard.*1:200.*ann@example\.com/);
    await card('ann@example.com').getByText(`Example Broker: your trading account ${login}`).waitFor();
    await card('client CLIENT01').getByText(`The login of your new account is ${login}.`).waitFor();
    expect(await page.locator('.digits').count()).toBe(0);
  });

  it('shows the channel that is chosen, and counts all', async () => {
    await register({ email: 'filter@example.com' });
    await register({ otp_type: 'sms', phone: { country_code: '44', number: '7400123410' } });
    await page.getByRole('radio', { name: 'All 2' }).waitFor();
    await page.getByRole('radio', { name: 'SMS 1' }).check();
    expect(await page.getByRole('article').count()).toBe(1);
    expect(await card('+447400123410').count()).toBe(1);
    await page.keyboard.press('ArrowRight');
    await page.getByText('No call was sent yet.').waitFor();
    expect(await page.getByRole('article').count()).toBe(0);
    await register({ email: 'later@example.com' });
    await page.getByRole('radio', { name: 'E-mails 2' }).check();
    expect(await page.getByRole('article').count()).toBe(2);
  });

  it('makes the next call fail by a switch, which goes off when the fault is used up', async () => {
    const toggle = page.getByRole('switch', { name: 'Make ses fail' });
    await toggle.check();
    await page.getByText('throttled, next call').waitFor();
    expect(await register()).toBe(502);
    await expect.poll(() => toggle.isChecked()).toBe(false);
    expect(await register()).toBe(204);
  });

  it('shows no fault that was used up before the page heard that it was set', async () => {
    const used = Promise.withResolvers<void>();
    await page.route('**/_local/faults/ses', async (route) => {
      const answer = await route.fetch();
      await used.promise;
      await route.fulfill({ response: answer });
    });
    const answered = page.waitForResponse('**/_local/faults/ses');
    const toggle = page.getByRole('switch', { name: 'Make ses fail' });
    await toggle.click({ noWaitAfter: true });
    await page.getByText('throttled, next call').waitFor();
    expect(await register()).toBe(502);
    await page.getByText('sends e-mails').waitFor();
    used.resolve();
    await (await answered).finished();
    expect(await toggle.isChecked()).toBe(false);
    expect(await page.getByText('sends e-mails').count()).toBe(1);
    await page.unroute('**/_local/faults/ses');
  });

  it('sets the kind of a fault, its times and its code, and clears all', async () => {
    await page.getByRole('button', { name: 'tp5-live-1 works' }).click();
    const form = page.getByRole('form', { name: 'Fault of tp5-live-1' });
    await form.getByLabel('Fault').selectOption('return code');
    await form.getByRole('spinbutton', { name: 'Return code' }).fill('3007');
    await form.getByLabel('Times').fill('2');
    await page.getByRole('switch', { name: 'Make tp5-live-1 fail' }).check();
    await page.getByText('return code 3007, next 2 calls').waitFor();
    expect(service.faults('tp5-live-1').list()).toEqual([{ kind: 'retcode', times: 2, after: 0, code: 3007 }]);
    expect(await openAccount()).toBe(503);
    await page.getByText('return code 3007, next call').waitFor();

    // A change of what is on counts at once.
    await form.getByLabel('Fault').selectOption('slow');
    await form.getByLabel('Milliseconds').fill('1');
    await page.keyboard.press('Tab');
    await page.getByText('slow 1 ms, next 2 calls').waitFor();
    await page.getByRole('button', { name: 'Clear all' }).click();
    await page.getByRole('button', { name: 'tp5-live-1 works' }).waitFor();
    expect(service.faults('tp5-live-1').list()).toEqual([]);
    expect(await openAccount()).toBe(200);
  });

  it('says at which step a fault strikes', async () => {
    service.faults('tp5-live-1').set({ kind: 'slow', ms: 100, times: 1, step: 'authentication' });
    await page.getByText('slow 100 ms at authentication, next call').waitFor();
    service.faults('tp5-live-1').clear();
  });

  it('takes no fault that the service would refuse', async () => {
    await page.getByRole('button', { name: 'sns sends SMS and pop-ups' }).click();
    await page.getByRole('form', { name: 'Fault of sns' }).getByLabel('Times').fill('0');
    const toggle = page.getByRole('switch', { name: 'Make sns fail' });
    await toggle.click();
    await expect.poll(() => toggle.isChecked()).toBe(false);
    expect(service.faults('sns').list()).toEqual([]);
  });

  it.each(['0', ''])('shows the fault that stays on when its times are set to "%s"', async (times) => {
    await page.getByRole('button', { name: 'sns sends SMS and pop-ups' }).click();
    const form = page.getByRole('form', { name: 'Fault of sns' });
    const target = page.getByRole('listitem').filter({ has: form });
    await form.getByLabel('Times').fill('3');
    await page.getByRole('switch', { name: 'Make sns fail' }).check();
    await page.getByText('throttled, next 3 calls').waitFor();
    await form.getByLabel('Times').fill(times);
    await page.keyboard.press('Tab');
    await target.getByRole('alert').getByText('This was not taken').waitFor();
    expect(await form.getByLabel('Times').inputValue()).toBe('3');
    expect(await page.getByRole('switch', { name: 'Make sns fail' }).isChecked()).toBe(true);
    expect(service.faults('sns').list()).toEqual([{ kind: 'throttled', times: 3, after: 0 }]);

    // A number that can be taken is, and the words go.
    await form.getByLabel('Times').fill('5');
    await page.keyboard.press('Tab');
    await page.getByText('throttled, next 5 calls').waitFor();
    expect(await target.getByRole('alert').textContent()).toBe('');
  });

  it('shows faults that are set elsewhere', async () => {
    service.faults('s3').set({ kind: 'slow', times: 3, after: 2, ms: 250 });
    await page.getByText('slow 250 ms, after 2 calls 3 times').waitFor();
    await page.getByRole('switch', { name: 'Make s3 fail' }).uncheck();
    await page.getByText('keeps documents').waitFor();
    expect(service.faults('s3').list()).toEqual([]);
  });

  it('shows what people typed as text, and runs nothing that a mail brings', async () => {
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
    await page.getByRole('list', { name: 'Accounts on tp5-live-1' }).getByText(HOSTILE, { exact: true }).waitFor();
    await page.getByRole('article').nth(2).frameLocator('iframe').getByText('Read me').waitFor();
    expect(await page.getByText(HOSTILE, { exact: true }).count()).toBeGreaterThanOrEqual(7);
    expect(await page.locator('main img, main script').count()).toBe(0);
    expect(await page.title()).toBe('Outbox');
  });

  it('says what to do when nothing was sent: calls that work as they are copied', async () => {
    await page.getByRole('heading', { name: 'Nothing was sent yet' }).waitFor();
    await page.getByRole('button', { name: 'Copy the call' }).first().click();
    await expect.poll(clipboard).toContain('curl');
    const { stdout } = await promisify(execFile)('sh', ['-c', await clipboard()]);
    expect(stdout).toMatch(/^HTTP\/1\.1 204/);
    await card('nia@example.com').waitFor();
    expect(await page.getByRole('heading', { name: 'Nothing was sent yet' }).isVisible()).toBe(false);
  });

  it('shows the events that the CRM hears, and the clients that it makes', async () => {
    expect(await register({ email: 'crm@example.com' })).toBe(204);
    const client = databaseClient(localClient(service.environment, 'AWS_ENDPOINT_URL_DYNAMODB'));
    const { Items = [] } = await client.send(new ScanCommand({ TableName: 'registrations' }));
    client.destroy();
    const registration = Items.find(({ email }) => email === 'crm@example.com');
    const told = { id: registration?.registration_id, email_taken: false };
    service.bus.deliver({
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
    const crm = page.getByRole('region', { name: 'CRM' });
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
    await register({ email: 'gone@example.com' });
    await page.getByRole('button', { name: 'Clear', exact: true }).click();
    await page.getByRole('heading', { name: 'Nothing was sent yet' }).waitFor();
    expect(service.outbox.list()).toEqual([]);
  });

  it('goes on by itself when the service was stopped and started again', async () => {
    const { port } = service;
    await service.close();
    await page.getByText('Connection lost, trying again…').waitFor();
    service = await startService({ port, records: RECORDS });
    await page.getByText('Live', { exact: true }).waitFor();
    await register({ email: 'again@example.com' });
    await card('again@example.com').waitFor();
    expect(await page.getByRole('article').count()).toBe(1);
  });

  it('keeps what is open and where the focus stands when messages come', async () => {
    await register({ email: 'older@example.com' });
    await card('older@example.com').getByRole('button', { name: 'Text' }).click();
    await register({ email: 'newer@example.com' });
    await card('newer@example.com').waitFor();
    expect(await card('older@example.com').locator('pre').isVisible()).toBe(true);
    expect(await page.evaluate('document.activeElement.textContent')).toBe('Text');
  });

  it('names every control, and orders its headings and parts', async () => {
    await register({ email: 'named@example.com' });
    await openAccount();
    await card('named@example.com').frameLocator('iframe').getByRole('heading').waitFor();
    for (const disclosure of await page.locator('.disclosure').all()) await disclosure.click();
    const tree = await page.locator('body').ariaSnapshot();
    const controls = /^\s*- (button|link|switch|radio|combobox|spinbutton|form|group|heading|navigation)\b(?! ")/m;
    expect(tree).not.toMatch(controls);
    expect(await page.getByTitle('The mail to named@example.com').count()).toBe(1);
    for (const part of ['banner', 'main', 'region "Messages"', 'region "Trading servers"', 'region "Faults"']) {
      expect(tree).toContain(`- ${part}`);
    }
    const headings = '[...document.querySelectorAll("h1, h2, h3, h4")].filter((it) => it.checkVisibility())';
    const levels = await page.evaluate<number[]>(`${headings}.map(({ tagName }) => Number(tagName[1]))`);
    expect(levels[0]).toBe(1);
    for (const [place, level] of levels.entries()) expect(level - (levels[place - 1] ?? 0)).toBeLessThanOrEqual(1);
    const ids = await page.evaluate<string[]>('[...document.querySelectorAll("[id]")].map(({ id }) => id)');
    expect(ids).toEqual([...new Set(ids)]);
  });

  it('is walked through with the Tab key in the order of the page, each stop in sight', async () => {
    await register({ email: 'tab@example.com', otp_type: 'sms', phone: { country_code: '44', number: '7400123420' } });
    await card('+447400123420').waitFor();
    const stops: string[] = [];
    for (let stop = 0; stop < 11; stop += 1) {
      await page.keyboard.press('Tab');
      stops.push(
        await page.evaluate(
          '(document.activeElement.ariaLabel ?? document.activeElement.textContent).trim() || document.activeElement.value',
        ),
      );
      expect(await page.evaluate('document.activeElement.matches(":focus-visible")')).toBe(true);
    }
    expect(stops.slice(0, 9)).toEqual([
      'Registration page',
      'API reference',
      'Messages 1',
      expect.stringMatching(/^Servers/),
      'CRM',
      'Faults',
      'Clear',
      'all',
      'Copy code',
    ]);
    await page.getByRole('link', { name: 'Faults' }).focus();
    await page.keyboard.press('Enter');
    await page.keyboard.press('Tab');
    expect(await page.evaluate('document.activeElement.textContent')).toContain('ses');
  });

  it('shows one part at a time on a phone, none of them wider than the screen', async () => {
    await register({ email: `${'long.'.repeat(11)}name@${'mail.'.repeat(20)}example.com` });
    await page.setViewportSize({ width: 360, height: 740 });
    await page.getByRole('article').waitFor();
    for (const part of ['Messages', 'Trading servers', 'CRM', 'Faults']) {
      await page.getByRole('link', { name: part.replace('Trading s', 'S') }).click();
      await page.getByRole('heading', { level: 2, name: part }).waitFor();
      expect(await page.getByRole('region').count()).toBe(1);
      expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(360);
    }
  });
});
