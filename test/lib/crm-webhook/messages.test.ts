import * as v from 'valibot';
import { expect, it } from 'vitest';
import { jsonSchema } from '../../../infra/openapi/json.ts';
import { registrationMessage } from '../../../lib/crm-webhook/messages.ts';
import { ALL_COUNTRIES } from '../../../lib/validators/countries.ts';
import { FIXED_FIELDS, IS_RECORDED_AS_READ } from '../../../lib/validators/form.ts';
import { RegistrationBodySchema, registrationRequestSchema } from '../../../lib/validators/registration.ts';
import { RegistrationScene } from '../../support/registration-scene.ts';

const { properties } = jsonSchema(RegistrationBodySchema, 'draft-07') as {
  properties: Record<string, { examples?: unknown[] }>;
};
/** A request with every fixed field: the first example of its schema, or a value of this test. */
const BODY: Record<string, unknown> = {
  ...Object.fromEntries(FIXED_FIELDS.map((name) => [name, properties[name]?.examples?.[0]])),
  type: 'trader',
  phone: { country_code: '44', number: '7400123456' },
  otp_type: 'email',
  form_id: 'FORM0001',
};
const EVENT = {
  id: 'r-1',
  otp_type: 'email' as const,
  form_id: 'FORM0001',
  requested_at: '2026-11-26T10:00:00.000Z',
  confirmed_at: '2026-11-26T10:01:00.000Z',
  verified: 'email' as const,
};
/** The fields that the CRM gets by another name: no message has a password. */
const OTHER_NAMES: Record<string, string> = { password: 'password_hash', repeat_password: 'password_hash' };

it.each(FIXED_FIELDS)('The CRM gets the value of the field %s of a registration', async (name) => {
  expect(BODY[name], 'the example in the schema of the field').toBeDefined();
  const scene = await RegistrationScene.start();
  await scene.addClient({});
  const body = await v.parseAsync(registrationRequestSchema([ALL_COUNTRIES]), { ...BODY, k3J9xQ: 'some' });
  expect(await scene.request({ body, members: body.members })).toBe(204);
  const [record = expect.fail('The registration is kept.')] = await scene.registrations();
  const { data } = JSON.parse(registrationMessage(EVENT, record, [])) as { data: Record<string, unknown> };
  const value = data[OTHER_NAMES[name] ?? name];
  if (IS_RECORDED_AS_READ[name]) expect(value).toBe(BODY[name]);
  else expect(value).toBeDefined();
});
