import { domainToASCII } from 'node:url';
import * as v from 'valibot';
import { CAPTCHA_PROVIDERS, type CaptchaProvider, type CaptchaSettings } from '../config/registration-settings.ts';
import { within } from '../deadline.ts';
import { errorCode } from '../failure.ts';

/** The verification address of each provider. All three take the same form and answer in nearly the same format. */
const SITEVERIFY = {
  turnstile: 'https://challenges.cloudflare.com/turnstile/v0/siteverify',
  hcaptcha: 'https://api.hcaptcha.com/siteverify',
  recaptcha: 'https://www.google.com/recaptcha/api/siteverify',
} as const satisfies Record<CaptchaProvider, string>;

export type CaptchaOutcome =
  | { kind: 'passed' }
  /** `reason` is a word for the log. */
  | { kind: 'refused'; reason: 'token' | 'hostname' | 'score' }
  /** The provider could not be asked, or refused our set-up; `reason` is a word for the log. */
  | { kind: 'unavailable'; reason: string };

/** Asks the provider about a token, which it accepts once. Never throws. */
export type CaptchaVerifier = (token: string, signal: AbortSignal) => Promise<CaptchaOutcome>;

export interface CaptchaOptions {
  readSecret: (name: string, signal: AbortSignal) => Promise<string>;
  /** The address for checking tokens, if it is not the provider's own. */
  url?: string | undefined;
  /** The timeout of the provider's answer. */
  timeoutMs?: number;
}

const TIMEOUT_MS = 3_000;

const AnswerSchema = v.object({
  success: v.boolean(),
  'error-codes': v.nullish(v.array(v.string()), []),
  /** The host of the page on which the captcha was solved. */
  hostname: v.nullish(v.string()),
  /** The score of the request, if the key is based on scores. For a person, reCAPTCHA's is 1 and hCaptcha's is 0. */
  score: v.nullish(v.number()),
});
type Answer = v.InferOutput<typeof AnswerSchema>;

/** Failures of the provider and of our set-up: a key that is wrong, or that belongs to another site. */
const NOT_ABOUT_THE_TOKEN = new Set([
  'internal-error',
  'invalid-input-secret',
  'invalid-parsed-secret',
  'invalid-sitekey',
  'missing-input-secret',
  'not-using-dummy-passcode',
  'sitekey-secret-mismatch',
]);
/** Hosts that say nothing: tokens of apps have none, and hCaptcha withholds it for privacy. */
const NO_HOST = ['', 'not-provided'];
/** Statuses of a provider that is busy. */
const TRY_LATER = new Set([408, 425, 429]);

/**
 * Checks captcha tokens with Cloudflare Turnstile, hCaptcha or Google reCAPTCHA. The person's address is not passed on:
 * no provider needs it, and it is unknown if a backend of the broker calls.
 */
export function captchaVerifier(settings: CaptchaSettings, options: CaptchaOptions): CaptchaVerifier {
  const { provider, secret } = settings;
  const { readSecret, url = SITEVERIFY[provider], timeoutMs = TIMEOUT_MS } = options;
  return async (token, outer) => {
    const signal = within(timeoutMs, outer);
    try {
      const form = new URLSearchParams({ secret: await readSecret(secret, signal), response: token });
      // A kept connection may have ended while the function was frozen.
      const headers = { connection: 'close' };
      const answer = await fetch(url, { method: 'POST', headers, body: form, redirect: 'error', signal });
      return judge(settings, answer.status, await answer.text());
    } catch (error) {
      return { kind: 'unavailable', reason: errorCode(error) };
    }
  };
}

/**
 * A 4xx without an answer, which a provider's firewall gives to a strange token, is a refusal. If it counted as an
 * outage, an attacker with such a token would need no captcha.
 */
function judge(settings: CaptchaSettings, status: number, text: string): CaptchaOutcome {
  const parsed = v.safeParse(v.pipe(v.string(), v.parseJson(), AnswerSchema), text);
  if (status >= 500 || TRY_LATER.has(status)) return { kind: 'unavailable', reason: `http_${status}` };
  if (!parsed.success)
    return status >= 400 ? { kind: 'refused', reason: 'token' } : { kind: 'unavailable', reason: 'answer' };
  if (parsed.output.success) return judgeSuccess(settings, parsed.output);
  const fault = parsed.output['error-codes'].find((code) => NOT_ABOUT_THE_TOKEN.has(code));
  return fault === undefined ? { kind: 'refused', reason: 'token' } : { kind: 'unavailable', reason: fault };
}

/** A valid token counts only if its host, if it has one, is a page of the broker, and if its score is high enough. */
function judgeSuccess({ provider, hostnames, minScore }: CaptchaSettings, { hostname, score }: Answer): CaptchaOutcome {
  const sent = hostname?.trim().toLowerCase().replace(/\.$/, '') ?? '';
  // The settings have international domains in punycode. A host that is not a domain is compared as it is.
  const host = domainToASCII(sent) || sent;
  const isForeign =
    hostnames !== undefined && !NO_HOST.includes(host) && !hostnames.some((domain) => covers(domain, host));
  if (isForeign) return { kind: 'refused', reason: 'hostname' };
  if (typeof score !== 'number') return { kind: 'passed' };
  // Every token of a score-based key is valid: without a limit the captcha would protect nothing.
  if (minScore === undefined) return { kind: 'unavailable', reason: 'score_without_limit' };
  const isSure = (CAPTCHA_PROVIDERS[provider].person === 0 ? 1 - score : score) >= minScore;
  return isSure ? { kind: 'passed' } : { kind: 'refused', reason: 'score' };
}

/** Whether a host is this domain or a subdomain of it. */
function covers(domain: string, host: string): boolean {
  return host === domain || host.endsWith(`.${domain}`);
}
