import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  differingSettings,
  parseSettingsText,
  readSettings,
  SETTING_NAMES,
  SETTINGS_METADATA,
  SettingsError,
} from '../../infra/settings.ts';
import { joinWithOr } from '../../lib/validators/otp-types.ts';
import { isObject } from '../../lib/validators/primitives.ts';
import { PHONE_CHANNELS } from '../specification/table.ts';
import { EVERYTHING, SENDER, synthesizeFresh } from '../support/stack.ts';

function errorsOf(context: Record<string, unknown>): readonly string[] {
  try {
    readSettings(context);
    return [];
  } catch (error) {
    if (error instanceof SettingsError) return error.errors;
    throw error;
  }
}

describe('The settings of a deployment', () => {
  it('need nothing but the sender address', () => {
    expect(readSettings(SENDER)).toMatchObject({ senderDomain: 'acme.example', platformSecrets: 'platform/' });
  });

  it('mean the same on the command line, where everything is a text and a dot leads into a group', () => {
    const both: Record<string, [inFile: unknown, onCommandLine: string | Record<string, string>]> = {
      channels: [['email', 'sms'], 'email, sms'],
      phone: [{ countries: ['GB', 'DE'] }, { 'phone.countries': 'GB, DE' }],
      sms: [{ senderId: 'ACME', maxPrice: 0.25 }, '{"senderId": "ACME", "maxPrice": "0.25"}'],
      limits: [
        { countryMessagesPerHour: 'none', recipientMessagesPerHour: 3 },
        {
          'limits.countryMessagesPerHour': 'none',
          'limits.recipientMessagesPerHour': '3',
        },
      ],
      brand: [
        { logo: { url: 'https://acme.example/logo.png', alt: 'Acme' }, legal: { en: 'Acme Ltd', de: 'Acme GmbH' } },
        {
          'brand.logo.url': 'https://acme.example/logo.png',
          'brand.logo.alt': 'Acme',
          'brand.legal': '{"en": "Acme Ltd"}',
          'brand.legal.de': 'Acme GmbH',
        },
      ],
      captcha: [
        { provider: 'recaptcha', secret: 'captcha', minScore: 0.5, hostnames: ['www.acme.example'] },
        {
          captcha: '{"provider": "recaptcha", "secret": "captcha", "minScore": "0.5"}',
          'captcha.hostnames': 'www.acme.example',
        },
      ],
      vpc: [true, 'true'],
      logRetentionDays: [30, '30'],
    };
    const inFile = Object.entries(both).map(([name, [value]]) => ({ [name]: value }));
    const typed = Object.entries(both).map(([name, [, text]]) => (typeof text === 'string' ? { [name]: text } : text));
    expect(readSettings(Object.assign({}, SENDER, ...typed))).toEqual(
      readSettings(Object.assign({}, SENDER, ...inFile)),
    );
  });

  it('on the command line override the same group in cdk.json', () => {
    const { brand } = readSettings({ ...SENDER, 'brand.name': 'Beta', brand: { name: 'Acme', color: '#000000' } });
    expect(brand).toEqual({ name: 'Beta', color: '#000000' });
  });

  it('are removed for one run by an empty text on the command line, alone or as a group', () => {
    const inFile = { ...SENDER, brand: { name: 'Acme', color: '#000000' }, alarmEmail: 'oncall@acme.example' };
    expect(readSettings({ ...inFile, 'brand.name': '', alarmEmail: '' })).toEqual(
      readSettings({ ...SENDER, 'brand.color': '#000000' }),
    );
    expect(readSettings({ ...inFile, brand: '', alarmEmail: '' })).toEqual(readSettings(SENDER));
    expect(readSettings({ ...inFile, 'brand.name': '', 'brand.color': '', alarmEmail: '' })).toEqual(
      readSettings(SENDER),
    );
  });

  it('have the sender address with its domain in punycode, as SES wants it', () => {
    expect(readSettings({ senderAddress: 'Info@Bücher.example' })).toMatchObject({
      senderAddress: 'Info@xn--bcher-kva.example',
      senderDomain: 'xn--bcher-kva.example',
    });
  });

  it('are all on the page, each with its default', () => {
    const page = readFileSync(new URL('../../infra/docs/settings.md', import.meta.url), 'utf8');
    const rows = [...page.matchAll(/^\| `([\w.]+)` \| (.+?) \| .+ \|$/gm)].map(([, name = '', value = '']) => [
      name,
      value,
    ]);
    expect(rows.map(([name]) => name).sort()).toEqual([...SETTING_NAMES].sort());
    const defaults: unknown = { ...readSettings(SENDER), senderAddress: undefined };
    const defaultOf = (name = '') =>
      name.split('.').reduce((group, key) => (isObject(group) ? group[key] : undefined), defaults);
    const given = rows.filter(([name]) => ![undefined, ''].includes(String(defaultOf(name) ?? '')));
    for (const [name, value] of given) expect([name, value]).toEqual([name, `\`${String(defaultOf(name))}\``]);
    expect(given.length).toBeGreaterThan(35);
  });
});

describe('The settings that a stack carries', () => {
  const brand = { name: 'Ünïon 株式会社', legal: { en: 'Acme', de: 'Acme „GmbH“ \u{1F4B6}' } };
  const ofTemplate = (settings: object) =>
    String(synthesizeFresh({ ...settings }).toJSON().Resources.CrmTable.Metadata[SETTINGS_METADATA]);

  it.each([
    ['defaults', {}],
    ['settings', EVERYTHING],
    ['brand', { brand }],
    ['tokens', { jwtIssuer: 'https://id.acme.example', jwtAudience: 'api' }],
  ])('in its metadata are the %s of the stack, in ASCII', (_, given) => {
    const text = ofTemplate(given);
    expect(text).toMatch(/^[ -~]+$/);
    expect(parseSettingsText(text)).toEqual(readSettings({ ...SENDER, stage: 'prod', ...given }));
  });

  it('are refused by a version that does not know all of them', () => {
    const text = JSON.stringify({ ...JSON.parse(ofTemplate({})), ofTomorrow: 1 });
    expect(() => parseSettingsText(text)).toThrow('ofTomorrow: is no setting');
  });

  it('are compared with other settings by their top-level names', () => {
    const [one, other] = [SENDER, { ...SENDER, vpc: true, limits: { recipientMessagesPerHour: 3 } }].map(readSettings);
    expect(one && other && differingSettings(one, other)).toEqual(['limits', 'vpc']);
    expect(one && differingSettings(one, readSettings(SENDER))).toEqual([]);
  });
});

it('A provider of the broker replaces the AWS settings of a channel', () => {
  const provider = { call: 'https://voice.acme.example:8443/call?team=1', whatsapp: 'https://wa.acme.example/' };
  const settings = { ...SENDER, channels: 'email,call,whatsapp', 'phone.countries': 'GB', provider };
  expect(readSettings(settings)).toMatchObject({ provider });
});

describe('Faulty settings', () => {
  it('are reported together, each by its name', () => {
    const errors = errorsOf({
      senderAdress: 'no-reply@acme.example',
      stage: 'Production!',
      channels: 'sms,fax',
      'sms.senderId': '12345',
      'limits.recipientMessagesPerHour': '0',
      'brand.colour': '#000000',
      jwtIssuer: 'login.acme.example',
      memory: '1769',
    });
    expect([...errors].sort()).toEqual([
      'brand.colour: is no setting',
      `channels: must list ${joinWithOr(['email', ...PHONE_CHANNELS])}`,
      'jwtAudience: is required where jwtIssuer is given',
      'jwtIssuer: must be an https address',
      'limits.recipientMessagesPerHour: must be a whole number from 1 to 1000000, or none',
      'memory: must be a group of settings, in JSON',
      'senderAddress: is required',
      'senderAdress: is no setting',
      'sms.senderId: must be 1 to 11 letters and digits, one a letter',
      'stage: must be up to 20 small letters, digits and hyphens',
    ]);
  });

  it.each<[Record<string, unknown>, string]>([
    [{ senderAddress: 'acme.example' }, 'senderAddress: must be an email address'],
    [{ mailFromDomain: 'bounce.other.example' }, 'mailFromDomain: must be a subdomain of'],
    [
      { mailFromDomain: 'bounce.acme.example', senderIdentity: 'address' },
      'mailFromDomain: is given, but senderIdentity is not domain',
    ],
    [{ senderIdentity: 'none' }, 'senderIdentity: must be domain, address'],
    [{ channels: 'sms' }, 'channels: must list email'],
    [{ allowedOrigins: 'http://www.acme.example' }, 'allowedOrigins: must be origins'],
    [{ allowedHeaders: 'x-trace' }, 'allowedOrigins: is required where allowedHeaders is given'],
    ...['X-Trace', '*'].map((allowedHeaders): [Record<string, unknown>, string] => [
      { allowedOrigins: 'https://www.acme.example', allowedHeaders },
      'allowedHeaders: must be names of request headers in lower case',
    ]),
    [{ allowedOrigins: 'https://www.acme.example/' }, 'allowedOrigins: must be origins'],
    [{ channels: 'email,sms' }, 'phone.countries: is required by the channel sms'],
    [{ channels: 'email,sms', 'phone.countries': 'GB,UK' }, 'phone.countries: must list'],
    [{ 'phone.countries': 'GB' }, 'phone: is given, but channels lists email alone'],
    [{ captcha: { provider: 'x', secret: 'captcha' } }, 'captcha.provider: must be turnstile'],
    [{ captcha: { provider: 'recaptcha', secret: 'captcha' } }, 'captcha.minScore: is required by recaptcha'],
    [
      { captcha: { provider: 'turnstile', secret: 'captcha', minScore: '0.5' } },
      'captcha.minScore: has no meaning for turnstile',
    ],
    [
      { captcha: { provider: 'recaptcha', secret: 'captcha', minScore: 2 } },
      'captcha.minScore: must be a number from 0 to 1',
    ],
    [
      { captcha: { provider: 'turnstile', secret: 'captcha', hostnames: 'https://acme.example' } },
      'captcha.hostnames: must be a domain',
    ],
    [{ front: { header: 'X: y', secret: 'front' } }, 'front.header: must be the name'],
    ...['x-forwarded-for', 'forwarded', 'x-front-secret'].map((header): [Record<string, unknown>, string] => [
      { front: { header, secret: 'front' } },
      'front.header: must be a header that the gateway leaves as it is',
    ]),
    [{ machineClients: 'crm', callerRoles: 'crm' }, 'callerRoles: is given, but'],
    [
      { 'provisioned.accounts': '21', 'concurrency.accounts': '20' },
      'provisioned.accounts: must be at most concurrency.accounts',
    ],
    [{ jwtScope: 'a' }, 'jwtIssuer: is required where jwtScope is given'],
    [{ defaultEndpoint: false }, 'customDomain: is required where defaultEndpoint is given'],
    [{ egressAllocationId: 'eipalloc-0a1b2c3d' }, 'egressAllocationId: is given, but vpc'],
    [{ release: 'linear' }, 'release: must be canary or all'],
    [{ 'provider.sms': 'http://sms.acme.example/' }, 'provider.sms: must be a public https'],
    [{ 'provider.sms': 'https://sms.acme.example/' }, 'provider.sms: is given, but channels does not list sms'],
    [{ channels: 'email,call' }, 'call: is required by the channel call'],
    [
      { channels: 'email,call', 'call.originationIdentity': '+15550100123' },
      'call.originationIdentity: must be the id or ARN of a number',
    ],
    [
      { channels: 'email,whatsapp', 'whatsapp.phoneNumberId': 'phone-number-id-1' },
      'whatsapp.codeTemplate: is required',
    ],
    [{ 'sms.senderId': 'ACME' }, 'sms: is given, but channels does not list'],
    [{ channels: 'email,sms', 'sms.maxPrice': '0.00' }, 'sms.maxPrice: must be an amount'],
    // A setting of version 1.
    [{ limits: { resendSeconds: [60] } }, 'limits.resendSeconds: is no setting'],
    [{ 'limits.sourceRequestsPerHour': 1.5 }, 'limits.sourceRequestsPerHour: must be a whole number'],
    [{ 'limits.recipientMessagesPerDay': 1_000_001 }, 'limits.recipientMessagesPerDay: must be a whole'],
    [{ 'brand.color': 'blue' }, 'brand.color: must be a color'],
    [{ brand: { legal: { de: 'Acme GmbH' } } }, 'brand.legal: must be a text, or texts'],
    [{ 'brand.legal': 'x'.repeat(3_001) }, 'brand.legal: must be a text, or texts'],
    [{ 'brand.legal': '{"en": "Acme Ltd",}' }, 'brand.legal: must be a text, or texts'],
    [
      { brand: { logo: { url: 'http://acme.example/logo.png', alt: 'Acme' } } },
      'brand.logo.url: must be an https address',
    ],
    [{ 'brand.name': 'A\nB' }, 'brand.name: must be 1 to 64 characters on one line'],
    [{ 'customDomain.name': 'api.acme.example' }, 'customDomain.certificateArn: is'],
    [{ vpc: 'yes' }, 'vpc: must be true or false'],
    [{ vpcCidr: '10.0.0.0/20' }, 'vpcCidr: is given, but vpc is not true'],
    [{ vpc: true, vpcCidr: '52.1.0.0/20' }, 'vpcCidr: must be a private network'],
    [{ platformSecrets: '/' }, 'platformSecrets: must be the beginning of a name'],
    [{ platformSecrets: 'broker-api-keys/prod/' }, "platformSecrets: must not begin as the names of the service's own"],
    [{ platformSecrets: 'broker-api/' }, "platformSecrets: must not begin as the names of the service's own"],
    [{ front: { header: 'x-a', secret: 'platform/front' } }, 'front.secret: must not begin as platformSecrets'],
    [{ captcha: { provider: 'turnstile', secret: 'x/y' }, platformSecrets: 'x/' }, 'captcha.secret: must not begin as'],
    [{ front: { header: 'x-a', secret: 'broker-api-keys/prod/pepper' } }, 'front.secret: must not begin'],
    [
      { captcha: { provider: 'turnstile', secret: 'broker-api/test/crm-webhook' } },
      'captcha.secret: must not begin as platformSecrets, and not name a key of the service',
    ],
    [{ logRetentionDays: '31' }, 'logRetentionDays: must be one of 1, 3'],
    ...[
      'http://crm.acme.example/events',
      'https://10.0.0.7/events',
      'https://crm.internal/events',
      'https://user:pass@crm.acme.example/events',
    ].map((crmWebhook): [Record<string, unknown>, string] => [
      { crmWebhook },
      'crmWebhook: must be a public https address',
    ]),
    ...['crm-reader', 'arn:aws:iam::123456789012:role/*'].map((documentRoles): [Record<string, unknown>, string] => [
      { documentRoles },
      'documentRoles: must be ARNs of roles',
    ]),
    [
      { confirmedDays: 15, confirmation: true, crmWebhook: 'https://crm.acme.example' },
      'confirmedDays: must be at least 16 with crmWebhook',
    ],
    [{ 'sms.a.b': '1' }, 'sms.a: is no setting'],
  ])('are refused: $1', (settings, error) => {
    const errors = errorsOf({ ...SENDER, ...settings });
    expect(errors.map((one) => one.slice(0, error.length))).toContain(error);
  });

  it('never cause anything but a list of errors', () => {
    const name = fc.constantFrom('stage', 'channels', 'sms', 'sms.maxPrice', 'limits', 'vpc', 'jwtAudience', 'x');
    fc.assert(
      fc.property(fc.dictionary(name, fc.jsonValue()), (context) => {
        for (const error of errorsOf(context)) expect(error).toMatch(/^.+: [a-z][^:]*$/s);
      }),
    );
  });
});
