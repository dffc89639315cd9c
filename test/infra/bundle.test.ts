import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { App, RemovalPolicy, Stack } from 'aws-cdk-lib';
import { RetentionDays } from 'aws-cdk-lib/aws-logs';
import { beforeAll, describe, expect, inject, it } from 'vitest';
import { type Bundle, ENTRY_FILE } from '../../infra/bundle.ts';
import { createFunction, type FunctionContext } from '../../infra/constructs/functions.ts';
import { readSettings } from '../../infra/settings.ts';
import { bundleDescription, bundleInto } from '../support/bundles.ts';
import { functionEnvironment } from '../support/function-environment.ts';
import { eventFor } from '../support/gateway-events.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const ROOT = new URL('../..', import.meta.url);
/** Of what Lambda reads at cold start, without source maps. */
const MAX_BYTES = { 'request-registration': 317_000, 'create-tp5-account': 300_000, 'create-tp4-account': 300_000 };

type MeasuredFunction = keyof typeof MAX_BYTES;
const MEASURED = Object.keys(MAX_BYTES) as MeasuredFunction[];

const folder = inject('bundles');
const bundles = {} as Record<MeasuredFunction, Bundle>;

beforeAll(async () => {
  await bundleInto(folder, ...MEASURED);
  for (const name of MEASURED) bundles[name] = await bundleDescription(folder, name);
});

/** The packages that only developers of this project need. */
function developmentPackages(): string[] {
  const lock = JSON.parse(readFileSync(new URL('package-lock.json', ROOT), 'utf8')) as {
    packages: Record<string, { dev?: boolean }>;
  };
  return Object.keys(lock.packages).filter((path) => lock.packages[path]?.dev === true);
}

/** Services that cannot be reached. */
const NOWHERE = {
  AWS_ENDPOINT_URL_SECRETS_MANAGER: 'http://127.0.0.1:1',
  AWS_ENDPOINT_URL_DYNAMODB: 'http://127.0.0.1:1',
};

/** Runs a module in a fresh Node as Lambda would, and returns all that it wrote. */
function run(script: string, environment: Record<string, string> = {}): string {
  const { stdout, stderr, status } = spawnSync(process.execPath, ['--input-type=module', '--eval', script], {
    env: { PATH: process.env.PATH, ...environment },
    encoding: 'utf8',
  });
  expect(status, stderr).toBe(0);
  return stdout + stderr;
}

const SETTINGS = { senderAddress: 'no-reply@example.com' };
const ENVIRONMENT = {
  ...functionEnvironment(SETTINGS),
  AWS_REGION: 'eu-west-1',
  AWS_ACCESS_KEY_ID: 'none',
  AWS_SECRET_ACCESS_KEY: 'none',
};

/** The output of a process that loads a function, makes a failing request, and then lists its Node modules. */
function requestIn(name: MeasuredFunction): string {
  const script = `
    const { handler } = await import(${JSON.stringify(pathToFileURL(join(folder, name, ENTRY_FILE)).href)});
    const answer = await handler(${JSON.stringify(eventFor(name))}, { getRemainingTimeInMillis: () => 20_000 });
    console.log(JSON.stringify(answer));
    console.log(process.moduleLoadList.filter((name) => name.includes('undici')).length);
  `;
  return run(script, { ...ENVIRONMENT, ...NOWHERE });
}

describe.each(MEASURED)('The bundle of %s', (name) => {
  let requested: string;
  beforeAll(() => {
    requested = requestIn(name);
  });

  it(`is at most ${MAX_BYTES[name] / 1_000} kB at start-up`, () => {
    expect(bundles[name].startUpBytes).toBeLessThanOrEqual(MAX_BYTES[name]);
  });

  it('holds this function, the service’s own code and the packages that it needs, and nothing else', () => {
    const development = developmentPackages();
    expect(development.length).toBeGreaterThan(100);
    const foreign = bundles[name].inputs.filter(
      (path) =>
        (path !== `functions/${name}.ts` && !/^(lib|node_modules)\/|^\0(builtin:|rolldown\/)/.test(path)) ||
        development.some((one) => path.startsWith(`${one}/`)),
    );
    expect(foreign).toEqual([]);
  });

  it('is loaded by Node, with a handler, and so is everything that it loads later, without the source text', () => {
    const files = readdirSync(join(folder, name), { recursive: true, encoding: 'utf8' });
    const modules = files.filter((file) => file.endsWith('.mjs'));
    expect(modules).toContain(ENTRY_FILE);
    const urls = modules.map((file) => pathToFileURL(join(folder, name, file)).href);
    const script = `
      const loaded = await Promise.all(${JSON.stringify(urls)}.map((url) => import(url)));
      console.log(loaded.filter(({ handler }) => typeof handler === 'function').length);
    `;
    expect(run(script, ENVIRONMENT).trim()).toBe('1');
    for (const map of files.filter((file) => file.endsWith('.map')))
      expect(JSON.parse(readFileSync(join(folder, name, map), 'utf8'))).not.toHaveProperty('sourcesContent');
  });

  it('does not load Node’s fetch, not even with a request', () => {
    const lines = requested.trim().split('\n');
    expect(lines.at(-1)).toBe('0');
  });

  it('names the lines of the source in the stack of a logged error', () => {
    const logged = requested
      .split('\n')
      .filter((line) => line.startsWith('{'))
      .map((line) => JSON.parse(line) as { message?: string; stack?: string[]; statusCode?: number });
    expect(logged).toContainEqual(expect.objectContaining({ statusCode: 500 }));
    const stack = logged.find(({ message }) => message === 'InternalError')?.stack ?? [];
    expect(stack[0]).toMatch(/^at lib\/aws\/secrets\.ts:\d+:\d+$/);
    // The secret is read from the cold start on, so a use case is in the stack only if it waits for it already.
    expect(stack.join('\n')).not.toContain('.mjs:');
  });
});

describe('Modules that are loaded on first use', () => {
  const startUp = (name: MeasuredFunction) =>
    new Set(bundles[name].startUpInputs.map((path) => /.*node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(path)?.[1] ?? path));

  it.each([
    ['request-registration', ['dynamodb', 'secrets-manager']],
    ['create-tp5-account', ['dynamodb', 'secrets-manager']],
    ['create-tp4-account', ['dynamodb', 'secrets-manager']],
  ] as const)('of %s are all clients of AWS but those of %j', (name, early) => {
    const clients = [...startUp(name)].flatMap((one) => /^@aws-sdk\/client-(.+)/.exec(one)?.[1] ?? []);
    expect(clients.sort()).toEqual(early);
  });

  it.each([
    ['request-registration', ['@aws-sdk/client-sns', 'file-type']],
    ['create-tp5-account', ['@aws-sdk/client-sns', 'iconv-lite', 'any-ascii']],
    ['create-tp4-account', ['@aws-sdk/client-sns', 'iconv-lite', 'any-ascii']],
  ] as const)('of %s: %j', (name, packages) => {
    for (const one of packages) {
      expect(startUp(name)).not.toContain(one);
      expect(bundles[name].inputs.some((path) => path.startsWith(`node_modules/${one}/`))).toBe(true);
    }
  });
});

describe('Bundling', () => {
  it('writes the same bytes to any folder, also from the command line', () => {
    const other = temporaryFolder('bundle');
    const bundler = fileURLToPath(new URL('infra/bundle.ts', ROOT));
    const output = execFileSync(process.execPath, [bundler, 'create-tp5-account', other], { encoding: 'utf8' });
    expect(output).toMatch(/^create-tp5-account: \d+\.\d kB at start-up in \d+ files\n$/);
    const files = readdirSync(other, { recursive: true, encoding: 'utf8' }).filter((file) => /\.(mjs|map)$/.test(file));
    expect(files.length).toBeGreaterThan(10);
    for (const file of files) {
      expect(readFileSync(join(other, file)).equals(readFileSync(join(folder, 'create-tp5-account', file))), file).toBe(
        true,
      );
    }
  });

  it('is what the stack deploys, with the settings of functions next to the code', () => {
    const app = new App({ outdir: temporaryFolder('functions'), analyticsReporting: false });
    const declared = { name: 'settle-operations', description: '', timeoutSeconds: 10, size: 'accounts' } as const;
    const settings = readSettings({ ...SETTINGS, alarmEmail: 'oncall@acme.example', brand: { legal: 'Acme Ltd' } });
    const context = { logRetention: RetentionDays.ONE_DAY, removalPolicy: RemovalPolicy.DESTROY, settings };
    createFunction({ ...declared, uses: [] }, {
      ...context,
      stack: new Stack(app, 'stack'),
    } as unknown as FunctionContext);
    const { directory } = app.synth();
    const [asset = ''] = readdirSync(directory).filter((name) => name.startsWith('asset.'));
    expect(readdirSync(join(directory, asset))).toContain(ENTRY_FILE);
    const file = JSON.parse(readFileSync(join(directory, asset, 'settings.json'), 'utf8')) as object;
    expect(file).toMatchObject({ ...SETTINGS, brand: { legal: 'Acme Ltd' } });
    expect(file).not.toHaveProperty('alarmEmail');
  });

  const full = temporaryFolder('full');
  mkdirSync(join(full, 'other'));
  it.each([
    [['nothing'], /node infra\/bundle\.ts <function\|all> <folder>/],
    [['create-tp4-account', full], /is not empty, and holds no bundle/],
  ])('refuses wrong arguments, and a folder that holds something else than a bundle: %j', (args, reason) => {
    const bundler = fileURLToPath(new URL('infra/bundle.ts', ROOT));
    expect(() => execFileSync(process.execPath, [bundler, ...args], { stdio: 'pipe' })).toThrow(reason);
  });
});
