import { type AccountWorld, startAccountWorld, type WorldOptions } from './account-world.ts';

/** Worlds that are used by one at a time, so that what waits for time to pass may wait side by side. */
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
/** A client that nobody else uses, in this world: the accounts of a request are the ones with its e-mail address. */
export async function newClient(world: AccountWorld): Promise<{ id: string; email: string }> {
  clients += 1;
  const id = `C${String(clients).padStart(7, '0')}`;
  const client = { id, email: `zoe-quill-${clients}@mailbox.example` };
  const phone = { country_code: '44', number: String(7_400_100_000 + clients) };
  await world.addClients([{ ...client, name: 'Zoelinde Quillfeather', phone, country: 'GB', language: 'en' }]);
  return client;
}
