import { describe, expect, it } from 'vitest';
import { codePage } from '../../../../lib/platform/tp4/encoding.ts';
import { aServer, DIALECTS, openTextAccount } from '../../../support/text-protocol.ts';

const EMOJI: [kind: string, text: string][] = [
  ['a smiley', '😀'],
  ['a flag', '🇩🇪'],
  ['a flag of tags', '🏴\u{e0067}\u{e0062}\u{e0065}\u{e006e}\u{e0067}\u{e007f}'],
  ['half a flag', '🇩'],
  ['a family', '👩\u200d👩\u200d👧'],
  ['a skin tone', '👍🏽'],
  ['a skin tone alone', '🏽'],
  ['a keycap', '1\ufe0f\u20e3'],
  ['a keycap without a variation selector', '#\u20e3'],
  ['a symbol of text', '☎'],
  ['a symbol of text as an emoji', '☎\ufe0f'],
  ['a symbol of text as text', '☎\ufe0e'],
  ['a sign of a gender', '🏃\u200d♂\ufe0f'],
  ['an arrow', '↔'],
  ['a heart on fire', '❤\ufe0f\u200d🔥'],
];

async function asBytes(page: string, text: string, limit = 127) {
  return (await codePage(page))?.approximate(text, limit);
}

describe.each(['windows-1252', 'windows-1251', 'iso-8859-1', 'gbk', 'big5'])('a name in %s', (page) => {
  it.each(EMOJI)('leaves out %s', async (_, emoji) => {
    expect(await asBytes(page, `Ann ${emoji} Lee${emoji}`)).toBe('Ann Lee');
  });

  it.each(EMOJI)('that is %s alone is empty', async (_, emoji) => {
    expect(await asBytes(page, `${emoji} ${emoji}`)).toBe('');
  });
});

it.each([
  ['windows-1252', '©', '\xa9'],
  ['windows-1252', '®\ufe0f', '\xae'],
  ['windows-1252', '™\ufe0e', '\x99'],
  ['euc-kr', '♥', '\xa2\xbe'],
  ['gb18030', '👩\u200d👧', undefined],
])('a name in %s keeps %s, which the code page has', async (page, symbol, bytes) => {
  const kept = bytes ?? (await codePage(page))?.encode(symbol);
  expect(kept).toMatch(/./);
  expect(await asBytes(page, `A${symbol}B`)).toBe(`A${kept}B`);
});

it.each([
  ['a letter with a skin tone keeps the letter', 'A🏽', 'A'],
  ['a letter without a place in the page is transliterated', 'Łódź', 'L\xf3dz'],
  ['a digit that asks for an emoji is a digit', 'Ann 2\ufe0f', 'Ann 2'],
])('%s', async (_, text, bytes) => {
  expect(await asBytes('windows-1252', text)).toBe(bytes);
});

it('two Latin characters are never one grapheme, so a Latin name needs no segmenter', () => {
  const latin = [...String.fromCharCode(...Array.from({ length: 0xe0 }, (_, index) => 0x20 + index))];
  const pairs = latin.flatMap((one) => latin.map((other) => `${one}${other}`)).join('');
  expect([...new Intl.Segmenter('en', { granularity: 'grapheme' }).segment(pairs)]).toHaveLength(pairs.length);
});

it('a name is cut between graphemes', async () => {
  expect(await asBytes('gb18030', `Ann 👩\u200d👧`, 12)).toBe('Ann');
});

it.each(DIALECTS)('%s: an account whose name is emoji alone has a name', async (dialect) => {
  const server = await aServer({ dialect });
  await openTextAccount(dialect, server, { name: '1\ufe0f\u20e3😀' });
  expect(server.accounts()[0]?.name).toBe('Client');
});
