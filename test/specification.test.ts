import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import type { Fault as LocalFault } from '../infra/local/faults.ts';
import { type LocalService, type ServiceOptions, startService } from '../infra/local/service.ts';
import { RULE_MEANINGS } from '../infra/openapi/problems.ts';
import { PROBLEMS } from '../lib/http/problem.ts';
import { type ScriptedTcp, scriptedTcp } from './support/scripted-tcp.ts';
import { ACCOUNT_CASES } from './support/specification-accounts.ts';
import {
  type Answer,
  bodyOf,
  call,
  type Items,
  itemsOf,
  messagesTo,
  newEmail,
  newPhone,
  newSource,
  openAccount,
  PATHS,
  register,
  request,
} from './support/specification-caller.ts';
import {
  ERROR_CASES,
  ERRORS,
  type ErrorCase,
  MANY_FAULTS,
  NOT_OF_THIS_SERVICE,
} from './support/specification-errors.ts';
import {
  CLIENT,
  DEMANDING_FORM,
  DEMO_PLACES,
  FORM,
  keyOf,
  RECORDS,
  SPANISH_CLIENT,
} from './support/specification-records.ts';
import { REGISTRATION_CASES } from './support/specification-registration.ts';
import { ROWS } from './support/specification-rows.ts';
import {
  type Case,
  type Change,
  type Fault,
  gaps,
  type Stand,
  tally,
  VERSIONS,
} from './support/specification-table.ts';

/** What each case of this file stands for, noted as it is listed. */
const stands: Stand[] = [];
/** The errors that a case was listed for, as `400 malformed_json`. */
const answered = new Set<string>();
/** The rules that a case was listed for as broken, by the words that answers have for them. */
const broken = new Set<string>();

let service: LocalService;
let items: Items;

/** @param options called when everything that stands around it is ready */
function during(name: string, options: () => ServiceOptions, cases: () => void): void {
  describe(name, () => {
    beforeAll(async () => {
      service = await startService({ records: RECORDS, ...options() });
      items = itemsOf(service);
    });
    afterAll(async () => {
      items.close();
      await service.close();
    });
    cases();
  });
}

/** One case: it keeps a rule of a row, or breaks it. */
function keeps(row: string, rule: string, sentence: string, run: () => Promise<unknown>): void {
  stands.push({ row, rule, kept: true });
  it(`${row}: ${rule} — ${sentence}`, run);
}
function breaks(row: string, rule: string, sentence: string, run: () => Promise<unknown>): void {
  stands.push({ row, rule, kept: false });
  it(`${row}: ${rule} — ${sentence}`, run);
}
/** One case that goes up to a number of a row, and beyond it. */
function goesBeyond(row: string, limit: string, sentence: string, run: () => Promise<unknown>): void {
  stands.push({ row, rule: limit, kept: true }, { row, rule: limit, kept: false });
  it(`${row}: ${limit} — ${sentence}`, run);
}

function accepted(change: Change) {
  const { operation } = change;
  return operation === 'registration'
    ? register(service, items, change)
    : openAccount(service, items, { ...change, operation });
}

function walk({ row, rule, says, faults, ...change }: Case): void {
  if (faults.length === 0) {
    keeps(row, rule, `${says} is accepted`, () => accepted(change));
    return;
  }
  const words = faults.map((fault) => `${fault.rule} at ${place(fault)}`).join(', ');
  for (const fault of faults) broken.add(fault.rule);
  breaks(row, rule, `${says} is refused with ${words}`, async () => {
    const before = doneSoFar();
    checkFaults(await call(service, change), faults);
    expect(doneSoFar()).toEqual(before);
  });
}

/** Walks the cases of fields. The good ones run side by side; not so the bad ones, which look at all that was done. */
function walkFields(cases: readonly Case[]): void {
  const isGood = ({ faults }: Case) => faults.length === 0;
  describe.concurrent('what is accepted, field by field', () => cases.filter(isGood).forEach(walk));
  describe('what is refused, field by field', () => cases.filter((one) => !isGood(one)).forEach(walk));
}

/** What the service did since it started, counted; a request that is refused adds nothing to it. */
function doneSoFar() {
  const { outbox, standIns, database } = service;
  const isWrite = ({ operation }: { operation: string }) => !['GetItem', 'Query'].includes(operation);
  const isKept = ({ table }: { table: string }) => ['registrations', 'accounts'].includes(table);
  return {
    messages: outbox.list().length,
    documents: standIns.s3.objects.size,
    records: database.calls.filter((one) => isWrite(one) && isKept(one)).length,
    accounts: accountsSoFar(),
  };
}

function accountsSoFar(): Record<string, number> {
  return Object.fromEntries([...service.platforms].map(([id, server]) => [id, server.accounts().length]));
}

function place(fault: Fault): string {
  return 'pointer' in fault ? fault.pointer : 'parameter' in fault ? fault.parameter : fault.header;
}

/** Exactly these faults, each with a sentence. */
function checkFaults(answer: Answer, faults: readonly Fault[], type = 'validation_failed', status = 400): void {
  const errors = (answer.body?.errors ?? []) as (Fault & { detail: string })[];
  const found = errors.map((fault) => `${fault.rule} at ${place(fault)}`);
  expect({ status: answer.status, type: answer.body?.type, faults: found.sort() }).toEqual({
    status,
    type,
    faults: faults.map((fault) => `${fault.rule} at ${place(fault)}`).sort(),
  });
  for (const { detail } of errors) expect(detail).toMatch(/^\S.{5,}/);
}

function checkProblem(answer: Answer, status: number, type: string): void {
  expect({ status: answer.status, type: answer.body?.type }).toEqual({ status, type });
}

/** Makes the next calls to a service or a connection go wrong, until the test is over. */
function goWrong(target: string, fault: LocalFault): void {
  const faults = service.faults(target);
  faults.set(fault);
  onTestFinished(() => faults.clear());
}

/** Lists a case of the table of errors, for each row that it stands for. */
function meets(
  error: Pick<ErrorCase, 'status' | 'type' | 'says' | 'operation' | 'stands' | 'faults'>,
  run: () => Promise<unknown>,
) {
  const { status, type, says, operation } = error;
  answered.add(`${status} ${type}`);
  for (const { rule } of error.faults ?? []) broken.add(rule);
  if (error.stands !== undefined) stands.push({ ...error.stands, kept: false });
  const row = error.stands === undefined ? '' : `${error.stands.row}: ${error.stands.rule} — `;
  it(`${row}${operation}: ${says} is answered with ${status} ${type}`, run);
}

function walkError(error: ErrorCase): void {
  const { raw, goesWrong, members = {}, faults = [], retryAfter = false, status, type, ...change } = error;
  meets(error, async () => {
    if (goesWrong !== undefined) goWrong(...goesWrong);
    service.outbox.clear();
    const before = accountsSoFar();
    const answer = await call(service, change, raw === undefined ? {} : { raw });
    checkFaults(answer, faults, type, status);
    if (type !== 'account_outcome_unknown') expect(accountsSoFar()).toEqual(before);
    expect(answer.body).toMatchObject(members);
    if (retryAfter) expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0);
    expect(service.outbox.list()).toEqual([]);
  });
}

const newKey = () => ({ 'idempotency-key': randomUUID() });
const PHONE_CHANNELS = ['sms', 'call', 'whatsapp'] as const;
const account = (version: 'tp5' | 'tp4') => `${version === 'tp5' ? '4.2' : '4.3'} ${version} account`;

const EVERY_CHANNEL = () => ({});
during('The specification, with every channel installed', EVERY_CHANNEL, () => {
  describe('1: what the service does', () => {
    keeps(
      '1 registration',
      'a one-time password through the chosen channel',
      'a code of six digits comes',
      async () => {
        const { text, html } = await register(service, items, { operation: 'registration' });
        expect(text).toMatch(/^\d{6}$/m);
        expect(html).toContain(/^\d{6}$/m.exec(text)?.[0]);
      },
    );
    breaks('1 registration', 'of type trader', 'another type is refused', async () => {
      const answer = await call(service, { operation: 'registration', body: { type: 'partner' } });
      checkFaults(answer, [{ pointer: '#/type', rule: 'one_of' }]);
    });
    for (const operation of VERSIONS) {
      const promise = "returns the new account's login and passwords";
      keeps(`1 ${operation} account`, promise, 'two accounts have two logins and four passwords', async () => {
        const one = (await openAccount(service, items, { operation })).answer.body;
        const other = (await openAccount(service, items, { operation })).answer.body;
        expect(new Set([...Object.values(one ?? {}), ...Object.values(other ?? {})]).size).toBe(6);
      });
    }
  });

  describe('2.1 and 2.2: the registration request', () => {
    walkFields(REGISTRATION_CASES);

    keeps('2.1 form_id', 'id of the registration form', 'the fields are those of the form', () =>
      accepted({ operation: 'registration', body: { form_id: FORM, [keyOf('text')]: 'x' } }),
    );
    keeps(
      '2.1 referrer_id',
      'referral code of the referrer',
      'the referrer is kept with the registration',
      async () => {
        const email = newEmail();
        await accepted({ operation: 'registration', body: { email, referrer_id: CLIENT.referral_code } });
        expect(await items.registration('email', email)).toMatchObject({ referrer_user_id: CLIENT.id });
      },
    );
    keeps('2.1 custom_fields', 'keys of the registration form at the root', 'several are kept as they came', () =>
      accepted({
        operation: 'registration',
        body: { [keyOf('number')]: 12.5, [keyOf('boolean')]: false, [keyOf('date')]: '2024-02-29' },
      }),
    );
    breaks('2.1 custom_fields', 'decided: required by the form', 'all missing ones are listed', async () => {
      const answer = await call(service, { operation: 'registration', body: { form_id: DEMANDING_FORM } });
      const form = RECORDS.forms.find(({ id }) => id === DEMANDING_FORM);
      checkFaults(answer, form?.fields.map(({ key }) => ({ pointer: `#/${key}`, rule: 'required' })) ?? []);
    });
    for (const [language, words] of Object.entries({
      en: 'Confirm your registration',
      'es-MX': 'código',
      'de-AT': 'Registrierung',
      ar: 'صالح',
      tlh: 'Confirm your registration',
    })) {
      keeps('2.1 language', 'language of the message', `${language} is spoken`, async () => {
        const { text } = await register(service, items, { operation: 'registration', body: { language } });
        expect(text).toContain(words);
      });
    }
    keeps('2.1 OTP type email', 'always', 'a mail comes', () =>
      accepted({ operation: 'registration', body: { otp_type: 'email' } }),
    );
    for (const otp_type of PHONE_CHANNELS) {
      const rule = 'only when a messaging-provider integration is installed';
      keeps(`2.1 OTP type ${otp_type}`, rule, 'installed, it carries the code', async () => {
        const message = await register(service, items, { operation: 'registration', body: { otp_type } });
        expect(message.kind).toBe(otp_type);
      });
      keeps(
        '2.1 otp_type',
        'one of email, sms, call, whatsapp',
        `${otp_type} reaches the number however it is typed`,
        async () => {
          const { number } = newPhone();
          const phone = { country_code: '+44', number: `0${number.slice(0, 4)} ${number.slice(4)}` };
          const answer = await call(service, { operation: 'registration', body: { otp_type, phone } });
          expect(answer.status).toBe(204);
          expect(service.outbox.list().at(-1)).toMatchObject({ kind: otp_type, to: `+44${number}` });
        },
      );
    }
  });

  describe('2.3: the request for a trading account', () => {
    walkFields(ACCOUNT_CASES);

    for (const operation of VERSIONS) {
      const named = `user language for the email or popup`;
      keeps(`2.3 language, ${operation}`, named, "absent, it is the client's own", async () => {
        const change = { operation, userId: SPANISH_CLIENT.id, body: { send_email: true, send_pop_up: true } };
        const { messages } = await openAccount(service, items, change);
        expect(messages.map(({ language }) => language)).toEqual(['es', 'es']);
      });
      keeps(`2.3 language, ${operation}`, named, 'given, it goes before it', async () => {
        const body = { send_email: true, send_pop_up: true, language: 'de-AT' };
        const { messages } = await openAccount(service, items, { operation, userId: SPANISH_CLIENT.id, body });
        expect(messages.map(({ language }) => language)).toEqual(['de', 'de']);
      });
      breaks(`2.3 user_id, ${operation}`, 'required', 'a path without it is unknown', async () => {
        const path = PATHS[operation].replace('{user_id}', '');
        const answer = await request(service, 'POST', path, JSON.stringify(bodyOf({ operation })), JSON_TYPE);
        checkNotFound(answer);
      });
    }
    keeps('2.3 connection_id, tp5', 'id of a trading-platform server as given by this API', 'tp5-demo hosts it', () => {
      const { connection_id, group, funded } = DEMO_PLACES.tp5;
      const body = { connection_id, group, account_type_id: funded };
      return openAccount(service, items, { operation: 'tp5', body });
    });
    for (const [operation, group] of [
      ['tp5', 'real\\strict'],
      ['tp4', 'strict'],
    ] as const) {
      keeps(`2.3 group, ${operation}`, 'platform group name', `${group} is the account's group`, () =>
        openAccount(service, items, { operation, body: { group } }),
      );
    }
    for (const connection_id of ['tp4-plugin', DEMO_PLACES.tp4.connection_id, 'tp4-gateway-demo']) {
      const demo = connection_id.endsWith('demo');
      const body = {
        connection_id,
        group: demo ? 'demoforex' : 'standard',
        ...(demo ? { account_type_id: DEMO_PLACES.tp4.funded } : {}),
      };
      keeps(
        '2.3 connection_id, tp4',
        'id of a trading-platform server as given by this API',
        `${connection_id} hosts it`,
        () => openAccount(service, items, { operation: 'tp4', body }),
      );
    }
  });

  describe('2.4: the answer', () => {
    for (const operation of VERSIONS) {
      const rules = {
        tp5: [/[a-z]/, /[A-Z]/, /\d/, /[^A-Za-z\d]/],
        tp4: [/[a-z]/, /[A-Z]|\d/],
      }[operation];
      for (const name of ['master_password', 'investor_password']) {
        keeps(
          `2.4 ${name}, ${operation}`,
          'string',
          'absent, one is made that keeps the rules of the version',
          async () => {
            const { answer } = await openAccount(service, items, { operation });
            const password = String(answer.body?.[name]);
            expect(password).toMatch(/^[^0O1lI|=\\"'&<>\s]{12}$/);
            for (const rule of rules) expect(password).toMatch(rule);
          },
        );
        keeps(`2.4 ${name}, ${operation}`, 'string', 'given, it is the one that was given', () =>
          openAccount(service, items, { operation, body: { [name]: 'aB3$given' } }),
        );
      }
      keeps(`2.4 login, ${operation}`, 'number', 'the one that the platform chose', () =>
        openAccount(service, items, { operation }),
      );
      keeps(`2.4 login, ${operation}`, 'number', 'the one that was asked for', () =>
        openAccount(service, items, { operation, body: { login: 31_337 } }),
      );
    }
  });

  describe('4: the endpoints', () => {
    const rows = { registration: '4.1 registration', tp5: account('tp5'), tp4: account('tp4') };
    for (const operation of ['registration', ...VERSIONS] as const) {
      const row = rows[operation];
      const path = PATHS[operation].replace('{user_id}', CLIENT.id);
      const refused = (method: string, wrong: string) => async () => {
        const body = method === 'GET' || method === 'HEAD' ? undefined : JSON.stringify(bodyOf({ operation }));
        checkNotFound(await request(service, method, wrong, body, JSON_TYPE), method);
      };
      for (const method of ['GET', 'HEAD', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']) {
        breaks(row, 'method and path', `${method} ${path} is unknown`, refused(method, path));
      }
      for (const wrong of [`${path}/`, path.toUpperCase(), path.replace('/public', '//public'), `${path}/x`]) {
        breaks(row, 'method and path', `POST ${wrong} is unknown`, refused('POST', wrong));
      }
      for (const wrong of ['', '/v1', '/public', '/public/v2', '/public/V1', '/public/v1.0']) {
        const elsewhere = path.replace('/public/v1', wrong);
        breaks(row, 'the path begins with /public/v1', `POST ${elsewhere} is unknown`, refused('POST', elsewhere));
      }
      keeps(row, 'method and path', `POST ${path} is the one`, async () => {
        const answer = await request(service, 'POST', `${path}?a=1`, JSON.stringify(bodyOf({ operation })), {
          ...JSON_TYPE,
          'x-forwarded-for': newSource(),
        });
        expect(answer.status).toBe(operation === 'registration' ? 204 : 200);
      });
      breaks(row, 'request body', 'none at all is refused', async () => {
        checkProblem(await call(service, { operation }, { raw: '' }), 400, 'malformed_json');
      });
      breaks(row, 'request body', 'the one of another operation is refused', async () => {
        const other = operation === 'registration' ? 'tp5' : 'registration';
        const raw = JSON.stringify(bodyOf({ operation: other }));
        checkProblem(await call(service, { operation }, { raw }), 400, 'validation_failed');
      });
      for (const type of ['application/json; charset=utf-8', 'application/vnd.broker+json', 'Application/JSON']) {
        keeps(row, 'request body', `${type} is JSON`, () => accepted({ operation, headers: { 'content-type': type } }));
      }
    }
    keeps('4.1 registration', 'success status 204', 'and nothing else', async () => {
      expect((await call(service, { operation: 'registration' })).status).toBe(204);
    });
    keeps('4.1 registration', 'no body', 'neither a type of one nor a length', async () => {
      const { text, headers } = await call(service, { operation: 'registration' });
      expect([text, headers.get('content-type'), headers.get('content-length')]).toEqual(['', null, null]);
    });
    for (const otp_type of ['email', ...PHONE_CHANNELS]) {
      const rule = 'delivered through the channel named by otp_type';
      keeps('4.1 registration', rule, otp_type, () => accepted({ operation: 'registration', body: { otp_type } }));
    }
    for (const version of VERSIONS) {
      const operation = { operation: version };
      breaks(account(version), 'path variable', 'of seven characters is refused', async () => {
        const answer = await call(service, { ...operation, userId: 'CLIENT1' });
        checkFaults(answer, [{ parameter: 'user_id', rule: 'length' }]);
      });
      keeps(account(version), 'success status 200', 'and nothing else', async () => {
        expect((await call(service, operation)).status).toBe(200);
      });
      keeps(account(version), 'success body', 'is JSON of exactly three members', async () => {
        const { body, headers } = await call(service, operation);
        expect(Object.keys(body ?? {}).sort()).toEqual(['investor_password', 'login', 'master_password']);
        expect(headers.get('content-type')).toBe('application/json');
      });
      keeps(
        `7 ${version}_connection_not_found`,
        'no connection is found for the given connection_id',
        'one that is found',
        () => accepted(operation),
      );
    }
  });

  describe('8: the limits of the fields', () => {
    const ids = {
      form_id: ['registration', FORM],
      referrer_id: ['registration', CLIENT.referral_code],
      account_type_id: ['tp5', DEMO_PLACES.tp5.unfunded],
      rebate_user_id: ['tp5', CLIENT.id],
    } as const;
    for (const [name, [operation, good]] of Object.entries(ids)) {
      const change = (value: string) => ({ operation, body: { [name]: value } });
      const common = { row: `8 ${name}`, rule: 'length 8', operation };
      const faults = [{ pointer: `#/${name}`, rule: 'length' }];
      walk({ ...common, says: '7 characters', ...change(good.slice(1)), faults });
      walk({ ...common, says: '9 characters', ...change(`${good}1`), faults });
      walk({ ...common, says: '8 characters', ...change(good), faults: [] });
    }
    for (const operation of VERSIONS) {
      const user = { row: '8 user_id', rule: 'length 8', operation };
      const faults = [{ parameter: 'user_id', rule: 'length' }];
      walk({ ...user, says: `7 characters (${operation})`, userId: 'CLIENT1', faults });
      walk({ ...user, says: `9 characters (${operation})`, userId: 'CLIENT001', faults });
      walk({ ...user, says: `8 characters (${operation})`, userId: CLIENT.id, faults: [] });

      const leverage = (rule: string, value: number, fault?: string): Case => ({
        row: '8 leverage',
        rule,
        says: `${value} (${operation})`,
        operation,
        body: { leverage: value },
        faults: fault === undefined ? [] : [{ pointer: '#/leverage', rule: fault }],
      });
      walk(leverage('minimum 1', 1));
      walk(leverage('minimum 1', 0, 'minimum'));
      walk(leverage('maximum 5000', 5000));
      walk(leverage('maximum 5000', 5001, 'maximum'));

      const [least, most] = operation === 'tp5' ? [8, 15] : [5, 15];
      for (const name of ['master_password', 'investor_password']) {
        const password = (length: number): Case => ({
          row: `8 ${name}`,
          rule: `${operation}: length ${least} to ${most}`,
          says: `${length} characters`,
          operation,
          body: { [name]: `aB3$${'x'.repeat(length - 4)}` },
          faults: length < least || length > most ? [{ pointer: `#/${name}`, rule: 'length' }] : [],
        });
        for (const length of [least - 1, least, most, most + 1]) walk(password(length));
      }
      keeps('8 size limits', `decided: a ${operation} account of 64 KB`, 'a body of 65,536 bytes is accepted', () => {
        const body = bodyOf({ operation });
        return openAccount(service, items, { operation, body }, { raw: JSON.stringify(body).padEnd(65_536) });
      });
    }
    keeps('8 size limits', 'decided: a registration of 5.9 MB', 'a body of 5,900,000 bytes is accepted', () => {
      const body = bodyOf({ operation: 'registration' });
      const raw = JSON.stringify(body).padEnd(5_900_000);
      return register(service, items, { operation: 'registration', body }, { raw });
    });
  });

  describe('7, and the errors where it is silent', () => {
    ERROR_CASES.forEach(walkError);
    MANY_FAULTS.forEach(walkError);

    for (const operation of VERSIONS) {
      meets({ operation, says: 'a login that is in use', status: 409, type: 'login_taken' }, async () => {
        const change = { operation, body: { login: 555_555 } };
        await openAccount(service, items, change);
        checkProblem(await call(service, change), 409, 'login_taken');
      });
    }
    meets(
      { operation: 'tp4', says: 'a retry that cannot be settled', status: 409, type: 'account_outcome_unknown' },
      async () => {
        const change: Change = { operation: 'tp4', body: { connection_id: 'tp4-plugin' }, headers: newKey() };
        const source = newSource();
        goWrong('tp4-plugin', { kind: 'reply_lost', times: 1 });
        const first = await call(service, change, { source });
        checkProblem(first, 504, 'account_outcome_unknown');
        const again = await call(service, change, { source });
        checkProblem(again, 409, 'account_outcome_unknown');
        expect(again.body?.operation_id).toBe(first.body?.operation_id);
      },
    );
  });

  describe('Idempotency-Key, where the specification is silent', () => {
    for (const operation of ['registration', ...VERSIONS] as const) {
      const success = operation === 'registration' ? 204 : 200;

      it(`${operation}: the same key and body are answered again, and nothing is done twice`, async () => {
        const change = { operation, headers: newKey(), body: bodyOf({ operation }) };
        const source = newSource();
        service.outbox.clear();
        const first = await call(service, change, { source });
        const again = await call(service, change, { source });
        expect([first.status, again.status, again.text]).toEqual([success, success, first.text]);
        expect([first, again].map(({ headers }) => headers.get('idempotent-replayed'))).toEqual([null, 'true']);
        expect(service.outbox.list()).toHaveLength(operation === 'registration' ? 1 : 0);
      });

      it(`${operation}: a key is the same in quotes, and belongs to one caller: on the open route to an address`, async () => {
        const { 'idempotency-key': key } = newKey();
        const body = bodyOf({ operation });
        const source = newSource();
        await call(service, { operation, body, headers: { 'idempotency-key': key } }, { source });
        const quoted = await call(service, { operation, body, headers: { 'idempotency-key': `"${key}"` } }, { source });
        expect(quoted.headers.get('idempotent-replayed')).toBe('true');
        const other = await call(service, {
          operation,
          body: bodyOf({ operation }),
          headers: { 'idempotency-key': key },
        });
        // The account routes know the caller by the authorizer, whatever the address.
        const again = operation === 'registration' ? null : 'true';
        expect([other.status, other.headers.get('idempotent-replayed')]).toEqual([success, again]);
      });

      const reused = {
        operation,
        says: 'a key with another body',
        status: 422,
        type: 'idempotency_key_reused',
      } as const;
      meets(reused, async () => {
        const headers = newKey();
        const source = newSource();
        const body = bodyOf({ operation });
        await call(service, { operation, headers, body }, { source });
        const other = operation === 'registration' ? { name: 'Another' } : { leverage: 200 };
        const answer = await call(service, { operation, headers, body: { ...body, ...other } }, { source });
        checkProblem(answer, 422, 'idempotency_key_reused');
      });

      const running = { operation, says: 'a key that is worked on', status: 409, type: 'request_in_progress' } as const;
      meets(running, async () => {
        const change = { operation, headers: newKey(), body: bodyOf({ operation }) };
        const source = newSource();
        const target = { registration: 'ses', tp5: 'tp5-live', tp4: 'tp4-gateway' }[operation];
        goWrong(target, { kind: 'slow', ms: 600, times: 1 });
        const first = call(service, change, { source });
        await sleep(300);
        const second = await call(service, change, { source });
        checkProblem(second, 409, 'request_in_progress');
        expect(Number(second.headers.get('retry-after'))).toBeGreaterThan(0);
        expect((await first).status).toBe(success);
        expect((await call(service, change, { source })).text).toBe((await first).text);
      });

      it(`${operation}: after a failure that did nothing, the same key is worked on anew`, async () => {
        const change = { operation, headers: newKey(), body: bodyOf({ operation }) };
        const source = newSource();
        const target = { registration: 'ses', tp5: 'tp5-live', tp4: 'tp4-gateway' }[operation];
        goWrong(target, { kind: 'throttled', times: 1 });
        expect((await call(service, change, { source })).status).toBeGreaterThanOrEqual(502);
        const again = await call(service, change, { source });
        expect([again.status, again.headers.get('idempotent-replayed')]).toEqual([success, null]);
      });

      for (const key of [' ', '""', '"', 'two words', 'ümlaut', 'x'.repeat(256), '"open', 'tab\there']) {
        it(`${operation}: the key ${JSON.stringify(key)} is refused with format at Idempotency-Key`, async () => {
          const answer = await call(service, { operation, headers: { 'idempotency-key': latin1(key) } });
          checkFaults(answer, [{ header: 'Idempotency-Key', rule: 'format' }]);
        });
      }
      it(`${operation}: a key of 255 characters is accepted`, () =>
        accepted({ operation, headers: { 'idempotency-key': 'x'.repeat(255) } }));
    }

    it('tp5: after an answer that was lost, the account is found and told', async () => {
      const change: Change = { operation: 'tp5', headers: newKey() };
      const source = newSource();
      const before = service.platforms.get('tp5-live')?.accounts().length ?? 0;
      goWrong('tp5-live', { kind: 'reply_lost', times: 1 });
      const first = await call(service, change, { source });
      const again = await call(service, change, { source });
      expect([first.status, again.status, again.text]).toEqual([200, 200, first.text]);
      expect(service.platforms.get('tp5-live')?.accounts()).toHaveLength(before + 1);
    });
  });

  describe('Limits of sending, where the specification is silent', () => {
    const limited = (says: string, run: () => Promise<unknown>) =>
      meets({ operation: 'registration', says, status: 429, type: 'too_many_requests' }, run);
    const checkLimited = (answer: Answer) => {
      checkProblem(answer, 429, 'too_many_requests');
      const seconds = Number(answer.headers.get('retry-after'));
      expect(seconds).toBeGreaterThan(0);
      expect(seconds).toBeLessThanOrEqual(60);
    };

    for (const again of [
      'someone@gmail.com',
      'SomeOne@Gmail.com',
      'someone+tag@gmail.com',
      's.o.m.e.one@googlemail.com',
    ]) {
      limited(`a second mail to someone@gmail.com within 60 s, written as ${again},`, async () => {
        await call(service, { operation: 'registration', body: { email: 'someone@gmail.com' } });
        checkLimited(await call(service, { operation: 'registration', body: { email: again } }));
      });
    }
    for (const otp_type of PHONE_CHANNELS) {
      limited(`a second message by ${otp_type} within 60 s`, async () => {
        const phone = newPhone();
        await call(service, { operation: 'registration', body: { otp_type, phone } });
        const written = { country_code: '+44', number: `0${phone.number}` };
        checkLimited(await call(service, { operation: 'registration', body: { otp_type, phone: written } }));
      });
    }

    it('a request that is not well-formed counts for nothing', async () => {
      const source = newSource();
      for (let n = 0; n < 6; n += 1) await call(service, { operation: 'registration', body: { name: '' } }, { source });
      expect((await call(service, { operation: 'registration' }, { source })).status).toBe(204);
    });

    it("a client's address is answered as any other, and its owner gets a notice without a code", async () => {
      service.outbox.clear();
      const known = await call(service, { operation: 'registration', body: { email: CLIENT.email.toUpperCase() } });
      const [notice] = service.outbox.list();
      expect(notice?.text).toContain('already');
      expect(notice?.text).not.toMatch(/\d{6}/);
      const unknown = await call(service, { operation: 'registration' });
      const shown = ({ status, headers, text }: Answer) => ({ status, names: [...headers.keys()], text });
      expect(shown(known)).toEqual(shown(unknown));
    });
  });

  it('no route but the three answers, and the gateway says so itself', async () => {
    for (const path of ['/public/v1', '/public/v1/users', '/public/v1/account/register', '/nothing', '/public']) {
      checkNotFound(await request(service, 'POST', path, '{}', JSON_TYPE));
    }
  });
});

const JSON_TYPE = { 'content-type': 'application/json' };

function checkNotFound(answer: Answer, method = 'POST'): void {
  expect(answer.status).toBe(404);
  expect(answer.text).toBe(method === 'HEAD' ? '' : '{"message":"Not Found"}');
}

/** A header's value as `fetch` takes it: a character for each byte. */
function latin1(text: string): string {
  return Buffer.from(text, 'utf8').toString('latin1');
}

describe('With a clock that is set', () => {
  // Before the service starts: it takes the clock that there is.
  beforeAll(() => {
    vi.useFakeTimers({ toFake: ['Date'] });
  });
  afterAll(() => {
    vi.useRealTimers();
  });

  during('the limits of sending, over hours', EVERY_CHANNEL, () => {
    const row = '8 rate limits';
    const pass = (seconds: number) => vi.setSystemTime(Date.now() + seconds * 1_000);
    const send = (body: Record<string, unknown>, source = newSource()) =>
      call(service, { operation: 'registration', body }, { source });
    const checkSent = (answer: Answer) => expect(answer.status).toBe(204);
    /** The next one is refused for exactly so many seconds. */
    async function mustWait(seconds: number, next: () => Promise<Answer>): Promise<void> {
      for (const left of [seconds, 1]) {
        const answer = await next();
        checkProblem(answer, 429, 'too_many_requests');
        expect(answer.headers.get('retry-after')).toBe(String(left));
        if (left > 1) pass(left - 1);
      }
      pass(1);
      checkSent(await next());
    }

    for (const otp_type of ['email', ...PHONE_CHANNELS]) {
      const insist = (waits: readonly number[]) => async () => {
        const to = otp_type === 'email' ? { email: newEmail() } : { phone: newPhone() };
        const next = () => send({ otp_type, ...to });
        checkSent(await next());
        for (const wait of waits) await mustWait(wait, next);
        const address = to.email ?? `+44${to.phone?.number}`;
        expect(messagesTo(service, address)).toHaveLength(waits.length + 1);
      };
      const again = [60, 120, 300, 900];
      // The fifth message was 1,380 s after the first.
      const hour = [...again, 3_600 - 1_380];
      // The tenth is two hours after the first.
      const day = [...hour, 900, 900, 900, 900, 86_400 - 7_200];
      const to = 'decided: to a recipient';
      goesBeyond(row, `${to} again after 60, 120, 300 and 900 s`, `by ${otp_type}, no second earlier`, insist(again));
      goesBeyond(row, `${to} 5 an hour`, `by ${otp_type}, the sixth waits for the hour to end`, insist(hour));
      goesBeyond(row, `${to} 10 in 24 hours`, `by ${otp_type}, the eleventh waits for the next day`, insist(day));
    }

    for (const [network, first, other] of [
      ['an IPv4 address', '192.0.2.7', '192.0.2.7'],
      ['an IPv6 network of 64 bits', '2001:db8:1:2::1', '2001:db8:1:2:ffff::9'],
    ] as const) {
      const next = () => send({}, other);
      const sendFive = async () => {
        for (let n = 0; n < 5; n += 1) checkSent(await send({}, n % 2 === 0 ? first : other));
      };
      const sixth = `the sixth from ${network} waits for their end`;
      goesBeyond(row, 'decided: from a source 5 in 10 minutes', sixth, async () => {
        await sendFive();
        await mustWait(600, next);
      });
      const last = `the twenty-first from ${network} waits for its end`;
      goesBeyond(row, 'decided: from a source 20 an hour', last, async () => {
        pass(3_600);
        for (const minutes of [10, 10, 10, 0]) {
          await sendFive();
          pass(minutes * 60);
        }
        await mustWait(1_800, next);
      });
    }

    const prefix = 'the eleventh waits for its end, whatever the channels';
    goesBeyond(row, 'decided: to a phone prefix 10 an hour', prefix, async () => {
      let count = 0;
      const next = () => {
        count += 1;
        const phone = { country_code: '44', number: `740999${1_000 + count}` };
        return send({ otp_type: PHONE_CHANNELS[count % 3], phone });
      };
      while (count < 10) checkSent(await next());
      await mustWait(3_600, next);
    });
  });
});

const FEW = { resendSeconds: [1], recipientPerHour: 1, sourcePerHour: 3, sourcePer10Minutes: 100 };
during(
  'The specification, with e-mail as the only channel and tighter limits',
  () => ({ environment: { CHANNELS: 'email', LIMITS: JSON.stringify(FEW) } }),
  () => {
    keeps('2.1 OTP type email', 'always', 'a mail comes', () => accepted({ operation: 'registration' }));
    for (const otp_type of PHONE_CHANNELS) {
      const error: ErrorCase = {
        operation: 'registration',
        says: `${otp_type}, which is not installed,`,
        status: 400,
        type: 'otp_type_unavailable',
        body: { otp_type },
        members: { available: ['email'] },
        stands: {
          row: `2.1 OTP type ${otp_type}`,
          rule: 'only when a messaging-provider integration is installed',
        },
      };
      walkError(error);
    }
    meets(
      {
        operation: 'registration',
        says: 'more to a recipient than an hour allows',
        status: 429,
        type: 'too_many_requests',
      },
      async () => {
        const body = { email: newEmail() };
        expect((await call(service, { operation: 'registration', body })).status).toBe(204);
        const answer = await call(service, { operation: 'registration', body });
        checkProblem(answer, 429, 'too_many_requests');
        expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(3_500);
      },
    );
    meets(
      {
        operation: 'registration',
        says: 'more from a source than an hour allows',
        status: 429,
        type: 'too_many_requests',
      },
      async () => {
        const source = newSource();
        for (let n = 0; n < 3; n += 1)
          expect((await call(service, { operation: 'registration' }, { source })).status).toBe(204);
        const answer = await call(service, { operation: 'registration' }, { source });
        checkProblem(answer, 429, 'too_many_requests');
        expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(3_500);
      },
    );
  },
);

describe('With a platform of its own', () => {
  let platform: ScriptedTcp;
  beforeAll(async () => {
    platform = await scriptedTcp((socket) => socket.end('ERROR\r\ninvalid LEVERAGE\r\nend\r\n'));
  });
  afterAll(() => platform.close());

  // None of the simulated servers refuses a leverage of 1 to 5000, as real ones may.
  const choosy = { id: 'tp4-choosy', platform: 'tp4', protocol: 'interface-gateway', host: '127.0.0.1' } as const;
  during(
    'that takes some leverages only',
    () => ({
      records: {
        ...RECORDS,
        connections: [{ ...choosy, port: platform.port, demo: false, secret: 'tp4-choosy', code_page: 'windows-1252' }],
        local_secrets: { 'tp4-choosy': { master: 'secret' } },
      },
    }),
    () => {
      walkError({
        operation: 'tp4',
        says: 'a leverage that the platform does not offer',
        body: { connection_id: choosy.id },
        status: 400,
        type: 'validation_failed',
        faults: [{ pointer: '#/leverage', rule: 'not_offered' }],
      });
    },
  );
});

describe('Nothing of the specification is missing', () => {
  afterAll(() => {
    console.log(tally(ROWS, stands));
  });

  it('every row has a good case, every rule of it a bad one, and every promise is kept', () => {
    expect(gaps(ROWS, stands)).toEqual([]);
  });

  it('every error of the contract has a case, and the service knows no others', () => {
    const errors = ERRORS.map(([status, type]) => `${status} ${type}`);
    const others = ERRORS.filter(([, type]) => NOT_OF_THIS_SERVICE.includes(type)).map(
      ([status, type]) => `${status} ${type}`,
    );
    expect([...answered, ...others].sort()).toEqual(errors.toSorted());
    const statuses = Object.entries(PROBLEMS).flatMap(([type, { status, ...rest }]) => [
      `${status} ${type}`,
      ...('settleStatus' in rest ? [`${rest.settleStatus} ${type}`] : []),
    ]);
    expect(statuses.sort()).toEqual(errors.toSorted());
  });

  it('every rule that an answer can name has a case that breaks it', () => {
    expect([...broken].sort()).toEqual(Object.keys(RULE_MEANINGS).sort());
  });

  it('a row without a case would be noticed', () => {
    const rows = [{ id: '9.9 row', rules: ['rule'], promises: ['promise'], limits: ['limit'] }];
    expect(gaps(rows, [])).toEqual([
      '9.9 row has no good case',
      '9.9 row: nothing breaks "rule"',
      '9.9 row: nothing breaks "limit"',
      '9.9 row: nothing keeps "promise"',
      '9.9 row: nothing keeps "limit"',
    ]);
    expect(
      gaps(rows, [
        { row: '9.9 row', rule: 'other', kept: true },
        { row: '9.8', rule: 'rule', kept: false },
      ]),
    ).toEqual(expect.arrayContaining(['9.9 row does not say "other"', '9.8 is no row']));
  });
});
