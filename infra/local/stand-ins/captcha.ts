import { randomBytes } from 'node:crypto';
import { type Answer, type Call, type StandIn, type StandInOptions, serve } from './stand-in.ts';

export interface CaptchaOptions extends Omit<StandInOptions, 'record' | 'callers'> {
  /** The secret key that the deployment shows. */
  secret: string;
}

export interface Captcha extends StandIn {
  /** Where tokens are checked. */
  readonly siteverify: string;
  /** What a provider's widget gives a page whose visitor has solved the riddle. */
  solve(): string;
}

/** How long a token can be shown; every provider takes it once. */
const TOKEN_MS = 120_000;

/** The check of tokens that Turnstile, hCaptcha and reCAPTCHA share: a form in, JSON out. */
export async function startCaptcha({ secret, ...options }: CaptchaOptions): Promise<Captcha> {
  /** When each token was given, by token. */
  const tokens = new Map<string, number>();

  function answer({ method, path, body }: Call): Answer {
    if (method !== 'POST' || path !== '/siteverify') return json(404, {});
    const form = new URLSearchParams(body);
    const [shown, token] = [form.get('secret'), form.get('response')];
    if (!shown) return refusal('missing-input-secret');
    if (shown !== secret) return refusal('invalid-input-secret');
    if (!token) return refusal('missing-input-response');
    const givenAt = tokens.get(token);
    if (givenAt === undefined) return refusal('invalid-input-response');
    tokens.set(token, 0);
    if (Date.now() - givenAt > TOKEN_MS) return refusal('timeout-or-duplicate');
    return json(200, { success: true, challenge_ts: new Date(givenAt).toISOString(), hostname: 'localhost' });
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
    solve() {
      const token = `local.${randomBytes(24).toString('base64url')}`;
      tokens.set(token, Date.now());
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
