import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Route } from 'playwright-core';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { DEMO_RECORDS } from '../../../infra/local/demo-records.ts';
import { findCode } from '../../../infra/local/outbox.ts';
import { type LocalService, startService } from '../../../infra/local/service.ts';
import { loadWords } from '../../../infra/registration-page/page/words.js';
import { runRegistrationPage } from '../../../infra/registration-page/registration-page.ts';
import { CHROMIUM, inChromium, TestBrowser } from '../../support/chromium.ts';
import { runOperatorsCommand } from '../../support/operators.ts';
import { ANSWERS, axeFindings, PASSWORD, RegistrationTab, respond } from '../../support/registration-tab.ts';
import { serveFiles } from '../../support/static-files.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

const LABELS = { en: 'Experience', de: 'Erfahrung', ar: 'الخبرة', ja: '取引経験' };
const OPTION = { en: 'A little', de: 'Ein wenig', ar: 'قليل', ja: '少し' };
const TERMS = 'https://acme.example/terms';
/** A long form with a consent and texts in several languages, which is imported as operators do. */
const FORMS = [
  {
    id: 'FORMLONG',
    fields: [
      {
        key: 'exp',
        type: 'select',
        label: LABELS,
        required: true,
        options: ['none', 'some'],
        option_labels: { some: OPTION },
      },
      { key: 'born', type: 'date', label: 'Date of birth' },
      { key: 'income', type: 'number', label: 'Income', help: 'In thousands' },
      { key: 'home', type: 'country', label: 'Country' },
      { key: 'terms', type: 'boolean', label: `I accept the [terms](${TERMS})`, must: true, version: '2026-11' },
      { key: 'doc', type: 'document', label: 'Proof', accept: ['image/jpeg', 'image/png', 'application/pdf'] },
    ],
  },
];
/** The styles of a site that means well with its own forms. */
const HOSTILE = `html { font-size: 40px; letter-spacing: 3px } * { box-sizing: content-box !important }
  label { display: none !important; text-transform: uppercase } input, select { width: 12px !important; float: right }
  .error, .hint, p { color: #eee !important } button { all: unset } h1, h2 { font-size: 99px }`;

let service: LocalService;
const folder = temporaryFolder('registration-page');
let server: Awaited<ReturnType<typeof serveFiles>>;

beforeAll(async () => {
  service = await startService({ records: DEMO_RECORDS });
  await writeFile(join(folder, 'forms.json'), JSON.stringify({ forms: FORMS }));
  const imported = await runOperatorsCommand(['import', join(folder, 'forms.json'), `--local=${service.url}`]);
  expect(imported).toMatchObject({ code: 0 });
  for (const form of ['FORM0002', 'FORMFULL', 'FORMLONG']) {
    const args = [form, '--api', service.url, '--form', form, '--brand', 'Example Broker'];
    expect(await runRegistrationPage(args, { print: () => {}, report: () => {}, folder })).toBe(0);
  }
  for (const theme of ['light', 'dark'] as const) await writeFile(join(folder, `${theme}.html`), siteWith(theme));
  server = await serveFiles(folder);
});
afterAll(async () => {
  server.close();
  await service.close();
});

/** A site of a broker with the page in it. */
function siteWith(theme: 'light' | 'dark'): string {
  const [back, text] = theme === 'light' ? ['#fff', '#222'] : ['#111', '#ddd'];
  const script = `import { start } from './FORM0002/register.js'; import config from './FORM0002/config.js';
    await start(document.querySelector('#registration'), { ...config, theme: '${theme}', headingLevel: 2 });`;
  return `<!doctype html><html lang="en"><title>Acme</title><meta charset="utf-8">
    <style>${HOSTILE} body { background: ${back}; color: ${text} } #registration { --registration-accent: #c2185b }</style>
    <main><h1>Acme</h1><div id="registration"></div></main><script type="module">${script}</script></html>`;
}

const { words: english } = await loadWords(['en']);

describe.skipIf(CHROMIUM === undefined)(inChromium('the registration page'), () => {
  const browser = new TestBrowser({ locale: 'en-GB' });
  const tabOf = (form: string, words = english) => new RegistrationTab(browser.page, `${server.url}/${form}/`, words);
  const heading = (text: string) => browser.page.getByRole('heading', { name: text, exact: true }).waitFor();
  const api = (route: Route) => route.continue();
  const lost = async (route: Route) => {
    await route.fetch();
    await route.abort();
  };
  const code = () => {
    const mail = service.outbox.list().at(-1);
    return (mail && findCode(mail)) ?? '';
  };
  beforeAll(() => browser.page.clock.install());
  beforeEach(() => service.outbox.clear());

  it.each([
    ['a 204 without a readable registration-id', respond(204, ''), 'unreadable'],
    ['an error of a field that it does not have', ANSWERS.invalid('confirming'), 'form_gone'],
  ] as const)('says what to do at %s', async (_, answer, sentence) => {
    const tab = tabOf('FORM0002');
    await tab.reach('sending');
    await tab.answer(answer);
    await browser.page.getByRole('alert').getByText(english.sentences[sentence]).waitFor();
    expect(await browser.page.locator('.registration').textContent()).not.toContain('#/');
  });

  it('registers, sends another code and confirms although each answer is lost, and nothing is done twice', async () => {
    const tab = tabOf('FORM0002');
    const confirmed = service.bus.list().length;
    await tab.open();
    await tab.fillIn();
    const silent = browser.page.getByText(english.sentences.silent);
    await tab.submit().click();
    await tab.answer(lost);
    await silent.waitFor();
    await tab.submit().click();
    await tab.answer(api);
    await tab.field('#/code').waitFor();
    expect(service.outbox.list()).toHaveLength(1);
    await tab.field('#/code').fill(code());
    await tab.answer(lost);
    await silent.waitFor();
    await tab.submit().click();
    await tab.answer(api);
    await heading(english.texts.done);
    // Both requests of a message have one key, and a confirmation has none.
    expect([tab.keys[0] === tab.keys[1], tab.keys[2]]).toEqual([true, '']);
    expect(service.bus.list()).toHaveLength(confirmed + 1);
    expect(await browser.page.evaluate('sessionStorage.length')).toBe(0);
  });

  it('sends another code after a minute, tries the newest registration first, and goes on after a reload', async () => {
    const tab = tabOf('FORM0002');
    await tab.reach('code');
    expect(await tab.submit(1).textContent()).toMatch(/Send another code \((1:00|0:5\d)\)/);
    await browser.page.clock.fastForward('01:01');
    await browser.page.getByRole('status').getByText(english.texts.again_ready).waitFor();
    await tab.submit(1).click();
    await tab.answer(ANSWERS.accepted('resending'));
    await browser.page.getByRole('status').getByText('We have sent a code').waitFor();
    const kept = await browser.page.evaluate<string>('JSON.stringify(sessionStorage)');
    expect(kept).not.toContain(PASSWORD);
    await browser.page.reload();
    await tab.field('#/code').fill('654 321');
    await tab.answer(ANSWERS.code_refused('confirming'));
    await tab.answer(ANSWERS.accepted('confirming'));
    await heading(english.texts.done);
    const [newer, older] = tab.bodies.slice(-2);
    expect([newer, older]).toMatchObject([{ code: '654 321' }, { code: '654 321' }]);
    expect(Number(String(newer?.registration_id).slice(3))).toBeGreaterThan(
      Number(String(older?.registration_id).slice(3)),
    );
  });

  it('works by keyboard alone, and sends one request however often Enter is pressed', async () => {
    const tab = tabOf('FORM0002');
    await tab.open();
    const { keyboard } = browser.page;
    const tabTo = async (pointer: string) => {
      for (let stops = 0; stops < 30; stops += 1) {
        if ((await tab.inShadow('root.activeElement?.id')) === pointer) return;
        await keyboard.press('Tab');
      }
      throw new Error(`Tab never reaches ${pointer}.`);
    };
    for (const [pointer, text] of [
      ['#/name', 'Nia Newman'],
      ['#/password', PASSWORD],
      ['#/repeat_password', PASSWORD],
    ] as const) {
      await tabTo(pointer);
      await keyboard.type(text);
    }
    await keyboard.press('Enter');
    await keyboard.press('Enter');
    await tab.answer(ANSWERS.accepted('sending'));
    await heading(english.texts.enter_code);
    await keyboard.type('123456');
    await keyboard.press('Enter');
    await tab.answer(ANSWERS.accepted('confirming'));
    await heading(english.texts.done);
    expect(tab.keys).toHaveLength(2);
  });

  it('has a policy, follows the buttons of the browser, and clears the link from the address bar', async () => {
    const tab = tabOf('FORM0002');
    await tab.reach('code');
    expect(browser.page.url()).toBe(`${server.url}/FORM0002/`);
    const policy = await browser.page.locator('meta[http-equiv]').getAttribute('content');
    expect(policy).toContain(`connect-src ${service.url}; frame-src 'none'`);
    await browser.page.goBack();
    await heading(english.texts.open_account);
    expect(await tab.field('#/email').inputValue()).toContain('person.');
    await browser.page.goForward();
    await heading(english.texts.enter_code);
    await browser.page.goto('about:blank');
    await browser.page.goBack();
    await heading(english.texts.enter_code);
  });

  it('sends codes by the one channel that the broker names, without a choice', async () => {
    const tab = tabOf('FORM0002');
    await browser.page.context().route('**/config.js', async (route) => {
      const body = (await (await route.fetch()).text()).replace('form,', "form, channels: ['sms'],");
      await route.fulfill({ contentType: 'text/javascript', body });
    });
    await tab.open();
    await tab.fillIn();
    await tab.field('#/phone/number').fill('7400 123456');
    expect(await tab.field('#/otp_type').count()).toBe(0);
    await tab.submit().click();
    await tab.answer(ANSWERS.accepted('sending'));
    expect(tab.bodies[0]).toMatchObject({ otp_type: 'sms', phone: { country_code: '+44', number: '7400 123456' } });
    await browser.page.context().unroute('**/config.js');
  });

  describe('of a long form', () => {
    const next = () => browser.page.getByRole('button', { name: english.texts.continue }).click();
    const fillPerson = async (tab: RegistrationTab) => {
      await tab.open();
      await tab.fillIn();
      await tab.field('#/exp').selectOption('some');
      await tab.field('#/terms').check();
    };

    it('reads what password managers, browsers and scripts have filled in without an event', async () => {
      const tab = tabOf('FORMLONG');
      await tab.open();
      const values = {
        ...{ name: 'Nia Newman', password: PASSWORD, repeat_password: PASSWORD, exp: 'some', home: 'DE' },
        ...{ income: ' 1,5 ', born: '1990-05-17', 'phone/country_code': 'DE', 'phone/number': '01512 3456789' },
      };
      for (const [name, value] of Object.entries(values))
        await tab.inShadow(`{ root.getElementById('#/${name}').value = ${JSON.stringify(value)} }`);
      await tab.inShadow(`{ root.getElementById('#/terms').checked = true }`);
      await next();
      await tab.field('#/doc').waitFor();
      await tab.submit().click();
      await tab.answer(ANSWERS.accepted('sending'));
      expect(tab.bodies[0]).toMatchObject({
        ...{ name: 'Nia Newman', password: PASSWORD, exp: 'some', home: 'DE', income: 1.5, born: '1990-05-17' },
        ...{ terms: true, phone: { country_code: '+49', number: '01512 3456789' }, language: 'en-GB' },
      });
    });

    it('refuses what the browser cannot read, and changes no number', async () => {
      const tab = tabOf('FORMLONG');
      await fillPerson(tab);
      const errors = () => browser.page.locator('.registration .error').allTextContents();
      for (const [date, income, wrong] of [
        ['0517', '12e', 2],
        ['02312024', '1,500', 2],
        ['05170085', '1 2', 2],
        ['05171990', '1500.5', 0],
      ] as const) {
        await tab.field('#/born').press('Control+a');
        await tab.field('#/born').press('Delete');
        await tab.field('#/born').pressSequentially(date);
        await tab.field('#/income').fill(income);
        await tab.field('#/income').hover();
        await browser.page.mouse.wheel(0, 50);
        await next();
        if (wrong === 0) await tab.field('#/doc').waitFor();
        else await expect.poll(errors).toHaveLength(wrong);
      }
      await browser.page.getByRole('button', { name: english.texts.back }).click();
      expect(await tab.field('#/born').inputValue()).toBe('1990-05-17');
      expect(await tab.field('#/income').inputValue()).toBe('1500.5');
    });

    it('makes photos smaller until all documents fit, adds the second to the first, and takes one out', async () => {
      const tab = tabOf('FORMLONG');
      await fillPerson(tab);
      await next();
      await browser.page.getByText('JPEG, PNG, PDF').waitFor();
      const photo = await browser.page.evaluate<string>(`(() => {
        const canvas = Object.assign(document.createElement('canvas'), { width: 1600, height: 1200 });
        const pixels = new ImageData(1600, 1200);
        for (let at = 0; at < pixels.data.length; at += 65536)
          crypto.getRandomValues(pixels.data.subarray(at, at + 65536));
        for (let at = 3; at < pixels.data.length; at += 4) pixels.data[at] = 255;
        canvas.getContext('2d').putImageData(pixels, 0, 0);
        return canvas.toDataURL('image/jpeg', 1).replace(/^[^,]*,/, '');
      })()`);
      const buffer = Buffer.concat([Buffer.from(photo, 'base64')], 9_000_000);
      const file = { mimeType: 'image/jpeg', buffer };
      await tab
        .field('#/doc')
        .setInputFiles({ name: 'a.jpg', mimeType: 'image/jpeg', buffer: Buffer.alloc(4_000_000) });
      await tab.submit().click();
      await browser.page.getByText(english.fields.file_size).waitFor();
      await browser.page.getByRole('button', { name: `${english.texts.remove}: a.jpg` }).click();
      const pdf = { name: 'bill.pdf', mimeType: 'application/pdf', buffer: Buffer.alloc(1_000_000) };
      for (const one of [
        { ...file, name: 'front.jpeg' },
        { ...file, name: 'back.jpeg' },
        pdf,
        { ...pdf, name: 'x.pdf' },
      ])
        await tab.field('#/doc').setInputFiles(one);
      await browser.page.getByRole('button', { name: `${english.texts.remove}: x.pdf` }).click();
      await tab.checkLooks('documents', 'documents');
      await tab.submit().click();
      await browser.page.getByRole('progressbar', { name: english.texts.sending }).waitFor();
      await tab.checkLooks('progress', 'progress');
      await tab.answer(ANSWERS.accepted('sending'));
      const sent = tab.bodies[0]?.doc as { name: string; doc: string }[];
      expect(sent.map(({ name }) => name)).toEqual(['front.jpg', 'back.jpg', 'bill.pdf']);
      const bytes = sent.map(({ doc }) => Buffer.from(doc, 'base64').length);
      expect(Math.max(...bytes)).toBeLessThanOrEqual(3 * 1024 * 1024);
      expect(bytes.reduce((sum, one) => sum + one)).toBeLessThanOrEqual(4 * 1024 * 1024);
      expect(
        Buffer.from(sent[0]?.doc ?? '', 'base64')
          .subarray(0, 3)
          .toString('hex'),
      ).toBe('ffd8ff');
    });

    it('shows rules, terms and the password before anything is sent', async () => {
      const tab = tabOf('FORMLONG');
      await fillPerson(tab);
      for (const hint of ['At least 8 characters', 'In thousands', 'Version 2026-11'])
        await browser.page.getByText(hint).waitFor();
      const link = browser.page.getByRole('link', { name: 'terms' });
      const attributes = ['href', 'target', 'rel'].map((name) => link.getAttribute(name));
      expect(await Promise.all(attributes)).toEqual([TERMS, '_blank', 'noopener noreferrer']);
      await browser.page.getByRole('button', { name: english.texts.show_password }).first().click();
      expect(await tab.field('#/password').getAttribute('type')).toBe('text');
    });
  });

  describe.each(['light', 'dark'] as const)('in a %s site with styles of its own', (theme) => {
    it('looks as everywhere, keeps the contrast of an accent, and leaves the title to the site', async () => {
      const { page } = browser;
      await page.setViewportSize({ width: 700, height: 900 });
      await page.emulateMedia({ colorScheme: theme === 'light' ? 'dark' : 'light' });
      await page.goto(`${server.url}/${theme}.html`);
      await page.evaluate('sessionStorage.clear()');
      await page.reload();
      await page.getByRole('heading', { name: english.texts.open_account, level: 2 }).waitFor();
      expect(await page.title()).toBe('Acme');
      const looks = (selector: string) =>
        page.evaluate(`(({ display, fontSize, letterSpacing, float, boxSizing, width }) =>
          [display, fontSize, letterSpacing, float, boxSizing, width])(getComputedStyle(
          document.querySelector('#registration').shadowRoot.querySelector('${selector}')))`);
      expect(await looks('label')).toEqual(['block', '16px', 'normal', 'none', 'content-box', '512px']);
      expect(await looks('input')).toEqual(['block', '16px', 'normal', 'none', 'border-box', '512px']);
      expect(await looks('.heading')).toEqual(['block', '24px', 'normal', 'none', 'content-box', '512px']);
      await page.getByRole('button', { name: english.texts.register }).click();
      await page.getByRole('alert').waitFor();
      expect(await axeFindings(page)).toEqual([]);
    });
  });
});

describe.skipIf(CHROMIUM === undefined).each(['de', 'ar', 'ja'] as const)(
  inChromium('the registration page in %s'),
  (language) => {
    const browser = new TestBrowser({ locale: language });

    it('is in that language alone, with codes from left to right and nothing cut off', async () => {
      const { words } = await loadWords([language]);
      const { page } = browser;
      await page.clock.install();
      const tab = new RegistrationTab(page, `${server.url}/FORMLONG/`, words);
      await tab.open();
      const element = page.locator('.registration');
      expect(await element.getAttribute('lang')).toBe(language);
      const direction = (selector: string) =>
        tab.inShadow<string>(`getComputedStyle(root.querySelector(${JSON.stringify(selector)})).direction`);
      expect(await direction('.heading')).toBe(words.direction ?? 'ltr');
      await page.getByRole('button', { name: words.texts.continue }).click();
      await page.getByRole('alert').getByText(words.sentences.correct).waitFor();
      expect(await tab.field('#/name-error').textContent()).toContain(words.fields.required);
      expect(await page.locator('label[for="#/exp"]').textContent()).toBe(LABELS[language]);
      await tab.checkLooks('errors', 'errors');
      await tab.fillIn();
      await tab.field('#/exp').selectOption(OPTION[language]);
      await tab.field('#/terms').check();
      await page.getByRole('button', { name: words.texts.continue }).click();
      await tab.field('#/doc').waitFor();
      await tab.checkLooks('documents', 'documents');
      await tab.submit().click();
      await tab.answer(ANSWERS.accepted('sending'));
      expect(tab.bodies[0]).toMatchObject({ exp: 'some', language });
      await tab.field('#/code').waitFor();
      expect(await direction('[id="#/code"]')).toBe('ltr');
      await tab.checkLooks('code', 'code');
      await tab.field('#/code').fill('123 456');
      await tab.answer(ANSWERS.already_registered('confirming'));
      await page.getByRole('heading', { name: words.texts.client }).waitFor();
      await tab.checkLooks('client', 'client');
    });
  },
);
