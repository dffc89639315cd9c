import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { accountConfig, logFilter, registrationConfig, traceId } from '../../lib/config.ts';
import { DEFAULT_LIMITS } from '../../lib/validators/deployment.ts';

const common = {
  STAGE: 'test',
  SENDER_ADDRESS: 'no-reply@example.com',
  CRM_TABLE: 'crm',
  OPERATIONS_TABLE: 'operations',
};
const registration = {
  ...common,
  REGISTRATIONS_TABLE: 'registrations',
  LIMITS_TABLE: 'limits',
  DOCUMENTS_BUCKET: 'documents',
  PEPPER_SECRET: 'pepper',
};

describe('The environment of a function', () => {
  it('becomes typed values, with defaults for unset ones', () => {
    expect(registrationConfig(registration)).toMatchObject({
      stage: 'test',
      brand: { name: 'example.com', supportEmail: 'no-reply@example.com', color: '#0b5cad' },
      email: { senderAddress: 'no-reply@example.com', configurationSet: undefined },
      channels: ['email'],
      sms: { maxPrice: '0.50' },
      limits: DEFAULT_LIMITS,
      crmTable: 'crm',
      operationsTable: 'operations',
      registrationsTable: 'registrations',
      limitsTable: 'limits',
      documentsBucket: 'documents',
      pepperSecret: 'pepper',
    });
    const { limits } = registrationConfig({ ...registration, LIMITS: '{"recipientPerHour":3,"sourcePerHour":"none"}' });
    expect(limits).toMatchObject({ recipientPerHour: 3, sourcePerHour: 'none', recipientPerDay: 10 });
  });

  it('reads the legal texts of the brand from the file that its variable names', () => {
    const folder = mkdtempSync(join(tmpdir(), 'config-'));
    writeFileSync(join(folder, 'legal.json'), '{"en":"Acme Ltd"}');
    const file = { LAMBDA_TASK_ROOT: folder, LEGAL_FILE: 'legal.json' };
    expect(registrationConfig({ ...registration, ...file }).brand.legal).toEqual({ en: 'Acme Ltd' });
  });

  it('may list the channels as a person writes a list', () => {
    const more = { PHONE: '{"countries":["GB"]}', CALL: '{"originationIdentity":"pool-0a1b"}' };
    for (const CHANNELS of ['call,email', '["email","call"]']) {
      expect(registrationConfig({ ...registration, ...more, CHANNELS }).channels).toEqual(['email', 'call']);
    }
  });

  it('fails for a bad deployment with every error by name and without values', () => {
    const environment = {
      ...registration,
      BRAND: '{"color":"pink-secret"}',
      CRM_TABLE: '',
      LIMITS: '{secret',
      CHANNELS: 'sms,fax-secret',
      CALL: '{"originationIdentity":"secret","secret":1}',
    };
    let message = '';
    try {
      registrationConfig(environment);
    } catch (error) {
      message = (error as Error).message;
    }
    for (const name of ['BRAND.color', 'CRM_TABLE', 'LIMITS', 'CHANNELS', 'CALL.originationIdentity']) {
      expect(message).toContain(`${name}: `);
    }
    expect(message.replace('CALL.secret: is no setting', '')).not.toContain('secret');
  });

  it.each([
    ['sms', ['PHONE.countries']],
    ['call', ['PHONE.countries', 'CALL']],
    ['whatsapp', ['PHONE.countries', 'WHATSAPP']],
  ])('of the channel %s needs %j', (channel, names) => {
    const deploy = () => registrationConfig({ ...registration, CHANNELS: `email,${channel}` });
    for (const name of names) expect(deploy).toThrow(`${name}: is required by the channel ${channel}`);
  });

  it('always has the channel email', () => {
    expect(() => registrationConfig({ ...registration, CHANNELS: 'sms' })).toThrow('CHANNELS: must list email');
  });

  it('of the account functions names their tables, secret, topic and bus', () => {
    const deploy = () => accountConfig(common);
    for (const name of ['ACCOUNTS_TABLE', 'PASSWORD_SECRET', 'NOTIFICATIONS_TOPIC_ARN', 'EVENT_BUS'])
      expect(deploy).toThrow(name);
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
