import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parseFrontSecret } from '../../lib/http/source.ts';
import { parseKeyVersions, parsePepper } from '../../lib/secrets/keys.ts';
import { parseSigningSecret } from '../../lib/secrets/webhook-signature.ts';
import { isObject } from '../../lib/validators/primitives.ts';
import { SETTING_NAMES, signingSecretName } from '../settings.ts';

/** The file with the settings of this project. */
export const CDK_JSON = fileURLToPath(new URL('../../cdk.json', import.meta.url));

/** A secret of the service itself. The secrets of trading servers are named by their connections. */
export interface ServiceSecret {
  /** `pepper`, or the setting that names the secret: `captcha.secret`. */
  purpose: string;
  name: string;
  /** The form of the secret's value, for people. */
  shape: string;
  /** @throws Error for a value of another shape */
  parse(text: string): unknown;
  /** Present if stored items need its keys: a new value only adds some. */
  keepsKeys?: true;
  /** Present if the secret signs requests to a system of the broker: `secret rotate` makes such a secret. */
  signs?: true;
}

const PEPPER: Omit<ServiceSecret, 'name'> = {
  purpose: 'pepper',
  shape: '{"current":"1","1":"64 random characters"}',
  parse: parsePepper,
  keepsKeys: true,
};
/** What commands call the secret from which the logins and passwords of accounts are derived. */
export const PASSWORDS = 'passwords';
/** The name of that secret in the stack. */
export const PASSWORD_SECRET = 'PasswordSecret';

/** The secret from which the logins and passwords of accounts are derived. @param name its name in Secrets Manager */
export function passwordSecret(name: string): ServiceSecret {
  return { ...PEPPER, purpose: PASSWORDS, name, parse: parseKeyVersions };
}

const TEXT: Omit<ServiceSecret, 'name' | 'purpose'> = {
  shape: 'the key that its provider gave you',
  parse: (text) => {
    if (text.trim() === '') throw new Error('The secret is empty.');
  },
};
/** The shapes of secrets that are more than a text, by their settings. */
const SHAPES: Readonly<Record<string, typeof TEXT>> = {
  'front.secret': {
    shape: '{"current":"32 random characters","previous":"the value before"}',
    parse: parseFrontSecret,
  },
};

function signingSecrets({ stage = 'prod', ...given }: Record<string, unknown>): ServiceSecret[] {
  return (['crmWebhook', 'provider'] as const)
    .filter((receiver) => given[receiver] !== undefined)
    .map((receiver) => ({
      purpose: receiver,
      name: signingSecretName(String(stage), receiver),
      shape: '{"current":"whsec_…","previous":"the value before"}',
      parse: parseSigningSecret,
      signs: true,
    }));
}

/**
 * The secrets that these settings name or need, and the pepper.
 * @param given as `gatherSettings` returns them, valid or not @param pepper the name of the pepper secret, if the stack
 * is known
 */
export function serviceSecrets(given: Record<string, unknown>, pepper?: string): ServiceSecret[] {
  const named = SETTING_NAMES.filter((setting) => /\bsecret$/i.test(setting)).flatMap((purpose): ServiceSecret[] => {
    const [group = '', member = ''] = purpose.split('.');
    const values = given[group];
    const name = isObject(values) ? values[member] : undefined;
    return typeof name === 'string' ? [{ purpose, name, ...(SHAPES[purpose] ?? TEXT) }] : [];
  });
  return [...(pepper === undefined ? [] : [{ ...PEPPER, name: pepper }]), ...named, ...signingSecrets(given)];
}

/** The context of a cdk.json: settings, and entries of CDK's own. */
export function readContext(file: string): Record<string, unknown> {
  const { context = {} } = JSON.parse(readFileSync(file, 'utf8')) as { context?: Record<string, unknown> };
  return context;
}
