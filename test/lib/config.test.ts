import { getDefaultAutoSelectFamilyAttemptTimeout, setDefaultAutoSelectFamilyAttemptTimeout } from 'node:net';
import { describe, expect, it } from 'vitest';
import { DEFAULT_LIMITS } from '../../lib/config/registration-settings.ts';
import { accountConfig, logFilter, registrationConfig, traceId, webhookConfig } from '../../lib/config.ts';
import { PHONE_CHANNELS } from '../../lib/validators/otp-types.ts';
import { functionEnvironment } from '../support/function-environment.ts';

const SENDER = { senderAddress: 'no-reply@example.com' };

/** The error of a deployment that fails at cold start. */
function errorOf(read: () => unknown): string {
  try {
    read();
    return '';
  } catch (error) {
    return (error as Error).message;
  }
}

describe('The configuration of a function', () => {
  it('has the settings of the file next to the code, with defaults, and the resources of the environment', () => {
    expect(registrationConfig(functionEnvironment({ ...SENDER, stage: 'test', brand: { legal: 'Acme Ltd' } }))).toEqual(
      {
        stage: 'test',
        brand: { name: 'example.com', supportEmail: 'no-reply@example.com', color: '#0b5cad', legal: 'Acme Ltd' },
        email: { senderAddress: 'no-reply@example.com', configurationSet: 'mails' },
        channels: ['email'],
        sms: { maxPrice: '0.50' },
        limits: DEFAULT_LIMITS,
        crmTable: 'crm',
        registrationsTable: 'registrations',
        limitsTable: 'limits',
        documentsBucket: 'documents',
        pepperSecret: 'broker-api-keys/local/pepper',
        providerSecret: 'broker-api/local/provider',
      },
    );
    const limits = { recipientMessagesPerHour: 3, sourceRequestsPerHour: 'none' };
    expect(registrationConfig(functionEnvironment({ ...SENDER, limits })).limits).toEqual({
      ...DEFAULT_LIMITS,
      ...limits,
    });
  });

  it('gives each address of a name two seconds, which Node gives up after 250 ms', () => {
    setDefaultAutoSelectFamilyAttemptTimeout(250);
    accountConfig(functionEnvironment(SENDER));
    expect(getDefaultAutoSelectFamilyAttemptTimeout()).toBe(2_000);
  });

  it('has only the settings that the function reads', () => {
    expect(accountConfig(functionEnvironment({ ...SENDER, limits: {}, front: {} }))).not.toHaveProperty('limits');
  });

  it('fails for a bad deployment with every error by name and without values', () => {
    const environment = functionEnvironment({
      brand: { color: 'pink-secret' },
      limits: '{secret',
      channels: ['sms', 'fax-secret'],
      call: { originationIdentity: 'secret', secret: 1 },
    });
    const message = errorOf(() => registrationConfig({ ...environment, CRM_TABLE: '', PEPPER_SECRET: undefined }));
    expect(message.split('; ').map((error) => error.split(':', 1)[0])).toEqual([
      ...['senderAddress', 'brand.color', 'limits', 'channels', 'call.originationIdentity', 'call.secret'],
      ...['CRM_TABLE', 'PEPPER_SECRET'],
    ]);
    expect(message.replace('call.secret: is no setting', '')).not.toContain('secret');
  });

  it.each(['/nowhere', functionEnvironment([]).LAMBDA_TASK_ROOT])('fails without the file of settings: %s', (root) => {
    const environment = { ...functionEnvironment(SENDER), LAMBDA_TASK_ROOT: root };
    expect(errorOf(() => webhookConfig(environment))).toBe('settings.json: cannot be read; crmWebhook: is required');
  });

  it.each(PHONE_CHANNELS)('of the channel %s needs the countries, and its own settings', (channel) => {
    // Those of texts have defaults.
    const names = ['phone.countries', ...(channel === 'sms' ? [] : [channel])];
    const deploy = () => registrationConfig(functionEnvironment({ ...SENDER, channels: ['email', channel] }));
    for (const name of names) expect(deploy).toThrow(`${name}: is required by the channel ${channel}`);
  });

  it('always has the channel email', () => {
    const deploy = () => registrationConfig(functionEnvironment({ ...SENDER, channels: ['sms'] }));
    expect(deploy).toThrow('channels: must list email');
  });
});

describe('The log', () => {
  const levels = ['INFO', 'WARN', 'ERROR', 'CRITICAL'] as const;

  it.each([
    [undefined, ['INFO', 'WARN', 'ERROR', 'CRITICAL']],
    ['ERROR', ['ERROR', 'CRITICAL']],
    ['SILENT', []],
  ])('has the levels from LOG_LEVEL on: %s', (LOG_LEVEL, logged) => {
    expect(levels.filter(logFilter({ LOG_LEVEL }))).toEqual(logged);
  });

  it('names the trace that X-Ray keeps of the invocation', () => {
    const environment = { _X_AMZN_TRACE_ID: 'Root=1-5759e988-bd862e3f;Parent=53995c3f42cd8ad8;Sampled=1' };
    expect(traceId(environment)).toBe('1-5759e988-bd862e3f');
    expect(traceId({})).toBeUndefined();
  });
});
