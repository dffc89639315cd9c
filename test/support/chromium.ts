import { existsSync } from 'node:fs';
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, expect } from 'vitest';

const PATHS = [
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
  '/Applications/Chromium.app/Contents/MacOS/Chromium',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
];

/** The path of this machine's Chromium; undefined if there is none. */
export const CHROMIUM = PATHS.find((path) => existsSync(path));

/**
 * The title of tests in a browser. Without a browser these tests are skipped, and a line on the standard error says so.
 */
export function inChromium(title: string): string {
  if (CHROMIUM === undefined) process.stderr.write(`Skipped: ${title} (no Chromium on this machine)\n`);
  return title;
}

/**
 * The pages of a suite's browser, which starts before its tests. A test fails if a script fails in a page, if a page
 * violates its content security policy, or if it calls another origin than this machine.
 */
export class TestBrowser {
  #browser: Browser | undefined;
  #page: Page | undefined;
  readonly #errors: string[] = [];

  constructor(options: BrowserContextOptions = {}) {
    beforeAll(async () => {
      // The browser runs without a window and without a graphics card.
      const args = ['--no-sandbox', '--disable-gpu'];
      this.#browser = await chromium.launch({ executablePath: CHROMIUM ?? '', args });
      const context = await this.#browser.newContext({
        viewport: { width: 1280, height: 900 },
        reducedMotion: 'reduce',
        permissions: ['clipboard-read', 'clipboard-write'],
        ...options,
      });
      context.setDefaultTimeout(10_000);
      context.on('page', (page) => this.#watch(page));
      this.#page = await context.newPage();
    });
    afterAll(() => this.#browser?.close());
    afterEach(() => {
      expect(this.#errors.splice(0)).toEqual([]);
    });
  }

  get page(): Page {
    if (this.#page === undefined) throw new Error('The browser starts before the tests.');
    return this.#page;
  }

  /** Another page of the same browser. */
  newPage(): Promise<Page> {
    return this.page.context().newPage();
  }

  #watch(page: Page): void {
    page.on('pageerror', ({ message }) => this.#errors.push(message));
    page.on('console', (message) => {
      // A mail in its frame may try what its own policy forbids.
      const isMail = message.text().includes('/_local/outbox/');
      if (message.text().includes('Content Security Policy') && !isMail) this.#errors.push(message.text());
    });
    page.on('request', (request) => {
      const { hostname, protocol } = new URL(request.url());
      if (protocol.startsWith('http') && hostname !== 'localhost') this.#errors.push(`calls ${hostname}`);
    });
  }
}
