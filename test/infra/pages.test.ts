import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { SETTING_NAMES } from '../../infra/settings.ts';
import { commandProof, provenBy } from '../../lib/platform/proof.ts';
import { codeKind } from '../../lib/platform/web-api/answers.ts';
import { ConnectionSchema } from '../../lib/records/crm-records.ts';
import { OTP_TYPES, PHONE_CHANNELS } from '../../lib/validators/otp-types.ts';
import { alarmsOf } from '../support/alarms.ts';
import { runOperatorsCommand } from '../support/operators.ts';
import { EVERYTHING, synthesize } from '../support/stack.ts';

const ROOT = new URL('../..', import.meta.url);
const page = (name: string) => readFileSync(new URL(name, ROOT), 'utf8');
const DOCS = globSync('infra/docs/*.md', { cwd: ROOT.pathname }).sort();
const operators = DOCS.map(page).join('\n');

it('The page of trading servers has a row for every member of a connection', () => {
  const [, table = ''] = /Members of a connection:\n\n([\s\S]+?)\n\n/.exec(page('infra/docs/trading-servers.md')) ?? [];
  const cells = table.split('\n').flatMap((row) => row.split('|')[1] ?? []);
  const rows = cells.flatMap((cell) => [...cell.matchAll(/`(\w+)`/g)].map(([, name]) => name));
  const members = ConnectionSchema.options.flatMap(({ entries }) => Object.keys(entries));
  expect(rows.toSorted()).toEqual([...new Set(members)].toSorted());
});

it.each(['open', 'deposit'] as const)(
  'The page of trading servers has every code that proves a refusal: %s',
  (step) => {
    const [, all = ''] = /Some return codes prove .*?: (.+?)\. /.exec(page('infra/docs/trading-servers.md')) ?? [];
    const listed = step === 'deposit' ? all : all.replace(/; for payments [^)]+/, '');
    const codes = [...listed.matchAll(/(\d+)(?: to (\d+))?/g)].flatMap(([, from, to = from]) =>
      Array.from({ length: Number(to) - Number(from) + 1 }, (_, index) => Number(from) + index),
    );
    const proving = [...Array(20_000).keys()].filter((code) => {
      const kind = codeKind(code);
      return commandProof(step, kind) !== 'nothing' || provenBy(step, kind) === 'exists';
    });
    expect(codes.toSorted((a, b) => a - b)).toEqual(proving);
  },
);

describe('The decision about parts beyond the specification', () => {
  const [section = ''] = /## 17\.[\s\S]+?(?=\n## )/.exec(page('lib/decisions.md')) ?? [];
  const named = new Set([...section.matchAll(/`([^`]+)`/g)].map(([, text = '']) => text.replace(/^npm run /, '')));
  const unnamed = (parts: readonly string[]) => [...new Set(parts)].filter((part) => !named.has(part));

  it('names every setting, by itself or by its group', () => {
    const groups = SETTING_NAMES.filter((name) => !named.has(name)).map((name) => name.split('.', 1)[0] ?? '');
    expect(unnamed(groups)).toEqual([]);
  });

  it('names every workflow and every check of a change', () => {
    expect(unnamed(globSync('*.yml', { cwd: new URL('.github/workflows', ROOT).pathname }))).toEqual([]);
    expect(unnamed(globSync('.ci/*', { cwd: ROOT.pathname }))).toEqual([]);
  });

  it('names every npm script and every command of operators', async () => {
    const { scripts } = JSON.parse(page('package.json')) as { scripts: object };
    expect(unnamed(Object.keys(scripts))).toEqual([]);
    const { out } = await runOperatorsCommand(['--help']);
    const [, list = ''] = /\nCommands:\n(.*?)\n\n/s.exec(out) ?? [];
    const commands = [...list.matchAll(/^ {2}(\S+)/gm)].map(([, name = '']) => `crm ${name}`);
    expect(commands.length).toBeGreaterThan(10);
    expect(unnamed(commands.filter((name) => name !== 'crm help'))).toEqual([]);
  });
});

describe('The channels of one-time passwords', () => {
  const namesIn = (text: string, pattern: RegExp) => new Set([...text.matchAll(pattern)].map(([name]) => name));

  it('are installed by a command each on the page about deploying', () => {
    const commands = [...page('infra/docs/deploying.md').matchAll(/ channels=([\w,]+)/g)];
    expect(new Set(commands.flatMap(([, names = '']) => names.split(',')))).toEqual(new Set(OTP_TYPES));
  });

  it('to phones are all kinds of messages that a provider gets, as its page says', () => {
    const [, kinds = ''] = /`kind` is the channel: (.+?)\. /.exec(page('infra/docs/message-provider.md')) ?? [];
    expect(namesIn(kinds, /(?<=`)\w+(?=`)/g)).toEqual(new Set(PHONE_CHANNELS));
  });

  it('to phones have a variable each for a provider of the local service, as its page says', () => {
    const variables = namesIn(page('infra/local/README.md'), /\bPROVIDER_(?!SECRET)\w+/g);
    expect(variables).toEqual(new Set(PHONE_CHANNELS.map((channel) => `PROVIDER_${channel.toUpperCase()}`)));
  });
});

describe('The pages of operators', () => {
  it('say in the runbook what to do about every alarm', () => {
    const runbook = page('infra/docs/runbook.md');
    const alarms = alarmsOf(synthesize(EVERYTHING));
    const kinds = new Set(alarms.map(({ description }) => /, (\w+)$/.exec(description)?.[1]));
    const pages = alarms.filter(({ actions }) => actions.includes('<AlarmTopic>'));
    expect(kinds.size).toBeGreaterThan(20);
    expect([...kinds].filter((kind) => !runbook.includes(`\`${kind}\``) && !runbook.includes(`### ${kind}\n`))).toEqual(
      [],
    );
    const pageBody = (name: string) =>
      runbook
        .split(`### ${name.split('-')[0]}\n`)[1]
        ?.trim()
        .split('\n');
    for (const { name } of pages) {
      const parts = pageBody(name)?.flatMap((line) => /^- \*\*(\w+)\*\*/.exec(line)?.[1] ?? []);
      expect([name, parts?.slice(0, 3)]).toEqual([name, ['Show', 'If', 'Else']]);
    }
  });

  it('name every output of the stack, and no other', () => {
    const stacks = [EVERYTHING, { machineClients: 'crm' }, {}].map((context) => synthesize(context).findOutputs('*'));
    const outputs = new Set(stacks.flatMap((one) => Object.keys(one)));
    const shown = [...outputs].filter((name) => !/^MailDnsRecord/.test(name));
    expect(shown.filter((name) => !operators.includes(name))).toEqual([]);
    const named = [...operators.matchAll(/\boutput ([A-Z]\w+)/g)].map(([, name = '']) => name);
    expect(named.filter((name) => !outputs.has(name))).toEqual([]);
  });
});

const PAGES = globSync(['*.md', '.github/*.md', '{lib,infra,test}/**/*.md'], { cwd: ROOT.pathname })
  .filter((name) => !/node_modules|CHANGELOG|pull_request/.test(name))
  .sort();

describe('Every page', () => {
  it.each(PAGES)('%s has at most 200 lines', (name) => {
    expect(page(name).split('\n').length).toBeLessThanOrEqual(201);
  });

  it.each(PAGES)('%s names files and headings that exist', (name) => {
    const text = page(name);
    const named = [...text.matchAll(/`((?:functions|lib|infra|test)\/[\w./*-]+)/g)].map(([, path = '']) => path);
    const links = [...text.matchAll(/\]\((?!https?:)([\w./-]*)(?:#([\w-]+))?\)/g)];
    const paths = [...named, ...links.map(([, path = '']) => (path === '' ? name : join(dirname(name), path)))];
    expect(paths.length).toBeGreaterThan(0);
    expect(paths.filter((path) => globSync(path, { cwd: ROOT.pathname }).length === 0)).toEqual([]);
    const lost = links.filter(([, path = '', heading]) => {
      const target = path === '' ? name : join(dirname(name), path);
      return heading !== undefined && existsSync(new URL(target, ROOT)) && !headings(page(target)).includes(heading);
    });
    expect(lost.map(([link]) => link)).toEqual([]);
  });

  /** The anchors that GitHub makes. */
  function headings(text: string): string[] {
    return [...text.matchAll(/^#+ (.+)$/gm)].map(([, title = '']) =>
      title
        .toLowerCase()
        .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
        .replaceAll(' ', '-'),
    );
  }

  it.each(PAGES)('%s names scripts that exist', (name) => {
    const { scripts } = JSON.parse(page('package.json')) as { scripts: Record<string, string> };
    const named = [...page(name).matchAll(/npm run (?:-s |--silent )?([\w:-]+)/g)].map(([, script = '']) => script);
    expect(named.filter((script) => !Object.hasOwn(scripts, script))).toEqual([]);
  });
});

it('The page on personal data keeps the log of the firewall for as long as the template does', () => {
  const template = readFileSync(new URL('../../infra/cloudfront.yaml', import.meta.url), 'utf8');
  const [, name, days] =
    /LogGroupName: !Sub '([\w-]+)\$\{AWS::StackName\}', RetentionInDays: (\d+)/.exec(template) ?? [];
  const data = readFileSync(new URL('../../infra/docs/data.md', import.meta.url), 'utf8');
  const row = data.split('\n').find((line) => line.startsWith('| CloudFront and AWS WAF')) ?? '';
  expect(row).toContain(`the log (\`${name}…\`) ${days} days`);
});
