import { createServer } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { text } from 'node:stream/consumers';
import { describe, expect, it } from 'vitest';
import { selfSignedCertificate } from '../../../infra/local/platforms/web-api-server.ts';
import type { CaptchaSettings } from '../../../lib/config/registration-settings.ts';
import { captchaVerifier } from '../../../lib/http/captcha.ts';
import { NEVER_ABORTED } from '../../support/outcomes.ts';
import { closedPort, listenForTest } from '../../support/servers.ts';

const SETTINGS = { provider: 'turnstile', secret: 'captcha' } as const satisfies CaptchaSettings;

/** A provider that gives this answer; `undefined` never answers. */
async function provider(status: number, answer: unknown) {
  const forms: string[] = [];
  const server = createServer(async (request, response) => {
    const { 'content-type': type, connection } = request.headers;
    forms.push(`${request.method} ${type} ${connection} ${await text(request)}`);
    if (answer === undefined) return;
    response.writeHead(status, { location: '/' }).end(typeof answer === 'string' ? answer : JSON.stringify(answer));
  });
  return { url: `http://127.0.0.1:${await listenForTest(server)}/siteverify`, forms };
}

const readSecret = async (name: string) => `the secret key in ${name}`;

async function outcomeOf(status: number, answer: unknown, timeoutMs = 5_000, settings: CaptchaSettings = SETTINGS) {
  const { url } = await provider(status, answer);
  return captchaVerifier(settings, { readSecret, url, timeoutMs })('token', NEVER_ABORTED);
}

/** Passed, or refused for a reason that the log names. */
const judged = (outcome: string) => (outcome === 'passed' ? { kind: outcome } : { kind: 'refused', reason: outcome });

const successWith = (settings: Partial<CaptchaSettings>, answer: object) =>
  outcomeOf(200, { success: true, ...answer }, 5_000, { ...SETTINGS, ...settings });

describe('A captcha token', () => {
  it('is checked by the provider with the secret key, on a connection of its own, without anything about the person', async () => {
    const { url, forms } = await provider(200, { success: true });
    expect(await captchaVerifier(SETTINGS, { readSecret, url })('a token&more', NEVER_ABORTED)).toEqual({
      kind: 'passed',
    });
    expect(forms).toEqual([
      'POST application/x-www-form-urlencoded;charset=UTF-8 close secret=the+secret+key+in+captcha&response=a+token%26more',
    ]);
  });

  it.each([
    { success: true },
    { success: true, 'error-codes': [], challenge_ts: '2026-11-22T10:00:00Z', hostname: 'acme.example' },
    { success: true, action: 'register', 'error-codes': null, score: null, hostname: null },
  ])('is passed if the provider accepts it: %j', async (answer) => {
    expect(await outcomeOf(200, answer)).toEqual({ kind: 'passed' });
  });

  it.each([
    [200, { success: false }],
    [200, { success: false, 'error-codes': ['invalid-input-response'] }],
    [200, { success: false, 'error-codes': ['timeout-or-duplicate'] }],
    [200, { success: false, 'error-codes': ['invalid-or-already-seen-response'] }],
    [400, { success: false, 'error-codes': ['bad-request'] }],
    [403, '<html>blocked by a firewall</html>'],
  ])('is refused if the provider answers %d %j', async (status, answer) => {
    expect(await outcomeOf(status, answer)).toEqual({ kind: 'refused', reason: 'token' });
  });

  it.each([
    [500, '', 'http_500'],
    [503, { success: true }, 'http_503'],
    [429, '', 'http_429'],
    [200, 'not JSON', 'answer'],
    [200, { ok: true }, 'answer'],
    [200, { success: false, 'error-codes': ['internal-error'] }, 'internal-error'],
    [200, { success: false, 'error-codes': ['missing-input-secret'] }, 'missing-input-secret'],
    [200, { success: false, 'error-codes': ['invalid-input-secret'] }, 'invalid-input-secret'],
    [200, { success: false, 'error-codes': ['invalid-parsed-secret'] }, 'invalid-parsed-secret'],
    [200, { success: false, 'error-codes': ['invalid-sitekey'] }, 'invalid-sitekey'],
    [200, { success: false, 'error-codes': ['not-using-dummy-passcode'] }, 'not-using-dummy-passcode'],
    [200, { success: false, 'error-codes': ['sitekey-secret-mismatch'] }, 'sitekey-secret-mismatch'],
    [302, '', 'Error'],
  ])('cannot be checked if the provider answers %d %j', async (status, answer, reason) => {
    expect(await outcomeOf(status, answer)).toEqual({ kind: 'unavailable', reason });
  });

  it.each([
    ['acme.example', 'passed'],
    ['ACME.example', 'passed'],
    ['acme.example.', 'passed'],
    ['www.acme.example', 'passed'],
    ['register.acme.example', 'passed'],
    ['a.b.Acme.Example.', 'passed'],
    ['acme.example.evil.example', 'hostname'],
    ['evilacme.example', 'hostname'],
    ['evil.example', 'hostname'],
    ['example', 'hostname'],
    ['other.example', 'hostname'],
    ['a.trade.other.example.', 'passed'],
    ['www.bücher.example', 'passed'],
    ['WWW.XN--BCHER-KVA.example.', 'passed'],
    ['bucher.example', 'hostname'],
    ['acme.example evil.example', 'hostname'],
    [undefined, 'passed'],
    [null, 'passed'],
    ['', 'passed'],
    ['not-provided', 'passed'],
  ])('that was solved on %s is %s if the settings list the pages', async (hostname, outcome) => {
    const hostnames = ['acme.example', 'trade.other.example', 'xn--bcher-kva.example'];
    expect(await successWith({ hostnames }, { hostname })).toEqual(judged(outcome));
  });

  it.each([
    ['recaptcha', 0.5, 'passed'],
    ['recaptcha', 0.4, 'score'],
    ['recaptcha', 0, 'score'],
    ['recaptcha', undefined, 'passed'],
    // Its score says how likely an attack is.
    ['hcaptcha', 0.5, 'passed'],
    ['hcaptcha', 0.6, 'score'],
    ['hcaptcha', 0, 'passed'],
  ] as const)('of %s with the score %s is %s where 0.5 is needed', async (name, score, outcome) => {
    expect(await successWith({ provider: name, minScore: 0.5 }, { score })).toEqual(judged(outcome));
  });

  it('cannot be checked if it has a score and the settings have no limit for it', async () => {
    expect(await successWith({ provider: 'hcaptcha' }, { score: 0.1 })).toEqual({
      kind: 'unavailable',
      reason: 'score_without_limit',
    });
  });

  it('cannot be checked if the provider does not answer in time, is unreachable, or has a certificate that nobody trusts', async () => {
    expect(await outcomeOf(200, undefined, 50)).toEqual({ kind: 'unavailable', reason: 'TimeoutError' });
    const url = `http://127.0.0.1:${await closedPort()}/siteverify`;
    expect(await captchaVerifier(SETTINGS, { readSecret, url })('token', NEVER_ABORTED)).toEqual({
      kind: 'unavailable',
      reason: 'ECONNREFUSED',
    });
    const server = createTlsServer(
      await selfSignedCertificate(),
      (_, response) => void response.end('{"success":true}'),
    );
    const secure = `https://localhost:${await listenForTest(server)}/siteverify`;
    expect(await captchaVerifier(SETTINGS, { readSecret, url: secure })('token', NEVER_ABORTED)).toEqual({
      kind: 'unavailable',
      reason: 'DEPTH_ZERO_SELF_SIGNED_CERT',
    });
  });

  it('cannot be checked without the secret key', async () => {
    const { url, forms } = await provider(200, { success: true });
    const verify = captchaVerifier(SETTINGS, { readSecret: () => Promise.reject(new RangeError('gone')), url });
    expect(await verify('token', NEVER_ABORTED)).toEqual({ kind: 'unavailable', reason: 'RangeError' });
    expect(forms).toEqual([]);
  });
});
