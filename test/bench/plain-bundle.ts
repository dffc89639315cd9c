import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { type Bundle, ENTRY_FILE } from '../../infra/bundle.ts';

/**
 * Bundles a file as CDK's `NodejsFunction` does for an ES module that is minified and has the SDK in it: all in one file,
 * with nothing left out.
 * @param entry its path in the project
 */
export async function plainBundle(entry: string, outdir: string): Promise<Pick<Bundle, 'startUpBytes' | 'totalBytes'>> {
  const outfile = join(outdir, ENTRY_FILE);
  const { metafile } = await build({
    absWorkingDir: fileURLToPath(new URL('../..', import.meta.url)),
    entryPoints: [entry],
    outfile,
    bundle: true,
    format: 'esm',
    platform: 'node',
    target: 'node24',
    mainFields: ['module', 'main'],
    banner: { js: "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);" },
    minify: true,
    sourcemap: 'linked',
    sourcesContent: false,
    metafile: true,
    logLevel: 'warning',
  });
  const sizes = Object.entries(metafile.outputs).map(([path, { bytes }]) => (path.endsWith('.map') ? 0 : bytes));
  const bytes = sizes.reduce((sum, size) => sum + size, 0);
  return { startUpBytes: bytes, totalBytes: bytes };
}
