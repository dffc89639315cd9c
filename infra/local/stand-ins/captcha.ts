import { randomBytes } from 'node:crypto';
import type { CaptchaSettings } from '../../../lib/validators/deployment.ts';
import { type Answer, type Call, type StandIn, type StandInOptions, serve } from './stand-in.ts';

export interface CaptchaOptions extends Omit<StandInOptions, 'record' | 'callers'> {
  /** The secret key that the deployment shows. */
  secret: string;
  settings: CaptchaSettings;
}

/** The provider's data about a solved captcha. */
interface Solved {
  /** The page's. */
  hostname: string;
  /** Of score-based keys. */
  score?: number | undefined;
}

export interface Captcha extends StandIn {
  /** Where tokens are checked. */
  readonly siteverify: string;
  /**
   * The token that a provider's widget gives a page whose visitor has solved the captcha. @param solved if it was not a
   * person on a page of the broker
   */
  solve(solved?: Partial<Solved>): string;
}

/** How long a token can be shown; every provider takes it once. */
const TOKEN_MS = 120_000;

/** The check of tokens that Turnstile, hCaptcha and reCAPTCHA share: a form in, JSON out. */
export async function startCaptcha({ secret, settings, ...options }: CaptchaOptions): Promise<Captcha> {
  const { provider, hostnames = ['localhost'], minScore } = settings;
  const [hostname = ''] = hostnames;
  const person = { hostname, score: minScore === undefined ? undefined : provider === 'hcaptcha' ? 0 : 1 };
  /** The time and purpose of each token. */
  const tokens = new Map<string, Solved & { givenAt: number }>();

  function answer({ method, path, body }: Call): Answer {
    if (method !== 'POST' || path !== '/siteverify') return json(404, {});
    const form = new URLSearchParams(body);
    const [shown, token] = [form.get('secret'), form.get('response')];
    if (!shown) return refusal('missing-input-secret');
    if (shown !== secret) return refusal('invalid-input-secret');
    if (!token) return refusal('missing-input-response');
    const solved = tokens.get(token);
    if (solved === undefined) return refusal('invalid-input-response');
    const { givenAt, ...rest } = solved;
    tokens.set(token, { ...solved, givenAt: 0 });
    if (Date.now() - givenAt > TOKEN_MS) return refusal('timeout-or-duplicate');
    return json(200, { success: true, challenge_ts: new Date(givenAt).toISOString(), ...rest });
  }

  const running = await serve(
    {
      answer,
      throttled: () => json(429, {}),
      refused: () => refusal('invalid-input-secret'),
    },
    options,
  );
  return {
    url: running.url,
    siteverify: `${running.url}/siteverify`,
    get requests() {
      return running.requests;
    },
    get lastBody() {
      return running.lastBody;
    },
    solve(solved = {}) {
      const token = `local.${randomBytes(24).toString('base64url')}`;
      tokens.set(token, { ...person, ...solved, givenAt: Date.now() });
      return token;
    },
    close: running.close,
  };
}

function refusal(code: string): Answer {
  return json(200, { success: false, 'error-codes': [code] });
}

function json(status: number, body: unknown): Answer {
  return { status, headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) };
}
