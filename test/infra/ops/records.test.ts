import { readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { DEMO_RECORDS } from '../../../infra/local/demo-records.ts';
import { Operators, runOperatorsCommand } from '../../support/operators.ts';

const operators = new Operators();

const NEW_CLIENT = { id: 'CLIENT99', email: 'new@example.com', name: 'New', referral_code: 'REFNEW99' };

describe('npm run ops -- import', () => {
  it('adds and changes the records of a file, and deletes none', async () => {
    const before = await operators.keys();
    const file = await operators.fileOf({
      clients: [NEW_CLIENT],
      account_types: [{ ...DEMO_RECORDS.account_types[0], deposit: 7 }],
    });
    expect(await operators.local('import', file)).toEqual({
      code: 0,
      out: '2 records changed in the local service.\n',
      reported: '',
    });
    expect(await operators.keys()).toEqual([...before, 'client#CLIENT99'].sort());
    expect(await operators.table.read('account_type#ATDEMO01')).toMatchObject({ record: { deposit: 7 } });
    const found = { proven_email: 'new@example.com', referral_code: 'REFNEW99' };
    expect(await operators.table.read('client#CLIENT99')).toEqual({
      pk: 'client#CLIENT99',
      record: NEW_CLIENT,
      ...found,
    });
  });

  it('reads the standard input', async () => {
    const input = JSON.stringify({ clients: [{ ...NEW_CLIENT, name: 'Piped' }] });
    const { out } = await runOperatorsCommand(['import', '-', '--local', operators.service.url], { input });
    expect(out).toBe('1 record changed in the local service.\n');
    expect(await operators.table.read('client#CLIENT99')).toMatchObject({ record: { name: 'Piped' } });
  });

  it('no longer finds a client by an address that the record has lost', async () => {
    const [ann] = DEMO_RECORDS.clients;
    await operators.local('import', { clients: [{ ...ann, email: 'ann.lee@example.com', phone: undefined }] });
    const { table } = operators;
    expect(await table.find('proven_email', 'ann.lee@example.com')).toEqual(['client#CLIENT01']);
    expect(await table.find('proven_email', 'ann@example.com')).toEqual([]);
    expect(await table.find('proven_phone', '+447400123456')).toEqual([]);
  });

  it('shows with --dry-run what would change, and changes nothing', async () => {
    const before = await operators.items('crm');
    const ann = { ...DEMO_RECORDS.clients[0], name: 'Ann B. Lee', language: undefined };
    const { out } = await operators.local('import', { clients: [NEW_CLIENT, ann] }, '--dry-run');
    expect(out.split('\n')).toEqual([
      '+ client#CLIENT99',
      '~ client#CLIENT01: name, language',
      '2 records would change in the local service; nothing was written.',
      '',
    ]);
    expect(await operators.items('crm')).toEqual(before);
  });

  it('writes nothing when one record is wrong, and lists every error', async () => {
    const before = await operators.items('crm');
    const file = await operators.fileOf({
      clients: [NEW_CLIENT, { id: 'CLIENT98', email: 'nonsense', name: 'X' }],
      forms: [{ id: 'F' }],
    });
    const { code, reported } = await operators.local('import', file);
    expect(code).toBe(1);
    expect(reported).toContain(`${file} has 3 errors; nothing was written:`);
    for (const error of ['clients[1].email: must', 'forms[0].id: must', 'forms[0].fields: is'])
      expect(reported).toContain(error);
    expect(await operators.items('crm')).toEqual(before);
  });

  it.each([1e-200, 0.001, -0.01])('writes nothing when a deposit is %d', async (deposit) => {
    const account_types = [{ id: 'ATODD001', platform: 'tp5', deposit }];
    const { code, reported } = await operators.local('import', { clients: [NEW_CLIENT], account_types });
    expect([code, reported]).toEqual([1, expect.stringContaining('account_types[0].deposit: must be 0, or at least')]);
    expect(await operators.keys()).not.toContain('client#CLIENT99');
  });

  it('refuses a range of logins that another connection of the host has, also one with members of a newer version', async () => {
    const stands = (await operators.table.read('connection#tp5-live-1')) ?? expect.fail();
    await operators.table.write([{ put: { ...stands, record: { ...(stands.record as object), newer: 1 } } }]);
    const connection = { ...(stands.record as object), id: 'tp5-live-2' };
    const { code, reported } = await operators.local('import', { connections: [connection] });
    expect(code).toBe(1);
    expect(reported).toContain('connections[0].logins: has logins of the table\'s connections["tp5-live-1"].logins');
  });

  it('refuses a simulated server, which no deployment has', async () => {
    const { code, reported } = await operators.local('import', {
      connections: [{ ...DEMO_RECORDS.connections[0], id: 'new' }],
    });
    expect(code).toBe(1);
    expect(reported).toContain('connections[0].host: names a simulated server');
  });

  it('continues when the database is throttled for some time', async () => {
    operators.service.faults('dynamodb').set({ kind: 'throttled', times: 2 });
    expect((await operators.local('import', { clients: [NEW_CLIENT] })).code).toBe(0);
  });

  it.each([[{ id: 'CLIENT01' }], [null]])('replaces the damaged record %j', async (record) => {
    await operators.table.write([{ put: { pk: 'client#CLIENT01', record } }]);
    const file = await operators.fileOf({ clients: [DEMO_RECORDS.clients[0]] });
    expect(await operators.local('import', file, '--dry-run')).toMatchObject({ code: 0 });
    expect((await operators.local('import', file)).code).toBe(0);
    expect(await operators.table.read('client#CLIENT01')).toMatchObject({ record: DEMO_RECORDS.clients[0] });
  });
});

describe('npm run ops -- export', () => {
  it('writes a CRM file that can be imported again', async () => {
    const path = join(operators.folder, 'export.json');
    await writeFile(path, 'an earlier export', { mode: 0o644 });
    expect(await operators.local('export', path)).toMatchObject({
      code: 0,
      reported: expect.stringMatching(/^\d+ records written to/),
    });
    expect((await stat(path)).mode & 0o077).toBe(0);
    const records = JSON.parse(await readFile(path, 'utf8')) as typeof DEMO_RECORDS;
    expect(records.clients.toSorted((a, b) => (a.id < b.id ? -1 : 1))).toEqual(DEMO_RECORDS.clients);
    expect((await operators.local('import', path)).out).toBe('0 records changed in the local service.\n');
  });

  it('keeps an address that was only typed as unproven', async () => {
    await operators.local('import', { clients: [{ ...NEW_CLIENT, unproven: ['email'] }] });
    const path = join(operators.folder, 'typed.json');
    await operators.local('export', path);
    await operators.local('delete', 'clients', 'CLIENT99');
    await operators.local('import', path);
    expect(await operators.table.find('proven_email', NEW_CLIENT.email)).toEqual([]);
  });
});

describe('npm run ops -- list', () => {
  it.each([
    ['forms', 'FORM0001'],
    ['client', 'CLIENT01'],
    ['account-types', 'ATDEMO01'],
    ['connections', 'tp5-live-1'],
  ])('shows the %s', async (kind, id) => {
    const { code, out } = await operators.local('list', kind);
    expect(code).toBe(0);
    expect(out.split('\n')[0]).toMatch(/^ID {2,}NAME/);
    expect(out).toContain(`${id} `);
  });

  it('escapes control and invisible characters of every record', async () => {
    const name = 'Ann\u202elee\u001b[2J\u009b\n\u200b\u{e0041}';
    const escaped = 'Ann\\u202elee\\u001b[2J\\u009b\\u000a\\u200b\\udb40\\udc41';
    const record = { id: 'ODDFORM1', name, fields: [] };
    await operators.table.write([{ put: { pk: 'form#ODDFORM1', kind: 'form', record } }]);
    const { out } = await operators.local('list', 'forms');
    expect(out.split('\n').find((line) => line.startsWith('ODDFORM1'))).toContain(escaped);
    const json = (await operators.local('export')).out;
    expect(json).toContain(escaped.replace('\\u000a', '\\n'));
    const { forms } = JSON.parse(json) as { forms: { id: string; name: string }[] };
    expect(forms.find(({ id }) => id === 'ODDFORM1')?.name).toBe(name);
  });

  it('separates its columns by two spaces, which no cell contains', async () => {
    const name = 'Mallory  ann@example.com  +44 7400123456\u3000\u3000GB ';
    await operators.local('import', { clients: [{ ...NEW_CLIENT, name }] });
    const { out } = await operators.local('list', 'clients');
    const row = out.split('\n').find((line) => line.startsWith('CLIENT99')) ?? '';
    expect(row.split(/ {2,}/)).toEqual([
      'CLIENT99',
      'Mallory ann@example.com +44 7400123456 GB',
      'new@example.com',
      'REFNEW99',
    ]);
  });
});

describe('npm run ops -- delete', () => {
  it('deletes nothing if one of the ids does not exist', async () => {
    const { code, reported } = await operators.local('delete', 'clients', 'CLIENT01', 'NOTTHERE');
    expect([code, reported]).toEqual([1, 'the local service holds no clients of this id: NOTTHERE\n']);
    expect(await operators.keys()).toContain('client#CLIENT01');
  });

  it('shows with --dry-run what would be deleted', async () => {
    expect((await operators.local('delete', 'connections', 'tp5-live-1', '--dry-run')).out).toContain(
      '- connection#tp5-live-1\n',
    );
    expect(await operators.keys()).toContain('connection#tp5-live-1');
  });
});
