import * as v from 'valibot';
import { describe, expect, it } from 'vitest';
import type { OperationId } from '../../../infra/functions.ts';
import { ConfirmationRequestSchema } from '../../../lib/validators/confirmation.ts';
import { listViolations } from '../../../lib/validators/primitives.ts';
import { checkCustomFields, registrationRequestSchema } from '../../../lib/validators/registration.ts';
import { tradingAccountRequestSchema } from '../../../lib/validators/trading-account.ts';

/** How a field is read: a value as people and programs send it, and the same one as it is read. */
const SENT = {
  email: [
    [' Ann@Example.com\r\n', 'Ann@Example.com'],
    ['\u200eAnn@ＥXAMPLE.com\u00a0', 'Ann@example.com'],
    ['\ufeffAnn@example.com', 'Ann@example.com'],
  ],
  name: [
    ['\u2068  Ana Ruiz\u2069\n', 'Ana Ruiz'],
    ['\u202bسارا\u202c', 'سارا'],
    ['\ufeffJose\u0301', 'José'],
  ],
  code: [
    ['\u200e012\u00a0345\u200b', '012345'],
    ['٠١٢ー٣٤٥', '012345'],
    ['【012345】', '012345'],
  ],
  phone: [
    [
      { country_code: ' ＋44', number: '(0)7400ー123456' },
      { country_code: '44', number: '07400 123456' },
    ],
    [
      { country_code: '٤٤', number: 'tel:+44-7400-123-456\u202c' },
      { country_code: '44', number: '07400 123456' },
    ],
    [
      { country_code: '(+44)', number: '(+44) 7400 123456' },
      { country_code: '44', number: '07400 123456' },
    ],
  ],
  id: [[' 5F0C1F6E-8D3A-8B52-9A57-2F3F8F6F3F10\n', '5f0c1f6e-8d3a-8b52-9a57-2f3f8f6f3f10']],
  password: [['correct horse e\u0301', 'correct horse é']],
  language: [
    ['pt_BR.UTF-8', 'pt-BR'],
    ['sr_RS@latin', 'sr-RS'],
    ['zh_Hant_HK', 'zh-Hant-HK'],
  ],
  /** As it was sent: ids, choices, numbers, flags. */
  exact: [],
} as const satisfies Record<string, readonly (readonly [sent: unknown, read: unknown])[]>;
type Reading = keyof typeof SENT;

/** The readings whose blanks count as empty. The others keep a blank, and their own rules judge it. */
const TRIMMED: readonly Reading[] = ['email', 'name', 'code', 'id'];
const EMPTY = [null, ''];
const BLANK = [' ', '\t\r\n', '\u3000', '\u00a0\u200e', '\ufeff', '\u2068\u2069', '\u3164'];

interface Read {
  schema: v.GenericSchema | v.GenericSchemaAsync;
  /** A body with every field. Those of the list `optional` may be left empty. */
  body: Readonly<Record<string, unknown>>;
  readings: Readonly<Record<string, Reading>>;
  optional: readonly string[];
}

const ACCOUNT: Omit<Read, 'schema'> = {
  body: {
    connection_id: 'live-1',
    group: 'real',
    leverage: 100,
    login: 500_001,
    account_type_id: 'ATLIVE01',
    rebate_user_id: 'CLIENT02',
    master_password: 'Tr4de-It-Now',
    investor_password: 'L00k-Only-Pls',
    enable_readonly: false,
    enable_rebate: false,
    send_email: true,
    send_pop_up: true,
    language: 'pt-BR',
  },
  readings: {
    ...{ connection_id: 'exact', group: 'exact', leverage: 'exact', login: 'exact', account_type_id: 'exact' },
    ...{ rebate_user_id: 'exact', master_password: 'exact', investor_password: 'exact', enable_readonly: 'exact' },
    ...{ enable_rebate: 'exact', send_email: 'exact', send_pop_up: 'exact', language: 'language' },
  },
  optional: [
    ...['login', 'account_type_id', 'rebate_user_id', 'master_password', 'investor_password', 'enable_readonly'],
    ...['enable_rebate', 'send_email', 'send_pop_up', 'language'],
  ],
};
const PASSWORD = 'correct horse é';
const PHONE = { country_code: '44', number: '07400 123456' };

/** Every route: its bodies with all their fields. */
const ROUTES: Readonly<Record<OperationId, readonly Read[]>> = {
  requestRegistration: [
    {
      schema: registrationRequestSchema(['all']),
      body: {
        ...{ email: 'ann@example.com', type: 'trader', name: 'Ann Lee', phone: PHONE, otp_type: 'email' },
        ...{ password: PASSWORD, repeat_password: PASSWORD, form_id: 'FORM0001' },
        ...{ referrer_id: 'REFANN01', language: 'pt-BR' },
      },
      readings: {
        ...{ email: 'email', type: 'exact', name: 'name', phone: 'phone', otp_type: 'exact', password: 'password' },
        ...{ repeat_password: 'password', form_id: 'exact', referrer_id: 'exact', language: 'language' },
      },
      optional: ['phone', 'otp_type', 'referrer_id', 'language'],
    },
  ],
  confirmRegistration: [
    {
      schema: ConfirmationRequestSchema,
      body: { registration_id: '5f0c1f6e-8d3a-8b52-9a57-2f3f8f6f3f10', code: '012345' },
      readings: { registration_id: 'id', code: 'code' },
      optional: [],
    },
  ],
  createTp5Account: [{ schema: tradingAccountRequestSchema('tp5'), ...ACCOUNT }],
  createTp4Account: [{ schema: tradingAccountRequestSchema('tp4'), ...ACCOUNT }],
};

const FIELDS = Object.entries(ROUTES).flatMap(([route, bodies]) =>
  bodies.flatMap((read) => Object.entries(read.readings).map(([field, reading]) => ({ route, field, reading, read }))),
);

/** What a body is read as; or the rules that it breaks. `members` are the fields of the form, which come later. */
async function outcomeOf({ schema }: Read, body: Record<string, unknown>): Promise<unknown> {
  const result = await v.safeParseAsync(schema, body);
  if (!result.success) return listViolations(result.issues).map(({ pointer, rule }) => `${pointer} ${rule}`);
  const { members: _, ...request } = result.output as Record<string, unknown>;
  return request;
}

describe('A field of any route', () => {
  it.each(FIELDS)('is read as people and programs send it: $route, $field', async ({ field, reading, read }) => {
    for (const [sent, meant] of SENT[reading]) {
      const change = (value: unknown) =>
        // The password stands twice in a registration.
        Object.fromEntries(
          Object.keys(read.body).map((name) => [name, read.readings[name] === reading ? value : read.body[name]]),
        );
      const outcome = await outcomeOf(read, change(sent));
      expect(outcome, `${field} ${JSON.stringify(sent)}`).not.toBeInstanceOf(Array);
      expect(outcome).toEqual(await outcomeOf(read, change(meant)));
    }
  });

  it.each(FIELDS)('that is left empty is absent, or required: $route, $field', async ({ field, reading, read }) => {
    const { [field]: _, ...without } = read.body;
    const absent = await outcomeOf(read, without);
    if (read.optional.includes(field)) expect(absent).not.toBeInstanceOf(Array);
    else expect(absent).toEqual([`#/${field} required`]);
    const blanks = [...EMPTY, ...(TRIMMED.includes(reading) ? BLANK : [])];
    if (!TRIMMED.includes(reading) && reading !== 'phone')
      for (const blank of BLANK) expect(await outcomeOf(read, { ...read.body, [field]: blank })).not.toEqual(absent);
    for (const blank of [...blanks, ...(reading === 'phone' ? phonesOf([...EMPTY, ...BLANK]) : [])])
      expect(await outcomeOf(read, { ...read.body, [field]: blank }), JSON.stringify(blank)).toEqual(absent);
  });
});

function phonesOf(blanks: readonly unknown[]): object[] {
  return blanks.flatMap((blank) => [{ country_code: blank, number: blank }, {}]);
}

describe('A member of a custom field', () => {
  const kept = async (type: 'location' | 'participants' | 'leads' | 'document' | 'email', value: unknown) => {
    const outcome = await checkCustomFields({ id: 'FORM0001', fields: [{ key: 'f', type }] }, { f: value });
    return outcome.ok ? outcome.fields.f : outcome.violations.map(({ pointer, rule }) => `${pointer} ${rule}`);
  };

  it('that is left empty is absent, or required', async () => {
    for (const blank of [...EMPTY, ...BLANK]) {
      expect(await kept('email', blank)).toBeUndefined();
      expect(await kept('location', { country: blank, state: blank, city: blank })).toBeUndefined();
      expect(await kept('location', { country: 'PT', state: blank, city: 'Faro' })).toMatchObject({ state: '' });
      expect(await kept('location', { country: blank, city: 'Faro' })).toEqual(['#/f/country required']);
      for (const type of ['participants', 'leads'] as const)
        expect(await kept(type, [{ id: '1', name: blank }, { share: blank }])).toEqual([{ id: '1' }, { share: blank }]);
    }
    for (const empty of EMPTY) {
      expect(await kept('leads', [{ id: empty, name: 'Kim' }])).toEqual([{ name: 'Kim' }]);
      expect(await kept('document', [{ id: '1', name: 'a.txt', doc: empty }])).toEqual(['#/f/0/doc required']);
    }
    expect(await kept('document', [{ id: null, name: null, doc: 'QUI=' }])).toEqual([
      '#/f/0/id required',
      '#/f/0/name required',
    ]);
  });

  it('that is a name is read by the rules of names', async () => {
    for (const [sent, meant] of SENT.name) {
      expect(await kept('location', { country: sent, state: sent, city: sent })).toEqual({
        country: meant,
        state: meant,
        city: meant,
      });
      expect(await kept('participants', [{ name: sent }])).toEqual([{ name: meant }]);
    }
  });
});
