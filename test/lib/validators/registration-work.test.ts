import * as v from 'valibot';
import { describe, expect, it } from 'vitest';
import { decodeBody } from '../../../lib/http/json-body.ts';
import { fingerprints } from '../../../lib/records/idempotency-keys.ts';
import { CUSTOM_FIELD_TYPES } from '../../../lib/validators/field-values.ts';
import type { Form } from '../../../lib/validators/form.ts';
import { checkCustomFields, registrationRequestSchema } from '../../../lib/validators/registration.ts';
import { countReads } from '../../support/watched.ts';

const FORM: Form = { id: 'FORM0001', fields: CUSTOM_FIELD_TYPES.map((type) => ({ key: type, type })) };
const FIXED = {
  email: 'ann@example.com',
  type: 'trader',
  name: 'Ann Lee',
  password: 'correct horse battery',
  repeat_password: 'correct horse battery',
  form_id: 'FORM0001',
};
const SCHEMA = registrationRequestSchema(undefined);
const list = <T>(count: number, element: T): T[] => Array.from({ length: count }, () => element);
const members = (count: number) => Object.fromEntries(list(count, 0).map((_, index) => [`k${index}`, 0]));

/** How often a value in the body is read until the request is refused. */
async function looksAt(body: Record<string, unknown>): Promise<number> {
  const { value, looks } = countReads({ ...FIXED, ...body });
  fingerprints(value, ['key']);
  const result = await v.safeParseAsync(SCHEMA, value);
  if (result.success) expect((await checkCustomFields(FORM, result.output.members)).ok).toBe(false);
  return looks();
}

/** With more reads of each member, the refusal would cost more than ten times the parsing. */
const MAX_LOOKS = 12;

describe('The work that a body makes until it is refused', () => {
  it.each<[string, (count: number) => Record<string, unknown>]>([
    ['unknown members', members],
    ['unknown members of a field', (count) => ({ location: members(count) })],
    ['unknown members of the phone', (count) => ({ phone: members(count) })],
    ['unknown lists', (count) => ({ x: list(count, 0) })],
    ['unknown objects', (count) => ({ x: list(count, {}) })],
    ['elements of a list that is too long', (count) => ({ checkbox: list(count, 0) })],
    [
      'wrong choices',
      (count) => ({ checkbox: list(Math.min(count, 500), 0), multiselect: list(Math.min(count, 500), 0) }),
    ],
    [
      'people who are none',
      (count) => ({ leads: list(100, 0), participants: list(100, { more: list(count / 100, 0) }) }),
    ],
    ['a free value that is too long', (count) => ({ dynamicSelect: list(count, 'a text of some length') })],
    ['a free value of objects', (count) => ({ dynamicSelect: list(count / 2, { a: 0 }), date: 'no' })],
    ['documents that are none', (count) => ({ document: list(10, members(count / 10)) })],
  ])('grows with its members and no faster: %s', async (_, bodyOf) => {
    const [few, many] = [await looksAt(bodyOf(1_000)), await looksAt(bodyOf(10_000))];
    expect(few).toBeLessThan(1_000 * MAX_LOOKS + 1_000);
    expect(many).toBeLessThan(10_000 * MAX_LOOKS + 1_000);
  });

  it('does not grow with the length of a text, which is refused before it is read', async () => {
    const looks = await looksAt({ name: 'n'.repeat(1_000_000), text: 'n'.repeat(1_000_000), x: 'n'.repeat(1_000_000) });
    expect(looks).toBeLessThan(200);
  });
});

it('The densest body that the rules allow is within the bounds of a body', async () => {
  const keys = Array.from({ length: 10 }, (_, index) => `k${index}`);
  const form: Form = { id: 'FORM0001', fields: keys.map((key) => ({ key, type: 'dynamicSelect' })) };
  const values = Object.fromEntries(keys.map((key) => [key, list(9_995, 0)]));
  const text = JSON.stringify({ ...FIXED, ...values });
  expect(JSON.stringify(values).length).toBeGreaterThan(199_900);
  const result = await v.safeParseAsync(
    SCHEMA,
    JSON.parse(decodeBody({ body: text, isBase64Encoded: false }, 1_000_000)),
  );
  if (!result.success) throw new Error('The fixed fields are wrong.');
  expect(await checkCustomFields(form, result.output.members)).toMatchObject({ ok: true });
});
