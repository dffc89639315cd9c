import { afterAll, beforeAll, inject } from 'vitest';
import { type AccountAnswer, accountBody } from './account-calls.ts';
import { CONNECTIONS, type ConnectionId } from './account-connections.ts';
import { type AccountWorld, startAccountWorld } from './account-world.ts';
import { bundleInto } from './bundles.ts';

export const CLIENTS = [
  {
    id: 'CLIENT01',
    email: 'annegret@mailbox.example',
    name: 'Annegret Leewarden',
    phone: { country_code: '44', number: '7400123456' },
    country: 'GB',
    language: 'de',
  },
  { id: 'CLIENT02', email: 'ignatius@mailbox.example', name: 'Ignatius Pérezmarín' },
] as const;
export const ALL = Object.keys(CONNECTIONS) as ConnectionId[];

/** A world of its own for the tests of a file, with two clients, and what they ask of it. */
export class AccountCaller {
  #world: AccountWorld | undefined;

  constructor() {
    beforeAll(async () => {
      const bundles = await bundleInto(inject('bundles'));
      this.#world = await startAccountWorld({ bundles, clients: [...CLIENTS] });
    });
    afterAll(async () => {
      await this.world.close();
    });
  }

  get world(): AccountWorld {
    if (this.#world === undefined) throw new Error('The world has not begun.');
    return this.#world;
  }

  ask = (
    connection: ConnectionId,
    more: Record<string, unknown> = {},
    call: { userId?: string; key?: string } = {},
  ): Promise<AccountAnswer> => this.world.ask({ body: accountBody(connection, more), ...call });

  serverOf = (connection: ConnectionId) => this.world.servers[CONNECTIONS[connection].server];

  /** The account of an answer. */
  accountOf = (connection: ConnectionId, { body }: AccountAnswer) => {
    const account = this.serverOf(connection)
      .accounts()
      .find(({ login }) => login === body.login);
    if (account === undefined) throw new Error(`There is no account of ${JSON.stringify(body)}.`);
    return account;
  };

  /** What the two passwords of an answer open. */
  access = (connection: ConnectionId, { body }: AccountAnswer) =>
    (['master_password', 'investor_password'] as const).map((name) =>
      this.serverOf(connection).access(Number(body.login), String(body[name])),
    );
}
