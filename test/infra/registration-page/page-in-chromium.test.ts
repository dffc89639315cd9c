import { readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { AxeResults } from 'axe-core';
import type { Locator, Page, Route } from 'playwright-core';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { DEMO_RECORDS } from '../../../infra/local/demo-records.ts';
import { findCode } from '../../../infra/local/outbox.ts';
import { type LocalService, startService } from '../../../infra/local/service.ts';
import { BUSY_STATES, TRANSITIONS } from '../../../infra/registration-page/page/machine.js';
import type { Act, Event, RequestEnd, State, Words } from '../../../infra/registration-page/page/types.ts';
import { fill, loadWords } from '../../../infra/registration-page/page/words.js';
import { runRegistrationPage } from '../../../infra/registration-page/registration-page.ts';
import { CHROMIUM, inChromium, TestBrowser } from '../../support/chromium.ts';
import { runOperatorsCommand } from '../../support/operators.ts';
import { serveFiles } from '../../support/static-files.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

const AXE = readFileSync(fileURLToPath(import.meta.resolve('axe-core/axe.min.js')), 'utf8');
const PASSWORD = 'one horse, four batteries';
const WIDTH = 360;
const LABELS = { en: 'Experience', de: 'Erfahrung', ar: 'الخبرة', ja: '取引経験' };
/** A form whose label is in several languages, which is imported as operators do. */
const FORMS = [
  {
    id: 'FORMLANG',
    fields: [
      { key: 'exp', type: 'select', label: LABELS, required: true, options: ['none', 'some'] },
      { key: 'doc', type: 'document', label: 'Proof' },
    ],
  },
];

let service: LocalService;
const folder = temporaryFolder('registration-page');
let server: Awaited<ReturnType<typeof serveFiles>>;
/** Where the page of a form is, by the place that serves it. */
let places: Record<'the local service' | 'a copy on another origin', (form: string) => string>;
let people = 0;

beforeAll(async () => {
  const limits = { sourcePer10Minutes: 1_000, sourcePerHour: 1_000, confirmationsPer10Minutes: 1_000 };
  service = await startService({
    records: DEMO_RECORDS,
    settings: { limits: { ...limits, resendSeconds: 'none' } },
  });
  await writeFile(join(folder, 'forms.json'), JSON.stringify({ forms: FORMS }));
  const imported = await runOperatorsCommand(['import', join(folder, 'forms.json'), `--local=${service.url}`]);
  expect(imported).toMatchObject({ code: 0 });
  for (const form of ['FORM0002', 'FORMFULL', 'FORMLANG']) {
    const args = [form, '--api', service.url, '--form', form, '--brand', 'Example Broker'];
    expect(await runRegistrationPage(args, { print: () => {}, report: () => {}, folder })).toBe(0);
  }
  server = await serveFiles(folder);
  places = {
    'the local service': (form) => `${service.url}/_local/register?form=${form}&`,
    'a copy on another origin': (form) => `${server.url}/${form}/?`,
  };
});
afterAll(async () => {
  server.close();
  await service.close();
});

type Respond = (route: Route) => Promise<void>;

/** A response that the page may read from any origin. */
function respond(status: number, body: object | string, headers: Record<string, string> = {}): Respond {
  const cors = { 'access-control-allow-origin': '*', 'access-control-expose-headers': 'retry-after' };
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  return (route) => route.fulfill({ status, headers: { ...cors, ...headers }, body: text });
}
function invalid(pointer: string): Respond {
  return respond(400, { type: 'validation_failed', errors: [{ pointer, rule: 'characters' }] });
}

/** How the API, or what is before it, gives each answer. The order is that of the tests. */
const ANSWERS: Record<RequestEnd, (state: State) => Respond> = {
  invalid: (state) => invalid(state === 'confirming' ? '#/code' : '#/name'),
  form_gone: () => respond(400, { type: 'form_not_found' }),
  code_refused: () => respond(400, { type: 'code_not_accepted' }),
  captcha_failed: () => respond(403, { type: 'captcha_failed' }),
  in_progress: () => respond(409, { type: 'request_in_progress' }),
  key_reused: () => respond(422, { type: 'idempotency_key_reused' }),
  too_large: () => respond(413, { message: 'Request Too Long' }),
  too_many: () => respond(429, { type: 'too_many_requests' }, { 'retry-after': '45' }),
  failed: () => respond(500, { type: 'internal_error' }),
  undelivered: () => respond(502, { type: 'otp_delivery_failed' }),
  silent: () => (route) => route.abort(),
  unreadable: () => respond(403, '<h1>Forbidden</h1>', { 'content-type': 'text/html' }),
  accepted: () => respond(204, ''),
};

/** The state from which a person comes to another one. */
const BEFORE: Record<State, State | undefined> = {
  form: undefined,
  sending: 'form',
  code: 'sending',
  resending: 'code',
  confirming: 'code',
  done: 'confirming',
};

/** The texts that are headings, and what has the focus, where nothing is wrong. */
const HEADINGS = {
  ...{ form: 'open_account', sending: 'open_account', done: 'done' },
  ...{ code: 'enter_code', resending: 'enter_code', confirming: 'enter_code' },
} as const satisfies Record<State, keyof Words['texts']>;
const FOCUS: Record<State, string> = {
  ...{ form: 'h1', code: '[id="#/code"]', done: 'h1' },
  ...{ sending: 'button', resending: 'button', confirming: 'button' },
};
const WRONG = '[role=alert], [aria-invalid]';

/** The page of a tab, and the requests that it makes: each waits until the test answers it. */
class RegistrationTab {
  readonly #words: Words;
  /** The state that the page shows, by its table; undefined: the page must be opened. */
  state: State | undefined;
  /** The keys of all requests. */
  readonly keys: string[] = [];
  readonly #waiting: Route[] = [];
  readonly #seen = new Set<string>();

  readonly page: Page;
  readonly #url: string;

  constructor(page: Page, url: string, words: Words) {
    this.page = page;
    this.#url = url;
    this.#words = words;
  }

  /** Opens an untouched page. */
  async open(): Promise<void> {
    await this.page.unrouteAll({ behavior: 'ignoreErrors' });
    this.#waiting.length = 0;
    await this.page.setViewportSize({ width: WIDTH, height: 740 });
    people += 1;
    await this.page.goto(`${this.#url}email=person.${people}@example.com&ref=REFANN01`);
    await this.page.evaluate('sessionStorage.clear()');
    await this.page.reload();
    await this.page.route('**/public/v1/account/register/*', (route) => this.#receive(route));
    await this.heading().waitFor();
    this.state = 'form';
  }

  async #receive(route: Route): Promise<void> {
    if (route.request().method() !== 'POST') return route.continue();
    this.keys.push(route.request().headers()['idempotency-key'] ?? '');
    this.#waiting.push(route);
  }

  /** Answers the request that waits. */
  async answer(give: Respond): Promise<void> {
    await expect.poll(() => this.#waiting.length).toBe(1);
    const route = this.#waiting.pop();
    // A page that was reloaded has ended its request.
    if (route !== undefined) await give(route).catch(() => undefined);
  }

  field(pointer: string) {
    return this.page.locator(`[id="${pointer}"]`);
  }
  heading() {
    return this.page.locator('.registration h1');
  }
  /** The buttons that send: of the form; or to confirm, and to send another code. */
  submit(index = 0) {
    return this.page.locator('.registration form').nth(index).locator('button[type=submit]');
  }
  #button(name: 'back' | 'enter_code') {
    return this.page.getByRole('button', { name: this.#words.texts[name], exact: true });
  }

  async fillIn(): Promise<void> {
    await this.field('#/name').fill('Nia Newman');
    for (const name of ['password', 'repeat_password']) await this.field(`#/${name}`).fill(PASSWORD);
  }

  /** What a person does for an event. @returns false if the page offers no way to do it */
  async act(act: Act): Promise<boolean> {
    const isForm = this.state === 'form' || this.state === 'sending';
    const isCode = this.state === 'code' || this.state === 'resending' || this.state === 'confirming';
    // A button that waits says so by `aria-disabled`, and can be pressed.
    const press = async (isThere: boolean, button: Locator) => {
      if (!isThere || (await button.count()) === 0) return false;
      await button.click({ force: true });
      return true;
    };
    const type = async (pointer: string, text: string) => {
      await this.field(pointer).fill(text);
      return true;
    };
    if (this.state === 'code') await this.page.clock.fastForward('20:00');
    const required = isForm ? '#/name' : '#/code';
    switch (act) {
      case 'register':
        if (this.state === 'form') await this.fillIn();
        return press(isForm, this.submit());
      case 'confirm':
        if (this.state === 'code') await this.field('#/code').fill('12 34 56');
        return press(isCode, this.submit());
      case 'again':
        return press(isCode, this.submit(1));
      case 'again_forgotten':
        if (this.state !== 'code') return false;
        await this.page.reload();
        await this.heading().waitFor();
        return press(isCode, this.submit(1));
      case 'back':
        return press(true, this.#button(act));
      case 'enter_code':
        if (this.state === 'form') {
          await this.reach('code');
          await this.#button('back').click();
        }
        return press(true, this.#button(act));
      case 'typed':
        return this.state !== 'done' && type(required, isForm ? 'Nia N' : '12 34 56');
      case 'incomplete':
        return this.state !== 'done' && (await type(required, '')) && press(true, this.submit());
      case 'reload':
        await this.page.reload();
        return true;
    }
  }

  /** Brings the page to a state: from where it is if that is on the way, else from an untouched page. */
  async reach(state: State): Promise<void> {
    if (state === this.state) return;
    const before = BEFORE[state];
    if (before === undefined) return this.open();
    if (this.state !== before) await this.reach(before);
    if (before === 'form') await this.fillIn();
    if (before === 'code') await this.field('#/code').fill('12 34 56');
    if (!BUSY_STATES.includes(before)) {
      await this.page.clock.fastForward('20:00');
      await this.submit(state === 'resending' ? 1 : 0).click();
      await expect.poll(() => this.#waiting.length).toBe(1);
    } else {
      await this.answer(ANSWERS.accepted(before));
      await this.page.locator(state === 'code' ? '[id="#/code"]' : '.registration:not(:has(form))').waitFor();
    }
    this.state = state;
  }

  /** What the page shows after an event: its heading and title, its sentence, and where the focus is. */
  async check(event: Event): Promise<void> {
    const before = this.state ?? 'form';
    const { to, says } = TRANSITIONS[before][event];
    const { texts, sentences } = this.#words;
    const heading = texts[HEADINGS[to]];
    const where = `${before}, ${event}`;
    const alert = this.page.locator('.registration [role=alert]');
    this.state = to;
    await this.heading().getByText(heading, { exact: true }).waitFor();
    if (says !== undefined) await alert.getByText(fill(sentences[says], { time: '45 seconds' })).waitFor();
    const isWrong = (await alert.count()) > 0;
    if (to !== before) expect(isWrong, where).toBe(says !== undefined);
    expect(await this.page.title(), where).toBe(`${isWrong ? `${texts.error}: ` : ''}${heading} – Example Broker`);
    const focused = says === undefined ? (before === 'resending' && to === 'code' ? 'button' : FOCUS[to]) : WRONG;
    if (event !== 'reload' && (to !== before || says !== undefined))
      expect(await this.page.evaluate(`document.activeElement.matches(${JSON.stringify(focused)})`), where).toBe(true);
    await this.checkLooks(`${to} ${says}`, where);
    // The passwords are forgotten: the next state needs an untouched page.
    if (event === 'reload' || event === 'again_forgotten') this.state = undefined;
  }

  /** Nothing is cut off, and axe has no finding, light and dark; once for each picture. */
  async checkLooks(picture: string, where: string): Promise<void> {
    if (this.#seen.has(picture)) return;
    this.#seen.add(picture);
    expect(await this.page.evaluate('document.documentElement.scrollWidth'), where).toBe(WIDTH);
    for (const colorScheme of ['light', 'dark'] as const) {
      await this.page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
      // The page's policy lets no script be added to it: axe runs in the tab by the debugger.
      const { violations } = await this.page.evaluate<AxeResults>(
        `${AXE}; axe.run('.registration', { resultTypes: ['violations'] })`,
      );
      const found = violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html}`));
      expect(found, `${where}, ${colorScheme}`).toEqual([]);
    }
  }
}

const STATES = Object.keys(TRANSITIONS) as State[];
const EVENTS = Object.keys(TRANSITIONS.form) as Event[];
/** What a person or the browser does. */
const ACTS = EVENTS.filter((event): event is Act => !Object.hasOwn(ANSWERS, event));
const PLACES = ['the local service', 'a copy on another origin'] as const;
const { words: english } = await loadWords(['en']);

describe.skipIf(CHROMIUM === undefined).each(PLACES)(inChromium('the registration page of %s'), (place) => {
  const browser = new TestBrowser({ locale: 'en-GB' });
  const tabOf = (form: string, words = english) => new RegistrationTab(browser.page, places[place](form), words);
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

  describe.each(STATES)('in the state %s', (state) => {
    it('does what its table says at everything that a person can do, and offers nothing else', async () => {
      const tab = tabOf('FORM0002');
      for (const act of ACTS) {
        await tab.reach(state);
        const requests = tab.keys.length;
        const isPossible = await tab.act(act);
        if (!isPossible) expect(TRANSITIONS[state][act], act).toEqual({ to: state });
        if (isPossible) await tab.check(act);
        if (BUSY_STATES.includes(state)) expect(tab.keys.length, act).toBe(requests);
      }
    });

    it('does what its table says at every answer, if it waits for one', async () => {
      const tab = tabOf('FORM0002');
      for (const [end, give] of Object.entries(ANSWERS) as [RequestEnd, (typeof ANSWERS)[RequestEnd]][]) {
        if (!BUSY_STATES.includes(state)) {
          expect(TRANSITIONS[state][end]).toEqual({ to: state });
          continue;
        }
        await tab.reach(state);
        await tab.answer(give(state));
        await tab.check(end);
      }
    });
  });

  it('registers, sends another code and confirms although each answer is lost, and nothing is done twice', async () => {
    const tab = tabOf('FORM0002');
    const confirmed = service.bus.list().length;
    await tab.open();
    await tab.fillIn();
    for (const [submit, messages, field] of [
      [0, 1, '#/name'],
      [1, 2, '#/code'],
      [0, 2, '#/code'],
    ] as const) {
      if (messages === 2 && submit === 0) await tab.field('#/code').fill(code());
      await tab.field(field).waitFor();
      for (const give of [lost, api]) {
        await browser.page.clock.fastForward('20:00');
        await tab.submit(submit).click();
        await tab.answer(give);
        if (give === lost) await browser.page.getByText(english.sentences.silent).waitFor();
        else await browser.page.getByText(english.sentences.silent).waitFor({ state: 'detached' });
        expect(service.outbox.list()).toHaveLength(messages);
      }
    }
    await browser.page.getByRole('heading', { name: english.texts.done }).waitFor();
    // Both requests of a message have one key, and a confirmation has none.
    expect([new Set(tab.keys.slice(0, 2)).size, new Set(tab.keys.slice(2, 4)).size]).toEqual([1, 1]);
    expect(service.bus.list()).toHaveLength(confirmed + 1);
  });

  it('works by keyboard alone, and sends one request however often Enter is pressed', async () => {
    const tab = tabOf('FORM0002');
    await tab.open();
    const { keyboard } = browser.page;
    const tabTo = async (pointer: string) => {
      for (let stops = 0; stops < 30; stops += 1) {
        if ((await browser.page.evaluate('document.activeElement.id')) === pointer) return;
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
    await tab.answer(api);
    await browser.page.getByRole('heading', { name: english.texts.enter_code }).waitFor();
    await expect.poll(() => browser.page.evaluate('document.activeElement.id')).toBe('#/code');
    await keyboard.type(code());
    await keyboard.press('Enter');
    await keyboard.press('Enter');
    await tab.answer(api);
    await expect.poll(() => browser.page.evaluate('document.activeElement.textContent')).toBe(english.texts.done);
    expect(tab.keys).toHaveLength(2);
  });

  it('sends what was typed while an earlier request was on its way, and takes it for another registration', async () => {
    const tab = tabOf('FORM0002');
    await tab.reach('sending');
    await tab.field('#/name').fill('Nia Changed');
    await tab.answer(ANSWERS.failed('sending'));
    await browser.page.getByText(english.sentences.failed).waitFor();
    const sent = browser.page.waitForRequest((request) => request.method() === 'POST');
    await tab.submit().click();
    expect((await sent).postDataJSON()).toMatchObject({ name: 'Nia Changed' });
    expect(new Set(tab.keys).size).toBe(2);
  });

  it('works where the browser stores nothing', async () => {
    const page = await browser.newPage();
    const refuse =
      'Object.defineProperty(window, "sessionStorage", { get() { throw new DOMException("No", "SecurityError"); } })';
    await page.addInitScript(refuse);
    await page.goto(places[place]('FORM0002'));
    await page.getByRole('button', { name: english.texts.register }).click();
    await page.getByRole('alert').getByText(english.sentences.correct).waitFor();
    await page.close();
  });

  it('offers no choice of a channel if the broker names one', async () => {
    const tab = tabOf('FORM0002');
    await tab.open();
    await browser.page.route('**/config.js', async (route) => {
      const text = await (await route.fetch()).text();
      await route.fulfill({
        contentType: 'text/javascript',
        body: text.replace('form,', "form, channels: ['email'],"),
      });
    });
    await browser.page.reload();
    await tab.heading().waitFor();
    expect(await tab.field('#/otp_type').count()).toBe(place === 'the local service' ? 1 : 0);
  });

  it('shows the progress of a large document', async () => {
    const tab = tabOf('FORMLANG');
    await tab.open();
    await tab.fillIn();
    await tab.field('#/exp').selectOption('some');
    const photo = { name: 'photo.png', mimeType: 'image/png', buffer: Buffer.alloc(1_000_000) };
    await tab.field('#/doc').setInputFiles(photo);
    await tab.submit().click();
    await browser.page.getByRole('progressbar', { name: english.texts.sending }).waitFor();
    await tab.checkLooks('progress', 'progress');
    await tab.answer(ANSWERS.accepted('sending'));
    await browser.page.getByRole('progressbar').waitFor({ state: 'detached' });
  });

  it('keeps the step of the code when the person leaves it by the browser, and comes back', async () => {
    const tab = tabOf('FORM0002');
    await tab.reach('code');
    await browser.page.goto('about:blank');
    await browser.page.goBack();
    await browser.page.getByRole('heading', { name: english.texts.enter_code }).waitFor();
  });
});

describe.skipIf(CHROMIUM === undefined).each(['de', 'ar', 'ja'] as const)(
  inChromium('the registration page in %s'),
  (language) => {
    const browser = new TestBrowser({ locale: language });

    it.each([
      ['FORMLANG', PLACES[0]],
      ['FORMLANG', PLACES[1]],
      ['FORMFULL', PLACES[1]],
    ] as const)('shows %s on %s in that language alone, with nothing cut off', async (form, place) => {
      const { words } = await loadWords([language]);
      const { page } = browser;
      const tab = new RegistrationTab(page, places[place](form), words);
      await tab.open();
      const element = page.locator('.registration');
      expect(await element.getAttribute('lang')).toBe(language);
      expect(await page.evaluate('getComputedStyle(document.querySelector("h1")).direction')).toBe(
        words.direction ?? 'ltr',
      );
      await tab.submit().click();
      await page.getByRole('alert').getByText(words.sentences.correct).waitFor();
      expect(await tab.field('#/name-error').textContent()).toContain(words.fields.required);
      await tab.checkLooks('errors', 'errors');
      if (form === 'FORMFULL') return;
      expect(await page.locator('label[for="#/exp"]').textContent()).toBe(LABELS[language]);
      await tab.fillIn();
      await tab.field('#/exp').selectOption('some');
      await tab.submit().click();
      await tab.answer(ANSWERS.accepted('sending'));
      await page.getByRole('heading', { name: words.texts.enter_code }).waitFor();
      await tab.checkLooks('code', 'code');
      await tab.field('#/code').fill('123456');
      await tab.submit().click();
      await tab.answer(ANSWERS.accepted('confirming'));
      await page.getByRole('heading', { name: words.texts.done }).waitFor();
      await tab.checkLooks('done', 'done');
    });
  },
);
