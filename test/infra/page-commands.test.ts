import { globSync, readFileSync } from 'node:fs';
import type { Command } from 'commander';
import { describe, expect, it } from 'vitest';
import { doctorProgram } from '../../infra/doctor/doctor.ts';
import { operatorsProgram } from '../../infra/ops/ops.ts';
import { changeSettings } from '../../infra/ops/setting.ts';
import type { Terminal } from '../../infra/ops/terminal.ts';
import { cdkJsonOf } from '../support/operators.ts';

const PAGES = globSync(['README.md', '.github/*.md', '{infra,lib,test}/**/*.md'], {
  exclude: ['**/node_modules/**'],
});

/** Every command of the pages that begins with `npm run`, with its page. A backslash at the end continues a line. */
const COMMANDS = PAGES.flatMap((page) => {
  const text = readFileSync(page, 'utf8').replaceAll(/ \\\n\s+/g, ' ');
  const found = text.matchAll(/npm run (?:-s )?([\w:-]+)(?: -- ([^\n`#|]*))?/g);
  return [...found].map(([, script = '', rest = '']) => {
    const [args = ''] = rest.split(/ && |; /);
    return {
      page,
      script,
      args: args
        .replaceAll(/\$\([^)]*\)/g, 'VALUE')
        .split(' ')
        .filter(Boolean),
    };
  });
});
const argsOf = (name: string) => COMMANDS.filter(({ script }) => script === name).map(({ args }) => args);

/** The first thing in these words that the program does not have: a subcommand, an option, or room for an argument. */
function unknownWord(program: Command, words: readonly string[]): string | undefined {
  let command = program;
  let argumentsLeft = Number.POSITIVE_INFINITY;
  const rest = [...words];
  for (let word = rest.shift(); word !== undefined; word = rest.shift()) {
    if (word.startsWith('--')) {
      if (word === '--help') continue;
      const option = [...command.options, ...program.options].find(({ long }) => long === word);
      if (option === undefined) return word;
      if (option.required || (option.optional && rest[0]?.startsWith('--') === false)) rest.shift();
    } else if (command.commands.length > 0) {
      const next = command.commands.find((one) => one.name() === word);
      if (next === undefined) return word;
      command = next;
      argumentsLeft = command.registeredArguments.some(({ variadic }) => variadic)
        ? Number.POSITIVE_INFINITY
        : command.registeredArguments.length;
    } else if (argumentsLeft-- <= 0) return word;
  }
  return undefined;
}

describe('The pages', () => {
  it('name only scripts of package.json', () => {
    const { scripts } = JSON.parse(readFileSync('package.json', 'utf8')) as { scripts: object };
    expect(COMMANDS.length).toBeGreaterThan(80);
    expect(COMMANDS.filter(({ script }) => !Object.hasOwn(scripts, script))).toEqual([]);
  });

  it.each([
    ['ops', operatorsProgram({} as Terminal)],
    ['doctor', doctorProgram()],
  ])('call npm run %s only with what it has', (name, program) => {
    const wrong = argsOf(name).map((args) => ({ args: args.join(' '), unknown: unknownWord(program, args) }));
    expect(wrong.length).toBeGreaterThan(10);
    expect(wrong.filter(({ unknown }) => unknown !== undefined)).toEqual([]);
  });
});

/** Settings that some settings of the pages need. */
const BEFORE = [
  'senderAddress=no-reply@acme.example',
  'front.header=x-viewer-address',
  'front.secret=broker-api/prod/front',
  'customDomain.name=api.acme.example',
  'customDomain.certificateArn=arn:aws:acm:eu-west-1:111122223333:certificate/1',
];

describe('The settings of the pages', () => {
  const written = argsOf('setting').filter((args) => args.length > 0 && !args[0]?.startsWith('name='));

  it.each(written.map((args) => [args.join(' '), args]))('are valid: %s', (_, args) => {
    const file = cdkJsonOf({});
    expect(changeSettings(BEFORE, file).code).toBe(0);
    expect(changeSettings(args, file)).toMatchObject({ code: 0 });
  });
});
