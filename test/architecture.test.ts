import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path/posix';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import packageJson from '../package.json' with { type: 'json' };

const ROOT = fileURLToPath(new URL('..', import.meta.url));

/** The imports of a use case: interfaces, not their implementations. */
const USE_CASE = `node:crypto node:timers/promises lib/config.ts lib/config/ lib/telemetry.ts lib/problem.ts lib/deadline.ts
  lib/http/ lib/limits/ lib/records/ lib/validators/ lib/messages/message.ts lib/messages/notices.ts
  lib/secrets/one-time-code.ts lib/secrets/keys.ts lib/platform/platform.ts`;

/**
 * Who may import whom: packages, files and folders. A path allows itself and all below it; every package must be named.
 * The first matching row rules.
 */
const RULES: [of: RegExp, may: string | RegExp][] = [
  [
    /^lib\/validators\//,
    'lib/validators/ lib/once.ts valibot libphonenumber-js countries-list fxa-common-password-list node:url',
  ],
  [/^lib\/(problem|deadline)\.ts$/, 'node:net lib/validators/'],
  [
    /^lib\/http\//,
    `lib/http/ node: @middy/ valibot aws-lambda lib/telemetry.ts lib/problem.ts lib/deadline.ts lib/failure.ts
      lib/config/ lib/validators/`,
  ],
  [/^lib\/config\.ts$/, 'node:fs node:path valibot lib/deadline.ts lib/config/ lib/validators/'],
  [/^lib\/config\//, 'lib/config/ lib/validators/ valibot'],
  [/^lib\/telemetry\.ts$/, 'node:fs node:module node:url lib/config.ts lib/deadline.ts lib/counted-events.ts'],
  [
    /^lib\/aws\//,
    'lib/aws/ node: @aws-sdk/ @smithy/ valibot lib/deadline.ts lib/failure.ts lib/messages/ lib/config/ lib/validators/',
  ],
  [
    /^lib\/secrets\//,
    'lib/secrets/ node: valibot standardwebhooks lib/config/ lib/validators/ lib/aws/dynamodb.ts lib/failure.ts',
  ],
  [
    /^lib\/messages\//,
    `lib/messages/ node: lib/config/ lib/validators/ lib/records/crm-records.ts lib/secrets/webhook-signature.ts lib/deadline.ts
      lib/failure.ts`,
  ],
  [
    /^lib\/platform\//,
    `lib/platform/ lib/once.ts node: valibot iconv-lite any-ascii lib/config/ lib/validators/ lib/records/crm-records.ts lib/deadline.ts
      lib/failure.ts lib/aws/secrets.ts lib/secrets/keys.ts`,
  ],
  [
    /^lib\/records\//,
    `lib/records/ lib/once.ts node: valibot file-type lib/config/ lib/validators/ lib/secrets/ lib/problem.ts lib/deadline.ts lib/telemetry.ts
      lib/failure.ts lib/aws/dynamodb.ts lib/aws/failure.ts lib/aws/s3.ts lib/aws/eventbridge.ts`,
  ],
  [
    /^lib\/limits\//,
    `lib/limits/ lib/once.ts node:crypto node:net lib/config/ lib/validators/ lib/secrets/keys.ts
      lib/deadline.ts lib/failure.ts lib/aws/dynamodb.ts`,
  ],
  [/^lib\/openings\/life\.ts$/, ''],
  // Pure: what follows from a request.
  [
    /^lib\/openings\/derivation\.ts$/,
    `node:crypto lib/records/idempotency-keys.ts lib/platform/platform.ts lib/records/crm-records.ts lib/secrets/keys.ts
      lib/validators/`,
  ],
  // What joins the use cases with their adapters.
  [
    /^lib\/((openings|registration|crm-webhook)\/([\w-]+-)?dependencies|registration\/channels)\.ts$/,
    'node:crypto node:timers/promises lib/',
  ],
  // The ledger is an adapter: it keeps operations and reservations in DynamoDB.
  [
    /^lib\/openings\/(ledger|stored-operation|rebuild)\.ts$/,
    `lib/openings/ node:crypto valibot lib/records/ lib/aws/dynamodb.ts lib/aws/failure.ts
      lib/config/deployment.ts`,
  ],
  [/^lib\/openings\//, `${USE_CASE} lib/openings/ lib/once.ts`],
  [/^lib\/registration\//, `${USE_CASE} lib/registration/`],
  // The messages, and their delivery.
  [
    /^lib\/crm-webhook\/(messages|post)\.ts$/,
    `lib/crm-webhook/ node: valibot lib/records/ lib/config/ lib/validators/ lib/secrets/webhook-signature.ts lib/deadline.ts
      lib/failure.ts`,
  ],
  [/^lib\/crm-webhook\//, `${USE_CASE} lib/crm-webhook/`],
  [/^lib\//, ''],
  [/^functions\//, 'aws-lambda lib/'],
  [/^infra\/local\//, /^[^.]/],
  [
    /^infra\/(constructs\/|[\w-]+\.ts$)/,
    /^(?!functions|lib|test|infra\/local\/)|^lib\/(config\/|validators\/|counted-events\.ts$|http\/problem\.ts$)/,
  ],
  [/^infra\//, /^(?!functions|test|infra\/local\/)/],
  [/^test\//, /^/],
];

function isAllowed(name: string, may: string | RegExp | undefined): boolean {
  if (typeof may !== 'string') return may?.test(name) === true;
  const allowed = may.split(/\s+/).filter(Boolean);
  return allowed.some((one) => name === one || name.startsWith(/[:/]$/.test(one) ? one : `${one}/`));
}

/** The folder of lib, infra or functions with a file; a subfolder counts as part of it. */
function roomOf(path: string): string {
  return path.split('/').slice(0, -1).slice(0, 2).join('/');
}

/** The files that import themselves, through other files. */
function circularFiles(files: ReadonlyMap<string, string>): string[] {
  const imported = new Map([...files].map(([path, source]) => [path, imports(path, source)]));
  return [...files.keys()].filter((path) => {
    const reached = new Set<string>();
    const waiting = [...(imported.get(path) ?? [])];
    for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
      if (!reached.has(next)) waiting.push(...(imported.get(next) ?? []));
      reached.add(next);
    }
    return reached.has(path);
  });
}

/** Pairs of folders that import each other. A root, which wires its folders, may import all of them. */
function circles(files: ReadonlyMap<string, string>): string[] {
  const arrows = new Map<string, string>();
  for (const [path, source] of files) {
    if (path.startsWith('test/')) continue;
    for (const name of imports(path, source)) {
      if (!files.has(name) || roomOf(name) === roomOf(path)) continue;
      if (roomOf(name).split('/').length < 2 || roomOf(path).split('/').length < 2) continue;
      arrows.set(`${roomOf(path)} → ${roomOf(name)}`, `${path} imports ${name}`);
    }
  }
  return [...arrows.keys()]
    .filter((arrow) => {
      const [from, to] = arrow.split(' → ');
      return arrows.has(`${to} → ${from}`);
    })
    .map((arrow) => `${arrow}: ${arrows.get(arrow)}`);
}

/** Each vendor is imported by one file of lib. */
const VENDORS =
  `@aws-sdk/client-ses @aws-sdk/client-sns @aws-sdk/client-dynamodb @aws-sdk/lib-dynamodb @aws-sdk/client-s3
  @aws-sdk/client-eventbridge @aws-sdk/client-sqs @aws-sdk/s3-request-presigner @aws-sdk/client-secrets-manager
  @aws-sdk/client-pinpoint-sms-voice-v2 @aws-sdk/client-socialmessaging @middy/core @middy/http-json-body-parser
  standardwebhooks file-type iconv-lite any-ascii countries-list fxa-common-password-list`.split(/\s+/);

function imports(path: string, source: string): string[] {
  const found = source.matchAll(
    /(?:^|\s)(?:import|export)\s[^;'"]*?from\s+['"]([^'"]+)['"]|import\(\s*['"]([^'"]+)['"]|^import\s+['"]([^'"]+)['"]/gm,
  );
  return [...found].map((match) => {
    const name = match[1] ?? match[2] ?? match[3] ?? '';
    return name.startsWith('.') ? normalize(join(dirname(path), name)) : name;
  });
}

/** The violations of the rules in these files, one line each. */
function violations(files: ReadonlyMap<string, string>): string[] {
  const found: string[] = [];
  for (const [path, source] of files) {
    const [, may] = RULES.find(([of]) => of.test(path)) ?? [];
    for (const name of imports(path, source)) if (!isAllowed(name, may)) found.push(`${path} imports ${name}`);
    if (/^(lib|functions)\//.test(path)) {
      if (path !== 'lib/config.ts' && /process\.env/.test(source)) found.push(`${path} reads the environment`);
      if (/\bconsole\./.test(source)) found.push(`${path} writes to the console`);
    }
    if (/^lib\//.test(path) && /^(import ['"]|await |(for|if|while) ?\(|[\w.]+\()/m.test(source))
      found.push(`${path} runs something when it is imported`);
    if (/^test\//.test(path) && /\bvi\.(mock|doMock|hoisted|spyOn)\(/.test(source))
      found.push(`${path} patches a module`);
    if (/import\.meta\.url\)\.pathname/.test(source)) found.push(`${path} takes a path from a URL: fileURLToPath`);
    if (/^functions\//.test(path) && source.split('\n').length > 31) found.push(`${path} does more than wire`);
  }
  for (const vendor of VENDORS) {
    const importers = [...files].filter(
      ([path, source]) =>
        /^(lib|functions)\//.test(path) &&
        imports(path, source).some((name) => name === vendor || name.startsWith(`${vendor}/`)),
    );
    if (importers.length > 1) found.push(`${vendor} is imported by ${importers.map(([path]) => path).join(' and ')}`);
  }
  return found;
}

function sources(): Map<string, string> {
  const files = ['functions', 'lib', 'infra', 'test'].flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.ts'))
      .map((name) => join(folder, name.replaceAll('\\', '/'))),
  );
  // This file holds violations on purpose.
  return new Map(
    files
      .filter((path) => path !== 'test/architecture.test.ts')
      .map((path) => [path, readFileSync(join(ROOT, path), 'utf8')]),
  );
}

describe('The scripts of package.json', () => {
  /** What only a POSIX shell knows: `exec`, `NAME=value command`, `;`, single quotes, `$NAME`. */
  const POSIX = /\bexec\b|(^|[&|(]\s*)\w+=|[;'$`]/;

  it('run in cmd and PowerShell too', () => {
    expect(Object.entries(packageJson.scripts).filter(([, script]) => POSIX.test(script))).toEqual([]);
  });

  it.each(['exec node a.ts', 'TESTS=quick vitest', 'a; b', "node -e 'a'", 'a && B=1 b'])('are not %s', (script) => {
    expect(script).toMatch(POSIX);
  });
});

describe('The check of imports between folders', () => {
  it('is kept by every file', () => {
    expect(violations(sources())).toEqual([]);
  });

  it('finds no two folders that import each other in this project', () => {
    expect(circles(sources())).toEqual([]);
  });

  it('has no circle of files', () => {
    expect(circularFiles(sources())).toEqual([]);
    const planted = { 'lib/a.ts': "import './b.ts';", 'lib/b.ts': "import './c.ts';", 'lib/c.ts': "import './b.ts';" };
    expect(circularFiles(new Map(Object.entries(planted)))).toEqual(['lib/b.ts', 'lib/c.ts']);
  });

  it('finds two folders that import each other', () => {
    const files = new Map([
      ['lib/aws/planted.ts', "import { a } from '../records/planted.ts';"],
      ['lib/records/planted.ts', "import { b } from '../aws/planted.ts';"],
    ]);
    expect(circles(files)).toHaveLength(2);
  });

  it('sees the files of every folder', () => {
    const paths = [...sources().keys()];
    for (const folder of ['functions/', 'lib/validators/', 'lib/aws/', 'infra/local/', 'test/lib/']) {
      expect(paths.some((path) => path.startsWith(folder))).toBe(true);
    }
  });

  it.each([
    ['a validator that knows the database', 'lib/validators/planted.ts', "import { table } from '../aws/dynamodb.ts';"],
    [
      'a use case that knows a vendor',
      'lib/registration/registration.ts',
      "import { SESClient } from '@aws-sdk/client-ses';",
    ],
    [
      'a lib file that knows the local service',
      'lib/messages/planted.ts',
      "import { Faults } from '../../infra/local/faults.ts';",
    ],
    [
      'a stack that runs a function',
      'infra/service-stack.ts',
      "import { handler } from '../functions/create-tp5-account.ts';",
    ],
    ['a lib file without a rule', 'lib/utils/planted.ts', "import { join } from 'node:path';"],
    ['a lazy import', 'lib/validators/planted.ts', "const { table } = await import('../aws/dynamodb.ts');"],
    [
      'the environment read outside the configuration',
      'lib/messages/planted.ts',
      'export const stage = process.env.STAGE;',
    ],
    ['a lib file that runs when it is imported', 'lib/validators/planted.ts', "process.on('exit', () => {});"],
    ['a path that has no blanks', 'infra/planted.ts', `const root = new URL('..', ${'import'}.meta.url).pathname;`],
    ['a patched module', 'test/planted.test.ts', `${'vi'}.mock('../lib/config.ts');`],
  ])('reports %s', (_, path, source) => {
    expect(violations(new Map([[path, source]]))).toHaveLength(1);
  });

  it('finds a second importer of a vendor', () => {
    const source = "import { SESClient } from '@aws-sdk/client-ses';";
    const files = new Map([
      ['lib/aws/ses.ts', source],
      ['lib/aws/other.ts', source],
    ]);
    expect(violations(files)).toEqual(['@aws-sdk/client-ses is imported by lib/aws/ses.ts and lib/aws/other.ts']);
  });
});
