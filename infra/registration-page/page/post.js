// SPDX-License-Identifier: 0BSD
import { requestEnd, ruleSentence } from './machine.js';

/** @import { FieldError, PlacedProblem, RequestEnd } from './types.ts' */
/**
 * How a request ended. `id`: the registration that the answer names. `seconds`: those of `Retry-After`.
 *
 * @typedef {{ end: RequestEnd; errors: FieldError[]; id: string | undefined; seconds: number | undefined; available:
 * string[] | undefined }} Outcome
 */

/** A request ends after this time without progress, in milliseconds: the API answers within 30 seconds. */
const SILENCE_MS = 45_000;
/** The longest wait that the API asks for, in seconds. What is before the API may ask for any. */
const MAX_WAIT_SECONDS = 86_400;

/** The field that each `invalid` problem without `errors` is about. @type {Readonly<Record<PlacedProblem, FieldError>>} */
const PLACES = {
  referrer_not_found: { pointer: '#/referrer_id', rule: 'no_referrer' },
  otp_type_unavailable: { pointer: '#/otp_type', rule: 'no_channel' },
};

/**
 * Posts a JSON text. Every request ends: with a response, or as `silent`.
 *
 * @param {string} url @param {string} body @param {Record<string, string>} headers
 * @param {(share: number) => void} onProgress the share of the body that has left, 0 to 1
 * @returns {Promise<Outcome>}
 */
export function post(url, body, headers, onProgress) {
  return new Promise((resolve) => {
    const request = new XMLHttpRequest();
    const stop = () => request.abort();
    let timer = setTimeout(stop, SILENCE_MS);
    const wait = () => {
      clearTimeout(timer);
      timer = setTimeout(stop, SILENCE_MS);
    };
    request.upload.onprogress = ({ loaded, total }) => {
      wait();
      onProgress(total === 0 ? 1 : loaded / total);
    };
    request.onloadend = () => {
      clearTimeout(timer);
      const { status, responseText } = request;
      if (status === 0) explainSilence(url);
      resolve(readAnswer(status, responseText, (name) => request.getResponseHeader(name)));
    };
    request.open('POST', url);
    for (const [name, value] of Object.entries({ 'content-type': 'application/json', ...headers })) {
      request.setRequestHeader(name, value);
    }
    request.send(body);
  });
}

/** Explains a missing answer to developers of a page: browsers do not tell scripts the reason. @param {string} url */
function explainSilence(url) {
  if (new URL(url, location.href).origin === location.origin) return;
  console.info(
    `No answer of ${url}. If the browser names CORS: the API must allow this origin, ${location.origin}, in its setting allowedOrigins (ALLOWED_ORIGINS of npm start).`,
  );
}

/**
 * Reads an answer, whoever sent it. A body that is no problem counts by its status, and what is no text is ignored.
 *
 * @param {number} status 0: no answer arrived @param {string} body @param {(name: string) => string | null} header
 * @returns {Outcome}
 */
export function readAnswer(status, body, header) {
  const { type, errors, available } = parse(body);
  const word = /** @type {PlacedProblem} */ (text(type));
  const place = Object.hasOwn(PLACES, word) ? PLACES[word] : undefined;
  const listed = (Array.isArray(errors) ? errors : []).map(object).map(({ pointer, header, rule }) => ({
    pointer: header === 'captcha-token' ? CAPTCHA_POINTER : text(pointer),
    rule: ruleSentence(text(rule)),
  }));
  const seconds = Number(header('retry-after'));
  return {
    end: requestEnd(status, type),
    errors: place === undefined ? listed : [...listed, place],
    id: header('registration-id') ?? undefined,
    seconds: seconds > 0 ? Math.min(Math.ceil(seconds), MAX_WAIT_SECONDS) : undefined,
    available: Array.isArray(available) ? available.map(text) : undefined,
  };
}

/** The pointer of the captcha among the fields. The request has the captcha as a header. */
export const CAPTCHA_POINTER = '#captcha';

/** @param {string} body @returns {Record<string, unknown>} */
function parse(body) {
  try {
    return object(JSON.parse(body));
  } catch {
    return {};
  }
}

/** @param {unknown} value @returns {Record<string, unknown>} */
function object(value) {
  return /** @type {Record<string, unknown>} */ (typeof value === 'object' && value !== null ? value : {});
}

/** @param {unknown} value */
function text(value) {
  return typeof value === 'string' ? value : '';
}
