import { createHmac } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { DatabaseFailure, type Table } from '../../../lib/aws/dynamodb.ts';
import { registrationKey } from '../../../lib/records/registrations.ts';
import {
  CODE_VALID_MINUTES,
  type CodeBinding,
  type GuessOutcome,
  MOST_GUESSES,
  makeCode,
  type SealedCode,
  sealCode,
  verifyCode,
} from '../../../lib/secrets/one-time-code.ts';
import { type Pepper, PepperMalformed, parsePepper } from '../../../lib/secrets/pepper.ts';
import { type TestDatabase, testDatabase } from '../../support/database.ts';
import { type Choose, everyOrder, interleave } from '../../support/interleave.ts';

const NOW = Date.UTC(2026, 0, 1, 12);
const VALID_MS = CODE_VALID_MINUTES * 60_000;
const signal = new AbortController().signal;

function pepperOf(current: string, ...versions: string[]): Pepper {
  return parsePepper(JSON.stringify({ current, ...Object.fromEntries(versions.map((v) => [v, `${v}-`.repeat(20)])) }));
}
const pepper = pepperOf('1', '1');

const binding: CodeBinding = { registrationId: 'r-1', channel: 'email', address: 'ann@example.com' };
const key = registrationKey('email', 'ann@example.com');

let database: TestDatabase;
let registrations: Table;
const closes: (() => Promise<void>)[] = [];

beforeAll(async () => {
  database = await testDatabase((close) => closes.push(close));
  registrations = database.tables.registrations;
});
afterAll(() => Promise.all(closes.map((close) => close())));

/** Keeps a registration as the use case does, with as much of it as matters here. */
async function keep(code: SealedCode | undefined, of: Partial<CodeBinding> = {}): Promise<void> {
  const { registrationId, channel, address } = { ...binding, ...of };
  await registrations.put({ ...key, registration_id: registrationId, otp_type: channel, address, code }, signal);
}

function guess(text: string, table = registrations, at = NOW, secrets = pepper): Promise<GuessOutcome> {
  return verifyCode(table, key, text, secrets, at, signal);
}

describe('A one-time password', () => {
  it('is six digits, each of them equally likely in every place', () => {
    const codes = Array.from({ length: 60_000 }, makeCode);
    expect(codes.every((code) => /^\d{6}$/.test(code))).toBe(true);
    for (let place = 0; place < 6; place += 1) {
      const counts = Array.from({ length: 10 }, () => 0);
      for (const code of codes) {
        const digit = Number(code[place]);
        counts[digit] = (counts[digit] ?? 0) + 1;
      }
      // Chi-squared with 9 degrees of freedom: a uniform source is above 50 once in about 10 million tries.
      const expected = codes.length / 10;
      const chiSquared = counts.reduce((sum, count) => sum + (count - expected) ** 2 / expected, 0);
      expect(chiSquared, `place ${place}: ${counts.join(' ')}`).toBeLessThan(50);
    }
  });

  it('is another one each time', () => {
    // Of 1,000 draws from a million about half a pair is alike; 20 pairs come once in more than 10^20 tries.
    expect(new Set(Array.from({ length: 1_000 }, makeCode)).size).toBeGreaterThan(980);
  });
});

describe('The pepper secret', () => {
  it('names the key that new codes are sealed with, and holds the older ones', () => {
    const two = pepperOf('2', '1', '2', '3');
    expect(two.version).toBe('2');
    expect(two.keys).toEqual(['2-', '1-', '3-'].map((text) => text.repeat(20)));
    expect(two.key('1')).toBe('1-'.repeat(20));
    expect(two.key('4')).toBeUndefined();
    expect(two.key('current')).toBeUndefined();
    expect(two.key('constructor')).toBeUndefined();
  });

  it.each([
    ['no JSON', 'a secret that is no JSON'],
    ['no object', '"a secret that is no object"'],
    ['a list', '["a secret that is a list"]'],
    ['without `current`', JSON.stringify({ 1: 'secret'.repeat(10) })],
    ['without the version it names', JSON.stringify({ current: '2', 1: 'secret'.repeat(10) })],
    ['with itself as the version', JSON.stringify({ current: 'current' })],
    ['with a short key', JSON.stringify({ current: '1', 1: 'secret'.repeat(10), 2: 'secret' })],
    ['with a key that is no text', JSON.stringify({ current: '1', 1: 'secret'.repeat(10), 2: { secret: 1 } })],
  ])('is refused when it is %s, and the error does not quote it', (_, text) => {
    const refusal = (() => {
      try {
        return parsePepper(text);
      } catch (error) {
        return error;
      }
    })();
    expect(refusal).toBeInstanceOf(PepperMalformed);
    expect(String((refusal as Error).stack)).not.toMatch(/secret(secret| that)/);
    expect((refusal as Error).cause).toBeUndefined();
  });
});

describe('A sealed code', () => {
  it('is an HMAC-SHA-256 under the current key over registration, channel, address and code', () => {
    const sealed = sealCode('012345', binding, pepper, NOW);
    const hmac = createHmac('sha256', '1-'.repeat(20)).update('code\n["r-1","email","ann@example.com","012345"]');
    expect(sealed).toEqual({
      pepper_version: '1',
      hmac: hmac.digest('base64url'),
      expires_at_ms: NOW + VALID_MS,
      guesses: 0,
    });
  });

  it('verifies the right guess, once', async () => {
    await keep(sealCode('012345', binding, pepper, NOW));
    expect(await guess('012345')).toBe('right');
    expect(await guess('012345')).toBe('not_found');
  });

  it.each(['012346', '12345', '0123450', '', '０１２３４５', '012345 '])('does not verify %j', async (text) => {
    await keep(sealCode('012345', binding, pepper, NOW));
    expect(await guess(text)).toBe('wrong');
    expect(await guess('012345')).toBe('right');
  });

  it.each<[string, Partial<CodeBinding>]>([
    ['registration', { registrationId: 'r-2' }],
    ['channel', { channel: 'sms' }],
    ['address', { address: 'bob@example.com' }],
  ])('is of no use with another %s', async (_, other) => {
    await keep(sealCode('012345', binding, pepper, NOW), other);
    expect(await guess('012345')).toBe('wrong');
  });

  it('can be guessed five times', async () => {
    await keep(sealCode('012345', binding, pepper, NOW));
    for (let i = 0; i < MOST_GUESSES; i += 1) expect(await guess('999999')).toBe('wrong');
    expect(await guess('999999')).toBe('no_guesses_left');
    expect(await guess('012345')).toBe('no_guesses_left');
  });

  it('may be guessed right the fifth time', async () => {
    await keep(sealCode('012345', binding, pepper, NOW));
    for (let i = 1; i < MOST_GUESSES; i += 1) await guess('999999');
    expect(await guess('012345')).toBe('right');
  });

  it('expires after ten minutes', async () => {
    await keep(sealCode('012345', binding, pepper, NOW));
    expect(await guess('012345', registrations, NOW + VALID_MS)).toBe('expired');
    expect(await guess('012345', registrations, NOW + VALID_MS - 1)).toBe('right');
  });

  it('is replaced by the next one, whose guesses begin anew', async () => {
    await keep(sealCode('012345', binding, pepper, NOW));
    for (let i = 0; i < MOST_GUESSES; i += 1) await guess('999999');
    const next = { ...binding, registrationId: 'r-2' };
    await keep(sealCode('543210', next, pepper, NOW), next);
    expect(await guess('012345')).toBe('wrong');
    expect(await guess('543210')).toBe('right');
  });

  it('of the old key verifies after another key became current', async () => {
    await keep(sealCode('012345', binding, pepperOf('1', '1'), NOW));
    expect(await guess('012345', registrations, NOW, pepperOf('2', '1', '2'))).toBe('right');
  });

  it('is expired when its key has gone', async () => {
    await keep(sealCode('012345', binding, pepperOf('1', '1'), NOW));
    expect(await guess('012345', registrations, NOW, pepperOf('2', '2'))).toBe('expired');
  });

  it('is not found where no registration is, and where a registration has none', async () => {
    expect(await verifyCode(registrations, { pk: 'email#nobody' }, '012345', pepper, NOW, signal)).toBe('not_found');
    await keep(undefined);
    expect(await guess('012345')).toBe('not_found');
  });

  it('is not compared when the guess cannot be counted', async () => {
    await keep(sealCode('012345', binding, pepper, NOW));
    const update = () => Promise.reject(new DatabaseFailure('InternalServerError'));
    await expect(guess('012345', { ...registrations, update })).rejects.toThrow(DatabaseFailure);
    expect(await guess('012345')).toBe('right');
  });

  it('is right although the answer to its use was lost and the write repeated', async () => {
    await keep(sealCode('012345', binding, pepper, NOW));
    const repeating: Table = {
      ...registrations,
      update: async (...args) => {
        await registrations.update(...args);
        return registrations.update(...args);
      },
    };
    expect(await guess('012345', repeating)).toBe('right');
    expect(await guess('012345')).toBe('not_found');
  });

  it('is compared five times at most when fifty guesses come at once', async () => {
    await keep(sealCode('012345', binding, pepper, NOW));
    const outcomes = await Promise.all(Array.from({ length: 50 }, () => guess('999999')));
    expect(outcomes.filter((outcome) => outcome === 'wrong')).toHaveLength(MOST_GUESSES);
    expect(outcomes.filter((outcome) => outcome === 'no_guesses_left')).toHaveLength(50 - MOST_GUESSES);
  });
});

describe('Of guesses that race, in every order that the database can work on them,', () => {
  let sealed: SealedCode;
  beforeEach(() => {
    sealed = sealCode('012345', binding, pepper, NOW);
  });

  async function race(guesses: string[], choose: Choose, more: ((table: Table) => Promise<void>)[] = []) {
    const actors = guesses.map((text) => (table: Table) => guess(text, table) as Promise<GuessOutcome | undefined>);
    const others = more.map((work) => async (table: Table) => {
      await work(table);
      return undefined;
    });
    const outcomes = await interleave(registrations, [...actors, ...others], choose);
    return outcomes.filter((outcome) => outcome !== undefined);
  }

  it('two right ones: exactly one wins', async () => {
    const orders = await everyOrder(async (choose) => {
      await keep(sealed);
      expect((await race(['012345', '012345'], choose)).toSorted()).toEqual(['not_found', 'right']);
    });
    // Two calls of the winner and three or two of the other, in all their orders.
    expect(orders).toBeGreaterThanOrEqual(6);
  });

  it('two right ones where one guess is left: the counted one wins', async () => {
    await everyOrder(async (choose) => {
      await keep({ ...sealed, guesses: MOST_GUESSES - 1 });
      const [lost, won] = (await race(['012345', '012345'], choose)).toSorted();
      expect(won).toBe('right');
      expect(['no_guesses_left', 'not_found']).toContain(lost);
    });
  });

  it('a right and a wrong one: the right one wins', async () => {
    await everyOrder(async (choose) => {
      await keep(sealed);
      const [right, wrong] = await race(['012345', '999999'], choose);
      expect(right).toBe('right');
      expect(['wrong', 'not_found']).toContain(wrong);
    });
  });

  it('two wrong ones where one guess is left: one is compared', async () => {
    await everyOrder(async (choose) => {
      await keep({ ...sealed, guesses: MOST_GUESSES - 1 });
      expect((await race(['888888', '999999'], choose)).toSorted()).toEqual(['no_guesses_left', 'wrong']);
      expect(await guess('012345')).toBe('no_guesses_left');
    });
  });

  it('three where two are left: two are compared', async () => {
    const orders = await everyOrder(async (choose) => {
      await keep({ ...sealed, guesses: MOST_GUESSES - 2 });
      const outcomes = await race(['777777', '888888', '999999'], choose);
      expect(outcomes.toSorted()).toEqual(['no_guesses_left', 'wrong', 'wrong']);
    });
    expect(orders).toBeGreaterThanOrEqual(6);
  });

  it('three right ones: exactly one wins', async () => {
    await everyOrder(async (choose) => {
      await keep(sealed);
      const outcomes = await race(['012345', '012345', '012345'], choose);
      expect(outcomes.filter((outcome) => outcome === 'right')).toHaveLength(1);
      expect(outcomes.filter((outcome) => outcome === 'not_found')).toHaveLength(2);
    });
  });

  it('a right one and a new request: the new code is never used up by the old', async () => {
    const next = { ...binding, registrationId: 'r-2' };
    const replacement = sealCode('543210', next, pepper, NOW);
    const seen = new Set<GuessOutcome>();
    await everyOrder(async (choose) => {
      await keep(sealed);
      const record = { ...key, registration_id: 'r-2', otp_type: 'email', address: binding.address, code: replacement };
      const [outcome] = await race(['012345'], choose, [async (table) => void (await table.put(record, signal))]);
      if (outcome !== undefined) seen.add(outcome);
      expect(await guess('543210')).toBe('right');
    });
    // Before it, in the middle of it, after it.
    expect([...seen].toSorted()).toEqual(['not_found', 'right', 'wrong']);
  });
});
