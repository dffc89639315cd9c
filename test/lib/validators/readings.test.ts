import { describe, expect, it } from 'vitest';
import { checkCustomFields } from '../../../lib/validators/registration.ts';

const EMPTY = [null, ''];
const BLANK = [' ', '\t\r\n', '\u3000', '\u00a0\u200e', '\ufeff', '\u2068\u2069', '\u3164'];
/** Names as address books and clipboards have them, and as they are read. */
const NAMES = [
  ['\u2068  Ana Ruiz\u2069\n', 'Ana Ruiz'],
  ['\u202bسارا\u202c', 'سارا'],
  ['\ufeffJose\u0301', 'José'],
] as const;

/** `test/specification` has the fields themselves. */
describe('A member of a custom field', () => {
  const kept = async (type: 'location' | 'participants' | 'leads' | 'document' | 'email', value: unknown) => {
    const outcome = await checkCustomFields({ id: 'FORM0001', fields: [{ key: 'f', type }] }, { f: value });
    return outcome.ok ? outcome.fields.f : outcome.violations.map(({ pointer, rule }) => `${pointer} ${rule}`);
  };

  it('that is left empty is absent, or required', async () => {
    for (const blank of [...EMPTY, ...BLANK]) {
      expect(await kept('email', blank)).toBeUndefined();
      expect(await kept('location', { country: blank, state: blank, city: blank })).toBeUndefined();
      expect(await kept('location', { country: 'PT', state: blank, city: 'Faro' })).toMatchObject({ state: '' });
      expect(await kept('location', { country: blank, city: 'Faro' })).toEqual(['#/f/country required']);
      for (const type of ['participants', 'leads'] as const)
        expect(await kept(type, [{ id: '1', name: blank }, { share: blank }])).toEqual([{ id: '1' }, { share: blank }]);
    }
    for (const empty of EMPTY) {
      expect(await kept('leads', [{ id: empty, name: 'Kim' }])).toEqual([{ name: 'Kim' }]);
      expect(await kept('document', [{ id: '1', name: 'a.txt', doc: empty }])).toEqual(['#/f/0/doc required']);
    }
    expect(await kept('document', [{ id: null, name: null, doc: 'QUI=' }])).toEqual([
      '#/f/0/id required',
      '#/f/0/name required',
    ]);
  });

  it('that is a name is read by the rules of names', async () => {
    for (const [sent, meant] of NAMES) {
      expect(await kept('location', { country: sent, state: sent, city: sent })).toEqual({
        country: meant,
        state: meant,
        city: meant,
      });
      expect(await kept('participants', [{ name: sent }])).toEqual([{ name: meant }]);
    }
  });
});
