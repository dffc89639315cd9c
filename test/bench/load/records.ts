import type { CrmFile } from '../../../infra/crm/crm-file.ts';

/** Connections of the service under load. Each has clients of its own, so that a client's login is one account. */
export interface Place {
  id: string;
  version: 'tp5' | 'tp4';
  group: string;
  /** An account type whose deposit every account gets. */
  accountTypeId?: string;
  /** Whether an account can be asked for under a login of the caller's own. */
  customLogin: boolean;
  clients: string[];
}

export const DEPOSIT = 10_000;
const CLIENTS_OF_A_PLACE = 20;
const server = { host: 'local', port: 443 };
const webApi = { ...server, platform: 'tp5', protocol: 'web-api' } as const;
const gateway = {
  ...server,
  platform: 'tp4',
  protocol: 'interface-gateway',
  code_page: 'windows-1252',
  demo: false,
} as const;
const plugin = { ...gateway, protocol: 'web-registration' } as const;

const CONNECTIONS: CrmFile['connections'] = [
  ...['tp5-a', 'tp5-b', 'tp5-c'].map((id) => ({ ...webApi, id, demo: false, groups: ['real\\load'], secret: id })),
  { ...webApi, id: 'tp5-demo', demo: true, groups: ['demo\\load'], secret: 'tp5-demo' },
  ...['tp4-gateway-a', 'tp4-gateway-b'].map((id) => ({ ...gateway, id, groups: ['load'], secret: id })),
  { ...plugin, id: 'tp4-plugin', groups: { load: 1 }, secret: 'tp4-plugin' },
];

export const PLACES: readonly Place[] = CONNECTIONS.map(({ id, platform, protocol, demo, groups }, index) => ({
  id,
  version: platform,
  group: (Array.isArray(groups) ? groups : Object.keys(groups ?? {}))[0] ?? '',
  ...(demo ? { accountTypeId: 'DEMOTYPE' } : {}),
  customLogin: protocol !== 'web-registration',
  clients: Array.from({ length: CLIENTS_OF_A_PLACE }, (_, client) => `LOAD${index}${String(client).padStart(3, '0')}`),
}));

export const FORM = 'FORMLOAD';
export const DOCUMENT_KEY = 'd0cUm3nt';

export const RECORDS: Omit<CrmFile, 'local_secrets'> = {
  forms: [
    {
      id: FORM,
      fields: [
        { key: 'k3yText1', type: 'text' },
        { key: DOCUMENT_KEY, type: 'document', accept: ['text/plain'] },
      ],
    },
  ],
  clients: PLACES.flatMap(({ clients }) =>
    clients.map((id) => ({ id, email: `${id.toLowerCase()}@clients.example`, name: `Client ${id}`, country: 'GB' })),
  ),
  account_types: [{ id: 'DEMOTYPE', platform: 'tp5', deposit: DEPOSIT }],
  connections: CONNECTIONS,
};
