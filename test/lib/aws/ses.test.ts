import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { mailboxHeader } from '../../../lib/aws/ses.ts';

describe("A sender's name in a mail header", () => {
  it.each([
    ['Example Markets', '"Example Markets" <a@b.example>'],
    ['Smith, "Jones" & Co. \\', '"Smith, \\"Jones\\" & Co. \\\\" <a@b.example>'],
    ['Two\r\nBcc: lines', '"Two Bcc: lines" <a@b.example>'],
    ['  ', 'a@b.example'],
    ['Börse', '=?UTF-8?B?QsO2cnNl?= <a@b.example>'],
  ])('%j becomes %s', (name, expected) => {
    expect(mailboxHeader(name, 'a@b.example')).toBe(expected);
  });

  it('is ASCII, in encoded words of at most 75 characters that decode to any name', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme', minLength: 1, maxLength: 120 }), (name) => {
        const shown = mailboxHeader(name, 'a@b.example');
        expect(shown).toMatch(/^[\x20-\x7e]+$/);
        if (!shown.startsWith('=?')) return;
        const words = shown.replace(/ <a@b\.example>$/, '').split(' ');
        for (const word of words) expect(word.length).toBeLessThanOrEqual(75);
        const back = words
          .map((word) => Buffer.from(word.slice('=?UTF-8?B?'.length, -2), 'base64').toString())
          .join('');
        expect(back).toBe(name.replaceAll(/[\x00-\x1f\x7f]+/g, ' ').trim());
      }),
    );
  });
});
