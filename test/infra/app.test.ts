import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';

const ROOT = new URL('../..', import.meta.url).pathname;
/** The command reports errors itself, except when it only lists environments to bootstrap. */
const AS_CDK = JSON.stringify({ '@aws-cdk/core:failSynthOnValidationErrors': false });
/** The rules of CloudFormation take seconds to load, and this stack has nothing that they are about. */
const WITHOUT_RULES = { CDK_VALIDATION: 'false' };

it('Bootstrapping needs no setting: without one there is a stack that names the missing ones and cannot be deployed', () => {
  const out = mkdtempSync(join(tmpdir(), 'app-'));
  execFileSync(process.execPath, ['infra/app.ts'], {
    cwd: ROOT,
    env: { PATH: process.env.PATH, CDK_OUTDIR: out, CDK_CONTEXT_JSON: AS_CDK, ...WITHOUT_RULES },
    stdio: 'pipe',
  });
  const metadata = JSON.parse(readFileSync(join(out, 'settings-needed.metadata.json'), 'utf8')) as object;
  expect(Object.values(metadata).flat()).toContainEqual(
    expect.objectContaining({ type: 'aws:cdk:error', data: expect.stringContaining('senderAddress: is required') }),
  );
  expect(existsSync(join(out, 'broker-api-prod.template.json'))).toBe(false);
});
