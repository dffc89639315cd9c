import { type LocalService, startService } from '../../infra/local/service.ts';
import { tablesOf } from '../support/local-service.ts';
import { coldStart } from '../support/registration-world.ts';
import { RECORDS } from './records.ts';
import type { Version } from './table.ts';

/** The running service, and the tables that it writes. */
export interface World {
  service: LocalService;
  items: ReturnType<typeof itemsOf>;
  close(): Promise<void>;
}

export async function startWorld(settings: Readonly<Record<string, unknown>> = {}): Promise<World> {
  const service = await startService({ records: RECORDS, load: coldStart, settings });
  return { service, items: itemsOf(service), close: () => service.close() };
}

function itemsOf(service: LocalService) {
  const { table, registrations } = tablesOf(service);
  return {
    registration: (id: string) => registrations.get(id, AbortSignal.timeout(60_000)),
    account: (userId: string, version: Version, connectionId: string, login: number) =>
      table('accounts').get({ pk: userId, sk: `${version}#${connectionId}#${login}` }, AbortSignal.timeout(60_000)),
  };
}
