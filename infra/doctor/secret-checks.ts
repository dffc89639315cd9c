import { parseFrontSecret } from '../../lib/http/source.ts';
import { parsePepper } from '../../lib/secrets/pepper.ts';
import type { Settings } from '../settings.ts';
import { type Check, missing, works } from './checks.ts';
import type { ServerLooks } from './looks.ts';

/** The service's own secrets: those that the stack makes, and those that the settings name. */
export function secretChecks(
  { captcha, front }: Pick<Settings, 'captcha' | 'front'>,
  outputs: Record<string, string> = {},
): Check<ServerLooks>[] {
  const pepper = outputs.PepperSecretArn;
  return [
    ...(pepper === undefined
      ? []
      : [
          secret(
            'pepper',
            pepper,
            (text) => parsePepper(text),
            'its value: {"current":"1","1":"64 random characters"}',
          ),
        ]),
    ...(captcha === undefined
      ? []
      : [secret('captcha', captcha.secret, notEmpty, "its value: the provider's secret key")]),
    ...(front === undefined
      ? []
      : [secret('front', front.secret, parseFrontSecret, 'its value: {"current":"…","previous":"…"}')]),
  ];
}

function secret(what: string, name: string, parse: (text: string) => unknown, shape: string): Check<ServerLooks> {
  return {
    area: 'secrets',
    what,
    look: async (looks) => {
      const text = await looks.secret(name);
      const mend = `npm run crm -- secret put ${name} ${looks.place} (${shape})`;
      if (text === undefined) return missing('is not there', mend);
      try {
        parse(text);
      } catch {
        // The parser's own words may quote it.
        return missing('has another shape', mend);
      }
      return works('is there, of the right shape');
    },
  };
}

function notEmpty(text: string): void {
  if (text.trim() === '') throw new Error('empty');
}
