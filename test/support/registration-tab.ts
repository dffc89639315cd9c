import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { AxeResults } from 'axe-core';
import type { Locator, Page, Route } from 'playwright-core';
import { expect } from 'vitest';
import { BUSY_STATES, TRANSITIONS } from '../../infra/registration-page/page/machine.js';
import type { Act, Event, RequestEnd, State, Words } from '../../infra/registration-page/page/types.ts';
import { fill } from '../../infra/registration-page/page/words.js';

const AXE = readFileSync(fileURLToPath(import.meta.resolve('axe-core/axe.min.js')), 'utf8');
export const PASSWORD = 'one horse, four batteries';
const WIDTH = 360;

export type Respond = (route: Route) => Promise<void>;

/** A response that the page may read from any origin. */
export function respond(status: number, body: object | string, headers: Record<string, string> = {}): Respond {
  const cors = { 'access-control-allow-origin': '*', 'access-control-expose-headers': 'retry-after, registration-id' };
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  return (route) => route.fulfill({ status, headers: { ...cors, ...headers }, body: text });
}
function invalid(pointer: string): Respond {
  return respond(400, { type: 'validation_failed', errors: [{ pointer, rule: 'characters' }] });
}

let registrations = 0;
/** How the API, or what is before it, gives each answer. The order is that of the tests. */
export const ANSWERS: Record<RequestEnd, (state: State) => Respond> = {
  invalid: (state) => invalid(state === 'confirming' ? '#/code' : '#/name'),
  form_gone: () => respond(400, { type: 'form_not_found' }),
  code_refused: () => respond(400, { type: 'code_not_accepted' }),
  already_registered: () => respond(409, { type: 'already_registered' }),
  captcha_failed: () => respond(403, { type: 'captcha_failed' }),
  in_progress: () => respond(409, { type: 'request_in_progress' }),
  key_reused: () => respond(422, { type: 'idempotency_key_reused' }),
  too_large: () => respond(413, { message: 'Request Too Long' }),
  too_many: () => respond(429, { type: 'too_many_requests' }, { 'retry-after': '45' }),
  failed: () => respond(500, { type: 'internal_error' }),
  undelivered: () => respond(502, { type: 'otp_delivery_failed' }),
  silent: () => (route) => route.abort(),
  unreadable: () => respond(403, '<h1>Forbidden</h1>', { 'content-type': 'text/html' }),
  accepted: (state) => {
    registrations += 1;
    return respond(204, '', state === 'confirming' ? {} : { 'registration-id': `id-${registrations}` });
  },
};

/** The state from which a person comes to another one. */
const BEFORE: Record<State, State | undefined> = {
  form: undefined,
  sending: 'form',
  code: 'sending',
  resending: 'code',
  confirming: 'code',
  client: 'confirming',
  done: 'confirming',
};

/** The texts that are headings, and what has the focus, where nothing is wrong. */
const HEADINGS = {
  ...{ form: 'open_account', sending: 'open_account', client: 'client', done: 'done' },
  ...{ code: 'enter_code', resending: 'enter_code', confirming: 'enter_code' },
} as const satisfies Record<State, keyof Words['texts']>;
const FOCUS: Record<State, string> = {
  ...{ form: '.heading', code: '[id="#/code"]', client: '.heading', done: '.heading' },
  ...{ sending: 'button', resending: 'button', confirming: '[id="#/code"]' },
};
const WRONG = '[role=alert], [aria-invalid]';

/** The page of a tab, and the requests that it makes: each waits until the test answers it. */
export class RegistrationTab {
  static #people = 0;
  static #codes = 100_000;
  /** The state that the page shows, by its table; undefined: the page must be opened. */
  state: State | undefined;
  /** The keys of all requests. */
  readonly keys: string[] = [];
  readonly bodies: Record<string, unknown>[] = [];
  readonly #waiting: Route[] = [];
  readonly #seen = new Set<string>();

  readonly page: Page;
  readonly #url: string;
  readonly #words: Words;

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
    RegistrationTab.#people += 1;
    await this.page.goto(this.#url);
    await this.page.evaluate('sessionStorage.clear()');
    await this.page.goto(`${this.#url}?email=person.${RegistrationTab.#people}@example.com&ref=REFANN01`);
    await this.page.route('**/public/v1/account/register/*', (route) => this.#receive(route));
    await this.heading().waitFor();
    this.state = 'form';
  }

  async #receive(route: Route): Promise<void> {
    if (route.request().method() !== 'POST') return route.continue();
    this.keys.push(route.request().headers()['idempotency-key'] ?? '');
    this.bodies.push(route.request().postDataJSON());
    this.#waiting.push(route);
  }

  /** Answers the request that waits. */
  async answer(give: Respond): Promise<void> {
    await expect.poll(() => this.#waiting.length).toBe(1);
    const route = this.#waiting.pop();
    // A page that was reloaded has ended its request.
    if (route !== undefined) await give(route).catch(() => undefined);
  }

  /** The value of an expression about the page's shadow root. */
  inShadow<T>(expression: string): Promise<T> {
    return this.page.evaluate(`((root) => ${expression})(document.querySelector('#registration').shadowRoot)`);
  }

  field(pointer: string): Locator {
    return this.page.locator(`[id="${pointer}"]`);
  }
  heading(): Locator {
    return this.page.locator('.registration .heading');
  }
  /** The buttons that send: of the form; or to confirm, and to send another code. */
  submit(index = 0): Locator {
    return this.page.locator('.registration form').nth(index).locator('button[type=submit]');
  }
  #button(name: 'back' | 'enter_code' | 'continue'): Locator {
    return this.page.getByRole('button', { name: this.#words.texts[name], exact: true });
  }

  async fillIn(): Promise<void> {
    await this.field('#/name').fill('Nia Newman');
    for (const name of ['password', 'repeat_password']) await this.field(`#/${name}`).fill(PASSWORD);
  }

  /** A code that was not tried yet is sent at its sixth digit. */
  async #enterCode(): Promise<void> {
    RegistrationTab.#codes += 1;
    await this.field('#/code').fill(String(RegistrationTab.#codes).replace(/(..)(?=.)/g, '$1 '));
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
      case 'next':
        return press(true, this.#button('continue'));
      case 'confirm':
        if (this.state !== 'code') return press(isCode, this.submit());
        await this.#enterCode();
        return true;
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
        return (isForm || isCode) && type(required, isForm ? 'Nia N' : '12 34 5');
      case 'incomplete':
        return (isForm || isCode) && (await type(required, '')) && press(true, this.submit());
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
    if (!BUSY_STATES.includes(before)) {
      await this.page.clock.fastForward('20:00');
      if (state === 'confirming') await this.#enterCode();
      else await this.submit(state === 'resending' ? 1 : 0).click();
      await expect.poll(() => this.#waiting.length).toBe(1);
    } else {
      await this.answer(ANSWERS[state === 'client' ? 'already_registered' : 'accepted'](before));
      await this.heading().getByText(this.#words.texts[HEADINGS[state]], { exact: true }).waitFor();
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
      expect(await this.inShadow(`root.activeElement.matches(${JSON.stringify(focused)})`), where).toBe(true);
    const announced = await this.page.locator('.registration [role=status]').textContent();
    if (BUSY_STATES.includes(to) && !BUSY_STATES.includes(before)) expect(announced, where).toBe(texts.sending);
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
      expect(await axeFindings(this.page), `${where}, ${colorScheme}`).toEqual([]);
    }
  }
}

/** The findings of axe in a part of a page. */
export async function axeFindings(page: Page, part = '#registration'): Promise<string[]> {
  // The page's policy lets no script be added to it: axe runs in the tab by the debugger.
  const { violations } = await page.evaluate<AxeResults>(
    `${AXE}; axe.run('${part}', { resultTypes: ['violations'], preload: false, iframes: false })`,
  );
  return violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html}`));
}
