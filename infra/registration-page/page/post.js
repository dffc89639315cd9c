// SPDX-License-Identifier: 0BSD
import { requestEnd, sentenceOf } from './machine.js';

/** @import { FieldError, PlacedProblem, RequestEnd } from './types.ts' */
/** @typedef {{ end: RequestEnd; errors: FieldError[]; seconds: number | undefined; available: string[] | undefined }} Outcome */

/** A request ends after this time without progress, in milliseconds: the API answers within 30 seconds. */
const SILENCE_MS = 45_000;

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
      if (request.status === 0) explainSilence(url);
      const { status, responseText } = request;
      resolve(outcomeOf(status, responseText, request.getResponseHeader('retry-after')));
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
 * Reads an answer. A body that is no problem counts by its status.
 *
 * @param {number} status 0: no answer arrived @param {string} text @param {string | null} retryAfter
 * @returns {Outcome}
 */
export function outcomeOf(status, text, retryAfter) {
  const problem = parse(text);
  const type = problem?.type;
  const end = requestEnd(status, type);
  const listed = Array.isArray(problem?.errors) ? problem.errors : [];
  const place =
    typeof type === 'string' && Object.hasOwn(PLACES, type) ? PLACES[/** @type {PlacedProblem} */ (type)] : undefined;
  const errors = listed.map(({ pointer, header, rule }) => ({
    pointer: header === 'captcha-token' ? CAPTCHA_POINTER : String(pointer ?? ''),
    rule: sentenceOf(String(rule)),
  }));
  const seconds = Number.parseInt(retryAfter ?? '', 10);
  return {
    end,
    errors: place === undefined ? errors : [...errors, place],
    seconds: Number.isNaN(seconds) ? undefined : seconds,
    available: Array.isArray(problem?.available) ? problem.available.map(String) : undefined,
  };
}

/** The pointer of the captcha among the fields. The request has the captcha as a header. */
export const CAPTCHA_POINTER = '#captcha';

/** @param {string} text @returns {Record<string, any> | undefined} */
function parse(text) {
  try {
    const value = JSON.parse(text);
    return typeof value === 'object' && value !== null ? value : undefined;
  } catch {
    return undefined;
  }
}
