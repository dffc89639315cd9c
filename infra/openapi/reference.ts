import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { outliveReader } from '../closed-output.ts';

const CLI = fileURLToPath(import.meta.resolve('@redocly/cli/bin/cli.js'));
const TEMPLATE = fileURLToPath(new URL('./reference.hbs', import.meta.url));
const CONFIG = fileURLToPath(new URL('./redocly.yaml', import.meta.url));
/** The pictures that the page would load from the renderer's maker. */
const LOGOS = /https:\/\/cdn\.redoc\.ly\/redoc\/logo-mini(-full)?\.svg/g;

/**
 * Renders an OpenAPI document as one HTML page, which calls no other host.
 * @param document as JSON
 * @throws Error if the document cannot be rendered
 */
export async function renderReference(document: string): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'reference-'));
  try {
    const [input, output] = [join(folder, 'openapi.json'), join(folder, 'reference.html')];
    await writeFile(input, document);
    const options = ['--config', CONFIG, '--template', TEMPLATE, '--inlineBundle', '--output', output];
    await promisify(execFile)(process.execPath, [CLI, 'build-docs', input, ...options], {
      env: { ...process.env, REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' },
    });
    return (await readFile(output, 'utf8')).replaceAll(LOGOS, 'data:,');
  } finally {
    await rm(folder, { recursive: true });
  }
}

if (import.meta.main) {
  outliveReader();
  const file = new URL('../../.local/reference.html', import.meta.url);
  await mkdir(new URL('.', file), { recursive: true });
  await writeFile(file, await renderReference(await readFile(new URL('../openapi.json', import.meta.url), 'utf8')));
  console.log(fileURLToPath(file));
}
