import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { text } from 'node:stream/consumers';
import { describe, expect, it } from 'vitest';
import packageJson from '../../package.json' with { type: 'json' };

const ROOT = new URL('../..', import.meta.url);

/** What each command does when the reader of its output has gone. `silent`: it prints nothing. */
type Handling = 'endWithReader' | 'outliveReader' | 'silent';
/** Arguments with which it prints at once and changes nothing; absent: there are none. */
interface Row {
  handling: Handling;
  args?: string[];
}

/** Each script of package.json that is a program of ours. */
const ROWS: Record<string, Row> = {
  ops: { handling: 'outliveReader', args: ['--help'] },
  'registration-page': { handling: 'outliveReader', args: ['--help'] },
  doctor: { handling: 'outliveReader', args: ['--help'] },
  // `start.test.ts` runs it until its reader has gone.
  start: { handling: 'endWithReader' },
  bench: { handling: 'endWithReader', args: ['--help'] },
  model: { handling: 'endWithReader' },
  release: { handling: 'outliveReader' },
  setting: { handling: 'outliveReader', args: [] },
  deploy: { handling: 'outliveReader' },
  bundle: { handling: 'outliveReader' },
  openapi: { handling: 'silent' },
  pictures: { handling: 'silent' },
  'openapi:html': { handling: 'outliveReader' },
};
/** Those that run another project's command, which handles its output. */
const OTHERS = 'check fix openapi:client openapi:lint prepare specification synth test test:slow'.split(' ');

const scripts: Record<string, string> = packageJson.scripts;
const filesOf = (name: string) => [...(scripts[name] ?? '').matchAll(/\bnode (\S+\.ts)/g)].map(([, file = '']) => file);
const PRINTS = /process\.std(out|err)|console\./;

describe('The scripts of package.json', () => {
  it('are all in the table of commands whose output may lose its reader', () => {
    expect(Object.keys(scripts).sort()).toEqual([...Object.keys(ROWS), ...OTHERS].sort());
    expect(OTHERS.flatMap(filesOf)).toEqual([]);
  });

  it.each(Object.entries(ROWS))(
    'npm run %s survives or ends when its output loses its reader: $handling',
    (name, { handling }) => {
      for (const file of filesOf(name)) {
        const source = readFileSync(new URL(file, ROOT), 'utf8');
        if (handling === 'silent') expect(source).not.toMatch(PRINTS);
        else expect(source).toContain(`${handling}();`);
      }
    },
  );
});

/** Which outputs have no reader: its pipe is closed at once, or the shell has closed the output. */
const CLOSINGS = {
  '| head': { stdout: true, stderr: false, shell: '' },
  '2>&1 | head': { stdout: true, stderr: true, shell: '' },
  '2>&-': { stdout: false, stderr: false, shell: '2>&-' },
  '>&-': { stdout: false, stderr: false, shell: '>&-' },
} as const;
type Closing = keyof typeof CLOSINGS;

/** Runs a program until it ends. @returns its exit code, and what it has printed where somebody reads */
async function run(words: readonly string[], closing: Closing) {
  const { stdout, stderr, shell } = CLOSINGS[closing];
  const child = spawn('sh', ['-c', `exec "$@" ${shell}`, 'sh', process.execPath, ...words], {
    cwd: ROOT,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  if (stdout) child.stdout.destroy();
  if (stderr) child.stderr.destroy();
  const [out, reported, [code]] = await Promise.all([
    stdout ? '' : text(child.stdout),
    stderr ? '' : text(child.stderr),
    once(child, 'close'),
  ]);
  return { code, out, reported };
}

describe('A command whose reader has gone ends by itself, without an error', () => {
  const quick = Object.entries(ROWS).flatMap(([name, { args }]) => (args === undefined ? [] : [{ name, args }]));
  it.each(quick)('npm run $name | head', async ({ name, args }) => {
    const [file = ''] = filesOf(name);
    expect(await run([file, ...args], '| head')).toEqual({ code: 0, out: '', reported: '' });
  });
});

/** A program that prints, goes on printing for a while, and then says so by its exit code. */
const program = (handling: Handling) => `
  import { ${handling} } from './infra/closed-output.ts';
  ${handling}();
  process.on('uncaughtException', (error) => process.stderr.write(String(error)));
  for (let turn = 0; turn < 20; turn += 1) {
    process.stdout.write('result\\n');
    process.stderr.write('progress\\n');
    await new Promise(setImmediate);
  }
  process.exitCode = 7;
`;
const DONE = 7;

describe('A command whose output has lost its reader', () => {
  it.each<[Exclude<Handling, 'silent'>, Closing, code: number]>([
    ['endWithReader', '| head', 0],
    ['endWithReader', '2>&1 | head', 0],
    ['endWithReader', '2>&-', DONE],
    ['endWithReader', '>&-', DONE],
    ['outliveReader', '| head', DONE],
    ['outliveReader', '2>&1 | head', DONE],
    ['outliveReader', '2>&-', DONE],
    ['outliveReader', '>&-', DONE],
  ])('that calls %s and loses its output by %s exits with %i', async (handling, closing, code) => {
    const found = await run(['--input-type=module', '--eval', program(handling)], closing);
    expect(found.code).toBe(code);
    expect(found.out + found.reported).not.toContain('EPIPE');
  });
});
