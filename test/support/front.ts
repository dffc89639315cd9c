import type { LocalService } from '../../infra/local/service.ts';
import { newSource } from './gateway-events.ts';

/** The secret of the local service's front. */
export const FRONT_PROOF = 'front-secret-of-the-local-service';
const HEADER = 'x-client-address';

/** The settings of a deployment with a captcha and a proxy. */
export const FRONT_SETTINGS = {
  captcha: { provider: 'turnstile', secret: 'captcha/key' },
  front: { header: HEADER, secret: 'front/key' },
};

/** A deployment that serves one country: its calls obey the rules of the stack. */
export const ONE_COUNTRY = { phone: { countries: ['GB'] } };

/** The headers of a request that has passed the proxy: the person's address and, if needed, a captcha token. */
export function frontHeaders({ captcha }: Pick<LocalService, 'captcha'>): Record<string, string> {
  return {
    [HEADER]: newSource(),
    'x-front-secret': FRONT_PROOF,
    ...(captcha === undefined ? {} : { 'captcha-token': captcha.solve() }),
  };
}
