// SPDX-License-Identifier: 0BSD

/** @import { Config } from './types.ts' */

/**
 * The Content Security Policy of the page of this folder: its own files, the API, the logo, and a captcha's provider,
 * whose scripts need no trusted types.
 *
 * @param {Pick<Config, 'api' | 'captcha' | 'logo'>} config @param {string} page its address
 */
export function pagePolicy({ api, captcha, logo = '' }, page) {
  const needed = captcha?.sources ?? {};
  const origin = (/** @type {string} */ url) => new URL(url, page).origin;
  return [
    "default-src 'none'",
    ["script-src 'self'", ...(needed.script ?? [])].join(' '),
    ["style-src 'self'", ...(needed.style ?? [])].join(' '),
    ['connect-src', origin(api), ...(needed.connect ?? [])].join(' '),
    ['frame-src', ...(needed.frame ?? ["'none'"])].join(' '),
    `img-src 'self' data: ${origin(logo)}`,
    "base-uri 'none'",
    "form-action 'none'",
    ...(captcha === undefined ? ["require-trusted-types-for 'script'", "trusted-types 'none'"] : []),
  ].join('; ');
}
