import { describe, expect, it } from 'vitest';
import { accountConfig, registrationConfig } from '../../lib/config.ts';

const common = {
  STAGE: 'test',
  BRAND_NAME: 'Example Markets',
  BRAND_SUPPORT_EMAIL: 'help@example.com',
  BRAND_COLOR: '#0b5cad',
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
  CHANNELS: 'email',
};

describe('The environment of a function', () => {
  it('becomes typed values, with the limits that the deployment sets', () => {
    expect(registrationConfig(registration).limits).toEqual({});
    const config = registrationConfig({ ...registration, LIMITS: '{"recipientPerHour":3}' });
    expect(config.limits).toEqual({ recipientPerHour: 3 });
  });

  it('dies of a bad deployment with every fault listed by name and no value told', () => {
    const environment = {
      ...registration,
      BRAND_COLOR: 'pink-secret',
      CRM_TABLE: '',
      LIMITS: '{',
      CHANNELS: 'sms,fax-secret',
    };
    let message = '';
    try {
      registrationConfig(environment);
    } catch (error) {
      message = (error as Error).message;
    }
    for (const name of ['BRAND_COLOR', 'CRM_TABLE', 'LIMITS', 'CHANNELS']) expect(message).toContain(name);
    expect(message).not.toContain('secret');
  });

  it.each([
    ['call', ['CALL_ORIGINATION_IDENTITY']],
    ['whatsapp', ['WHATSAPP_PHONE_NUMBER_ID', 'WHATSAPP_CODE_TEMPLATE', 'WHATSAPP_NOTICE_TEMPLATE']],
  ])('of the channel %s needs %j', (channel, names) => {
    const deploy = () => registrationConfig({ ...registration, CHANNELS: `email,${channel}` });
    for (const name of names) expect(deploy).toThrow(name);
  });

  it('always has the channel email', () => {
    expect(() => registrationConfig({ ...registration, CHANNELS: 'sms' })).toThrow('CHANNELS: must list email');
  });

  it('of the account functions names their tables, secret and topic', () => {
    const deploy = () => accountConfig(common);
    for (const name of ['ACCOUNTS_TABLE', 'PASSWORD_SECRET', 'NOTIFICATIONS_TOPIC_ARN']) expect(deploy).toThrow(name);
  });

  it('lets an unheard-from opening settle for 60 seconds unless told otherwise', () => {
    const account = { ...common, ACCOUNTS_TABLE: 'accounts', PASSWORD_SECRET: 'p', NOTIFICATIONS_TOPIC_ARN: 'arn' };
    expect(accountConfig(account).settleSeconds).toBe(60);
    expect(accountConfig({ ...account, SETTLE_SECONDS: '5' }).settleSeconds).toBe(5);
    expect(() => accountConfig({ ...account, SETTLE_SECONDS: 'soon' })).toThrow('SETTLE_SECONDS');
  });
});
