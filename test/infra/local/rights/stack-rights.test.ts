import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { localResources, localSettings } from '../../../../infra/local/local-settings.ts';
import { bucketArn } from '../../../../infra/local/rights/arn.ts';
import { cachedRights, functionRights } from '../../../../infra/local/rights/stack-rights.ts';
import { temporaryFolder } from '../../../support/temporary-folder.ts';

it('The rights of a stack are synthesized again if a source has changed, or if their file cannot be read', async () => {
  const folder = temporaryFolder('rights');
  const path = join(folder, 'new', 'rights.json');
  const synthesized: string[] = [];
  const find = (sources: string) =>
    cachedRights(path, sources, async () => {
      synthesized.push(sources);
      return { types: { From: sources }, functions: {} };
    });
  for (const sources of ['a', 'a', 'b', 'a']) {
    expect(await find(sources)).toEqual({ types: { From: sources }, functions: {} });
  }
  await writeFile(path, '{"sources":"a","rig');
  await find('a');
  expect(synthesized).toEqual(['a', 'b', 'a', 'a']);
});

it('The bucket of documents refuses the functions that use none, whatever their own policies allow', async () => {
  const settings = localSettings({});
  const resources = localResources(settings);
  const rights = await functionRights(settings, resources);
  const need = { action: 's3:GetObject', resource: `${bucketArn(resources.DOCUMENTS_BUCKET ?? '')}/registrations/1/1` };
  const refused = Object.entries(rights).filter(([, own]) => own.some((one) => one.denies && one.concerns(need)));
  expect(refused.map(([name]) => name).toSorted()).toEqual([
    'create-tp4-account',
    'create-tp5-account',
    'settle-operations',
  ]);
});
