import { hash } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The rights of a stack's functions, with the references of its template. */
export interface StackRights {
  /** The types of its resources, by logical id. */
  types: Readonly<Record<string, string>>;
  /** By the function's name. */
  functions: Readonly<Record<string, FunctionRights>>;
}

export interface FunctionRights {
  variables: Readonly<Record<string, unknown>>;
  statements: readonly unknown[];
}

type Settings = Readonly<Record<string, unknown>>;
type Synthesize = (settings: Settings) => StackRights | Promise<StackRights>;

interface Kept {
  /** Of everything that the rights follow from. */
  sources: string;
  rights: StackRights;
}

/**
 * Synthesizes once for each set of settings. The result is cached in memory, and in a file for processes with the same
 * sources.
 */
export function rightsCache(
  folder: string,
  sourcesOf: () => string,
  synthesize: Synthesize,
): (settings: Settings) => Promise<StackRights> {
  const known = new Map<string, Promise<StackRights>>();

  async function find(key: string, settings: Settings): Promise<StackRights> {
    const path = join(folder, `${hash('sha256', key).slice(0, 16)}.json`);
    const sources = sourcesOf();
    const kept = read(path);
    if (kept?.sources === sources) return kept.rights;
    const rights = await synthesize(settings);
    mkdirSync(folder, { recursive: true });
    // In one step: other processes may do the same.
    writeFileSync(`${path}.${process.pid}`, JSON.stringify({ sources, rights } satisfies Kept));
    renameSync(`${path}.${process.pid}`, path);
    return rights;
  }

  return (settings) => {
    const key = JSON.stringify(settings);
    const rights = known.get(key) ?? find(key, settings);
    known.set(key, rights);
    return rights;
  };
}

function read(path: string): Kept | undefined {
  try {
    return JSON.parse(readFileSync(path, 'utf8')) as Kept;
  } catch {
    return undefined;
  }
}

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));
let sources: string | undefined;

/** Changes with every source that the stack may be made of, and with the version of CDK. */
export function sourcesHash(): string {
  sources ??= hashOfSources();
  return sources;
}

function hashOfSources(): string {
  const paths = ['infra', 'lib'].flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
      .filter((name) => /\.(ts|json)$/.test(name))
      .map((name) => join(folder, name)),
  );
  return hash(
    'sha256',
    [...paths, 'package-lock.json']
      .sort()
      .map((path) => `${path}\n${readFileSync(join(ROOT, path), 'utf8')}`)
      .join('\n'),
  );
}
