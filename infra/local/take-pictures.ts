import { fileURLToPath } from 'node:url';
import type { Browser } from 'playwright-core';
import { CHROMIUM, launchChromium } from './chromium.ts';
import { oneTimeCode } from './one-time-code.ts';
import { type LocalService, startService } from './service.ts';

/** `npm run pictures`: starts the service, uses it, and takes the README's picture of its outbox page. Needs Chromium. */

const PICTURE = fileURLToPath(new URL('./pictures/outbox.png', import.meta.url));

const PERSON = {
  type: 'trader',
  name: 'Nia Newman',
  password: 'correct horse',
  repeat_password: 'correct horse',
  form_id: 'FORM0002',
};
const REGISTRATION = '/public/v1/account/register/request';
const CONFIRM = '/public/v1/account/register/confirm';

/** What is sent before the picture is taken, in this order; the newest stands on top. */
const CALLS: [path: string, body: object][] = [
  [
    '/public/v1/users/CLIENT05/tp5/accounts',
    { connection_id: 'tp5-demo-1', group: 'demo\\standard', leverage: 100, account_type_id: 'ATDEMO01' },
  ],
  [
    '/public/v1/users/CLIENT01/tp5/accounts',
    { connection_id: 'tp5-live-1', group: 'real\\standard', leverage: 200, send_email: true, send_pop_up: true },
  ],
  [REGISTRATION, phone('whatsapp', 'en', '44', '7400123499')],
  [REGISTRATION, phone('call', 'es', '34', '612345678')],
  [REGISTRATION, phone('sms', 'ar', '971', '501234567')],
  [REGISTRATION, { ...PERSON, email: 'nia@example.com', otp_type: 'email', language: 'en' }],
];

function phone(otp_type: string, language: string, country_code: string, number: string) {
  return { ...PERSON, email: `nia.${otp_type}@example.com`, otp_type, language, phone: { country_code, number } };
}

/** Confirms the registration of the newest mail, so that there is an event and a client. */
async function confirm({ url, outbox }: LocalService): Promise<void> {
  const mail = outbox.list().at(-1);
  const code = mail && oneTimeCode(mail);
  const body = { otp_type: 'email', email: mail?.to, password: PERSON.password, code };
  const headers = { 'content-type': 'application/json', 'x-forwarded-for': '203.0.113.99' };
  const answer = await fetch(`${url}${CONFIRM}`, { method: 'POST', headers, body: JSON.stringify(body) });
  if (!answer.ok) throw new Error(`${CONFIRM} answered ${answer.status}: ${await answer.text()}`);
}

async function use({ url, faults }: LocalService): Promise<void> {
  for (const [place, [path, body]] of CALLS.entries()) {
    const headers = { 'content-type': 'application/json', 'x-forwarded-for': `203.0.113.${place + 1}` };
    const answer = await fetch(url + path, { method: 'POST', headers, body: JSON.stringify(body) });
    if (!answer.ok) throw new Error(`${path} answered ${answer.status}: ${await answer.text()}`);
  }
  faults('sns').set({ kind: 'slow', times: 3, ms: 2_000 });
}

async function takePicture(browser: Browser, url: string): Promise<void> {
  const page = await browser.newPage({
    // High enough for a mail, a text, a call and the first faults.
    viewport: { width: 1280, height: 1150 },
    colorScheme: 'light',
    reducedMotion: 'reduce',
  });
  await page.goto(`${url}/_local`);
  await page.frameLocator('iframe >> nth=0').getByRole('heading').waitFor();
  await page.getByText('RegistrationConfirmed').waitFor();
  await page.screenshot({ path: PICTURE });
  process.stdout.write(`${PICTURE}\n`);
}

if (CHROMIUM === undefined) {
  process.stderr.write('There is no Chromium on this machine, and pictures are taken with it.\n');
  process.exit(1);
}
const service = await startService();
const browser = await launchChromium();
try {
  await use(service);
  await confirm(service);
  await takePicture(browser, service.url);
} finally {
  await browser.close();
  await service.close();
}
