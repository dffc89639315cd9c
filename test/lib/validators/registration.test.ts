import fc from 'fast-check';
import * as v from 'valibot';
import { describe, expect, it } from 'vitest';
import { ALL_COUNTRIES } from '../../../lib/validators/countries.ts';
import { FIXED_FIELDS } from '../../../lib/validators/form.ts';
import { listViolations, VIOLATION_RULES } from '../../../lib/validators/primitives.ts';
import {
  checkCustomFields,
  RegistrationBodySchema,
  registrationRequestSchema,
  type ServedCountries,
} from '../../../lib/validators/registration.ts';

const RegistrationRequestSchema = registrationRequestSchema([ALL_COUNTRIES]);

/** The required fields alone. */
const least = {
  email: 'ann@example.com',
  type: 'trader',
  name: 'Ann Lee',
  password: 'correct horse',
  repeat_password: 'correct horse',
  form_id: 'FORM0001',
};
const phone = { country_code: '44', number: '07400123456' };

const parse = (body: unknown) => v.parseAsync(RegistrationRequestSchema, body);

/** The violations of a body, in a deployment that serves these countries. */
async function violationsOf(body: unknown, served: ServedCountries = [ALL_COUNTRIES]) {
  const result = await v.safeParseAsync(registrationRequestSchema(served), body);
  return result.success ? [] : listViolations(result.issues);
}

async function rulesOf(body: unknown, served?: ServedCountries): Promise<string[]> {
  return (await violationsOf(body, served)).map(({ pointer, rule }) => `${pointer} ${rule}`);
}

describe('a registration request', () => {
  it('with the required fields alone is accepted, and its code goes by email', async () => {
    expect(await parse(least)).toEqual({
      email: 'ann@example.com',
      emailKey: 'ann@example.com',
      type: 'trader',
      name: 'Ann Lee',
      otp_type: 'email',
      phoneE164: undefined,
      phoneValid: undefined,
      recipient: { channel: 'email', key: 'ann@example.com', to: 'ann@example.com' },
      password: 'correct horse',
      form_id: 'FORM0001',
      referrer_id: undefined,
      language: undefined,
      members: { ...least, otp_type: 'email' },
    });
  });

  it('with every field is accepted; the email is kept with its domain in Unicode, the phone in E.164, the rest for the form', async () => {
    const body = {
      ...least,
      email: 'Ann.Lee@MÜNCHEN.de',
      phone,
      otp_type: 'sms',
      referrer_id: 'REFANN01',
      language: 'pt-BR',
      k3J9xQ: 'some',
      d0cUpl: [],
    };
    expect(await parse(body)).toEqual({
      email: 'Ann.Lee@münchen.de',
      emailKey: 'ann.lee@xn--mnchen-3ya.de',
      type: 'trader',
      name: 'Ann Lee',
      otp_type: 'sms',
      phoneE164: '+447400123456',
      phoneValid: true,
      recipient: { channel: 'sms', key: '+447400123456', to: '+447400123456', country: 'GB' },
      password: 'correct horse',
      form_id: 'FORM0001',
      referrer_id: 'REFANN01',
      language: 'pt-BR',
      members: { ...body, email: 'Ann.Lee@münchen.de' },
    });
  });
});

describe('the keys of other fields', () => {
  it('are all kept for the rules of the form, with any name', async () => {
    const body = { ...least, ...JSON.parse('{"a":1}') };
    const hostile = JSON.parse(
      `${JSON.stringify(body).slice(0, -1)},"__proto__":{"email":"x"},"constructor":1,"toString":2}`,
    );
    const { members } = await parse(hostile);
    expect(Object.keys(members).sort()).toEqual(
      [...Object.keys(least), 'otp_type', '__proto__', 'a', 'constructor', 'toString'].sort(),
    );
    expect(Object.getPrototypeOf(members)).toBe(Object.prototype);
    const form = { id: 'FORM0001', fields: [{ key: 'a', type: 'number' as const }] };
    expect(await checkCustomFields(form, members)).toMatchObject({
      violations: ['toString', '__proto__', 'constructor'].map((key) => ({
        pointer: `#/${key}`,
        rule: 'unknown_field',
      })),
    });
  });
});

describe('the rules', () => {
  const entries = RegistrationBodySchema.entries;

  it('give every field its meaning, and examples that they accept themselves', async () => {
    const examples = Object.entries(entries).map(([key, schema]) => {
      const inner: v.GenericSchema = 'wrapped' in schema ? schema.wrapped : schema;
      expect(v.getDescription(inner), key).toBeTruthy();
      return [key, (v.getExamples(inner) as readonly unknown[])[0]] as const;
    });
    const body = { type: 'trader', ...Object.fromEntries(examples.filter(([, example]) => example !== undefined)) };
    expect(await rulesOf(body)).toEqual([]);
  });
});

describe('any body', () => {
  const mark = 'hunter2-SECRET';
  const marked = fc.oneof(
    fc.string({ unit: 'binary', maxLength: 20 }).map((text) => `${mark}${text}`),
    fc.constantFrom(null, 0, -1, 12345678, true, [], {}),
  );
  const value = fc.oneof(
    marked,
    fc.array(marked),
    fc.dictionary(fc.constantFrom('country_code', 'number', 'x'), marked),
  );
  const field = fc.constantFrom(...FIXED_FIELDS, 'k3J9xQ', '__proto__', 'constructor', 'toString', 'length');
  const body = fc.array(fc.tuple(field, fc.oneof(value, fc.jsonValue())), { maxLength: 14 }).map((members) => {
    return JSON.parse(
      `{${members.map(([key, member]) => `${JSON.stringify(key)}:${JSON.stringify(member)}`).join(',')}}`,
    );
  });

  it('is accepted, or answered with violations of the known rules that repeat nothing of it', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.oneof(
          body,
          body.map((members) => ({ ...least, ...members })),
        ),
        async (sent) => {
          const errors = await violationsOf(sent);
          expect(JSON.stringify(errors)).not.toContain(mark);
          for (const { pointer, rule, detail } of errors) {
            expect(pointer).toMatch(/^#(\/[\w%.~!*'()-]*)*$/);
            expect(Object.keys(VIOLATION_RULES)).toContain(rule);
            expect(detail).toMatch(/^(must|is) /);
            expect(detail).not.toBe('is not valid');
          }
          expect(await violationsOf(sent)).toEqual(errors);
        },
      ),
      { numRuns: 100 },
    );
  });
});
