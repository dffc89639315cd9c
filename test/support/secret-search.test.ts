import { describe, expect, it } from 'vitest';
import { marksOf, placesOf, placesOfMarks } from './secret-search.ts';

describe('The search for passwords', () => {
  it.each([
    ['as it is', (text: string) => text],
    ['in JSON', (text: string) => JSON.stringify({ text })],
    ['in JSON in JSON', (text: string) => JSON.stringify(JSON.stringify({ text }))],
    ['in an address', (text: string) => `?q=${encodeURIComponent(text)}`],
    ['in base64 of more', (text: string) => Buffer.from(`{"a":"${text}"}`).toString('base64')],
    ['in base64url of more', (text: string) => Buffer.from(`"${text}" and`).toString('base64url')],
    ['in hexadecimal', (text: string) => Buffer.from(text).toString('hex')],
    ['in HTML', (text: string) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;')],
  ])('finds one %s', (_, write) => {
    const password = 'a"b\\c<d&e=1A';
    const texts = { here: `before ${write(password)} after`, there: 'before and after' };
    expect(placesOf(['another', password], texts)).toEqual(['here']);
  });
});

describe('The search for clients’ data', () => {
  const client = {
    name: 'Ignatius Pérezmarín',
    email: 'somebody.else@mailbox.example',
    phone: { country_code: '44', number: '07400 123456' },
  };

  it.each([
    'IGNATIUS',
    'Perezmarin,',
    'P\\u00e9rezmar\\u00edn',
    encodeURIComponent('Pérezmarín'),
    Buffer.from('Mr Ignatius P.').toString('base64'),
    Buffer.from('Ignatius').toString('hex').toUpperCase(),
    'Somebody.Else%40',
    'nobody at mailbox.example',
    '+44 (0) 7400/123-456',
    Buffer.from('+447400123456').toString('base64url'),
  ])('finds a client in %s', (written) => {
    const texts = { here: `{"step":"before ${written} after"}`, there: '{"step":"before and after"}' };
    expect(placesOfMarks(marksOf(client), texts)).toEqual(['here']);
  });

  it('finds none in times, ids and numbers next to each other', () => {
    const text = '{"at":"2026-07-27T21:07:40.012Z","login":3456,"id":"74001234-5600-4000-8000-740012345600"}';
    expect(placesOfMarks(marksOf(client), { here: text })).toEqual([]);
  });

  it.each([{ name: 'Ann Lee' }, { email: 'ann@mailbox.example' }, { phone: { country_code: '44', number: '0123' } }])(
    'refuses a secret that is too short to search for: %j',
    (short) => {
      expect(() => marksOf({ ...client, ...short })).toThrow('too short');
    },
  );
});
