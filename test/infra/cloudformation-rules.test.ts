import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { App, Stack } from 'aws-cdk-lib';
import { CfnInclude } from 'aws-cdk-lib/cloudformation-include';
import flags from 'aws-cdk-lib/recommended-feature-flags.json' with { type: 'json' };
import { describe, expect, it, vi } from 'vitest';
import { checkRules, EVERYTHING, OTHERS } from '../support/stack.ts';

const PAGE = readFileSync(new URL('../../infra/README.md', import.meta.url), 'utf8');

// The first time, the rules of CloudFormation take seconds to load: so all that asks them stands here.
vi.setConfig({ testTimeout: 120_000 });

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

  it('keeps the rules of AWS and CloudFormation with other values too', () => {
    const groups = ['channels', 'confirmation', 'vpc', 'defaultEndpoint', 'retainData'];
    const others = Object.entries(OTHERS).flatMap(([name, value]) => {
      const [beside, other] = Array.isArray(value) ? value : [{}, value];
      const isAlone = Object.keys(beside).length === 0 && !groups.includes(name);
      return isAlone ? [[name, other]] : [];
    });
    expect(() => checkRules({ ...EVERYTHING, ...Object.fromEntries(others) })).not.toThrow();
  });
});

/** The templates that the operators' page has people save. */
const TEMPLATES = [...PAGE.matchAll(/^( *)```yaml\n(.*?)^ *```$/gms)].map(([, indent = '', text = '']) =>
  text.replaceAll(new RegExp(`^${indent}`, 'gm'), ''),
);

describe('The operators’ page', () => {
  it('has a template for what stands in front, and one for who hears of events', () => {
    expect(TEMPLATES).toHaveLength(2);
  });

  it.each(TEMPLATES.map((text, index) => [index + 1, text] as const))(
    'its template %i is one that CloudFormation takes',
    (_, text) => {
      const folder = mkdtempSync(join(tmpdir(), 'page-template-'));
      const file = join(folder, 'template.yaml');
      writeFileSync(file, text);
      try {
        const app = new App({ context: flags, outdir: join(folder, 'out'), analyticsReporting: false });
        const included = new CfnInclude(new Stack(app, 'Page'), 'Template', { templateFile: file });
        const ids = [...text.matchAll(/^ {2}(\w+):\n {4}Type: AWS::/gm)].map(([, id = '']) => id);
        expect(ids.length).toBeGreaterThan(2);
        for (const id of ids) expect(included.getResource(id)).toBeDefined();
        // Rules of CloudFormation, such as types and members that there are, and members that are needed.
        app.synth();
      } finally {
        rmSync(folder, { recursive: true });
      }
    },
  );
});
