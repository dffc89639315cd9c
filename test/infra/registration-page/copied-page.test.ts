import { readFileSync } from 'node:fs';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { AxeResults } from 'axe-core';
import type { Route } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { DEMO_RECORDS } from '../../../infra/local/demo-records.ts';
import { findCode } from '../../../infra/local/outbox.ts';
import { type LocalService, startService } from '../../../infra/local/service.ts';
import { TABLE } from '../../../infra/registration-page/page/machine.js';
import type { Answer, State } from '../../../infra/registration-page/page/types.ts';
import { words } from '../../../infra/registration-page/page/words/en.js';
import { runRegistrationPage } from '../../../infra/registration-page/registration-page.ts';
import { CHROMIUM, inChromium, TestBrowser } from '../../support/chromium.ts';

const AXE = readFileSync(fileURLToPath(import.meta.resolve('axe-core/axe.min.js')), 'utf8');
const TYPES: Record<string, string> = { '.html': 'text/html', '.js': 'text/javascript', '.css': 'text/css' };
const PASSWORD = 'one horse, four batteries';

let service: LocalService;
let folder: string;
let server: Server;
let origin: string;
const output: string[] = [];
const say = (text: string) => void output.push(text);
const write = (...args: string[]) => runRegistrationPage(args, { print: say, report: say, folder: '/' });

beforeAll(async () => {
  service = await startService({
    records: DEMO_RECORDS,
    settings: { limits: { sourcePer10Minutes: 1_000, sourcePerHour: 1_000, confirmationsPer10Minutes: 1_000 } },
  });
  folder = await mkdtemp(join(tmpdir(), 'registration-page-'));
  expect(await write(folder, '--api', service.url, '--form', 'FORM0002', '--brand', "Ann's <Broker>")).toBe(0);
  server = createServer(async (request, response) => {
    const name = request.url?.replace(/\?.*$/, '').replace(/\/$/, '/index.html') ?? '';
    const content = await readFile(join(folder, name)).catch(() => undefined);
    response.writeHead(content === undefined ? 404 : 200, { 'content-type': TYPES[extname(name)] ?? 'text/plain' });
    response.end(content);
  });
  await new Promise<void>((resolve) => server.listen(0, 'localhost', resolve));
  origin = `http://localhost:${(server.address() as AddressInfo).port}`;
});
afterAll(async () => {
  server.close();
  server.closeAllConnections();
  await service.close();
  await rm(folder, { recursive: true });
});

describe('npm run registration-page', () => {
  it('writes plain files: ours free to copy, the libraries with their licenses', async () => {
    const names = (await readdir(folder, { recursive: true })).filter(
      (name) => name.includes('.') || /LICENSE/.test(name),
    );
    expect(names).toEqual(expect.arrayContaining(['index.html', 'config.js', 'form.js', 'version.js', 'LICENSE']));
    expect(names.filter((name) => name.startsWith('vendor/')).sort()).toEqual(
      ['LICENSE-htm', 'LICENSE-preact', 'htm.js', 'preact.js'].map((name) => `vendor/${name}`),
    );
    for (const name of names.filter((one) => /\.js$/.test(one) && !/^(vendor|config|form)/.test(one))) {
      const text = await readFile(join(folder, name), 'utf8');
      expect([name, text.split('\n')[0]]).toEqual([name, '// SPDX-License-Identifier: 0BSD']);
      expect([...text.matchAll(/from '([^']+)'/g)].filter(([, from = '']) => !from.startsWith('./'))).toEqual([]);
    }
  });

  it('keeps what a broker has edited, and says so', async () => {
    const config = join(folder, 'config.js');
    const before = await readFile(config, 'utf8');
    await writeFile(config, `${before}// mine\n`);
    expect(await write(folder, '--api', service.url, '--form', 'FORM0002')).toBe(0);
    expect(await readFile(config, 'utf8')).toContain('// mine');
    expect(output.at(-1)).toContain('Kept, because they are yours: config.js, index.html.');
  });

  it.each([
    [['--api', 'nothing', '--form', 'FORM0002'], 2, 'is no address of an API'],
    [['--api', 'https://api.acme.example', '--form', 'FORM0002'], 2, 'Say where the records are'],
    [['--form', 'FORM0002'], 2, '--api'],
    [['--api', 'URL', '--form', 'NONE0000'], 1, 'There is no form NONE0000'],
    [['--api', 'URL', '--form', 'FORM0002', '--captcha', 'turnstile'], 2, 'need each other'],
  ])('refuses %s', async (args, code, message) => {
    expect(await write('/nowhere', ...args.map((arg) => (arg === 'URL' ? service.url : arg)))).toBe(code);
    expect(output.at(-1) + String(output.at(-2))).toContain(message);
  });

  it('styles nothing outside of its element', async () => {
    const css = (await readFile(join(folder, 'register.css'), 'utf8')).replaceAll(/\/\*[\s\S]*?\*\//g, '');
    expect(css.match(/^\S.*\{/gm)).toEqual(['.registration {']);
  });
});

/** A request that the API answers as this event; `reload` has none. */
const ANSWERS: Record<Answer, ((route: Route) => Promise<void>) | undefined> = {
  accepted: undefined,
  invalid: problem(400, 'validation_failed', { errors: [{ pointer: '#/name', rule: 'characters' }] }),
  form_gone: problem(400, 'form_not_found'),
  code_refused: problem(400, 'code_not_accepted'),
  captcha_failed: problem(403, 'captcha_failed'),
  in_progress: problem(409, 'request_in_progress'),
  key_reused: problem(422, 'idempotency_key_reused'),
  too_large: problem(413, 'payload_too_large'),
  too_many: problem(429, 'too_many_requests', {}, { 'retry-after': '1' }),
  failed: problem(500, 'internal_error'),
  undelivered: problem(502, 'otp_delivery_failed'),
  silent: (route) => route.abort(),
  unreadable: (route) => route.fulfill({ status: 403, headers: cors(), contentType: 'text/html', body: '<h1>No</h1>' }),
};
const cors = () => ({ 'access-control-allow-origin': origin, 'access-control-expose-headers': 'retry-after' });
function problem(status: number, type: string, more: object = {}, headers: Record<string, string> = {}) {
  return (route: Route) =>
    route.fulfill({ status, headers: { ...cors(), ...headers }, body: JSON.stringify({ type, ...more }) });
}

describe.skipIf(CHROMIUM === undefined)(inChromium('the copied page on another origin'), () => {
  const browser = new TestBrowser({ locale: 'en-GB' });
  const page = () => browser.page;
  const heading = (name: string) => page().getByRole('heading', { name, exact: true }).waitFor();
  const press = (name: RegExp) => page().getByRole('button', { name }).click();
  const HEADINGS: Partial<Record<State, string>> = {
    form: words.texts.open_account,
    code: words.texts.enter_code,
    done: words.texts.done,
  };
  let people = 0;

  async function fillIn(): Promise<string> {
    people += 1;
    const email = `copied.${people}@example.com`;
    service.outbox.clear();
    await page().goto(`${origin}/?email=${email}&ref=REFANN01`);
    await page().evaluate('sessionStorage.clear()');
    await page().reload();
    await page().getByLabel('Name', { exact: true }).fill('Nia Newman');
    for (const label of ['Password', 'Repeat password']) await page().getByLabel(label, { exact: true }).fill(PASSWORD);
    return email;
  }

  /** Answers the next request with this, and all others by the API. */
  async function answerOnce(operation: string, answer: (route: Route) => Promise<void>): Promise<void> {
    await page().route(
      `**/register/${operation}`,
      (route) => (route.request().method() === 'POST' ? answer(route) : route.continue()),
      {
        times: 1,
      },
    );
  }

  async function findings(): Promise<string[]> {
    // The page's policy lets no script be added to it: axe runs in the tab by the debugger.
    const { violations } = await page().evaluate<AxeResults>(
      `${AXE}; axe.run(document, { resultTypes: ['violations'] })`,
    );
    return violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html}`));
  }

  async function checkStep(state: 'sending' | 'confirming' | 'resending', answer: Answer): Promise<void> {
    const { to, says } = TABLE[state][answer];
    await heading(HEADINGS[to] ?? '');
    if (says === undefined) return;
    const sentence = words.sentences[says].split('{time}', 1)[0] ?? '';
    await page().getByRole('alert').getByText(sentence).waitFor();
    expect(await page().title()).toMatch(/^Error: .* – Ann's <Broker>$/);
    expect(await page().evaluate('document.activeElement.matches("[role=alert], [aria-invalid]")')).toBe(true);
    for (const colorScheme of ['light', 'dark'] as const) {
      await page().emulateMedia({ colorScheme, reducedMotion: 'reduce' });
      expect(await findings(), `${state} ${answer} ${colorScheme}`).toEqual([]);
    }
  }

  const FAILED = Object.entries(ANSWERS).flatMap(([answer, make]) => (make ? [[answer as Answer, make] as const] : []));

  it('goes on after every answer to a registration, to another code and to a confirmation, and has no finding of axe', async () => {
    const email = await fillIn();
    expect(await page().getByLabel('Email', { exact: true }).first().inputValue()).toBe(email);
    expect(await findings()).toEqual([]);
    const keys: string[] = [];
    page().on('request', (request) => {
      const key = request.headers()['idempotency-key'];
      if (key !== undefined) keys.push(key);
    });
    for (const [answer, make] of FAILED) {
      await answerOnce('request', make);
      await press(/^Register/);
      await checkStep('sending', answer);
      if (answer === 'too_many')
        await expect.poll(() => page().getByRole('button', { name: 'Register', exact: true }).count()).toBe(1);
    }
    // One key, but for the one that the API called used up.
    expect(new Set(keys).size).toBe(2);
    await press(/^Register/);
    await heading(words.texts.enter_code);
    expect(service.outbox.list()).toHaveLength(1);
    expect(await page().evaluate('document.activeElement.id')).toBe('#/code');
    await page().clock.install();
    for (const [answer, make] of FAILED) {
      await page().clock.fastForward(61_000);
      await answerOnce('request', make);
      await press(/^Send another code/);
      await checkStep('resending', answer);
      if (TABLE.resending[answer].to === 'form') await press(/^Enter the code/);
    }
    await page().getByLabel('Code', { exact: true }).fill('12 34 56');
    for (const [answer, make] of FAILED) {
      await page().clock.fastForward(61_000);
      await answerOnce('confirm', make);
      await press(/^Confirm/);
      await checkStep('confirming', answer);
    }
    const [mail] = service.outbox.list();
    await page().clock.fastForward(61_000);
    await page()
      .getByLabel('Code', { exact: true })
      .fill((mail && findCode(mail)) ?? '');
    await press(/^Confirm/);
    await heading(words.texts.done);
    expect(await findings()).toEqual([]);
    await page().reload();
    await heading(words.texts.open_account);
  });

  it('sends one code after a lost answer, and one request however often Enter is pressed', async () => {
    await fillIn();
    await answerOnce('request', async (route) => {
      await route.fetch();
      await route.abort();
    });
    await press(/^Register/);
    await page().getByRole('alert').getByText(words.sentences.silent).waitFor();
    expect(service.outbox.list()).toHaveLength(1);
    let posts = 0;
    page().on('request', (request) => {
      if (request.method() === 'POST') posts += 1;
    });
    await page().getByLabel('Repeat password').press('Enter');
    await page().keyboard.press('Enter');
    await heading(words.texts.enter_code);
    expect([posts, service.outbox.list().length]).toEqual([1, 1]);
  });

  it('reaches the code again after Back, a reload, and a reload while it waited for an answer', async () => {
    const email = await fillIn();
    let release: (() => void) | undefined;
    await answerOnce('request', async (route) => {
      await route.fetch();
      await new Promise<void>((resolve) => {
        release = resolve;
      });
      await route.abort().catch(() => undefined);
    });
    await press(/^Register/);
    await expect.poll(() => service.outbox.list().length).toBe(1);
    await page().reload();
    await page().getByText(`If a code has arrived at`).waitFor();
    release?.();
    for (const step of ['reload', 'back'] as const) {
      await press(/^Enter the code/);
      await page().getByText(email).first().waitFor();
      if (step === 'reload') await page().reload();
      await press(/^Back/);
    }
    await press(/^Enter the code/);
    const [mail] = service.outbox.list();
    await page()
      .getByLabel('Code', { exact: true })
      .fill((mail && findCode(mail)) ?? '');
    await page()
      .getByLabel(/^Password/)
      .fill(PASSWORD);
    await press(/^Confirm/);
    await heading(words.texts.done);
  });
});
