import type { Browser, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, expect } from 'vitest';
import { launchChromium } from '../../infra/local/chromium.ts';
import { DEMO_RECORDS } from '../../infra/local/demo-records.ts';
import { type LocalService, startService } from '../../infra/local/service.ts';
import { checked } from './openapi.ts';

const REGISTRATION = {
  email: 'nia@example.com',
  type: 'trader',
  name: 'Nia Newman',
  otp_type: 'email',
  password: 'correct horse',
  repeat_password: 'correct horse',
  form_id: 'FORM0002',
};
export const HOSTILE = '<img src=x onerror="document.title=\'taken\'"><script>document.title="taken"</script>';
const RECORDS = {
  ...DEMO_RECORDS,
  clients: [...DEMO_RECORDS.clients, { id: 'HOSTILE1', email: 'mallory@example.com', name: HOSTILE }],
};

/** A local service for the tests of a file, with its outbox page, and what they ask of it. */
export class OutboxPage {
  #service: LocalService | undefined;
  #page: Page | undefined;
  #callers = 0;

  constructor() {
    beforeAll(() => this.start());
    afterAll(() => this.service.close());
  }

  get service(): LocalService {
    if (this.#service === undefined) throw new Error('The service is started before the tests.');
    return this.#service;
  }

  /** The page in the browser, where there is one. */
  get page(): Page {
    if (this.#page === undefined) throw new Error('The page is opened by a suite that asks for it.');
    return this.#page;
  }

  async start(port?: number): Promise<void> {
    this.#service = await startService({ records: RECORDS, ...(port === undefined ? {} : { port }) });
  }

  /** To be called in a suite: its tests have a page, which they load. */
  inBrowser(): void {
    let browser: Browser;
    const errors: string[] = [];
    beforeAll(async () => {
      browser = await launchChromium();
      const context = await browser.newContext({
        reducedMotion: 'reduce',
        permissions: ['clipboard-read', 'clipboard-write'],
      });
      context.setDefaultTimeout(8_000);
      this.#page = await context.newPage();
      this.#page.on('pageerror', ({ message }) => errors.push(message));
    });
    afterAll(() => browser?.close());
    afterEach(() => {
      expect(errors).toEqual([]);
    });
  }

  /** Loads the page as it is when nothing was sent, also where something stands after its #. */
  async load(): Promise<void> {
    await this.page.setViewportSize({ width: 1280, height: 900 });
    await this.page.goto(`${this.service.url}/_local`);
    await this.clear();
  }

  /** Takes away what was sent, and the faults, and waits until the page shows it. */
  async clear(): Promise<void> {
    this.service.outbox.clear();
    await fetch(`${this.service.url}/_local/faults`, { method: 'DELETE' });
    await this.page.getByText('Live', { exact: true }).waitFor();
    await this.page.getByRole('heading', { name: 'Nothing was sent yet' }).waitFor();
  }

  register(change: object = {}): Promise<number> {
    return this.#post('/public/v1/account/register/request', {
      ...REGISTRATION,
      email: `nia.${this.#callers}@example.com`,
      ...change,
    });
  }

  openAccount(change: object = {}, user = 'CLIENT01'): Promise<number> {
    const body = { connection_id: 'tp5-live-1', group: 'real\\standard', leverage: 200, ...change };
    return this.#post(`/public/v1/users/${user}/tp5/accounts`, body);
  }

  async #post(path: string, body: object): Promise<number> {
    this.#callers += 1;
    const headers = { 'content-type': 'application/json', 'x-forwarded-for': `203.0.113.${this.#callers}` };
    const answer = await checked(
      await fetch(this.service.url + path, { method: 'POST', headers, body: JSON.stringify(body) }),
    );
    return answer.status;
  }
}
