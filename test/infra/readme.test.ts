import { globSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { EVERYTHING, resources, synthesize } from '../support/stack.ts';

const readme = readFileSync(new URL('../../README.md', import.meta.url), 'utf8');
const settings = readFileSync(new URL('../../infra/settings.ts', import.meta.url), 'utf8');

/** The names of all settings, read off their schemas. */
function names(): string[] {
  const entriesOf = (schema: string) => {
    const [, body = ''] =
      new RegExp(`const ${schema} = closedObject\\(\\{\\n([\\s\\S]*?)\\n\\}\\);`).exec(settings) ?? [];
    return [...body.matchAll(/^ {2}(\w+): (?:v\.optional\((\w+Schema)\b|.)/gm)];
  };
  return entriesOf('SettingsSchema').flatMap(([, name = '', group]) => {
    if (group === undefined || group === 'ChannelsSchema') return [name];
    return entriesOf(group).map(([, member]) => `${name}.${member}`);
  });
}

describe('The README', () => {
  it('has every setting in its table', () => {
    expect(names().length).toBeGreaterThan(45);
    expect(names().filter((name) => !readme.includes(`\`${name}\``))).toEqual([]);
  });

  it('has a paragraph for every alarm', () => {
    const alarms = Object.values(resources(synthesize(EVERYTHING), 'AWS::CloudWatch::Alarm'));
    const kinds = new Set(
      alarms.map(({ Properties }) => /Alarms, (\w+)\.$/.exec(String(Properties.AlarmDescription))?.[1]),
    );
    expect(kinds.size).toBeGreaterThan(15);
    expect([...kinds].filter((kind) => !new RegExp(`^#+ ${kind}\n.{40}`, 'm').test(readme))).toEqual([]);
  });

  it('counts the alarms as they are', () => {
    const count = (context: Parameters<typeof synthesize>[0]) =>
      Object.keys(resources(synthesize(context), 'AWS::CloudWatch::Alarm')).length;
    expect(readme).toContain(`each of the ${count({})} alarms (${count(EVERYTHING)} with every channel)`);
    expect(readme).toContain(`${count({})} alarms with e-mail alone`);
  });

  it('names no file that is not there', () => {
    const paths = [...readme.matchAll(/(?:`|\]\()((?:functions|lib|infra|test)\/[\w./*-]+)/g)].map(
      ([, path = '']) => path,
    );
    expect(paths.length).toBeGreaterThan(40);
    const missing = paths.filter(
      (path) => globSync(path, { cwd: new URL('../..', import.meta.url).pathname }).length === 0,
    );
    expect(missing).toEqual([]);
  });

  it('has every output of the stack that an operator needs', () => {
    const outputs = Object.keys(synthesize(EVERYTHING).findOutputs('*')).filter((name) => !/^MailDnsRecord/.test(name));
    expect(outputs.filter((name) => !readme.includes(name))).toEqual([]);
  });
});
