import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { parseSync } from 'oxc-parser';

const SOURCES = ['functions/**/*.ts', 'lib/**/*.ts', 'infra/**/*.ts', 'test/**/*.ts'];
/** It loads the functions by paths that it makes. */
const SERVICE = 'infra/local/service.ts';
/** It bundles those of accounts, and processes of the tests run the bundles. */
const BUNDLES = 'test/support/bundles.ts';
/** Modules that take seconds to start. */
const HEAVY = [SERVICE, BUNDLES, 'infra/bundle.ts'];
/**
 * Browsers, histories and CloudFormation's rules take minutes, and a bundle is tested for its size and its packages.
 */
const NOT_ASKED = /^test\/infra\/(bundle|cloudformation-rules|local\/[\w-]+)\.test|histories|never-twice/;

/** The subjects of tests that do not mirror the tree. */
const MIRRORS: Readonly<Record<string, string>> = { 'test/specification/fields.test.ts': 'lib/validators/fields' };

/** The files of tests that reach a file by their imports. */
export interface Related {
  /** Those that start nothing, the nearest first. */
  light: string[];
  /** Those that start the service or bundled functions, the nearest first. */
  heavy: string[];
}

/** Reads who imports whom. @returns the tests that are related to a file */
export function relatedTests(root: string): (path: string) => Related {
  const paths = SOURCES.flatMap((pattern) => globSync(pattern, { cwd: root }));
  const imports = new Map(paths.map((path) => [path, importsOf(root, path)]));
  const functions = paths.filter((path) => /^functions\/[\w-]+\.ts$/.test(path));
  imports.get(SERVICE)?.push(...functions);
  imports.get(BUNDLES)?.push(...functions.filter((path) => /create|settle/.test(path)));
  const tests = paths.filter((path) => path.endsWith('.test.ts') && !NOT_ASKED.test(path));
  const reached = new Map(tests.map((test) => [test, distances(imports, test)]));

  return (path) => {
    const related = tests
      .flatMap((test) => {
        const reach = reached.get(test);
        const distance = reach?.get(path);
        if (reach === undefined || distance === undefined) return [];
        const isHeavy = HEAVY.some((one) => reach.has(one));
        return [{ test, distance, reach: reach.size, shared: sharedFolders(path, test), isHeavy }];
      })
      // Tests of the infrastructure come last. Of two tests at the same distance, the one that loads less comes first.
      .sort((a, b) => b.shared - a.shared || rank(a) - rank(b) || a.distance - b.distance || a.reach - b.reach);
    const named = (heavy: boolean) => related.filter(({ isHeavy }) => isHeavy === heavy).map(({ test }) => test);
    return { light: named(false), heavy: named(true) };
  };
}

const rank = ({ test }: { test: string }) => Number(test.startsWith('test/infra/'));

/** The distance of a test from the file's mirrored path: its own test is nearest. */
function sharedFolders(path: string, test: string): number {
  const names = path.replace(/\.ts$/, '').split('/');
  const mirrored = (MIRRORS[test] ?? test.replace(/^test\/|\.test\.ts$/g, '')).split('/');
  const different = names.findIndex((name, index) => name !== mirrored[index]);
  return different === -1 ? names.length : different;
}

function importsOf(root: string, path: string): string[] {
  const source = readFileSync(join(root, path), 'utf8');
  const { staticImports, staticExports, dynamicImports } = parseSync(path, source).module;
  const values = <T extends { isType: boolean }>(entries: readonly T[]) =>
    entries.length === 0 || entries.some(({ isType }) => !isType);
  const requests = [
    ...staticImports.filter(({ entries }) => values(entries)).map(({ moduleRequest }) => moduleRequest.value),
    ...staticExports.flatMap(({ entries }) => entries.flatMap(({ moduleRequest }) => moduleRequest?.value ?? [])),
    ...dynamicImports.map(({ moduleRequest: { start, end } }) => source.slice(start + 1, end - 1)),
  ];
  return requests
    .filter((request) => request.startsWith('.'))
    .map((request) => normalize(join(dirname(path), request)))
    .filter((target) => existsSync(join(root, target)));
}

/** How many imports lie between a file and each of those that it reaches. */
function distances(imports: ReadonlyMap<string, readonly string[]>, from: string): Map<string, number> {
  const found = new Map([[from, 0]]);
  // Iterating a map includes entries that are added meanwhile.
  for (const [path, distance] of found) {
    for (const next of imports.get(path) ?? []) if (!found.has(next)) found.set(next, distance + 1);
  }
  return found;
}
