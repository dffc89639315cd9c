// SPDX-License-Identifier: 0BSD

/** @import { Captcha } from './types.ts' */
/** @typedef {{ render(element: HTMLElement, options: object): unknown; reset(widget: unknown): void }} Widgets */

/** The captchas that the API verifies, each by the site key of its provider. The page's policy must allow its scripts. */

/** @param {string} sitekey @returns {Captcha} */
export const turnstile = (sitekey) => {
  const origin = 'https://challenges.cloudflare.com';
  const sources = { script: [origin], frame: [origin] };
  return widget('turnstile', `${origin}/turnstile/v0/api.js?render=explicit&onload=`, sitekey, sources);
};

/** @param {string} sitekey @returns {Captcha} */
export const hcaptcha = (sitekey) => {
  const origins = ['https://hcaptcha.com', 'https://*.hcaptcha.com'];
  const sources = { script: origins, frame: origins, style: origins, connect: origins };
  return widget('hcaptcha', 'https://js.hcaptcha.com/1/api.js?render=explicit&onload=', sitekey, sources);
};

/** @param {string} sitekey @returns {Captcha} */
export const recaptcha = (sitekey) => {
  const google = 'https://www.google.com/recaptcha/';
  const sources = {
    script: [google, 'https://www.gstatic.com/recaptcha/'],
    frame: [google, 'https://recaptcha.google.com/recaptcha/'],
  };
  return widget('grecaptcha', `${google}api.js?render=explicit&onload=`, sitekey, sources);
};

/**
 * The widget of a provider: all three have one interface. @param {string} name @param {string} url @param {string}
 * sitekey @param {Captcha['sources']} sources @returns {Captcha}
 */
function widget(name, url, sitekey, sources) {
  /** @type {Captcha} */
  const show = async (element, onToken, language) => {
    const api = await load(name, url);
    const callbacks = { callback: onToken, 'expired-callback': () => onToken(undefined) };
    const id = api.render(element, { sitekey, ...callbacks, language, hl: language });
    return () => {
      onToken(undefined);
      api.reset(id);
    };
  };
  return Object.assign(show, { sources });
}

/** @type {Map<string, Promise<Widgets>>} */
const loaded = new Map();

/** @param {string} name @param {string} url @returns {Promise<Widgets>} */
function load(name, url) {
  const known = loaded.get(name);
  if (known !== undefined) return known;
  const globals = /** @type {Record<string, any>} */ (/** @type {unknown} */ (window));
  const ready = new Promise((resolve) => {
    globals[`${name}Ready`] = () => resolve(globals[name]);
    document.head.append(Object.assign(document.createElement('script'), { src: `${url}${name}Ready`, defer: true }));
  });
  loaded.set(name, ready);
  return ready;
}
