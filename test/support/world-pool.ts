import pLimit, { type LimitFunction } from 'p-limit';
import { type AccountWorld, startAccountWorld, type WorldClient, type WorldOptions } from './account-world.ts';

/** A number of worlds, each used by one test at a time. */
export class WorldPool {
  readonly #options: WorldOptions;
  readonly #free: AccountWorld[] = [];
  readonly #turns: LimitFunction;
  readonly worlds: AccountWorld[] = [];

  constructor(size: number, options: WorldOptions) {
    this.#turns = pLimit(size);
    this.#options = options;
  }

  use<T>(work: (world: AccountWorld) => Promise<T>): Promise<T> {
    return this.#turns(async () => {
      const world = this.#free.pop() ?? (await this.#start());
      try {
        return await work(world);
      } finally {
        world.clearFaults();
        this.#free.push(world);
      }
    });
  }

  async close(): Promise<void> {
    await Promise.all(this.worlds.map((world) => world.close()));
  }

  async #start(): Promise<AccountWorld> {
    const world = await startAccountWorld(this.#options);
    this.worlds.push(world);
    return world;
  }
}

let clients = 0;
/** A new client of this world. A request's accounts are those with the email address of its client. */
export async function newClient(world: AccountWorld): Promise<WorldClient> {
  clients += 1;
  const client = {
    id: `C${String(clients).padStart(7, '0')}`,
    email: `zoe-quill-${clients}@mailbox.example`,
    name: 'Zoelinde Quillfeather',
    phone: { country_code: '44', number: String(7_400_100_000 + clients) },
    country: 'GB',
    language: 'en',
  };
  await world.writeClients([client]);
  return client;
}
