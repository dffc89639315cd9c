import { fileURLToPath } from 'node:url';
import type { Browser } from 'playwright-core';
import { CHROMIUM, launchChromium } from './chromium.ts';
import { findCode } from './one-time-code.ts';
import { type LocalService, startService } from './service.ts';

/** `npm run pictures`: starts the service, uses it, and takes the READMEs' pictures of its pages. Needs Chromium. */

const REGISTER = '/public/v1/account/register/request';
const CONFIRM = '/public/v1/account/register/confirm';
const PERSON = {
  type: 'trader',
  name: 'Nia Newman',
  password: 'one horse, four batteries',
  repeat_password: 'one horse, four batteries',
  form_id: 'FORM0002',
};

/** The messages that are sent before the pictures are taken; the page shows the newest first. */
const CALLS: [path: string, body: object][] = [
  [
    '/public/v1/users/CLIENT05/tp5/accounts',
    { connection_id: 'tp5-demo-1', group: 'demo\\standard', leverage: 100, account_type_id: 'ATDEMO01' },
  ],
  [
    '/public/v1/users/CLIENT01/tp5/accounts',
    { connection_id: 'tp5-live-1', group: 'real\\standard', leverage: 200, send_email: true, send_pop_up: true },
  ],
  [REGISTER, phone('whatsapp', 'en', '44', '7400123499')],
  [REGISTER, phone('call', 'es', '34', '612345678')],
  [REGISTER, phone('sms', 'ar', '971', '501234567')],
  [REGISTER, { ...PERSON, email: 'nia@example.com', otp_type: 'email', language: 'en' }],
];

function phone(otp_type: string, language: string, country_code: string, number: string) {
  return { ...PERSON, email: `nia.${otp_type}@example.com`, otp_type, language, phone: { country_code, number } };
}

let callers = 0;
async function post({ url }: LocalService, path: string, body: object): Promise<void> {
  callers += 1;
  const headers = { 'content-type': 'application/json', 'x-forwarded-for': `203.0.113.${callers}` };
  const answer = await fetch(url + path, { method: 'POST', headers, body: JSON.stringify(body) });
  if (!answer.ok) throw new Error(`${path} answered ${answer.status}: ${await answer.text()}`);
}

/** Sends messages, opens accounts, confirms the newest registration and sets a fault. */
async function use(service: LocalService): Promise<void> {
  for (const [path, body] of CALLS) await post(service, path, body);
  const mail = service.outbox.list().at(-1);
  const code = mail && findCode(mail);
  await post(service, CONFIRM, { otp_type: 'email', email: mail?.to, password: PERSON.password, code });
  service.faults('sns').set({ kind: 'slow', times: 3, ms: 2_000 });
}

async function takePictures(browser: Browser, url: string): Promise<void> {
  const context = await browser.newContext({ colorScheme: 'light', reducedMotion: 'reduce', locale: 'en' });
  const page = await context.newPage();
  const save = async (name: string) => {
    const path = fileURLToPath(new URL(`./pictures/${name}.png`, import.meta.url));
    await page.screenshot({ path });
    process.stdout.write(`${path}\n`);
  };
  // High enough for a mail, a text, a call and the first faults.
  await page.setViewportSize({ width: 1280, height: 1150 });
  await page.goto(`${url}/_local`);
  await page.frameLocator('iframe >> nth=0').getByRole('heading').waitFor();
  await page.getByText('RegistrationConfirmed').waitFor();
  await save('outbox');

  await page.setViewportSize({ width: 900, height: 1440 });
  await page.goto(`${url}/_local/register?form=FORM0001`);
  await page.getByRole('textbox', { name: 'Name' }).fill(PERSON.name);
  await page.getByLabel('SMS').check();
  await page.getByRole('button', { name: 'Register' }).click();
  await page.getByRole('alert').waitFor();
  await save('form');
}

if (CHROMIUM === undefined) {
  process.stderr.write('There is no Chromium on this machine, and pictures need it.\n');
  process.exit(1);
}
const service = await startService();
const browser = await launchChromium();
try {
  await use(service);
  await takePictures(browser, service.url);
} finally {
  await browser.close();
  await service.close();
}
