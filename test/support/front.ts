import type { LocalService } from '../../infra/local/service.ts';
import { newSource } from './gateway-events.ts';

/** The secret of the local service's front. */
export const FRONT_PROOF = 'front-secret-of-the-local-service';
const HEADER = 'x-client-address';

/** The settings of a deployment with a captcha and a proxy. */
export const FRONT_SETTINGS = {
  CAPTCHA: JSON.stringify({ provider: 'turnstile', secret: 'captcha/key' }),
  FRONT: JSON.stringify({ header: HEADER, secret: 'front/key' }),
};

/** A deployment that serves one country, and whose calls obey the rules of the stack. */
export const ONE_COUNTRY = {
  PHONE: JSON.stringify({ countries: ['GB'] }),
  PROTECT_CONFIGURATION: 'protect-0a1b',
};

/** The headers of a request that has passed the proxy: the person's address and, if needed, a captcha token. */
export function frontHeaders({ captcha }: Pick<LocalService, 'captcha'>): Record<string, string> {
  return {
    [HEADER]: newSource(),
    'x-front-secret': FRONT_PROOF,
    ...(captcha === undefined ? {} : { 'captcha-token': captcha.solve() }),
  };
}
