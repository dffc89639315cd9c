import type { Connection, WebApiConnection } from '../../lib/records/crm-records.ts';

/** The connection of protocol `web-api`. Each protocol has one example connection. */
export const LIVE: WebApiConnection = {
  id: 'tp5-live-1',
  platform: 'tp5',
  protocol: 'web-api',
  host: 'mt5.example.com',
  port: 443,
  demo: false,
  groups: ['real\\standard'],
  logins: { from: 500_000, to: 599_999 },
  secret: 'platform/tp5-live-1',
};
export const PLUG_IN: Connection = {
  id: 'tp4-live-1',
  platform: 'tp4',
  protocol: 'web-registration',
  host: 'mt4.example.com',
  port: 443,
  demo: false,
  groups: { standard: 1 },
  code_page: 'windows-1252',
  secret: 'platform/tp4-live-1',
};
export const GATEWAY: Connection = {
  id: 'tp4-gw-1',
  platform: 'tp4',
  protocol: 'interface-gateway',
  host: 'mt4gw.example.com',
  port: 443,
  demo: true,
  groups: ['demoforex'],
  logins: { from: 700_000, to: 799_999 },
  code_page: 'windows-1252',
  secret: 'platform/tp4-gw-1',
};

/** The file of the contract, section 7. */
export const EXAMPLE_FILE = {
  forms: [
    {
      id: 'FORM0001',
      name: 'Retail',
      fields: [
        { key: 'k3J9xQ', type: 'select', label: 'Experience', required: true, options: ['none', 'some', 'pro'] },
        {
          key: 'a9TermS',
          type: 'boolean',
          label: 'I accept the terms',
          required: true,
          must: true,
          version: '2026-11',
        },
        {
          key: 'd0cUpl',
          type: 'document',
          label: 'Proof of identity',
          accept: ['application/pdf', 'image/png', 'image/jpeg'],
        },
      ],
    },
  ],
  clients: [
    {
      id: 'CLIENT01',
      email: 'ann@example.com',
      name: 'Ann Lee',
      phone: { country_code: '44', number: '7400123456' },
      country: 'GB',
      language: 'en',
      referral_code: 'REFANN01',
    },
  ],
  account_types: [{ id: 'ATDEMO01', name: 'Demo', platform: 'tp5', deposit: 10000 }],
  connections: [LIVE, PLUG_IN, GATEWAY],
};
