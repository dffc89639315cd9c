import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, inject, it } from 'vitest';
import type { Item } from '../../lib/aws/dynamodb.ts';
import type { AccountWorld } from '../support/account-world.ts';
import { type Release, releaseWorlds, repeatStory, restoreRelease } from './release.ts';

const RELEASES = readdirSync(new URL('.', import.meta.url)).filter((name) => /^[\d.]+\.json$/.test(name));

/** A release, and what it makes of its operations: their states, and the balances of the accounts. */
type ReleaseEnd = Release & { lives: Record<string, string>; balances: Record<string, number> };

const read = <R>(file: string): R => JSON.parse(readFileSync(new URL(file, import.meta.url), 'utf8'));

/** Repeats every request of a release with the functions of today. */
async function replay<T>(release: Release, look: (world: AccountWorld, answers: Release['stories']) => Promise<T>) {
  const pool = await releaseWorlds(inject('bundles'), release.at - Date.now());
  await pool.use(async (world) => {
    await restoreRelease(world, release);
    const answers: Release['stories'] = [];
    for (const story of release.stories) answers.push({ ...story, answer: await repeatStory(world, story) });
    await look(world, answers);
  });
  await pool.close();
}

describe.each(RELEASES)('The stored data of version %s', (file) => {
  const release = read<Release>(file);

  it('has operations in every state', () => {
    const states = new Set(release.items.operations?.map(({ life }) => (life as { at: string } | undefined)?.at));
    expect([...states].toSorted()).toEqual(['claimed', 'done', 'open', 'sent', 'undecided', undefined]);
  });

  it('get the same answers today: the same accounts, passwords, codes and refusals', async () => {
    await replay(release, async (world, answers) => {
      expect(answers).toEqual(release.stories);
      // Each request has one account, and no client heard of a code twice.
      const accounts = Object.values(world.servers).flatMap((server) => server.accounts());
      expect(accounts).toHaveLength(release.stories.filter((story) => 'call' in story).length);
      expect(world.outbox.list()).toEqual([]);
    });
  });
});

describe('The stored data of version 1.0.0 in rarer states, which its own functions have answered', () => {
  const release = read<ReleaseEnd>('1.0.0-kinds.json');

  it('get the same answers today, and end in the same states with the same balances', async () => {
    await replay(release, async (world, answers) => {
      expect(answers).toEqual(release.stories);
      await world.settle().outcome;
      expect(await livesOf(world)).toEqual(release.lives);
      const accounts = Object.values(world.servers).flatMap((server) => server.accounts());
      expect(Object.fromEntries(accounts.map(({ login, balance }) => [login, balance]))).toEqual(release.balances);
      expect(world.outbox.list()).toEqual([]);
    });
  });

  it('contain, with the fixture, every kind of item', () => {
    const fixtures = [read<Release>('1.0.0.json'), release];
    for (const [table, kinds] of Object.entries(KINDS)) {
      const items = fixtures.flatMap((one) => one.items[table as keyof typeof KINDS] ?? []);
      const found = new Set(items.map((item) => kindOf(table as keyof typeof KINDS, item)));
      expect({ table, kinds: [...found].toSorted() }).toEqual({ table, kinds: [...kinds].toSorted() });
    }
  });
});

/** The state of each operation, by its id. */
async function livesOf(world: AccountWorld): Promise<Record<string, string>> {
  const operations = (await world.items('operations')).filter(({ life }) => life !== undefined);
  const words = ({ at, login, deposit, unpaid }: Record<string, unknown>) =>
    [at, login, deposit, unpaid].map((one) => one ?? '').join(' ');
  return Object.fromEntries(operations.map(({ operation_id, life }) => [operation_id, words(life as Item)]));
}

/**
 * Every kind of item that version 1.0.0 wrote. A key's kind is its beginning; an operation's has its state. All counters
 * have one shape.
 */
const KINDS: Record<keyof Release['items'], string[]> = {
  crm: ['account_type', 'client', 'connection', 'form'],
  accounts: ['tp4', 'tp5'],
  logins: ['nobody', 'server', 'tp4', 'tp5'],
  operations: [
    ...['claimed', 'sent one', 'sent many', 'sent found', 'sent taken', 'undecided', 'undecided other', 'done'],
    ...['open none', 'open due', 'open again', 'open sent', 'open found', 'open made', 'open failed', 'done unpaid'],
    ...['open none, without a key', 'key of a registration'],
  ],
  registrations: [
    ...['delivery', 'email', 'sms', 'registration', 'registration confirmed', 'registration confirmed, not published'],
  ],
  limits: ['channel', 'confirmation', 'country', 'domain', 'prefix', 'recipient', 'source'],
};

function kindOf(table: keyof typeof KINDS, item: Item): string {
  const { pk, sk, operation_id, life, confirmation, due_at } = item as Record<string, string | undefined> & {
    life?: { at: string; commands?: string; deposit?: string; other?: number; unpaid?: boolean };
  };
  const prefix = String(pk).split('#')[0] ?? '';
  if (table === 'accounts') return String(sk).split('#')[0] ?? '';
  if (table === 'logins' && operation_id === 'nobody') return 'nobody';
  if (table === 'logins') return prefix.startsWith('tp') ? prefix : 'server';
  if (table === 'operations') {
    if (life === undefined) return 'key of a registration';
    const { at, commands, deposit, other, unpaid } = life;
    const more = commands ?? deposit ?? (other === undefined ? (unpaid ? 'unpaid' : undefined) : 'other');
    return `${[at, more].filter(Boolean).join(' ')}${prefix === 'operation' ? ', without a key' : ''}`;
  }
  if (confirmation === undefined) return prefix;
  return `${prefix} confirmed${due_at === undefined ? '' : ', not published'}`;
}
