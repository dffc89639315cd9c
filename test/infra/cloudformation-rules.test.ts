import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { runInNewContext } from 'node:vm';
import { App, Stack, Validations } from 'aws-cdk-lib';
import { CfnInclude } from 'aws-cdk-lib/cloudformation-include';
import flags from 'aws-cdk-lib/recommended-feature-flags.json' with { type: 'json' };
import { AwsSolutionsChecks } from 'cdk-nag';
import { describe, expect, it, vi } from 'vitest';
import { markRelease } from '../../infra/constructs/deployed-release.ts';
import { synthesizeAlone } from '../../infra/local/rights/synthesis.ts';
import { readSettings } from '../../infra/settings.ts';
import { createFront } from '../../lib/http/source.ts';
import { EVERYTHING, SENDER } from '../support/stack.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const PAGE = readFileSync(new URL('../../infra/docs/deploying.md', import.meta.url), 'utf8');
const FRONT = readFileSync(new URL('../../infra/cloudfront.yaml', import.meta.url), 'utf8');

// The rules of CloudFormation take seconds to load, so all their tests are in this file.
vi.setConfig({ testTimeout: 120_000 });

/** Checks the stack that is deployed by the rules of AWS Solutions and of CloudFormation. @throws Error if one is broken */
function checkRules(settings: Record<string, unknown>): void {
  synthesizeAlone({ builtinCloudFormationValidation: true }, { ...SENDER, ...settings }, (stack, app) => {
    markRelease(stack, '1.2.3', '0123456789ab');
    Validations.of(app).addPlugins(new AwsSolutionsChecks(app));
    app.synth();
  });
}

describe('The whole stack', () => {
  it.each<[string, Record<string, unknown>]>([
    ['by default', {}],
    ['with everything', EVERYTHING],
    [
      'for a stage that may vanish, with clients of its own',
      { stage: 'test', retainData: false, machineClients: 'crm' },
    ],
  ])('keeps the rules of AWS Solutions %s', (_, settings) => {
    expect(() => checkRules(settings)).not.toThrow();
  });
});

/** The templates that operators deploy next to the stack. */
const TEMPLATES = {
  'infra/cloudfront.yaml': FRONT,
  'infra/github-roles.yaml': readFileSync(new URL('../../infra/github-roles.yaml', import.meta.url), 'utf8'),
};

describe('A template for operators', () => {
  it.each(Object.entries(TEMPLATES))('is valid for CloudFormation: %s', (_, text) => {
    const folder = temporaryFolder('template');
    const file = join(folder, 'template.yaml');
    writeFileSync(file, text);
    const app = new App({ context: flags, outdir: join(folder, 'out'), analyticsReporting: false });
    const included = new CfnInclude(new Stack(app, 'Page'), 'Template', { templateFile: file });
    const ids = [...text.matchAll(/^ {2}(\w+):\n {4}Type: AWS::/gm)].map(([, id = '']) => id);
    expect(ids.length).toBeGreaterThan(2);
    for (const id of ids) expect(included.getResource(id)).toBeDefined();
    // Rules of CloudFormation, such as known types and members, and required members.
    app.synth();
  });

  it.each([
    '/public/v1/account/register/request',
    '/public/v1/account/%72egister/request',
    '/public/v1/users/../account/register/request',
    '/public/v1/users/%2e%2e/account/register/request',
  ])('for CloudFront scans every spelling of the open routes by every rule: %s', (path) => {
    const rules = [...FRONT.matchAll(/NotStatement:[^-]*?SearchString: (\/\S+)\n\s*TextTransformations: (.*)/g)];
    expect(rules).toHaveLength(2);
    for (const [, prefix = '', transformations = ''] of rules) {
      expect(transformations).toBe('[{ Priority: 0, Type: URL_DECODE }, { Priority: 1, Type: NORMALIZE_PATH }]');
      const read = new URL(decodeURIComponent(path), 'https://api.acme.example').pathname;
      expect(read.startsWith(prefix)).toBe(false);
      expect('/public/v1/users/CLIENT01/tp5/accounts'.startsWith(prefix)).toBe(true);
    }
  });

  it('for CloudFront names the person and proves itself as the settings of the page say', async () => {
    const [, header = '', secret = ''] = /front\.header=(\S+) front\.secret=(\S+)/.exec(PAGE) ?? [];
    const [, proof = '', value = ''] = /HeaderName: ([\w-]+), HeaderValue: !Ref (\w+)/.exec(FRONT) ?? [];
    const [, code = ''] = /FunctionCode: \|\n((?: {8}.*\n)+)/.exec(FRONT) ?? [];
    const { request } = runInNewContext(`${code}; ({ request: handler(event) })`, {
      event: { viewer: { ip: '2001:db8::1' }, request: { headers: { [header]: { value: '203.0.113.9' } } } },
    }) as { request: { headers: Record<string, { value: string }> } };
    const sent = Object.fromEntries(Object.entries(request.headers).map(([name, one]) => [name, one.value]));
    const settings = readSettings({ ...SENDER, 'front.header': header, 'front.secret': secret, 'front.only': 'true' });
    const front = createFront(settings.front, async () => JSON.stringify({ current: 'the-secret-of-cloudfront' }));
    const through = { sourceIp: '192.0.2.1', headers: { ...sent, [proof]: 'the-secret-of-cloudfront' } };
    const signal = AbortSignal.timeout(10_000);
    await expect(front.admit(through, signal)).resolves.toBeUndefined();
    expect(await front.readSource(through, signal, () => expect.unreachable())).toBe('2001:db8::1');
    await expect(front.admit({ ...through, headers: sent }, signal)).rejects.toThrow('front_required');
    // The parameters are those of the command of the page.
    expect(value).toBe('FrontSecret');
    for (const name of ['ApiDomain', 'FrontSecret']) {
      expect(FRONT).toContain(`\n  ${name}:\n    Type: String`);
      expect(PAGE).toMatch(new RegExp(`--parameter-overrides .*\\b${name}=`));
    }
  });
});
