import { describe, expect, it } from 'vitest';
import { deriveIdentity, deriveSeed, loginSequence } from '../../../lib/openings/derivation.ts';
import { LoginSearch, loginChoice } from '../../../lib/openings/login-search.ts';
import type { AccountRecord } from '../../../lib/records/accounts.ts';
import { derivationKeys, recordingTelemetry } from '../../support/openings.ts';

const RANGE = { from: 1, to: 1_000 };

/** The operations of one request under some keys, and the reservations of a ledger. */
class Scene {
  readonly holders = new Map<number, string>();
  readonly identities;
  readonly #keys;
  calls = 0;
  /** The number of logins that were read. */
  read = 0;
  mayRead = () => true;
  /** The record of the operation's account, and how often it was asked for. */
  record: AccountRecord | undefined;
  recordReads = 0;

  constructor(...keys: string[]) {
    this.#keys = derivationKeys(...(keys.length === 0 ? ['1'] : keys));
    this.identities = this.#keys.map((key) => deriveIdentity(key, 'key#a', '1.a'));
  }

  /** The sequence of the operation under the n-th key. */
  sequence(place = 0, ranges = [RANGE]): number[] {
    return [...this.#sequence(place, ranges)];
  }

  #sequence(place: number, ranges: (typeof RANGE)[]): Generator<number> {
    const identity = this.identities[place];
    return loginSequence((identity && deriveSeed(this.#keys, identity)) ?? '', ranges);
  }

  id(place = 0): string {
    return this.identities[place]?.operationId ?? '';
  }

  reserve(...logins: number[]): void {
    for (const login of logins) this.holders.set(login, 'another');
  }

  search(ranges = [RANGE], firstLogins?: number): Promise<LoginSearch> {
    const candidates = this.#keys.map((key, place) => ({
      identity: deriveIdentity(key, 'key#a', '1.a'),
      logins: this.#sequence(place, ranges),
    }));
    const reserved = async (operationId: string) =>
      [...this.holders].filter(([, holder]) => holder === operationId).map(([login]) => login);
    const holders = async (logins: readonly number[]) => {
      this.calls += 1;
      this.read += logins.length;
      expect(logins.length).toBeLessThanOrEqual(100);
      return new Map(
        logins.flatMap((login) => {
          const holder = this.holders.get(login);
          return holder === undefined ? [] : [[login, holder] as const];
        }),
      );
    };
    const recorded = async () => {
      this.recordReads += 1;
      return this.record;
    };
    return new LoginSearch(candidates, { holders, reserved, recorded }, () => this.mayRead(), firstLogins).start();
  }
}

describe('The search for a login', () => {
  it('takes the free logins of the sequence in turn, with one call', async () => {
    const scene = new Scene();
    const [first = 0, second, third = 0, fourth] = scene.sequence();
    scene.reserve(first, third);
    const search = await scene.search();
    expect(await search.next(scene.id())).toEqual({ login: second, tries: 2, isComplete: false });
    expect(await search.next(scene.id())).toMatchObject({ login: fourth });
    expect(scene.calls).toBe(1);
  });

  it('finds the last free login of all ranges, and none when they are full', async () => {
    const scene = new Scene();
    const ranges = [RANGE, { from: 5_000, to: 5_999 }];
    const sequence = scene.sequence(0, ranges);
    const last = sequence.at(-1) ?? 0;
    scene.reserve(...sequence.slice(0, -1));
    const search = await scene.search(ranges);
    expect(await search.next(scene.id())).toEqual({ login: last, tries: 2_000, isComplete: true });
    expect(await search.next(scene.id())).toMatchObject({ login: undefined, isComplete: true });
  });

  it.each([
    [90, 1],
    [99, 2],
  ])(
    'at %i % used has %i call of the database for half of the accounts, and at most five for nearly all',
    async (share, usual) => {
      const used = Array.from({ length: 10_000 }, (_, index) => index + 1).filter((login) => login % 100 < share);
      const calls: number[] = [];
      for (let sample = 0; sample < 100; sample += 1) {
        const scene = new Scene(`sample ${sample}`);
        scene.reserve(...used);
        await scene.search([{ from: 1, to: 10_000 }]);
        calls.push(scene.calls);
      }
      expect(calls.toSorted((a, b) => a - b)[50]).toBe(usual);
      // With the five calls for the states and the record of an account, ten. The others need three calls more.
      expect(calls.filter((one) => one > 5).length).toBeLessThanOrEqual(2);
    },
  );

  it.each([
    { share: 10, logins: 6, more: 2 },
    { share: 30, logins: 8, more: 2 },
    { share: 90, logins: 40, more: 20 },
  ])('at $share % used reads about $logins logins, as many at first as the search before says', async (expected) => {
    const { share, logins, more } = expected;
    const used = Array.from({ length: 10_000 }, (_, index) => index + 1).filter((login) => login % 100 < share);
    let [read, further, firstLogins]: [number, number, number?] = [0, 0];
    for (let sample = 0; sample < 100; sample += 1) {
      const scene = new Scene(`sample ${sample}`);
      scene.reserve(...used);
      firstLogins = (await scene.search([{ from: 1, to: 10_000 }], firstLogins)).nextFirstLogins;
      read += scene.read / 100;
      further += scene.calls - 1;
    }
    expect(read).toBeLessThan(logins);
    expect(further).toBeLessThanOrEqual(more);
  });

  it('finds a login that the operation has reserved, before and after free logins', async () => {
    for (const place of [0, 15, 900]) {
      const scene = new Scene();
      const login = scene.sequence()[place] ?? 0;
      scene.holders.set(login, scene.id());
      expect((await scene.search()).found).toEqual({ login, identity: scene.identities[0] });
    }
  });

  it('finds a login that the operation has reserved under the key before', async () => {
    const scene = new Scene('2', '1');
    const [first = 0, second = 0] = scene.sequence(1);
    scene.reserve(first);
    scene.holders.set(second, scene.id(1));
    const search = await scene.search();
    expect(search.found).toEqual({ login: second, identity: scene.identities[1] });
    expect(scene.calls).toBe(1);
  });

  it('reads no record for the first login of the sequence', async () => {
    const scene = new Scene();
    const [, second = 0] = scene.sequence();
    scene.reserve(second);
    const search = await scene.search();
    expect(await search.next(scene.id())).toMatchObject({ login: scene.sequence()[0] });
    expect(scene.recordReads).toBe(0);
  });

  describe('gives the record of the operation’s account instead of a login', () => {
    const record = { login: 7 } as AccountRecord;

    it('if another operation holds the first login of the sequence', async () => {
      const scene = Object.assign(new Scene(), { record });
      scene.reserve(scene.sequence()[0] ?? 0);
      const search = await scene.search();
      expect(search.record).toBe(record);
      expect(await search.next(scene.id())).toMatchObject({ login: undefined, record });
    });

    it('if the first login turns out to be another’s', async () => {
      const scene = Object.assign(new Scene(), { record });
      const search = await scene.search();
      expect(await search.next(scene.id())).toMatchObject({ login: scene.sequence()[0] });
      expect(await search.next(scene.id())).toMatchObject({ login: undefined, record });
    });

    it('if all logins are taken', async () => {
      const scene = Object.assign(new Scene(), { record });
      scene.reserve(...scene.sequence());
      expect(await (await scene.search()).next(scene.id())).toMatchObject({ login: undefined, record });
    });
  });

  it('reads no record if the operation’s reservation shows its login', async () => {
    const scene = new Scene();
    const [first = 0, second = 0] = scene.sequence();
    scene.reserve(first);
    scene.holders.set(second, scene.id());
    expect(await scene.search()).toMatchObject({ record: undefined, found: { login: second } });
    expect(scene.recordReads).toBe(0);
  });

  it('continues with the sequence of the key that made the operation', async () => {
    const scene = new Scene('2', '1');
    const search = await scene.search();
    expect(await search.next(scene.id(1))).toMatchObject({ login: scene.sequence(1)[0], tries: 1 });
  });

  it('ends without a result when there is no time', async () => {
    const scene = new Scene();
    scene.reserve(...scene.sequence());
    scene.mayRead = () => scene.calls < 2;
    const search = await scene.search();
    expect(await search.next(scene.id())).toMatchObject({ login: undefined, isComplete: false });
    expect([search.found, scene.calls]).toEqual([undefined, 2]);
  });

  it('has nothing for an operation without ranges', async () => {
    const scene = new Scene();
    expect(await (await scene.search([])).next(scene.id())).toMatchObject({ login: undefined });
  });
});

describe('The choice of a login', () => {
  /** The logins that an operation asks for, and the failure after them. @param own the caller's login */
  async function choose(scene: Scene, asks: number, givenLogin?: number) {
    const range = givenLogin === undefined ? RANGE : { from: givenLogin, to: givenLogin };
    const { next, failure } = loginChoice(scene.search([range]), {
      ...{ operationId: scene.id(), givenLogin },
      telemetry: recordingTelemetry([]),
    });
    const logins: (number | undefined)[] = [];
    while (logins.length < asks) logins.push((await next()).login);
    return { logins, kind: failure().kind };
  }
  const UNAVAILABLE = { kind: 'platform_unavailable' };

  it('reports an exhausted range if all its logins were read and none is free', async () => {
    const scene = new Scene();
    const { length, [length - 1]: last } = scene.sequence();
    scene.reserve(...scene.sequence().slice(0, -1));
    const chosen = await choose(scene, 2);
    expect(chosen).toEqual({ logins: [last, undefined], kind: 'login_range_exhausted' });
  });

  it.each([0, 1, 900])(
    'asks for a repeat if the time ends after %i logins, although later logins are free',
    async (asks) => {
      const chosen = await choose(new Scene(), asks);
      expect(chosen).toMatchObject(UNAVAILABLE);
      expect(chosen.logins).not.toContain(undefined);
    },
  );

  it('asks for a repeat if the time ends before it has read all logins', async () => {
    const scene = new Scene();
    scene.reserve(...scene.sequence());
    scene.mayRead = () => scene.calls < 2;
    expect(await choose(scene, 1)).toMatchObject({ ...UNAVAILABLE, logins: [undefined] });
  });

  it("calls a caller's login taken if another operation has it, or if the login that it gave is another's", async () => {
    const scene = new Scene();
    expect(await choose(scene, 1, 7)).toMatchObject({ logins: [7], kind: 'login_taken' });
    scene.reserve(7);
    expect(await choose(scene, 1, 7)).toMatchObject({ logins: [undefined], kind: 'login_taken' });
  });

  it("asks for a repeat if there was no time to read whose a caller's login is", async () => {
    const scene = new Scene();
    scene.mayRead = () => false;
    expect(await choose(scene, 1, 7)).toMatchObject({ ...UNAVAILABLE, logins: [undefined] });
  });
});
