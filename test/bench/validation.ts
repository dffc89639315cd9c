import * as v from 'valibot';
import { DEMO_RECORDS } from '../../infra/local/demo-records.ts';
import { ALL_COUNTRIES } from '../../lib/validators/deployment.ts';
import type { FormField } from '../../lib/validators/form.ts';
import { toViolations } from '../../lib/validators/primitives.ts';
import { checkCustomFields, registrationRequestSchema } from '../../lib/validators/registration.ts';
import { tradingAccountRequestSchema } from '../../lib/validators/trading-account.ts';
import { accountBody, registrationBody } from './events.ts';
import { type Benchmark, type BenchmarkRun, comparison, type Figure } from './figures.ts';

const REPETITIONS = 15;
const CALLS = 1_000;

export const validation: Benchmark = {
  name: 'validation',
  about:
    'All rules on one body, in this process, once the code is warm; beside parsing the same body from its JSON text. ' +
    'A body with faults has one in every field, and the time includes the list of them for the answer.',
  run,
};

const PHONE = { country_code: '+44', number: '07400 123456' };
const ALL_FIELDS: Record<FormField['type'], unknown> = {
  text: 'Engineer',
  textarea: 'Two\nlines',
  description: 'Translation',
  number: 12.5,
  number_string: '12.50',
  boolean: true,
  radio: 'yes',
  select: 'some',
  dynamicSelect: { any: ['value'] },
  multiselect: ['fx', 'metals'],
  checkbox: ['terms'],
  date: '2024-02-29',
  document: [{ id: '1', name: 'passport.pdf', doc: Buffer.alloc(30_000, 'pdf').toString('base64') }],
  phone: PHONE,
  email: 'other@example.com',
  country: 'GB',
  nation: 'FR',
  location: { country: 'GB', state: '', city: 'London' },
  participants: [{ id: '1', name: 'Ann', share: 50 }],
  leads: [{ id: '2', name: 'Bob' }],
};

interface Subject {
  what: string;
  body: Record<string, unknown>;
  /** @returns whether it found no fault */
  validate(body: Record<string, unknown>): Promise<boolean>;
  valid: boolean;
}

function subjects(): Subject[] {
  const form = DEMO_RECORDS.forms.find(({ id }) => id === 'FORMFULL');
  if (form === undefined) throw new Error('There is no form with all fields.');
  const registration = registrationBody(1);
  const wrong = (body: object) => Object.fromEntries(Object.keys(body).map((key) => [key, { not: 'this' }]));
  const custom = Object.fromEntries(Object.entries(ALL_FIELDS).map(([type, value]) => [`field_${type}`, value]));
  const withCustom = async (body: Record<string, unknown>) => {
    const result = await v.safeParseAsync(registrationRequestSchema([ALL_COUNTRIES]), body);
    return result.success && (await checkCustomFields(form, result.output.members)).ok;
  };
  const { k3J9xQ: _, ...fixed } = registration;
  return [
    {
      what: 'registration',
      body: registration,
      validate: against(registrationRequestSchema([ALL_COUNTRIES])),
      valid: true,
    },
    {
      what: 'registration with a phone',
      body: { ...registration, phone: PHONE },
      validate: against(registrationRequestSchema([ALL_COUNTRIES])),
      valid: true,
    },
    {
      what: 'registration with every custom field',
      body: { ...fixed, form_id: form.id, ...custom },
      validate: withCustom,
      valid: true,
    },
    {
      what: 'registration with faults',
      body: wrong(fixed),
      validate: against(registrationRequestSchema([ALL_COUNTRIES])),
      valid: false,
    },
    ...(['tp5', 'tp4'] as const).flatMap((version) => {
      const validate = against(tradingAccountRequestSchema(version));
      const body = { ...accountBody(version), master_password: 'Tr4de-It-Now', investor_password: 'L00k-Only-Pls' };
      return [
        { what: `${version} account`, body, validate, valid: true },
        { what: `${version} account with faults`, body: wrong(body), validate, valid: false },
      ];
    }),
  ];
}

function against(schema: v.GenericSchema | v.GenericSchemaAsync): Subject['validate'] {
  return async (body) => {
    const result = await v.safeParseAsync(schema, body);
    return result.success || toViolations(result.issues).length === 0;
  };
}

async function run({ quick, progress }: BenchmarkRun): Promise<Figure[]> {
  const figures: Figure[] = [];
  for (const subject of subjects()) {
    const text = JSON.stringify(subject.body);
    const ours: number[] = [];
    const base: number[] = [];
    const repetitions = quick ? 3 : REPETITIONS;
    for (let round = -1; round < repetitions; round += 1) {
      progress(`${subject.what} ${round + 1}/${repetitions}`);
      const validating = await validateMany(subject);
      const parsing = parseMany(text);
      // The first round is for the compiler.
      if (round < 0) continue;
      ours.push(validating);
      base.push(parsing);
    }
    figures.push(comparison(subject.what, 'µs', ours, 'JSON.parse', base));
  }
  return figures;
}

/** @returns microseconds of one call */
async function validateMany({ what, body, validate, valid }: Subject): Promise<number> {
  const startedAt = performance.now();
  for (let call = 0; call < CALLS; call += 1) {
    if ((await validate(body)) !== valid) throw new Error(`The rules judge "${what}" otherwise.`);
  }
  return ((performance.now() - startedAt) * 1_000) / CALLS;
}

function parseMany(text: string): number {
  const startedAt = performance.now();
  let members = 0;
  for (let call = 0; call < CALLS; call += 1) members += Object.keys(JSON.parse(text) as object).length;
  if (members === 0) throw new Error('There is nothing in the body.');
  return ((performance.now() - startedAt) * 1_000) / CALLS;
}
