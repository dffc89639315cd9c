import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { builtinModules } from 'node:module';
import { basename, dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type OutputChunk, type Plugin, rolldown } from 'rolldown';
import { outliveReader } from './closed-output.ts';
import { FUNCTION_NAMES, type FunctionName } from './functions.ts';

/**
 * The only bundler of functions. CDK runs it at synthesis, CI and the benchmarks run it directly, and all get the same
 * bytes in any folder.
 */

const ROOT = fileURLToPath(new URL('..', import.meta.url));

/** The file that Lambda loads; its export is `handler`. */
export const ENTRY_FILE = 'index.mjs';

/** How the ids of Node's own modules begin and end in a bundle. */
const BUILTIN = '\0builtin:';
const WHOLE = '?whole';

export type Bundle = ReturnType<typeof describe>;

/**
 * Bundles a function with all its packages, the SDK's clients included, as ES modules for Node 24 on Lambda. All that a
 * cold start reads is one file, because Node links each file apart. Code that is loaded with `import()` becomes a
 * separate chunk.
 * @param outdir is recreated
 */
export function bundle(name: FunctionName, outdir: string): Promise<Bundle> {
  return bundleFile(`functions/${name}.ts`, outdir);
}

/**
 * Bundles any other file in the same way, for comparison.
 * @param entry its path in the project
 * @param outdir is recreated
 * @param project the folder of another checkout of the project
 */
export async function bundleFile(entry: string, outdir: string, project = ROOT): Promise<Bundle> {
  const build = await rolldown({
    cwd: project,
    input: { index: entry },
    platform: 'node',
    // Packages' ES modules, not their CommonJS: smaller by a third, and free of `require`.
    resolve: { mainFields: ['module', 'main'] },
    // Colors for a terminal.
    external: ['supports-color'],
    // A file of lib runs nothing when it is imported (test/architecture.test.ts), so one whose exports are unused is left out.
    treeshake: { moduleSideEffects: [{ test: /[\\/]lib[\\/].*\.ts$/, sideEffects: false }] },
    plugins: [builtinsByCall, sdkOnLambda],
    onwarn({ code, message }) {
      // The operators' command, which tests bundle, loads at once what functions load later.
      if (code !== 'INEFFECTIVE_DYNAMIC_IMPORT') throw new Error(message);
    },
  });
  const { output } = await build.generate({
    // Nothing is written into this folder: paths in the source maps are relative to it, so that a stack trace says
    // `lib/….ts`.
    dir: ROOT,
    format: 'esm',
    entryFileNames: ENTRY_FILE,
    chunkFileNames: 'chunks/[name]-[hash].mjs',
    codeSplitting: { groups: [{ name: 'start', tags: ['$initial'] }] },
    minify: true,
    comments: false,
    // Read when an error is logged: `--enable-source-maps` makes a cold start longer by a quarter.
    sourcemap: true,
    sourcemapExcludeSources: true,
  });
  await build.close();
  rmSync(outdir, { recursive: true, force: true });
  for (const file of output) {
    const path = join(outdir, file.fileName);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, file.type === 'chunk' ? file.code : file.source);
  }
  return describe(output.filter((file) => file.type === 'chunk'));
}

/**
 * Node's own modules, loaded by a call instead of an import, with only the members that the code uses.
 *
 * Node reads every member of an imported built-in module. Some load more: one of `node:http` loads all of `fetch`, a
 * tenth of a cold start. Packages without ES modules use `require`, which an ES module on Lambda does not have.
 */
const builtinsByCall: Plugin = {
  name: 'builtins-by-call',
  resolveId: {
    order: 'pre',
    filter: { id: new RegExp(`^(node:)?(${builtinModules.join('|')})$`) },
    handler(id, importer, { kind }) {
      // The bundler's own helpers are loaded before all else.
      if (importer?.startsWith('\0rolldown/')) return { id, external: true };
      // A `require` and an `import()` get the whole module. The members of `process` depend on how this file was
      // started, and would change the bytes.
      const isWhole = kind !== 'import-statement' || /^(node:)?process$/.test(id);
      return { id: `${BUILTIN}${id}${isWhole ? WHOLE : ''}`, moduleSideEffects: false };
    },
  },
  load: {
    filter: { id: new RegExp(`^${BUILTIN}`) },
    handler(id) {
      const path = id.slice(BUILTIN.length).replace(WHOLE, '');
      const call = `process.getBuiltinModule(${JSON.stringify(path)})`;
      if (id.endsWith(WHOLE)) return { code: `module.exports = ${call};`, moduleType: 'js' };
      const members = Object.keys(process.getBuiltinModule(path) ?? {}).filter((name) => name !== 'default');
      const namedExports = members.map((name) => `export const ${name} = /* @__PURE__ */ (() => builtin.${name})();`);
      const code = [`const builtin = /* @__PURE__ */ ${call};`, 'export default builtin;', ...namedExports].join('\n');
      return { code, moduleType: 'js' };
    },
  },
};

/** Reads the credentials once: each command asks for them twice. */
const CREDENTIALS_OF_LAMBDA = `
  import { fromEnv } from '@aws-sdk/credential-provider-env';
  export const defaultProvider = (options) => {
    let read;
    return () => (read ??= fromEnv(options)());
  };
`;

/** Lambda has no configuration files of AWS: the next source of an option counts. The SDK makes a new error each time. */
const NO_CONFIGURATION_FILES = `
  const absent = Object.assign(new Error('There are no configuration files.'), { tryNextLink: true });
  export const fromSharedConfigFiles = () => () => Promise.reject(absent);
`;

/** Leaves out code of the SDK that is not needed on Lambda. */
const sdkOnLambda: Plugin = {
  name: 'sdk-on-lambda',
  load: {
    filter: { id: /[\\/]@(aws-sdk|smithy)[\\/]/ },
    handler(path) {
      const id = path.replaceAll('\\', '/');
      // On Lambda, credentials are only in the environment, and never change.
      if (/\/@aws-sdk\/credential-provider-node\/dist-es\/index\.js$/.test(id)) return CREDENTIALS_OF_LAMBDA;
      if (/\/node-config-provider\/fromSharedConfigFiles\.js$/.test(id)) return NO_CONFIGURATION_FILES;
      // The global `crypto` would load Node's web crypto.
      if (/\/serde\/uuid\/v4\.js$/.test(id))
        return "import { randomUUID } from 'node:crypto'; export const bindV4 = () => () => randomUUID();";
      // Bodies are texts, buffers or Node's own streams. To ask for another kind would load Node's web streams.
      if (/\/util-stream\/stream-type-check\.js$/.test(id))
        return 'export const isReadableStream = () => false, isBlob = () => false;';
      if (/\/isStreamingPayload\.js$/.test(id))
        return "import { Readable } from 'node:stream'; export const isStreamingPayload = (request) => request?.body instanceof Readable;";
      // No command of DynamoDB asks for its endpoint, but its client makes a cache for the answers.
      if (/\/@aws-sdk\/middleware-endpoint-discovery\/dist-es\/resolveEndpointDiscoveryConfig\.js$/.test(id))
        return 'export const resolveEndpointDiscoveryConfig = (config) => config;';
      // Copies the input and output of every command, for a log that no client has.
      if (/\/middleware-logger\/loggerMiddleware\.js$/.test(id))
        return 'export let loggerMiddleware, loggerMiddlewareOptions; export const getLoggerPlugin = () => ({ applyToStack() {} });';
      // Hashes in JavaScript, for a Node without its own.
      if (/\/@smithy\/core\/dist-es\/submodules\/checksum\/\w+\/(Md5|Sha256|Crc32)Js\.js$/.test(id))
        return `export const ${basename(id, '.js')} = undefined;`;
      // A client reads only the version of its package.
      if (/\/@aws-sdk\/client-[\w-]+\/package\.json$/.test(id)) {
        const { version } = JSON.parse(readFileSync(id, 'utf8')) as { version: string };
        return { code: JSON.stringify({ version }), moduleType: 'json' };
      }
      return undefined;
    },
  },
};

function describe(chunks: OutputChunk[]) {
  const byName = new Map(chunks.map((chunk) => [chunk.fileName, chunk]));
  const startUp = new Set<OutputChunk>();
  const follow = (name: string) => {
    const chunk = byName.get(name);
    if (chunk === undefined || startUp.has(chunk)) return;
    startUp.add(chunk);
    for (const next of chunk.imports) follow(next);
  };
  follow(ENTRY_FILE);
  const bytesOf = (some: Iterable<OutputChunk>) =>
    [...some].reduce((sum, { code }) => sum + Buffer.byteLength(code), 0);
  const inputsOf = (some: Iterable<OutputChunk>) =>
    [
      ...new Set(
        [...some].flatMap(({ moduleIds }) => moduleIds.map((id) => (id.startsWith(ROOT) ? relative(ROOT, id) : id))),
      ),
    ].sort();
  return {
    /** The files that Lambda loads at cold start: the entry and every chunk that it imports statically. */
    startUpFiles: [...startUp].map(({ fileName }) => fileName).sort(),
    /** The bytes of these files, minified, without source maps. */
    startUpBytes: bytesOf(startUp),
    totalBytes: bytesOf(chunks),
    /** Every bundled file of ours or of a package, by its path in the project. */
    inputs: inputsOf(chunks),
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

if (import.meta.main) {
  outliveReader();
  await main(process.argv.slice(2));
}
