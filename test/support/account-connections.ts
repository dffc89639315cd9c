import type { SimulatedGroup } from '../../infra/local/platforms/simulated-server.ts';

export const ACCOUNT_TYPES = [
  { id: 'ATDEMO05', platform: 'tp5', deposit: 10_000 },
  { id: 'ATLIVE05', platform: 'tp5' },
  { id: 'ATDEMO04', platform: 'tp4', deposit: 5_000 },
  { id: 'ATLIVE04', platform: 'tp4' },
];

export const FORMS = [{ id: 'FORM0001', name: 'Retail', fields: [] }];

export const TP5_GROUPS: SimulatedGroup[] = [
  { name: 'real\\standard' },
  { name: 'real\\strict', minPasswordLength: 14 },
  { name: 'real\\closed', permitted: false },
];
export const TP4_GROUPS: SimulatedGroup[] = [
  { name: 'standard' },
  { name: 'demoforex' },
  { name: 'strict', minPasswordLength: 14 },
];

/** The connections of a world, by what their servers speak. The two of a pair are one server. */
export const CONNECTIONS = {
  'tp5-live': { version: 'tp5', server: 'tp5', group: 'real\\standard', account_type_id: undefined },
  'tp5-demo': { version: 'tp5', server: 'tp5', group: 'real\\standard', account_type_id: 'ATDEMO05' },
  'reg-live': { version: 'tp4', server: 'reg', group: 'standard', account_type_id: undefined },
  'reg-demo': { version: 'tp4', server: 'reg', group: 'demoforex', account_type_id: 'ATDEMO04' },
  'gw-live': { version: 'tp4', server: 'gw', group: 'standard', account_type_id: undefined },
  'gw-demo': { version: 'tp4', server: 'gw', group: 'demoforex', account_type_id: 'ATDEMO04' },
  'tp5-range': { version: 'tp5', server: 'tp5', group: 'real\\standard', account_type_id: undefined },
  'tp5-range-demo': { version: 'tp5', server: 'tp5', group: 'real\\standard', account_type_id: 'ATDEMO05' },
  'gw-range': { version: 'tp4', server: 'gw', group: 'standard', account_type_id: undefined },
  'gw-range-demo': { version: 'tp4', server: 'gw', group: 'demoforex', account_type_id: 'ATDEMO04' },
} as const;
export type ConnectionId = keyof typeof CONNECTIONS;
export type ServerName = (typeof CONNECTIONS)[ConnectionId]['server'];

/** Their records in the CRM. */
export function connectionRecords(
  tp5: { port: number; ca: string },
  reg: { port: number },
  gw: { port: number },
): object[] {
  const text = { platform: 'tp4', host: '127.0.0.1', secret: 'platform/tp4' };
  const web = { platform: 'tp5', protocol: 'web-api', host: '127.0.0.1', secret: 'platform/tp5', ca: tp5.ca };
  const byIndex = { groups: { standard: 1, demoforex: 2, strict: 3 } };
  return [
    { ...web, id: 'tp5-live', name: 'Live', port: tp5.port, demo: false },
    { ...web, id: 'tp5-demo', port: tp5.port, demo: true },
    { ...text, id: 'reg-live', protocol: 'web-registration', port: reg.port, demo: false, ...byIndex },
    { ...text, id: 'reg-demo', protocol: 'web-registration', port: reg.port, demo: true, ...byIndex },
    { ...text, id: 'gw-live', protocol: 'interface-gateway', port: gw.port, demo: false },
    { ...text, id: 'gw-demo', protocol: 'interface-gateway', port: gw.port, demo: true },
    { ...web, id: 'tp5-range', port: tp5.port, demo: false, logins: { from: 500_000, to: 501_999 } },
    { ...web, id: 'tp5-range-demo', port: tp5.port, demo: true, logins: { from: 502_000, to: 503_999 } },
    {
      ...text,
      id: 'gw-range',
      protocol: 'interface-gateway',
      port: gw.port,
      demo: false,
      logins: { from: 510_000, to: 511_999 },
    },
    {
      ...text,
      id: 'gw-range-demo',
      protocol: 'interface-gateway',
      port: gw.port,
      demo: true,
      logins: { from: 512_000, to: 513_999 },
    },
  ];
}
