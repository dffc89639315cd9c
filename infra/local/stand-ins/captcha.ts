import { randomBytes } from 'node:crypto';
import { CAPTCHA_PROVIDERS, type CaptchaSettings } from '../../../lib/config/registration-settings.ts';
import {
  type Call,
  jsonAnswer,
  ServiceError,
  type StandInAnswer,
  type StandInOptions,
  serveStandIn,
} from './stand-in.ts';

export interface CaptchaOptions extends Pick<StandInOptions, 'faults'> {
  /** The secret key that the deployment sends. */
  secret: string;
  settings: CaptchaSettings;
}

/** The provider's data about a solved captcha. */
interface Solved {
  /** The page's. */
  hostname: string;
  /** The score, if the key is based on scores. */
  score?: number | undefined;
}

export type Captcha = Awaited<ReturnType<typeof startCaptcha>>;

/** How long a token is valid; every provider accepts it once. */
const TOKEN_MS = 120_000;

/** The check of tokens that all providers share: a form in, JSON out. */
export async function startCaptcha({ secret, settings, faults }: CaptchaOptions) {
  const { provider, hostnames = ['localhost'], minScore } = settings;
  const [hostname = ''] = hostnames;
  const person = { hostname, score: minScore === undefined ? undefined : CAPTCHA_PROVIDERS[provider].person };
  const tokens = new Map<string, Solved & { givenAt: number }>();

  function answer({ body }: Call): StandInAnswer {
    const form = new URLSearchParams(body);
    const [shown, token] = [form.get('secret'), form.get('response')];
    if (!shown) throw refusal('missing-input-secret');
    if (shown !== secret) throw refusal('invalid-input-secret');
    if (!token) throw refusal('missing-input-response');
    const solved = tokens.get(token);
    if (solved === undefined) throw refusal('invalid-input-response');
    const { givenAt, ...rest } = solved;
    tokens.set(token, { ...solved, givenAt: 0 });
    if (Date.now() - givenAt > TOKEN_MS) throw refusal('timeout-or-duplicate');
    return jsonAnswer({ success: true, challenge_ts: new Date(givenAt).toISOString(), ...rest });
  }

  const running = await serveStandIn(
    {
      answer,
      error: ({ code, status }) => jsonAnswer({ success: false, 'error-codes': [code] }, status),
      throttled: new ServiceError('rate-limited', undefined, 429),
      refused: refusal('invalid-input-secret'),
    },
    { faults },
  );
  return Object.assign(running, {
    siteverify: `${running.url}/siteverify`,
    /**
     * The token that a widget gives a page whose visitor has solved the captcha. @param solved if it was not a person on
     * a page of the broker
     */
    solve(solved: Partial<Solved> = {}) {
      const token = `local.${randomBytes(24).toString('base64url')}`;
      tokens.set(token, { ...person, ...solved, givenAt: Date.now() });
      return token;
    },
  });
}

/** The error of a refused token. Providers answer it with status 200. */
function refusal(code: string): ServiceError {
  return new ServiceError(code, undefined, 200);
}
