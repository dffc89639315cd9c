import type { SimulatedGroup } from '../../infra/local/platforms/simulated-server.ts';
import type { LoginRange } from '../../lib/records/crm-records.ts';

export const ACCOUNT_TYPES = [
  { id: 'ATDEMO05', platform: 'tp5', deposit: 10_000 },
  { id: 'ATLIVE05', platform: 'tp5' },
  { id: 'ATDEMO04', platform: 'tp4', deposit: 5_000 },
  { id: 'ATLIVE04', platform: 'tp4' },
];

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

/** The connections of a world. Connections of one protocol lead to the same server. */
export const CONNECTIONS = {
  'tp5-live': { version: 'tp5', server: 'tp5', group: 'real\\standard', account_type_id: undefined },
  'tp5-demo': { version: 'tp5', server: 'tp5', group: 'real\\standard', account_type_id: 'ATDEMO05' },
  'tp5-list': { version: 'tp5', server: 'tp5', group: 'real\\standard', account_type_id: undefined },
  'reg-live': { version: 'tp4', server: 'reg', group: 'standard', account_type_id: undefined },
  'reg-demo': { version: 'tp4', server: 'reg', group: 'demoforex', account_type_id: 'ATDEMO04' },
  'gw-live': { version: 'tp4', server: 'gw', group: 'standard', account_type_id: undefined },
  'gw-demo': { version: 'tp4', server: 'gw', group: 'demoforex', account_type_id: 'ATDEMO04' },
} as const;
export type ConnectionId = keyof typeof CONNECTIONS;
export type ServerName = (typeof CONNECTIONS)[ConnectionId]['server'];

/** The login ranges of the connections whose protocol names logins. */
const RANGES = {
  'tp5-live': { from: 500_000, to: 501_999 },
  'tp5-demo': { from: 502_000, to: 503_999 },
  'tp5-list': [
    { from: 504_000, to: 505_999 },
    { from: 600_000, to: 601_999 },
  ],
  'gw-live': { from: 510_000, to: 511_999 },
  'gw-demo': { from: 512_000, to: 513_999 },
} as const satisfies Partial<Record<ConnectionId, LoginRange | LoginRange[]>>;
export type KeyedConnectionId = keyof typeof RANGES;

function isKeyed(id: ConnectionId): id is KeyedConnectionId {
  return id in RANGES;
}

/** The records of connections in the CRM. */
export function connectionRecords(
  tp5: { port: number; ca: string },
  reg: { port: number },
  gw: { port: number },
): Record<ConnectionId, Record<string, unknown>> {
  const host = { host: '127.0.0.1' };
  const web = { platform: 'tp5', protocol: 'web-api', ...host, secret: 'platform/tp5', port: tp5.port, ca: tp5.ca };
  const text = { platform: 'tp4', ...host, secret: 'platform/tp4' };
  const plugIn = {
    ...text,
    protocol: 'web-registration',
    port: reg.port,
    groups: { standard: 1, demoforex: 2, strict: 3 },
  };
  const gateway = { ...text, protocol: 'interface-gateway', port: gw.port };
  const servers = { tp5: web, reg: plugIn, gw: gateway };
  const records = Object.entries(CONNECTIONS).map(([key, { server }]) => {
    const id = key as ConnectionId;
    const logins = isKeyed(id) ? { logins: RANGES[id] } : {};
    const more = id === 'tp5-live' ? { name: 'Live', max_leverage: 1_000 } : {};
    return [id, { ...servers[server], id, demo: id.endsWith('demo'), ...logins, ...more }];
  });
  return Object.fromEntries(records) as Record<ConnectionId, Record<string, unknown>>;
}
