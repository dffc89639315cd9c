import { execFileSync } from 'node:child_process';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { linePrinter, opsCommand, printableLine, shellCommand } from '../../../infra/ops/terminal.ts';

/** Texts in which a terminal or a shell would see more than a text. */
const hostile = fc.string({
  unit: fc.oneof(
    fc.constantFrom(...'\n\r\t\u001b\u009b\u2028\u202e\u200b\ud800ab\'"`$;&|<>()*?!%^#~{}[]\\ -'),
    fc.string({ minLength: 1, maxLength: 1 }),
  ),
});

it('A printed line stays one line, without characters that a terminal obeys or that hide something', () => {
  fc.assert(
    fc.property(fc.array(hostile), (lines) => {
      let out = '';
      const print = linePrinter((text) => {
        out += text;
      });
      print(lines);
      expect(out.split('\n')).toHaveLength(lines.length + 1);
      expect(out.replaceAll('\n', '')).not.toMatch(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{DI}\p{Cs}]/u);
    }),
  );
});

it('JSON that is printed keeps its meaning', () => {
  fc.assert(fc.property(hostile, (text) => JSON.parse(printableLine(JSON.stringify(text))) === text));
});

it('A printed command can be pasted into a shell: each word stays one, or is left out', () => {
  const words = fc.sample(hostile, 300).map((word) => `x${word}`);
  const script = words.map((word) => `printf '[%s]\\n' ${shellCommand(word)}`).join('\n');
  const printed = execFileSync('sh', ['-c', script], { encoding: 'utf8' }).trimEnd().split('\n');
  expect(printed).toEqual(words.map((word) => (shellCommand(word) === '…' ? '[…]' : `[${word}]`)));
  // cmd knows no single quotes.
  for (const word of words) expect(shellCommand(word)).not.toMatch(/[&|<>^%"!]/);
  expect(opsCommand(['--stack', 'a b'], ['settle', 'x; touch FILE #'])).toBe(
    "npm run ops -- settle 'x; touch FILE #' --stack 'a b'",
  );
});

it('A printed command leaves out an id that would be read as an option', () => {
  for (const id of ['--none', '-x', '--login=7', '--', '- x'])
    expect(opsCommand(['--local'], ['settle', id], '--undecided')).toBe('npm run ops -- settle … --undecided --local');
});
