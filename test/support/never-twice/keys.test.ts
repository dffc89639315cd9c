import { describe, expect, it } from 'vitest';
import { noteUse, type Used, use } from './keys.ts';

const KEPT_MS = 1_000;
const FIRST = { operation_id: '1', lease: 'a', revision: 0, state: 'running' };
const DONE = { ...FIRST, revision: 2, state: 'finished' };
const SECOND = { operation_id: '2', lease: 'b', revision: 0, state: 'running' };

/** A key with which the work was done at the time 0. */
function aKey(): Used {
  const key: Used = { keptUntil: 0, uses: 0 };
  use(key, 0, KEPT_MS);
  noteUse(key, { at: 0, kept: undefined }, { at: 10, kept: DONE }, KEPT_MS);
  return key;
}

describe('A key', () => {
  it('is kept from the last try on that did something', () => {
    const key = aKey();
    expect(use(key, 990, KEPT_MS)).toBe(false);
    noteUse(key, { at: 990, kept: FIRST }, { at: 995, kept: DONE }, KEPT_MS);
    expect(use(key, 1_985, KEPT_MS)).toBe(false);
    expect(use(key, 1_990, KEPT_MS)).toBe(true);
    expect(key.uses).toBe(2);
  });

  it('is not kept longer for a try that did nothing, because it was killed or answered at once', () => {
    const key = aKey();
    use(key, 990, KEPT_MS);
    noteUse(key, { at: 990, kept: DONE }, { at: 995, kept: DONE }, KEPT_MS);
    expect(use(key, 1_000, KEPT_MS)).toBe(true);
  });

  it('may be forgotten while a try is on its way, and is used anew then', () => {
    const key = aKey();
    use(key, 990, KEPT_MS);
    noteUse(key, { at: 990, kept: DONE }, { at: 1_010, kept: SECOND }, KEPT_MS);
    expect(key.uses).toBe(2);
    expect(use(key, 1_900, KEPT_MS)).toBe(false);
  });

  it('that is forgotten before its time is not used anew: the second account is one too many', () => {
    const key = aKey();
    use(key, 500, KEPT_MS);
    noteUse(key, { at: 500, kept: DONE }, { at: 510, kept: SECOND }, KEPT_MS);
    expect(key.uses).toBe(1);
  });
});
