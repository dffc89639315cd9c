import { afterAll, beforeAll } from 'vitest';
import { type LocalService, type ServiceOptions, startService } from '../../infra/local/service.ts';
import type { Channel } from '../../lib/validators/otp-types.ts';
import { tablesOf } from '../support/local-service.ts';
import { coldStart } from '../support/registration-world.ts';
import { RECORDS } from './records.ts';
import type { Version } from './table.ts';

/** The running service, and the tables that it writes. */
export interface World {
  service: LocalService;
  items: Items;
}

type Items = ReturnType<typeof itemsOf>;

function itemsOf(service: LocalService) {
  const { table, registrations, close } = tablesOf(service);
  return {
    registration: async (channel: Channel, address: string) => {
      const signal = AbortSignal.timeout(60_000);
      const [newest] = await registrations.list({ otp_type: channel, address }, signal);
      return registrations.get(newest?.registration_id ?? 'none', signal);
    },
    account: (userId: string, version: Version, connectionId: string, login: number) =>
      table('accounts').get({ pk: userId, sk: `${version}#${connectionId}#${login}` }, AbortSignal.timeout(60_000)),
    close,
  };
}

/** The environment of the service for the cases of a part. */
export interface Surroundings {
  /** Called before the service starts. */
  begin?(): ServiceOptions | Promise<ServiceOptions>;
  end?(): void | Promise<void>;
}

/**
 * A service of its own for the describe block that this is called in.
 * @returns the world, which is there once the first test runs
 */
export function worldOf({ begin, end }: Surroundings = {}): () => World {
  let world: World | undefined;
  beforeAll(async () => {
    const service = await startService({ records: RECORDS, load: coldStart, ...(await begin?.()) });
    world = { service, items: itemsOf(service) };
  });
  afterAll(async () => {
    world?.items.close();
    await world?.service.close();
    await end?.();
  });
  return () => {
    if (world === undefined) throw new Error('The service has not been started.');
    return world;
  };
}
