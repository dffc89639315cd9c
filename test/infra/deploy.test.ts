import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { deploy } from '../../infra/deploy.ts';
import { inBareApp, type resources, synthesize } from '../support/stack.ts';

/** An account with one stack, and a `cdk` that leaves the stack in this state. */
async function deployed(status: string | undefined, code: number, args: string[] = [], context: object = {}) {
  const cdkJson = join(mkdtempSync(join(tmpdir(), 'deploy-')), 'cdk.json');
  writeFileSync(cdkJson, JSON.stringify({ context: { senderAddress: 'no-reply@acme.example', ...context } }));
  const calls: string[] = [];
  const ended = await deploy(args, cdkJson, {
    cdk: async (words) => {
      calls.push(`cdk ${words.join(' ')}`);
      return code;
    },
    status: async () => status,
    protect: async (stack) => void calls.push(`protect ${stack}`),
    tell: () => {},
  });
  return { ended, calls };
}

describe('npm run deploy', () => {
  it('protects the stack from deletion after its first success', async () => {
    const { ended, calls } = await deployed('CREATE_COMPLETE', 0);
    expect(calls).toEqual(['cdk deploy', 'protect broker-api-prod']);
    expect(ended).toBe(0);
  });

  it.each(['ROLLBACK_COMPLETE', 'ROLLBACK_FAILED', 'CREATE_FAILED', 'REVIEW_IN_PROGRESS', undefined])(
    'leaves a first deployment that failed (%s) unprotected, so that the next one can replace it',
    async (status) => {
      const { ended, calls } = await deployed(status, 1);
      expect([calls, ended]).toEqual([['cdk deploy'], 1]);
    },
  );

  it.each(['UPDATE_ROLLBACK_COMPLETE', 'UPDATE_ROLLBACK_FAILED', 'UPDATE_COMPLETE'])(
    'protects the stack again after an update that failed (%s)',
    async (status) => {
      const { ended, calls } = await deployed(status, 1);
      expect([calls, ended]).toEqual([['cdk deploy', 'protect broker-api-prod'], 1]);
    },
  );

  it('deploys the stage of the command line, and protects no stage whose data is not retained', async () => {
    const { calls } = await deployed('CREATE_COMPLETE', 0, ['-c', 'stage=test', '--context', 'brand.name=Acme']);
    expect(calls).toEqual(['cdk deploy -c stage=test --context brand.name=Acme', 'protect broker-api-test']);
    expect((await deployed('CREATE_COMPLETE', 0, ['-c', 'retainData=false'])).calls).toHaveLength(1);
    expect((await deployed('CREATE_COMPLETE', 0, [], { retainData: false })).calls).toHaveLength(1);
  });
});

describe('A first deployment that fails', () => {
  it('can be deleted: the stack itself asks for no protection', () => {
    for (const retainData of [true, false])
      expect(inBareApp({}, { retainData }, (stack) => stack.terminationProtection)).not.toBe(true);
  });

  it('leaves no resource with a name that the next one needs', () => {
    const retained = Object.entries(synthesize().toJSON().Resources as ReturnType<typeof resources>).filter(
      ([, { DeletionPolicy }]) => DeletionPolicy === 'Retain',
    );
    expect(retained.map(([id]) => id).filter((id) => !/CurrentVersion/.test(id))).toEqual([]);
  });
});
