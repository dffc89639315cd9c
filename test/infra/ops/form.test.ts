import { Ajv } from 'ajv';
import { describe, expect, it } from 'vitest';
import { type FormJsonSchema, formJsonSchema } from '../../../infra/ops/form.ts';
import { CUSTOM_FIELD_TYPES } from '../../../lib/validators/field-values.ts';
import { FIXED_FIELDS, type FormField } from '../../../lib/validators/form.ts';
import { getText } from '../../support/local-service.ts';
import { Operators } from '../../support/operators.ts';

const PERSON = {
  type: 'trader',
  name: 'Nia Newman',
  email: 'nia@example.com',
  password: 'a long phrase',
  repeat_password: 'a long phrase',
  form_id: 'FORM0001',
};

/** The errors of a registration, by their places, as a form library finds them. */
function errorsOf(schema: FormJsonSchema, more: Record<string, unknown> = {}): string[] {
  const ajv = new Ajv({ strict: false, allErrors: true, logger: false, formats: { date: true } });
  ajv.validate(schema, { ...PERSON, ...more });
  return (ajv.errors ?? []).map(({ instancePath, keyword }) => `${instancePath} ${keyword}`);
}

const schemaOf = (...fields: FormField[]) => formJsonSchema({ id: 'FORM0001', name: 'Retail', fields });

describe('a form as JSON Schema', () => {
  it('takes texts in English, else in their first language, without links, and keeps them whole for our page', () => {
    const label = { de: 'Beruf', en: 'Your [work](https://acme.example/work)' };
    const help = 'As in your [contract](https://acme.example/c)';
    const labels = { x: { de: 'Angestellt', en: 'Employed' } };
    const schema = schemaOf(
      { key: 'a', type: 'select', label, help, options: ['x', 'y'], option_labels: labels },
      { key: 'b', type: 'text', label: { de: 'Beruf' } },
    );
    expect(schema.properties).toMatchObject({ a: { title: 'Your work', enum: ['x', 'y'] }, b: { title: 'Beruf' } });
    expect(schema.uiSchema.a).toEqual({
      'ui:help': 'As in your contract',
      'ui:enumNames': ['Employed', 'y'],
      'ui:texts': { label, help, options: labels },
    });
  });

  it('has a mobile number of each country', () => {
    expect(schemaOf().uiSchema['ui:options']).toMatchObject({
      phones: { GB: '+44 7400 123456', CA: '+1 506 234 5678' },
    });
  });

  it('has the fixed fields and those of the form, with labels, in the order of a page', () => {
    const schema = schemaOf({ key: 'k3J9xQ', type: 'text', label: 'Occupation' }, { key: '7', type: 'date' });
    const order = schema.uiSchema['ui:order'] as string[];
    expect(order.slice(0, 4)).toEqual(['name', 'email', 'k3J9xQ', '7']);
    expect(order.toSorted()).toEqual([...FIXED_FIELDS, 'k3J9xQ', '7'].toSorted());
    expect(Object.keys(schema.properties).toSorted()).toEqual(order.toSorted());
    expect(schema).toMatchObject({
      title: 'Retail',
      properties: {
        name: { title: 'Name', type: 'string' },
        k3J9xQ: { title: 'Occupation', type: 'string', maxLength: 10_000 },
        7: { title: '7', format: 'date' },
        password: { title: 'Password', format: 'password', minLength: 8 },
        repeat_password: { title: 'Repeat password' },
        referrer_id: { title: 'Referral code' },
        form_id: { const: 'FORM0001', default: 'FORM0001' },
      },
      required: ['name', 'email', 'type', 'password', 'repeat_password', 'form_id'],
    });
  });

  it.each(CUSTOM_FIELD_TYPES)('has fields of type %s, which the person may leave out or must fill in', (type) => {
    expect(errorsOf(schemaOf({ key: 'k', type }))).toEqual([]);
    expect(errorsOf(schemaOf({ key: 'k', type, required: true }))).toEqual([' required']);
  });

  it('lists the options of a choice', () => {
    const options = ['fx', 'metals'];
    for (const type of ['radio', 'select'] as const) {
      const schema = schemaOf({ key: 'k', type, options });
      expect([errorsOf(schema, { k: 'fx' }), errorsOf(schema, { k: 'oil' })]).toEqual([[], ['/k enum']]);
    }
    for (const type of ['multiselect', 'checkbox'] as const) {
      const schema = schemaOf({ key: 'k', type, options, required: true });
      expect(errorsOf(schema, { k: ['fx', 'metals'] })).toEqual([]);
      expect(errorsOf(schema, { k: ['fx', 'oil'] })).toEqual(['/k/1 enum']);
      expect(errorsOf(schema, { k: [] })).toEqual(['/k minItems']);
    }
  });

  it('lists the countries by name', () => {
    const schema = schemaOf({ key: 'k', type: 'country' });
    expect(errorsOf(schema, { k: 'GB' })).toEqual([]);
    expect(schema.uiSchema.k).toMatchObject({ 'ui:enumNames': expect.arrayContaining(['United Kingdom']) });
  });

  it('says which documents it accepts', () => {
    const schema = schemaOf({ key: 'k', type: 'document', accept: ['application/pdf', 'image/png'] });
    const doc = { 'ui:widget': 'file', 'ui:options': { accept: 'application/pdf,image/png' } };
    expect(schema.uiSchema.k).toMatchObject({ items: { doc } });
  });

  it('asks for a consent, and names the version of its text', () => {
    const schema = schemaOf({ key: 'k', type: 'boolean', label: 'I agree', must: true, version: '2026-11' });
    expect(schema.properties.k).toMatchObject({ title: 'I agree', description: 'Version 2026-11' });
    expect([errorsOf(schema, { k: true }), errorsOf(schema, { k: false }), errorsOf(schema)]).toEqual([
      [],
      ['/k const'],
      [' required'],
    ]);
  });

  it('requires a phone if the code goes to a phone', () => {
    const phone = { country_code: '44', number: '7400 123456' };
    expect(errorsOf(schemaOf(), { otp_type: 'sms', phone })).toEqual([]);
    expect(errorsOf(schemaOf(), { otp_type: 'sms', phone: {} })).toContain('/phone required');
    expect(errorsOf(schemaOf(), { otp_type: 'sms' })).toContain(' required');
  });

  it('allows no other fields', () => {
    expect(errorsOf(schemaOf(), { more: 1 })).toEqual([' additionalProperties']);
  });
});

describe('npm run ops -- form', () => {
  const operators = new Operators();

  it('prints the schema of a form, the same as the local service answers', async () => {
    const { code, out } = await operators.local('form', 'FORM0001');
    expect([code, JSON.parse(out)]).toEqual([0, expect.objectContaining({ title: 'Retail' })]);
    expect(JSON.parse(out)).toEqual((await getText(operators.service, '/_local/forms/FORM0001')).json());
  });

  it('gets 404 from the local service if no form has the id', async () => {
    const answer = await getText(operators.service, '/_local/forms/NOTTHERE');
    expect([answer.status, answer.json()]).toEqual([404, { title: 'No form has this id.', status: 404 }]);
  });

  it('reports the errors of an unreadable record', async () => {
    await operators.table.write([{ put: { pk: 'form#BROKEN01', record: { id: 'BROKEN01', fields: 'none' } } }]);
    const { code, reported } = await operators.local('form', 'BROKEN01');
    expect([code, reported]).toEqual([1, 'The record is not a form:\n  form#BROKEN01.fields: must be an array\n']);
  });
});
