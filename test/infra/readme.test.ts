import { globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { SETTING_NAMES } from '../../infra/settings.ts';
import { alarmsOf } from '../support/alarms.ts';
import { EVERYTHING, synthesize } from '../support/stack.ts';

const ROOT = new URL('../..', import.meta.url);
const page = (name: string) => readFileSync(new URL(name, ROOT), 'utf8');
const readme = ['infra/README.md', 'infra/docs/runbook.md'].map(page).join('\n');

describe('The operators’ page', () => {
  it('has every setting in its table', () => {
    expect(SETTING_NAMES.filter((name) => !readme.includes(`\`${name}\``))).toEqual([]);
  });

  it('says in the runbook what to do about every alarm', () => {
    const runbook = page('infra/docs/runbook.md');
    const alarms = alarmsOf(synthesize(EVERYTHING));
    const kinds = new Set(alarms.map(({ description }) => /, (\w+)$/.exec(description)?.[1]));
    const pages = alarms.filter(({ actions }) => actions.includes('<AlarmTopic>'));
    expect(kinds.size).toBeGreaterThan(20);
    expect([...kinds].filter((kind) => !runbook.includes(`\`${kind}\``) && !runbook.includes(`### ${kind}\n`))).toEqual(
      [],
    );
    for (const { name } of pages)
      expect(runbook).toMatch(new RegExp(`^### ${name.split('-')[0]}\n\n- \\*\\*Symptom`, 'm'));
  });

  it('has every output of the stack that an operator needs', () => {
    const outputs = Object.keys(synthesize(EVERYTHING).findOutputs('*')).filter((name) => !/^MailDnsRecord/.test(name));
    expect(outputs.filter((name) => !readme.includes(name))).toEqual([]);
  });
});

describe('The commands of the operators’ page', () => {
  it('name outputs that the stack has', () => {
    const named = [...readme.matchAll(/\boutput ([A-Z]\w+)/g)].map(([, name = '']) => name);
    const stacks = [EVERYTHING, { machineClients: 'crm' }, {}].map((context) => synthesize(context).findOutputs('*'));
    const outputs = new Set(stacks.flatMap((one) => Object.keys(one)));
    expect(named.filter((name) => !outputs.has(name))).toEqual([]);
  });

  it('name settings that there are', () => {
    const commands = [...readme.matchAll(/npm run setting -- ((?:[\w.]+=\S* ?(?:\\\n\s*)?)+)/g)].map(
      ([, text = '']) => text,
    );
    const named = commands.flatMap((text) => [...text.matchAll(/([\w.]+)=/g)].map(([, name = '']) => name));
    const groups = SETTING_NAMES.map((name) => name.split('.', 1)[0]);
    expect(named.filter((name) => name !== 'name' && ![...SETTING_NAMES, ...groups].includes(name))).toEqual([]);
  });
});

const PAGES = [
  'README.md',
  'lib/README.md',
  'infra/README.md',
  'infra/docs/runbook.md',
  'infra/local/README.md',
  'infra/openapi/README.md',
  'test/README.md',
  'test/bench/README.md',
];

describe('The pages', () => {
  it.each(PAGES)('%s names no file that is not there', (name) => {
    const text = page(name);
    const named = [...text.matchAll(/`((?:functions|lib|infra|test)\/[\w./*-]+)/g)].map(([, path = '']) => path);
    const linked = [...text.matchAll(/\]\((?!https?:)([\w./-]+)/g)].map(([, path = '']) => join(dirname(name), path));
    const paths = [...named, ...linked];
    expect(paths.length).toBeGreaterThan(0);
    expect(paths.filter((path) => globSync(path, { cwd: ROOT.pathname }).length === 0)).toEqual([]);
  });

  it.each(PAGES)('%s names no script that is not there', (name) => {
    const { scripts } = JSON.parse(page('package.json')) as { scripts: Record<string, string> };
    const named = [...page(name).matchAll(/npm run (?:-s |--silent )?([\w:-]+)/g)].map(([, script = '']) => script);
    expect(named.filter((script) => !Object.hasOwn(scripts, script))).toEqual([]);
  });
});
