import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { rightsCache, sourcesHash } from '../../../../infra/local/rights/stack-rights.ts';
import type { StackRights } from '../../../../infra/local/rights/synthesis.ts';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'rights-'));
});
afterEach(() => rm(folder, { recursive: true }));

/** The cache of a process that finds these sources. */
function newProcess(sources: string) {
  const synthesized: unknown[] = [];
  const cache = rightsCache(
    folder,
    () => sources,
    (settings): StackRights => {
      synthesized.push(settings);
      return { types: { From: sources }, functions: {} };
    },
  );
  return { cache, synthesized };
}

describe('The rights of a stack', () => {
  it('are synthesized once for each settings, and not again by the next process', async () => {
    const [first, second] = [newProcess('a'), newProcess('a')];
    for (const stage of ['test', 'prod', 'test']) await first.cache({ stage });
    expect(first.synthesized).toEqual([{ stage: 'test' }, { stage: 'prod' }]);
    expect(await second.cache({ stage: 'test' })).toEqual({ types: { From: 'a' }, functions: {} });
    expect(second.synthesized).toEqual([]);
  });

  it('are synthesized again after a source has changed', async () => {
    await newProcess('a').cache({});
    const changed = newProcess('b');
    expect(await changed.cache({})).toEqual({ types: { From: 'b' }, functions: {} });
    const changedBack = newProcess('a');
    await changedBack.cache({});
    expect(changedBack.synthesized).toHaveLength(1);
  });

  it('are synthesized if the file cannot be read', async () => {
    await newProcess('a').cache({});
    const [file = ''] = await readdir(folder);
    await writeFile(join(folder, file), '{"sources":"a","rig');
    const next = newProcess('a');
    await next.cache({});
    expect(next.synthesized).toHaveLength(1);
  });

  it('are known by a hash of all sources', () => {
    expect(sourcesHash()).toMatch(/^[0-9a-f]{64}$/);
  });
});
