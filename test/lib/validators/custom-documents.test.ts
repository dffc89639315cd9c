import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { checkCustomFields } from '../../../lib/validators/registration.ts';
import { document, formOf } from '../../support/custom-fields.ts';

const MB = 1024 * 1024;

describe('documents', () => {
  const form = formOf(
    { key: 'd0cUpl', type: 'document', accept: ['application/pdf'] },
    { key: 'm0re', type: 'document' },
  );
  const check = (values: Record<string, unknown>) => checkCustomFields(form, values);

  it('come out decoded, with their place, names and the media types that the form accepts', async () => {
    const doc = Buffer.from('%PDF-1.7').toString('base64');
    const outcome = await check({
      d0cUpl: [{ id: '', name: '../ä.pdf', doc }],
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
          name: '../ä.pdf',
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
      { numRuns: 500 },
    );
  });

  it('have at most 3 MB each, else the request is too large', async () => {
    expect((await check({ m0re: [document(3 * MB)] })).ok).toBe(true);
    expect(await check({ m0re: [document(1), document(3 * MB + 1)] })).toEqual({
      ok: false,
      tooLarge: true,
      violations: [{ pointer: '#/m0re/1/doc', rule: 'size', detail: 'must be at most 3 MB' }],
    });
  });

  it.each([
    ['no padding', 2_097_150, 2_097_154],
    ['one =', 2_097_152, 2_097_152],
    ['two =', 2_097_151, 2_097_153],
  ])('are counted by their bytes, with any end of their base64: %s', async (_, one, other) => {
    expect((await check({ d0cUpl: [document(one)], m0re: [document(other)] })).ok).toBe(true);
    expect(await check({ d0cUpl: [document(one)], m0re: [document(other + 1)] })).toMatchObject({ tooLarge: true });
  });

  it('that are too large decide the answer, even with other errors', async () => {
    expect(await check({ x: 1, m0re: [document(3 * MB + 1)] })).toMatchObject({
      tooLarge: true,
      violations: [{ rule: 'size' }, { pointer: '#/x', rule: 'unknown_field' }],
    });
  });
});
