import { crmTable } from '../../infra/crm/crm-table.ts';
import { localClient } from '../../infra/local/aws.ts';
import { TABLES } from '../../infra/local/database.ts';
import type { Stage } from './stage.ts';

/** The demo connections whose servers the benchmarks stand before. */
export const CONNECTIONS = ['tp5-live-1', 'tp4-live-1'] as const;

interface Place {
  readonly port: number;
  close(): Promise<void>;
}

/**
 * Puts something before each trading server, by changing where the CRM says that it is.
 * @param make what stands before a server's port
 */
export async function standBefore<P extends Place>({ service }: Stage, make: (targetPort: number) => Promise<P>) {
  const client = localClient(service.environment, 'AWS_ENDPOINT_URL_DYNAMODB');
  const places = new Map<string, { place: P; restore(): Promise<void> }>();
  for (const id of CONNECTIONS) {
    const table = crmTable(TABLES.crm, client);
    const item = await table.read(`connection#${id}`);
    const port = service.platforms.get(id)?.port;
    if (item === undefined || port === undefined) throw new Error(`There is no trading server ${id}.`);
    const place = await make(port);
    await table.write([{ put: { ...item, record: { ...(item.record as object), port: place.port } } }]);
    const restore = async () => {
      await table.write([{ put: item }]);
      table.close();
      await place.close();
    };
    places.set(id, { place, restore });
  }
  return places;
}
