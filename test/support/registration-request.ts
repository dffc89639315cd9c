import * as v from 'valibot';
import { ALL_COUNTRIES } from '../../lib/validators/deployment.ts';
import { listViolations } from '../../lib/validators/primitives.ts';
import { registrationRequestSchema, type ServedCountries } from '../../lib/validators/registration.ts';

/** The required fields of a registration alone. */
export const least = {
  email: 'ann@example.com',
  type: 'trader',
  name: 'Ann Lee',
  password: 'correct horse',
  repeat_password: 'correct horse',
  form_id: 'FORM0001',
};

export const phone = { country_code: '44', number: '07400 123456' };

export const parse = async (body: unknown) => v.parseAsync(registrationRequestSchema([ALL_COUNTRIES]), body);

/** The violations of a body, in a deployment that serves these countries. */
export async function violationsOf(body: unknown, served: ServedCountries = [ALL_COUNTRIES]) {
  const result = await v.safeParseAsync(registrationRequestSchema(served), body);
  return result.success ? [] : listViolations(result.issues);
}

export async function rulesOf(body: unknown, served?: ServedCountries): Promise<string[]> {
  return (await violationsOf(body, served)).map(({ pointer, rule }) => `${pointer} ${rule}`);
}
