import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { describe, expect, it } from 'vitest';

const ROOT = new URL('..', import.meta.url).pathname;

/** Who may import whom. A path allows itself and all below it; every package must be named. The first matching row rules. */
const RULES: { of: RegExp; may: RegExp[] }[] = [
  { of: /^lib\/deadline\.ts$/, may: [] },
  {
    of: /^lib\/validators\//,
    may: [
      /^valibot$/,
      /^libphonenumber-js/,
      /^countries-list/,
      /^node:url$/,
      /^lib\/validators\//,
      /^lib\/http\/problem\.ts$/,
    ],
  },
  { of: /^lib\/messages\//, may: [/^lib\/messages\//, /^lib\/otp\/channel\.ts$/, /^lib\/platform\/platform\.ts$/] },
  { of: /^lib\/http\/problem\.ts$/, may: [] },
  {
    of: /^lib\/http\//,
    may: [
      /^node:/,
      /^@middy\//,
      /^valibot$/,
      /^aws-lambda$/,
      /^lib\/http\//,
      /^lib\/(deadline|telemetry|trace)\.ts$/,
      /^lib\/validators\//,
    ],
  },
  { of: /^lib\/config\.ts$/, may: [/^valibot$/, /^lib\/validators\//] },
  { of: /^lib\/trace\.ts$/, may: [/^node:(crypto|dgram)$/, /^lib\/config\.ts$/] },
  { of: /^lib\/telemetry\.ts$/, may: [/^@aws-lambda-powertools\//, /^node:(fs|module|url)$/] },
  {
    of: /^lib\/aws\//,
    may: [
      /^node:/,
      /^@aws-sdk\//,
      /^@smithy\//,
      /^valibot$/,
      /^lib\/aws\//,
      /^lib\/deadline\.ts$/,
      /^lib\/otp\/channel\.ts$/,
    ],
  },
  {
    of: /^lib\/(registration|trading-account|account-order)\.ts$/,
    may: [
      /^node:(crypto|timers\/promises)$/,
      /^lib\/(account-order|deadline|operations|telemetry)\.ts$/,
      /^lib\/http\//,
      /^lib\/validators\//,
      /^lib\/(crm|limits|notices)\//,
      /^lib\/otp\/(channel|code)\.ts$/,
      /^lib\/platform\/platform\.ts$/,
    ],
  },
  { of: /^lib\/(registration|trading-account)-endpoint\.ts$/, may: [/^lib\//] },
  {
    of: /^lib\/operations\.ts$/,
    may: [/^node:crypto$/, /^valibot$/, /^lib\/aws\/dynamodb\.ts$/, /^lib\/http\/problem\.ts$/],
  },
  {
    of: /^lib\/(otp|notices)\//,
    may: [/^node:/, /^valibot$/, /^lib\/(otp|notices|messages|aws|validators)\//, /^lib\/(config|telemetry)\.ts$/],
  },
  {
    of: /^lib\/platform\//,
    may: [
      /^node:/,
      /^valibot$/,
      /^iconv-lite$/,
      /^any-ascii$/,
      /^lib\/(platform|validators)\//,
      /^lib\/deadline\.ts$/,
      /^lib\/aws\/secrets\.ts$/,
      /^lib\/http\/problem\.ts$/,
    ],
  },
  {
    of: /^lib\/(crm|limits)\//,
    may: [
      /^node:/,
      /^valibot$/,
      /^file-type$/,
      /^lib\/(crm|limits|validators)\//,
      /^lib\/aws\/(dynamodb|s3)\.ts$/,
      /^lib\/otp\/(channel|code)\.ts$/,
      /^lib\/platform\/platform\.ts$/,
      /^lib\/http\/problem\.ts$/,
    ],
  },
  { of: /^lib\//, may: [] },
  { of: /^functions\//, may: [/^lib\//] },
  { of: /^infra\/local\//, may: [/^[^.]/] },
  {
    of: /^infra\/(constructs\/|app|service-stack|settings)/,
    may: [/^(?!functions|lib|test|infra\/local)/, /^lib\/(validators\/|http\/problem\.ts$)/],
  },
  { of: /^infra\//, may: [/^(?!functions|test|infra\/local)/] },
  { of: /^test\//, may: [/^/] },
];

/** Each vendor is imported by one file of lib. */
const VENDORS = [
  '@aws-sdk/client-ses',
  '@aws-sdk/client-sns',
  '@aws-sdk/client-dynamodb',
  '@aws-sdk/lib-dynamodb',
  '@aws-sdk/client-s3',
  '@aws-sdk/client-secrets-manager',
  '@aws-sdk/client-pinpoint-sms-voice-v2',
  '@aws-sdk/client-socialmessaging',
  '@aws-lambda-powertools/logger',
  '@aws-lambda-powertools/metrics',
  '@middy/core',
  '@middy/http-json-body-parser',
  'file-type',
  'iconv-lite',
  'any-ascii',
  'countries-list',
];

function imports(path: string, source: string): string[] {
  const found = source.matchAll(
    /(?:^|\s)(?:import|export)\s[^;'"]*?from\s+['"]([^'"]+)['"]|import\(\s*['"]([^'"]+)['"]|^import\s+['"]([^'"]+)['"]/gm,
  );
  return [...found].map((match) => {
    const name = match[1] ?? match[2] ?? match[3] ?? '';
    return name.startsWith('.') ? normalize(join(dirname(path), name)) : name;
  });
}

/** What breaks the rules of the house in these files, one line each. */
function violations(files: ReadonlyMap<string, string>): string[] {
  const found: string[] = [];
  for (const [path, source] of files) {
    const rule = RULES.find(({ of }) => of.test(path));
    for (const name of imports(path, source)) {
      if (rule?.may.some((allowed) => allowed.test(name))) continue;
      found.push(`${path} imports ${name}`);
    }
    if (/^(lib|functions)\//.test(path)) {
      if (path !== 'lib/config.ts' && /process\.env/.test(source)) found.push(`${path} reads the environment`);
      if (/\bconsole\./.test(source)) found.push(`${path} writes to the console`);
    }
    if (/^test\//.test(path) && /\bvi\.(mock|doMock|hoisted|spyOn)\(/.test(source))
      found.push(`${path} patches a module`);
    if (/^functions\//.test(path) && source.split('\n').length > 45) found.push(`${path} does more than wire`);
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
      .map((name) => join(folder, name)),
  );
  // This file plants violations.
  return new Map(
    files
      .filter((path) => path !== 'test/architecture.test.ts')
      .map((path) => [path, readFileSync(join(ROOT, path), 'utf8')]),
  );
}

describe('Who may import whom', () => {
  it('is kept by every file', () => {
    expect(violations(sources())).toEqual([]);
  });

  it('sees the files of every folder', () => {
    const paths = [...sources().keys()];
    for (const folder of ['functions/', 'lib/validators/', 'lib/aws/', 'infra/local/', 'test/lib/']) {
      expect(paths.some((path) => path.startsWith(folder))).toBe(true);
    }
  });

  it.each([
    ['a validator that knows the database', 'lib/validators/planted.ts', "import { table } from '../aws/dynamodb.ts';"],
    ['a use case that knows a vendor', 'lib/registration.ts', "import { SESClient } from '@aws-sdk/client-ses';"],
    ['a use case that knows an adapter', 'lib/trading-account.ts', "import { webApi } from './platform/web-api.ts';"],
    [
      'a lib file that knows the local service',
      'lib/otp/planted.ts',
      "import { Faults } from '../../infra/local/faults.ts';",
    ],
    [
      'a stack that runs a function',
      'infra/service-stack.ts',
      "import { handler } from '../functions/create-tp5-account.ts';",
    ],
    ['a lib file without a rule', 'lib/utils/planted.ts', "import { join } from 'node:path';"],
    ['a lazy import', 'lib/validators/planted.ts', "const { table } = await import('../aws/dynamodb.ts');"],
    ['a re-export', 'lib/http/problem.ts', "export { table } from '../aws/dynamodb.ts';"],
    ['the environment read outside the configuration', 'lib/otp/planted.ts', 'export const stage = process.env.STAGE;'],
    ['a patched module', 'test/planted.test.ts', `${'vi'}.mock('../lib/config.ts');`],
  ])('finds %s', (_, path, source) => {
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
