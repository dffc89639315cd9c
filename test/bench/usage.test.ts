import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';

const run = promisify(execFile);

it.each(['bench', 'never-twice'])('npm run %s -- --help says how it is used', { timeout: 60_000 }, async (name) => {
  const { stdout } = await run(process.execPath, [fileURLToPath(new URL(`${name}.ts`, import.meta.url)), '--help']);
  expect(stdout).toContain(`npm run ${name} -- [`);
});
