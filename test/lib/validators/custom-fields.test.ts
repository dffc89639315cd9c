import fc from 'fast-check';
import * as v from 'valibot';
import { describe, expect, it } from 'vitest';
import { CUSTOM_FIELD_TYPES } from '../../../lib/validators/field-values.ts';
import { type Form, StoredFormSchema } from '../../../lib/validators/form.ts';
import { VIOLATION_RULES } from '../../../lib/validators/primitives.ts';
import { checkCustomFields } from '../../../lib/validators/registration.ts';

const MB = 1024 * 1024;

type Field = Form['fields'][number];

const formOf = (...fields: Field[]): Form => v.parse(StoredFormSchema, { id: 'FORM0001', fields });

/** The rules that values break, with the place of each. */
async function rulesOf(form: Form, values: Record<string, unknown>): Promise<string[]> {
  const outcome = await checkCustomFields(form, values);
  return outcome.ok ? [] : outcome.violations.map(({ pointer, rule }) => `${pointer} ${rule}`);
}

/** A document with this number of bytes. */
const document = (bytes: number, id = 'a') => ({
  id,
  name: `${id}.pdf`,
  doc: Buffer.alloc(bytes, 7).toString('base64'),
});

describe('the fields of a form', () => {
  const form = formOf(
    { key: 'a', type: 'text', required: true },
    { key: 'b', type: 'number' },
    { key: 'c', type: 'checkbox', required: true },
  );

  it('are kept as they were sent', async () => {
    expect(await checkCustomFields(form, { c: ['x'], a: 'A' })).toMatchObject({ fields: { a: 'A', c: ['x'] } });
  });

  it('keep the version of each consent that was given', async () => {
    const consents = formOf(
      { key: 'terms', type: 'boolean', must: true, version: '2026-11' },
      { key: 'news', type: 'boolean', version: '3' },
      { key: 'plain', type: 'boolean' },
    );
    const given = { terms: true, news: true, plain: true };
    expect(await checkCustomFields(consents, given)).toMatchObject({
      consents: [
        { key: 'terms', version: '2026-11' },
        { key: 'news', version: '3' },
      ],
    });
    expect(await checkCustomFields(consents, { terms: true, news: false })).toMatchObject({
      consents: [{ key: 'terms', version: '2026-11' }],
    });
  });

  it('are at the root, which is explained to a request that has them in `custom_fields`', async () => {
    const outcome = await checkCustomFields(form, { a: 'A', c: ['x'], custom_fields: { b: 1 } });
    expect(outcome).toMatchObject({
      violations: [
        { pointer: '#/custom_fields', rule: 'unknown_field', detail: expect.stringContaining('at the root') },
      ],
    });
    expect(await rulesOf(form, { a: 'A', c: ['x'], custom_fields: {} })).toEqual([]);
  });

  it('may have names that JavaScript objects inherit, and still count as missing until the request has them', async () => {
    const odd = formOf({ key: 'constructor', type: 'text', required: true }, { key: 'toString', type: 'text' });
    expect(await rulesOf(odd, {})).toEqual(['#/constructor required']);
    const outcome = await checkCustomFields(odd, { constructor: 'c' });
    expect(outcome.ok && Object.entries(outcome.fields)).toEqual([['constructor', 'c']]);
  });

  it('accept any choice if the form lists no options', async () => {
    const listless = formOf({ key: 'r', type: 'radio', options: [] }, { key: 'm', type: 'multiselect', options: [] });
    expect(await rulesOf(listless, { r: 'any', m: ['any'] })).toEqual([]);
  });

  it('of open shape have no member named __proto__', async () => {
    const open = formOf({ key: 'd', type: 'dynamicSelect' });
    expect(await rulesOf(open, { d: JSON.parse('{"a":{"__proto__":1}}') })).toEqual(['#/d unknown_field']);
  });
});

describe('any value for a form', () => {
  const mark = 'hunter2-SECRET';
  const form = formOf(...CUSTOM_FIELD_TYPES.map((type): Field => ({ key: `my_${type}`, type, options: ['a'] })));
  const leaf = fc.oneof(
    fc.string({ unit: 'binary' }).map((text) => mark + text),
    fc.constantFrom(null, 7, true, [], {}),
  );
  const name = fc.constantFrom('id', 'name', 'doc', 'country_code', 'number', 'country', 'state', 'city', '__proto__');
  const members = fc.dictionary(name, leaf);
  const value = fc.oneof(leaf, fc.array(fc.oneof(leaf, members)), members, fc.jsonValue());
  const key = fc.constantFrom(...form.fields.map((field) => field.key), '__proto__', 'constructor', 'x');

  it('is kept unchanged, or answered with errors of the known rules, without quoting it', async () => {
    await fc.assert(
      fc.asyncProperty(fc.dictionary(key, value), async (values) => {
        const outcome = await checkCustomFields(form, values);
        if (outcome.ok) {
          for (const [field, kept] of Object.entries(outcome.fields)) {
            if (!/country|nation|phone|location/.test(field)) expect(kept).toEqual(values[field]);
          }
          return;
        }
        expect(JSON.stringify(outcome)).not.toContain(mark);
        for (const { rule, detail } of outcome.violations) {
          expect(Object.keys(VIOLATION_RULES)).toContain(rule);
          expect(detail).toMatch(/^(must|is|a|the) /);
          expect(detail).not.toBe('is not valid');
        }
      }),
      { numRuns: 100 },
    );
  });
});

describe('documents', () => {
  const form = formOf(
    { key: 'd0cUpl', type: 'document', accept: ['application/pdf'] },
    { key: 'm0re', type: 'document' },
  );
  const check = (values: Record<string, unknown>) => checkCustomFields(form, values);

  it('are decoded, with their place, names and the media types that the form accepts', async () => {
    const doc = Buffer.from('%PDF-1.7').toString('base64');
    const outcome = await check({
      d0cUpl: [{ id: '', name: 'ä.pdf', doc }],
      m0re: [document(1, 'x'), document(2, 'y')],
    });
    expect(outcome).toEqual({
      ok: true,
      fields: {},
      consents: [],
      documents: [
        {
          fieldKey: 'd0cUpl',
          index: 0,
          id: '',
          name: 'ä.pdf',
          bytes: Buffer.from('%PDF-1.7'),
          accept: ['application/pdf'],
        },
        { fieldKey: 'm0re', index: 0, id: 'x', name: 'x.pdf', bytes: Buffer.alloc(1, 7) },
        { fieldKey: 'm0re', index: 1, id: 'y', name: 'y.pdf', bytes: Buffer.alloc(2, 7) },
      ],
    });
  });

  it('are decoded to the very bytes that were encoded', async () => {
    await fc.assert(
      fc.asyncProperty(fc.uint8Array({ minLength: 1, maxLength: 300 }), async (bytes) => {
        const outcome = await check({ m0re: [{ id: '', name: '', doc: Buffer.from(bytes).toString('base64') }] });
        expect(outcome.ok && [...(outcome.documents[0]?.bytes ?? [])]).toEqual([...bytes]);
      }),
    );
  });

  it('are base64 exactly when encoding them again gives the same text', async () => {
    const almost = fc.stringMatching(/^[A-D/+]{0,9}={0,3}$/).filter((text) => text !== '');
    await fc.assert(
      fc.asyncProperty(almost, async (doc) => {
        const outcome = await check({ m0re: [{ id: '', name: '', doc }] });
        expect(outcome.ok).toBe(Buffer.from(doc, 'base64').toString('base64') === doc);
      }),
      { numRuns: 100 },
    );
  });

  it.each([
    ['no padding', 2_097_150, 2_097_154],
    ['one =', 2_097_152, 2_097_152],
    ['two =', 2_097_151, 2_097_153],
  ])('are counted by their bytes, with any end of their base64: %s', async (_, one, other) => {
    expect((await check({ d0cUpl: [document(one)], m0re: [document(other)] })).ok).toBe(true);
    expect(await check({ d0cUpl: [document(one)], m0re: [document(other + 1)] })).toMatchObject({ tooLarge: true });
  });

  it('are decoded even if other fields have errors, so that their content is checked', async () => {
    const outcome = await check({ x: 1, d0cUpl: [{ id: '', name: '', doc: '#' }], m0re: [document(1)] });
    expect(outcome).toMatchObject({ ok: false, documents: [{ fieldKey: 'm0re', index: 0 }] });
    expect(await check({ d0cUpl: [document(2 * MB)], m0re: [document(3 * MB)] })).toMatchObject({ documents: [] });
  });

  it('that are too large decide the answer, even with other errors', async () => {
    expect(await check({ x: 1, m0re: [document(3 * MB + 1)] })).toMatchObject({
      tooLarge: true,
      violations: [{ rule: 'size' }, { pointer: '#/x', rule: 'unknown_field' }],
    });
  });
});
