import { setImmediate } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { LIVE, PLUG_IN } from '../support/crm-example.ts';
import { OpeningScene } from '../support/opening-scene.ts';
import { DOCUMENTS, RegistrationScene } from '../support/registration-scene.ts';
import type { Step } from '../support/step-faults.ts';

/** After this many turns of the event loop without a new call, everything waits for the calls that were made. */
const IDLE_TURNS = 5;

/**
 * Counts the trips of a request: the rounds of calls that wait for each other. Calls are held until no further one comes,
 * then all go out together, so the count does not depend on how long each takes.
 */
class Trips {
  /** The names of the calls of each round. */
  readonly rounds: string[][] = [];
  #waiting: { name: string; release: () => void }[] = [];
  #running = 0;

  /** A call of this name, which is held until its round. */
  async call<T>(name: string, make: () => Promise<T>): Promise<T> {
    await new Promise<void>((release) => this.#waiting.push({ name, release }));
    this.#running += 1;
    try {
      return await make();
    } finally {
      this.#running -= 1;
    }
  }

  /** Runs a request, with its calls in rounds. @returns its result */
  async run<T>(work: () => Promise<T>): Promise<T> {
    this.rounds.length = 0;
    let isOver = false;
    const result = work().finally(() => {
      isOver = true;
    });
    // It is awaited below.
    result.catch(() => {});
    for (let idle = 0; !isOver; ) {
      await setImmediate();
      idle = this.#running > 0 ? 0 : idle + 1;
      if (idle < IDLE_TURNS || this.#waiting.length === 0) continue;
      const round = this.#waiting;
      this.#waiting = [];
      this.rounds.push(round.map(({ name }) => name).sort());
      for (const { release } of round) release();
      idle = 0;
    }
    return result;
  }
}

/** How often a warm request waits for a network: each line is a trip, with the calls that go out together. */
describe('A warm request waits', () => {
  /** A function has read its secret and opened its channel in its first call. */
  const warm =
    (trips: Trips): Step =>
    (name, call) =>
      name === 'secret' || name === 'open channel' ? call() : trips.call(name, call);

  it('three times and for the hash to register, and with a key once more for its end', async () => {
    const trips = new Trips();
    const asked = { members: DOCUMENTS, step: warm(trips) };
    const scene = await RegistrationScene.start();
    expect(await trips.run(() => scene.request(asked))).toBe(204);
    expect(trips.rounds).toEqual([
      ['read form', 'read source', 'update source'],
      ['hash', 'update recipient'],
      ['put document', 'put document 2'],
      ['put registration', 'update sender'],
      ['send'],
    ]);
    scene.now += 60_000;
    expect(await trips.run(() => scene.request({ ...asked, idempotencyKey: 'key-1' }))).toBe(204);
    expect(trips.rounds).toEqual([
      ['read form', 'read registration', 'read source', 'update source'],
      // The source was counted before.
      ['update source 2'],
      ['hash', 'put registration'],
      ['update recipient'],
      ['put document', 'put document 2'],
      ['put registration 2', 'update sender'],
      ['send'],
      ['update registration'],
    ]);
  });

  it('seven times to confirm', async () => {
    const scene = await RegistrationScene.start();
    await scene.request({ members: DOCUMENTS });
    const trips = new Trips();
    expect(await trips.run(() => scene.confirm({ step: warm(trips) }))).toBe(204);
    expect(trips.rounds).toEqual([
      ['read registration'],
      ['update registration'],
      ['find proven_email', 'read address'],
      ['keep document', 'keep document 2'],
      ['confirm'],
      ['publish'],
      ['update registration 2'],
    ]);
  });

  it.each([
    ['five times to open an account', LIVE],
    ['six times to open an account of a plug-in that chooses the logins', PLUG_IN],
  ] as const)('%s', async (_, connection) => {
    const scene = await OpeningScene.create(connection);
    await scene.open('the first call of this function');
    const trips = new Trips();
    scene.step = warm(trips);
    expect(await trips.run(() => scene.open('a warm call'))).toEqual(expect.any(Number));
    const isNamed = connection === LIVE;
    expect(trips.rounds).toEqual([
      ['crm', 'operations.put'],
      ['operations.transact'],
      ['server.open'],
      // The login that a plug-in has chosen is reserved first.
      ...(isNamed ? [] : [['operations.transact']]),
      ['accounts.put', 'bus', ...(isNamed ? ['operations.update'] : [])],
      ['operations.update'],
    ]);
  });

  it('once to hear of an account again', async () => {
    const scene = await OpeningScene.create();
    await scene.open('key');
    const trips = new Trips();
    scene.step = warm(trips);
    await trips.run(() => scene.open('key'));
    expect(trips.rounds).toEqual([['crm', 'operations.put'], ['operations.update']]);
  });
});
