import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { builtinModules } from 'node:module';
import { basename, dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build, type ImportKind, type Metafile, type Plugin } from 'esbuild';
import { FUNCTION_NAMES, type FunctionName } from './functions.ts';

/**
 * The only bundler of functions. CDK runs it at synthesis, CI and the benchmarks run it directly, and all get the same
 * bytes in any folder.
 */

const ROOT = fileURLToPath(new URL('..', import.meta.url));

/** The file that Lambda loads; its export is `handler`. */
export const ENTRY_FILE = 'index.mjs';

export type Bundle = ReturnType<typeof describe>;

/**
 * Bundles a function with all its packages, the SDK's clients included, as ES modules for Node 24 on Lambda. Code that
 * is loaded with `import()` becomes a separate chunk, which a cold start does not read.
 * @param outdir is recreated
 */
export function bundle(name: FunctionName, outdir: string): Promise<Bundle> {
  return bundleFile(`functions/${name}.ts`, outdir);
}

/**
 * Bundles any other file in the same way, for comparison.
 * @param entry its path in the project
 * @param outdir is recreated
 */
export async function bundleFile(entry: string, outdir: string): Promise<Bundle> {
  const { outputFiles, metafile } = await build({
    absWorkingDir: ROOT,
    entryPoints: [{ in: entry, out: 'index' }],
    // Nothing is written there: paths in the source maps are relative to it, so that a stack trace says `lib/….ts`.
    outdir: ROOT,
    write: false,
    bundle: true,
    splitting: true,
    chunkNames: 'chunks/[name]-[hash]',
    outExtension: { '.js': '.mjs' },
    format: 'esm',
    platform: 'node',
    target: 'node24',
    // Packages' ES modules, not their CommonJS: smaller by a third, and free of `require`.
    mainFields: ['module', 'main'],
    // Colors for a terminal.
    external: ['supports-color'],
    minify: true,
    // Messages in other scripts unescaped: escapes take six bytes a character.
    charset: 'utf8',
    legalComments: 'none',
    plugins: [builtinsByCall, sdkOnLambda],
    // Read when an error is logged: `--enable-source-maps` makes a cold start longer by a quarter.
    sourcemap: 'linked',
    sourcesContent: false,
    metafile: true,
    logLevel: 'warning',
  });
  rmSync(outdir, { recursive: true, force: true });
  for (const { path, contents } of outputFiles) {
    const file = join(outdir, path.slice(ROOT.length));
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, contents);
  }
  return describe(metafile);
}

/** Imports that get the module itself: esbuild reads the used members. */
const WHOLE: readonly ImportKind[] = ['require-call', 'dynamic-import'];

/**
 * Node's own modules, loaded by a call instead of an import, with only the members that the code uses.
 *
 * Node reads every member of an imported built-in module. Some load more: one of `node:http` loads all of `fetch`, a
 * tenth of a cold start. Packages without ES modules use `require`, which an ES module on Lambda does not have.
 */
const builtinsByCall: Plugin = {
  name: 'builtins-by-call',
  setup({ onResolve, onLoad }) {
    const namespace = 'node-builtin';
    const filter = new RegExp(`^(node:)?(${builtinModules.join('|')})$`);
    onResolve({ filter }, ({ path, kind }) => ({
      path,
      namespace,
      // The members of `process` depend on how this file was started, and would change the bytes.
      suffix: WHOLE.includes(kind) || /^(node:)?process$/.test(path) ? '?whole' : '',
      sideEffects: false,
    }));
    onLoad({ filter, namespace }, ({ path, suffix }) => {
      const call = `process.getBuiltinModule(${JSON.stringify(path)})`;
      if (suffix === '?whole') return { contents: `module.exports = ${call};` };
      const members = Object.keys(process.getBuiltinModule(path) ?? {}).filter((name) => name !== 'default');
      const all = members.map((name) => `export const ${name} = /* @__PURE__ */ (() => builtin.${name})();`);
      return { contents: [`const builtin = /* @__PURE__ */ ${call};`, 'export default builtin;', ...all].join('\n') };
    });
  },
};

/** Leaves out code of the SDK that is not needed on Lambda. */
const sdkOnLambda: Plugin = {
  name: 'sdk-on-lambda',
  setup({ onLoad }) {
    // On Lambda, credentials are only in the environment.
    onLoad({ filter: /\/@aws-sdk\/credential-provider-node\/dist-es\/index\.js$/ }, () => ({
      contents: "export { fromEnv as defaultProvider } from '@aws-sdk/credential-provider-env';",
    }));
    // Hashes in JavaScript, for a Node without its own.
    onLoad(
      { filter: /\/@smithy\/core\/dist-es\/submodules\/checksum\/\w+\/(Md5|Sha256|Crc32)Js\.js$/ },
      ({ path }) => ({
        contents: `export const ${basename(path, '.js')} = undefined;`,
      }),
    );
    // A client reads only the version of its package.
    onLoad({ filter: /\/@aws-sdk\/client-[\w-]+\/package\.json$/ }, ({ path }) => {
      const { version } = JSON.parse(readFileSync(path, 'utf8')) as { version: string };
      return { contents: JSON.stringify({ version }), loader: 'json' };
    });
  },
};

function describe({ outputs }: Metafile) {
  const startUp = new Set<string>();
  const follow = (path: string) => {
    if (startUp.has(path)) return;
    startUp.add(path);
    for (const { path: next, kind } of outputs[path]?.imports ?? []) {
      if (kind === 'import-statement' && outputs[next] !== undefined) follow(next);
    }
  };
  follow(ENTRY_FILE);
  const bytesOf = (paths: string[]) => paths.reduce((sum, path) => sum + (outputs[path]?.bytes ?? 0), 0);
  const inputsOf = (paths: Iterable<string>) =>
    [...new Set([...paths].flatMap((path) => Object.keys(outputs[path]?.inputs ?? {})))].sort();
  return {
    /** What Lambda loads at cold start: the entry and every chunk that it imports outright. */
    startUpFiles: [...startUp].sort(),
    /** Their bytes, minified, without source maps. */
    startUpBytes: bytesOf([...startUp]),
    totalBytes: bytesOf(Object.keys(outputs).filter((path) => !path.endsWith('.map'))),
    /** Every bundled file of ours or of a package, by its path in the project. */
    inputs: inputsOf(Object.keys(outputs)),
    startUpInputs: inputsOf(startUp),
  };
}

const USAGE = `node infra/bundle.ts <function|all> <folder>
Functions: ${FUNCTION_NAMES.join(', ')}. With "all" each gets its own folder below the given one.`;

async function main([wanted, folder]: string[]): Promise<void> {
  const names = FUNCTION_NAMES.filter((name) => wanted === 'all' || wanted === name);
  if (names.length === 0 || folder === undefined) {
    process.stderr.write(`${USAGE}\n`);
    process.exitCode = 2;
    return;
  }
  for (const name of names) {
    const outdir = resolve(wanted === 'all' ? join(folder, name) : folder);
    if (existsSync(outdir) && readdirSync(outdir).length > 0 && !existsSync(join(outdir, ENTRY_FILE))) {
      process.stderr.write(`${outdir} is not empty, and holds no bundle.\n`);
      process.exitCode = 1;
      return;
    }
    const { startUpBytes, startUpFiles } = await bundle(name, outdir);
    process.stdout.write(
      `${name}: ${(startUpBytes / 1_000).toFixed(1)} kB at start-up in ${startUpFiles.length} files\n`,
    );
  }
}

if (import.meta.main) await main(process.argv.slice(2));
