import * as v from 'valibot';
import { describe, expect, it } from 'vitest';
import { type FormJsonSchema, formJsonSchema } from '../../../infra/ops/form.ts';
import { checkAllDocuments, checkForm } from '../../../infra/registration-page/page/check.js';
import type { Form } from '../../../infra/registration-page/page/types.ts';
import { requestValues } from '../../../infra/registration-page/page/values.js';
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
      '#/phone/number required',
      '#/password required',
      '#/repeat_password required',
    ]);
  });

  it.each<[FormField, unknown, string]>([
    [{ key: 'k', type: 'number' }, '', ''],
    [{ key: 'k', type: 'number' }, Number.NaN, '#/k number'],
    [{ key: 'k', type: 'number_string' }, 'abc', '#/k number'],
    [{ key: 'k', type: 'date' }, '2024-02-31', '#/k date'],
    [{ key: 'k', type: 'date' }, '0085-02-01', '#/k date'],
    [{ key: 'k', type: 'date' }, '?', '#/k date'],
    [{ key: 'k', type: 'email' }, 'a b', '#/k format'],
    [{ key: 'k', type: 'radio', options: ['yes', 'no'] }, 'maybe', '#/k choose'],
    [{ key: 'k', type: 'multiselect', options: ['yes', 'no'] }, ['yes', 'maybe'], '#/k/1 choose'],
    [{ key: 'k', type: 'boolean', must: true }, false, '#/k must_be_true'],
    [{ key: 'k', type: 'location' }, { country: 'DE' }, '#/k/city required'],
    [{ key: 'k', type: 'participants' }, [{ id: '1', name: 'x'.repeat(256) }], '#/k/0/name too_long'],
    [{ key: 'k', type: 'phone' }, { country_code: '（+４４）', number: '07911 123456' }, ''],
  ])('judges %o with the value %o', (field, value, error) => {
    expect(errorsOf(formOf(field), { k: value })).toEqual(error === '' ? [] : [error]);
  });

  it.each([
    [{ password: 'short', repeat_password: 'short' }, ['#/password too_short']],
    [{ repeat_password: 'another phrase' }, ['#/repeat_password password_mismatch']],
    [{ password: 'café phrase', repeat_password: 'café phrase' }, []],
    [{ referrer_id: 'SHORT' }, ['#/referrer_id too_short']],
    [{ name: 'x'.repeat(129) }, ['#/name too_long']],
    [{ name: '…' }, ['#/name format']],
  ])('judges fixed fields: %o', (values, errors) => {
    expect(errorsOf(formOf(), values)).toEqual(errors);
    if (errors.length === 0) expect(v.is(RegistrationBodySchema, { ...PERSON, ...values })).toBe(true);
  });

  it('names the bounds of a length', () => {
    const bounds = (values: object) => checkForm(formOf(), { ...PERSON, ...values }).map((one) => one.bounds);
    expect(bounds({ password: 'short', repeat_password: 'short', referrer_id: 'X' })).toEqual(['≥ 8', '≥ 8']);
  });

  it('judges documents by their type, size and number', () => {
    const form = formOf({ key: 'k', type: 'document', accept: ['application/pdf', 'image/heic'] });
    const file = (type: string, bytes = 10) => ({ name: 'a', type, bytes });
    expect(errorsOf(form, { k: [file('application/pdf'), file('image/heif'), file('')] })).toEqual([]);
    expect(errorsOf(form, { k: [file('image/png')] })).toEqual(['#/k/0/doc media_type']);
    expect(errorsOf(form, { k: [file('application/pdf', 3 * MEGABYTE + 1)] })).toEqual(['#/k/0/doc file_size']);
    // The page makes pictures smaller.
    expect(errorsOf(form, { k: [file('image/heic', 9 * MEGABYTE)] })).toEqual([]);
    expect(errorsOf(form, { k: Array(11).fill(file('')) })).toEqual(['#/k too_many_values']);
    const half = file('application/pdf', 3 * MEGABYTE);
    expect(checkAllDocuments(form, { k: [half] })).toEqual([]);
    expect(checkAllDocuments(form, { k: [half, half] })).toMatchObject([{ pointer: '#/k', rule: 'file_size' }]);
  });
});

describe('what a person types', () => {
  it.each([
    ['1,5', 'de', 1.5],
    ['1.5', 'de', 1.5],
    ['1.500', 'de', Number.NaN],
    ['1.500', 'en', 1.5],
    ['1,500', 'en', Number.NaN],
    ['0.125', 'de', 0.125],
    ['１２', 'ja', 12],
    ['١٫٥', 'ar', 1.5],
    ['๑๒', 'th', 12],
    ['−३', 'hi', -3],
    ['12e', 'en', Number.NaN],
    ['1 2', 'en', Number.NaN],
    ['9007199254740993', 'en', Number.NaN],
  ])('as the number %s in %s is read as %d, and never changed in silence', (typed, language, read) => {
    const form = formOf({ key: 'k', type: 'number' }, { key: 's', type: 'number_string' });
    const values = requestValues(form, { ...PERSON, k: ` ${typed} `, s: typed }, language);
    expect(values.k).toEqual(read);
    if (!Number.isNaN(read)) expect([Number(values.s), errorsOf(form, values)]).toEqual([read, []]);
  });

  it('becomes a dial code with its number, and without a number the preselected country says nothing', () => {
    const form = formOf({ key: 'k', type: 'phone' });
    const phones = [' 7400 123456 ', '+44 7400 123456', '+49 1512 3456789'].map((number) => {
      const values = requestValues(form, { k: { country_code: 'GB', number } }, 'en');
      expect(errorsOf(form, values)).toEqual([]);
      return values.k;
    });
    expect(phones).toEqual([
      { country_code: '+44', number: '7400 123456' },
      { country_code: '+44', number: '+44 7400 123456' },
      { country_code: '+49', number: '+49 1512 3456789' },
    ]);
    const nowhere = { phone: { country_code: '', number: '7400 123456' } };
    expect(errorsOf(form, requestValues(form, nowhere, 'en'))).toEqual(['#/phone/country_code required']);
    expect(requestValues(form, { k: { country_code: 'GB', number: ' ' } }, 'en')).toEqual({});
  });

  it('loses the white space around it, but in passwords and texts of several lines', () => {
    const form = formOf({ key: 'k', type: 'textarea' });
    const values = { name: ' Nia ', password: ' secret ', k: ' a\n', email: ' ' };
    expect(requestValues(form, values, 'en')).toEqual({ name: 'Nia', password: ' secret ', k: ' a\n' });
  });
});
