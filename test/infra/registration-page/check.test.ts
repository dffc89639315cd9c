import * as v from 'valibot';
import { describe, expect, it } from 'vitest';
import { type FormJsonSchema, formJsonSchema } from '../../../infra/ops/form.ts';
import { checkAllDocuments, checkForm } from '../../../infra/registration-page/page/check.js';
import type { Form } from '../../../infra/registration-page/page/types.ts';
import { CUSTOM_FIELD_TYPES, exampleValue, MEGABYTE } from '../../../lib/validators/field-values.ts';
import type { FormField } from '../../../lib/validators/form.ts';
import { RegistrationBodySchema } from '../../../lib/validators/registration.ts';

const PERSON = {
  type: 'trader',
  name: 'Nia Newman',
  email: 'nia@example.com',
  otp_type: 'email',
  password: 'a long phrase',
  repeat_password: 'a long phrase',
  form_id: 'FORM0001',
};

const pageForm = (schema: FormJsonSchema) => schema as unknown as Form;
const formOf = (...fields: FormField[]) => pageForm(formJsonSchema({ id: 'FORM0001', name: 'Retail', fields }));
/** The errors of a page, as `place: sentence`. */
const errorsOf = (form: Form, values: object = {}) =>
  checkForm(form, { ...PERSON, ...values }).map(({ pointer, rule }) => `${pointer} ${rule}`);

describe('the page checks a form before it sends, and', () => {
  it.each(CUSTOM_FIELD_TYPES)(
    'accepts every value of type %s that the API accepts, and asks for a required one',
    (type) => {
      const value = exampleValue(type);
      const required = formOf({ key: 'k', type, required: true });
      expect(errorsOf(required, { k: value })).toEqual([]);
      expect(errorsOf(required)).toEqual(['#/k required']);
      expect(errorsOf(formOf({ key: 'k', type }))).toEqual([]);
    },
  );

  it('lists all errors at once, in the order of the page', () => {
    const form = formOf({ key: 'a/b', type: 'date', required: true });
    expect(
      checkForm(form, { type: 'trader', form_id: 'FORM0001', otp_type: 'sms' }).map(
        ({ pointer, rule }) => `${pointer} ${rule}`,
      ),
    ).toEqual([
      '#/name required',
      '#/email required',
      '#/a~1b required',
      '#/phone/country_code required',
      '#/phone/number required',
      '#/password required',
      '#/repeat_password required',
    ]);
  });

  it.each<[FormField, unknown, string]>([
    [{ key: 'k', type: 'number' }, '', ''],
    [{ key: 'k', type: 'number_string' }, 'abc', '#/k format'],
    [{ key: 'k', type: 'date' }, '2024-02-31', '#/k date'],
    [{ key: 'k', type: 'email' }, 'a b', '#/k format'],
    [{ key: 'k', type: 'radio', options: ['yes', 'no'] }, 'maybe', '#/k choose'],
    [{ key: 'k', type: 'multiselect', options: ['yes', 'no'] }, ['yes', 'maybe'], '#/k/1 choose'],
    [{ key: 'k', type: 'boolean', must: true }, false, '#/k must_be_true'],
    [{ key: 'k', type: 'location' }, { country: 'DE' }, '#/k/city required'],
    [{ key: 'k', type: 'participants' }, [{ id: '1', name: 'x'.repeat(256) }], '#/k/0/name length'],
    [{ key: 'k', type: 'phone' }, { country_code: '（+４４）', number: '07911 123456' }, ''],
  ])('judges %o with the value %o', (field, value, error) => {
    expect(errorsOf(formOf(field), { k: value })).toEqual(error === '' ? [] : [error]);
  });

  it.each([
    [{ password: 'short', repeat_password: 'short' }, ['#/password length']],
    [{ repeat_password: 'another phrase' }, ['#/repeat_password password_mismatch']],
    [{ password: 'café phrase', repeat_password: 'café phrase' }, []],
    [{ referrer_id: 'SHORT' }, ['#/referrer_id length']],
    [{ name: 'x'.repeat(129) }, ['#/name length']],
  ])('judges fixed fields: %o', (values, errors) => {
    expect(errorsOf(formOf(), values)).toEqual(errors);
    if (errors.length === 0) expect(v.is(RegistrationBodySchema, { ...PERSON, ...values })).toBe(true);
  });

  it('names the bounds of a length', () => {
    const bounds = (values: object) => checkForm(formOf(), { ...PERSON, ...values }).map((one) => one.bounds);
    expect(bounds({ password: 'short', repeat_password: 'short', referrer_id: 'X' })).toEqual(['8–128', '8']);
  });

  it('judges documents by their type, size and number', () => {
    const form = formOf({ key: 'k', type: 'document', accept: ['application/pdf', 'image/heic'] });
    const file = (type: string, bytes = 10) => ({ id: '1', name: 'a', type, bytes });
    expect(errorsOf(form, { k: [file('application/pdf'), file('image/heif'), file('')] })).toEqual([]);
    expect(errorsOf(form, { k: [file('image/png')] })).toEqual(['#/k/0/doc media_type']);
    expect(errorsOf(form, { k: [file('application/pdf', 3 * MEGABYTE + 1)] })).toEqual(['#/k/0/doc file_size']);
    expect(errorsOf(form, { k: Array(11).fill(file('')) })).toEqual(['#/k too_many_values']);
    const half = file('application/pdf', 3 * MEGABYTE);
    expect(checkAllDocuments(form, { k: [half] })).toEqual([]);
    expect(checkAllDocuments(form, { k: [half, half] })).toMatchObject([{ pointer: '#/k', rule: 'file_size' }]);
  });
});
