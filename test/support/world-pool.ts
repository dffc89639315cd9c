import { type AccountWorld, startAccountWorld, type WorldClient, type WorldOptions } from './account-world.ts';

/** A number of worlds, each used by one test at a time. */
export class WorldPool {
  readonly #options: WorldOptions;
  readonly #free: AccountWorld[] = [];
  readonly #waiting: ((world: AccountWorld) => void)[] = [];
  readonly worlds: AccountWorld[] = [];
  readonly #size: number;

  constructor(size: number, options: WorldOptions) {
    this.#size = size;
    this.#options = options;
  }

  async use<T>(work: (world: AccountWorld) => Promise<T>): Promise<T> {
    const world = await this.#take();
    try {
      return await work(world);
    } finally {
      world.clearFaults();
      const next = this.#waiting.shift();
      if (next === undefined) this.#free.push(world);
      else next(world);
    }
  }

  async close(): Promise<void> {
    await Promise.all(this.worlds.map((world) => world.close()));
  }

  #starting = 0;
  async #take(): Promise<AccountWorld> {
    const free = this.#free.pop();
    if (free !== undefined) return free;
    if (this.#starting === this.#size) return new Promise((resolve) => this.#waiting.push(resolve));
    this.#starting += 1;
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
