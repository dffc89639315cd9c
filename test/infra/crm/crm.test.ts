import { spawn } from 'node:child_process';
import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { call } from '../../../infra/crm/call.ts';
import { runCrm } from '../../../infra/crm/crm.ts';
import { toItems } from '../../../infra/crm/crm-items.ts';
import { type CrmTable, crmTable } from '../../../infra/crm/crm-table.ts';
import { secretStore } from '../../../infra/crm/secret-store.ts';
import { DEMO_RECORDS } from '../../../infra/local/demo-records.ts';
import { type LocalService, startService } from '../../../infra/local/service.ts';
import { checked } from '../../support/openapi.ts';

let service: LocalService;
let folder: string;
let table: CrmTable;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'crm-'));
  service = await startService();
  // The service has set the environment to its own database: what is a table there is one here.
  table = crmTable('crm');
});
afterAll(async () => {
  table.close();
  await service.close();
  await rm(folder, { recursive: true });
});

/** Before each test the table holds the demo records, whatever the one before did. */
beforeEach(async () => {
  const { connections } = DEMO_RECORDS;
  const addressed = connections.map((connection) => {
    const server = service.platforms.get(connection.id);
    const ca = connection.protocol === 'web-api' && server?.ca !== undefined ? { ca: server.ca } : {};
    return { ...connection, host: '127.0.0.1', port: server?.port ?? 0, ...ca };
  });
  await table.write((await table.readAll()).map(({ pk }) => ({ delete: pk })));
  await table.write((await toItems({ ...DEMO_RECORDS, connections: addressed })).map((put) => ({ put })));
});

interface Outcome {
  code: number;
  out: string;
  told: string;
}

const ADDRESSES: Record<string, string[]> = {
  'mt4.broker.example': ['10.0.0.7', '203.0.113.7'],
  'mt4.internal.example': ['10.0.0.7', 'fd00::7', '::ffff:10.0.0.7'],
};

interface Person {
  /** What is piped in; or what a person answers, in turn. */
  input?: string;
  answers?: string[];
  /** Happens while the command waits. */
  waits?: (milliseconds: number) => Promise<void>;
}

async function crm(args: string[], { input = '', answers, waits }: Person = {}): Promise<Outcome> {
  const outcome = { code: 0, out: '', told: '' };
  outcome.code = await runCrm(args, {
    input: (async function* () {
      yield input;
    })(),
    print: (text) => {
      outcome.out += text;
    },
    tell: (text) => {
      outcome.told += text;
    },
    ...(answers === undefined ? {} : { ask: async () => answers.shift() ?? '' }),
    addressesOf: async (host) => ADDRESSES[host] ?? [],
    wait: async (milliseconds) => waits?.(milliseconds),
  });
  return outcome;
}

/** On the local service. */
function local(...args: string[]): Promise<Outcome> {
  return crm([...args, '--local', service.url]);
}

/** The text of a secret. */
async function stored(name: string): Promise<string | undefined> {
  return (await secretStore({}).read(name))?.text;
}

async function fileOf(content: unknown): Promise<string> {
  const path = join(folder, `${Math.random()}.json`);
  await writeFile(path, typeof content === 'string' ? content : JSON.stringify(content));
  return path;
}

async function keys(): Promise<string[]> {
  return (await table.readAll()).map(({ pk }) => pk).sort();
}

const NEW_CLIENT = { id: 'CLIENT99', email: 'new@example.com', name: 'New', referral_code: 'REFNEW99' };

describe('npm run crm -- import', () => {
  it('adds and changes the records of a file, and deletes none', async () => {
    const before = await keys();
    const file = await fileOf({
      clients: [NEW_CLIENT],
      account_types: [{ ...DEMO_RECORDS.account_types[0], deposit: 7 }],
    });
    expect(await local('import', file)).toEqual({
      code: 0,
      out: '2 records changed in the local service.\n',
      told: '',
    });
    expect(await keys()).toEqual([...before, 'client#CLIENT99', 'email#new@example.com', 'referral#REFNEW99'].sort());
    expect(await table.read('account_type#ATDEMO01')).toMatchObject({ record: { deposit: 7 } });
    expect(await table.read('referral#REFNEW99')).toEqual({ pk: 'referral#REFNEW99', client_id: 'CLIENT99' });
  });

  it('changes nothing a second time', async () => {
    const file = await fileOf({ clients: [NEW_CLIENT] });
    await local('import', file);
    expect((await local('import', file)).out).toBe('0 records changed in the local service.\n');
  });

  it('is seen by the service at once', async () => {
    const register = (referrer_id: string) =>
      fetch(`${service.url}/public/v1/account/register/request`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({
          ...{ email: 'x@example.com', type: 'trader', name: 'X', form_id: 'FORM0002', referrer_id },
          ...{ password: 'long enough', repeat_password: 'long enough' },
        }),
      })
        .then((answer) => checked(answer))
        .then((answer) => answer.status);
    expect(await register('REFNEW99')).toBe(400);
    await local('import', await fileOf({ clients: [NEW_CLIENT] }));
    expect(await register('REFNEW99')).toBe(204);
  });

  it('takes away the pointer of an address that a client no longer has', async () => {
    const [ann] = DEMO_RECORDS.clients;
    await local('import', await fileOf({ clients: [{ ...ann, email: 'ann.lee@example.com', phone: undefined }] }));
    const now = await keys();
    expect(now).toContain('email#ann.lee@example.com');
    expect(now).not.toContain('email#ann@example.com');
    expect(now).not.toContain('phone#+447400123456');
  });

  it('lets two clients change their addresses with each other', async () => {
    const [ann, juan] = DEMO_RECORDS.clients;
    const swapped = [
      { ...ann, email: juan?.email },
      { ...juan, email: ann?.email },
    ];
    expect((await local('import', await fileOf({ clients: swapped }))).code).toBe(0);
    expect(await table.read('email#ann@example.com')).toMatchObject({ client_id: 'CLIENT02' });
    expect(await table.read('email#juan@example.com')).toMatchObject({ client_id: 'CLIENT01' });
  });

  it('keeps the pointer of a phone number as long as any client has it', async () => {
    const phone = { country_code: '44', number: '7400123456' };
    await local('import', await fileOf({ clients: [{ ...NEW_CLIENT, phone }] }));
    await local('delete', 'clients', 'CLIENT01');
    expect(await table.read('phone#+447400123456')).toMatchObject({ client_id: 'CLIENT99' });
    await local('delete', 'clients', 'CLIENT99');
    expect(await table.read('phone#+447400123456')).toBeUndefined();
  });

  it('shows with --dry-run what would change, and changes nothing', async () => {
    const before = await table.readAll();
    const file = await fileOf({
      clients: [NEW_CLIENT, { ...DEMO_RECORDS.clients[0], name: 'Ann B. Lee', language: undefined }],
    });
    expect(await local('import', file, '--dry-run')).toEqual({
      code: 0,
      out: [
        '+ client#CLIENT99',
        '~ client#CLIENT01',
        '    name: "Ann Lee" → "Ann B. Lee"',
        '    language: "en" → none',
        '2 records would change in the local service; nothing was written.',
        '',
      ].join('\n'),
      told: '',
    });
    expect(await table.readAll()).toEqual(before);
  });

  it('writes nothing when one record is wrong, and lists every fault', async () => {
    const before = await table.readAll();
    const file = await fileOf({
      clients: [NEW_CLIENT, { id: 'CLIENT98', email: 'nonsense', name: 'X' }],
      forms: [{ id: 'F' }],
    });
    const { code, told } = await local('import', file);
    expect(code).toBe(1);
    expect(told).toContain(`${file} has 3 faults; nothing was written:`);
    for (const fault of ['clients[1].email: must', 'forms[0].id: must', 'forms[0].fields: is'])
      expect(told).toContain(fault);
    expect(await table.readAll()).toEqual(before);
  });

  it("refuses an e-mail address or a referral code that is another client's in the table", async () => {
    const taken = { ...NEW_CLIENT, email: 'ANN@example.com', referral_code: 'REFANN01' };
    const { code, told } = await local('import', await fileOf({ clients: [taken] }));
    expect(code).toBe(1);
    expect(told).toContain('clients[0].email: is the same as the table\'s clients["CLIENT01"].email');
    expect(told).toContain('clients[0].referral_code: is the same as');
  });

  it.each([
    ['mt4.broker.example', true],
    ['203.0.113.7', true],
    ['2001:db8::7', true],
    ['mt4.internal.example', false],
    ['172.16.3.4', false],
    ['not.known.example', false],
  ])('warns of a text protocol on a public address: %s', async (host, warned) => {
    const connection = { ...DEMO_RECORDS.connections.find(({ id }) => id === 'tp4-gw-2'), host };
    const { code, told } = await local('import', await fileOf({ connections: [connection] }));
    expect(code).toBe(0);
    expect(told.includes(`Warning: connections[0]: ${host} has a public address`)).toBe(warned);
  });

  it('refuses a range of logins that another connection of the host has', async () => {
    const stands = await table.read('connection#tp5-live-1');
    const connection = { ...(stands?.record as object), id: 'tp5-live-2' };
    const { code, told } = await local('import', await fileOf({ connections: [connection] }));
    expect(code).toBe(1);
    expect(told).toContain('connections[0].logins: has logins of the table\'s connections["tp5-live-1"].logins');
  });

  it('refuses a simulated server, which no deployment has', async () => {
    const { code, told } = await local(
      'import',
      await fileOf({ connections: [{ ...DEMO_RECORDS.connections[0], id: 'new' }] }),
    );
    expect(code).toBe(1);
    expect(told).toContain('connections[0].host: names a simulated server');
  });

  it('writes thousands of records in batches, and tells how far it is', async () => {
    const clients = Array.from({ length: 2_000 }, (_, n) => ({
      id: `C${String(n).padStart(7, '0')}`,
      email: `client${n}@example.com`,
      name: `Client ${n}`,
    }));
    const { code, out, told } = await local('import', await fileOf({ clients }));
    expect([code, out]).toEqual([0, '2000 records changed in the local service.\n']);
    expect(told).toMatch(/^\d+ of 4000 items written\n/);
    expect((await keys()).filter((key) => /^client#C0/.test(key))).toHaveLength(2_000);
  });

  it('goes on when the database is throttled for a while', async () => {
    service.faults('dynamodb').set({ kind: 'throttled', times: 2 });
    expect((await local('import', await fileOf({ clients: [NEW_CLIENT] }))).code).toBe(0);
  });

  it('mends a damaged record', async () => {
    await table.write([{ put: { pk: 'client#CLIENT01', record: { id: 'CLIENT01' } } }]);
    const { code, told } = await local('import', await fileOf({ clients: [DEMO_RECORDS.clients[0]] }));
    expect(code).toBe(0);
    expect(told).toContain('Damaged in the local service, and passed over: client#CLIENT01.email: is required');
    expect(await table.read('client#CLIENT01')).toMatchObject({ record: DEMO_RECORDS.clients[0] });
  });
});

describe('npm run crm -- export', () => {
  it('writes a CRM file that can be imported again', async () => {
    const path = join(folder, 'export.json');
    expect(await local('export', path)).toMatchObject({
      code: 0,
      told: expect.stringMatching(/^\d+ records written to/),
    });
    expect((await stat(path)).mode & 0o077).toBe(0);
    const records = JSON.parse(await readFile(path, 'utf8')) as typeof DEMO_RECORDS;
    expect(records.clients).toEqual(DEMO_RECORDS.clients);
    expect((await local('import', path)).out).toBe('0 records changed in the local service.\n');
  });

  it('writes to the standard output where no file is named', async () => {
    const { out } = await local('export');
    expect(Object.keys(JSON.parse(out) as object)).toEqual(['forms', 'clients', 'account_types', 'connections']);
  });
});

describe('npm run crm -- list', () => {
  it.each([
    ['forms', 'FORM0001'],
    ['clients', 'CLIENT01'],
    ['client', 'CLIENT01'],
    ['account-types', 'ATDEMO01'],
    ['account_types', 'ATDEMO01'],
    ['connections', 'tp5-live-1'],
  ])('shows the %s', async (kind, id) => {
    const { code, out } = await local('list', kind);
    expect(code).toBe(0);
    expect(out.split('\n')[0]).toMatch(/^ID {2,}NAME/);
    expect(out).toContain(`${id} `);
  });

  it('shows them as JSON with --json', async () => {
    expect(JSON.parse((await local('list', 'clients', '--json')).out)).toEqual(DEMO_RECORDS.clients);
  });
});

describe('npm run crm -- put', () => {
  it('adds one record, from a file or the standard input', async () => {
    expect((await local('put', 'client', await fileOf(NEW_CLIENT))).code).toBe(0);
    expect(await table.read('client#CLIENT99')).toMatchObject({ record: NEW_CLIENT });
    const piped = await crm(['put', 'clients', '-', '--local', service.url], {
      input: JSON.stringify({ ...NEW_CLIENT, name: 'Piped' }),
    });
    expect(piped.out).toBe('1 record changed in the local service.\n');
    expect(await table.read('client#CLIENT99')).toMatchObject({ record: { name: 'Piped' } });
  });

  it('lists the faults of the record', async () => {
    const { code, told } = await local('put', 'client', await fileOf({ ...NEW_CLIENT, email: 'x', hat: 1 }));
    expect(code).toBe(1);
    expect(told).toContain('\n  email: must be an e-mail address\n');
    expect(told).toContain('\n  hat: is not known\n');
  });
});

describe('npm run crm -- delete', () => {
  it('deletes a client and all that leads to it', async () => {
    expect((await local('delete', 'clients', 'CLIENT01')).out).toBe('1 record changed in the local service.\n');
    const now = await keys();
    for (const key of ['client#CLIENT01', 'email#ann@example.com', 'phone#+447400123456', 'referral#REFANN01']) {
      expect(now).not.toContain(key);
    }
  });

  it('deletes nothing when one of the ids is not there', async () => {
    const { code, told } = await local('delete', 'clients', 'CLIENT01', 'NOTTHERE');
    expect([code, told]).toEqual([1, 'the local service holds no clients of this id: NOTTHERE\n']);
    expect(await keys()).toContain('client#CLIENT01');
  });

  it('shows with --dry-run what would go', async () => {
    expect((await local('delete', 'connections', 'tp5-live-1', '--dry-run')).out).toContain(
      '- connection#tp5-live-1\n',
    );
    expect(await keys()).toContain('connection#tp5-live-1');
  });
});

describe('npm run crm -- check', () => {
  it.each([
    ['tp5-live-1', '; logins 500000 to 599999: 0 of 20 looked at are taken'],
    ['tp5-demo-1', '; it has no range of logins of its own'],
    ['tp4-gw-1', '; logins 600000 to 649999: 0 of 20 looked at are taken'],
    ['tp4-live-1', ''],
  ])('connects to %s, logs in and looks at its logins, without creating anything', async (id, range) => {
    const { code, out } = await local('check', id);
    expect(out.replace(/\(\d+ ms\)/, '(1 ms)')).toBe(`${id}: connected and logged in (1 ms)${range}\n`);
    expect(code).toBe(0);
    expect(service.platforms.get(id)?.accounts()).toEqual([]);
  });

  it('says that a range of logins is full', async () => {
    const stands = await table.read('connection#tp4-gw-1');
    const logins = { from: 700_000, to: 700_999 };
    await local('put', 'connection', await fileOf({ ...(stands?.record as object), logins }));
    for (let sample = 0; sample < 20; sample += 1) {
      const order = { connection_id: 'tp4-gw-1', group: 'demoforex', leverage: 1, account_type_id: 'ATDEMO04' };
      const opened = await fetch(`${service.url}/public/v1/users/CLIENT01/tp4/accounts`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ ...order, login: Math.round(logins.from + (sample * 999) / 19) }),
      });
      expect((await checked(opened)).status).toBe(200);
    }
    const { code, out } = await local('check', 'tp4-gw-1');
    expect(out).toContain('tp4-gw-1: login_range_exhausted (all_looked_at_are_taken): the range is full');
    expect(code).toBe(1);
  });

  it('says which connection cannot be used, and why', async () => {
    service.faults('tp4-gw-1').set({ kind: 'down', times: 5 });
    const { code, out, told } = await local('check', 'tp4-gw-1', 'tp5-live-1');
    service.faults('tp4-gw-1').clear();
    expect(out).toMatch(
      /^tp4-gw-1: platform_unavailable \(.+\): the server or the secret cannot be reached from here\n/,
    );
    expect(out).toContain('tp5-live-1: connected');
    expect([code, told]).toEqual([1, '1 connection of 2 cannot be used.\n']);
  });

  it('says that there is no such connection', async () => {
    expect(await local('check', 'nothing')).toMatchObject({
      code: 1,
      told: 'There is no connection nothing in the local service.\n',
    });
  });
});

describe('npm run crm -- secret put', () => {
  const put = (name: string, person: Person) => crm(['secret', 'put', name, '--local', service.url], person);

  it.each([
    ['tp5-live-1', ['1000', 'Secret-1'], '{"login":1000,"password":"Secret-1"}'],
    ['tp4-gw-1', ['Secret-2'], '{"master":"Secret-2"}'],
  ])('stores what a person types as the secret of %s, in the shape of its protocol', async (id, answers, value) => {
    const before = (await stored(`platform/${id}`)) ?? '';
    expect(await put(id, { answers: [...answers] })).toEqual({
      code: 0,
      out: `The secret platform/${id} is replaced; functions use it within 5 minutes.\n`,
      told: '',
    });
    expect(await stored(`platform/${id}`)).toBe(value);
    await put(id, { input: before });
  });

  it('makes a secret that is not there, from the standard input', async () => {
    const { out } = await put('broker/captcha', { input: 'The-Secret\n' });
    expect(out).toContain('The secret broker/captcha is made');
    expect(await stored('broker/captcha')).toBe('The-Secret');
  });

  it.each([
    ['tp5-live-1', '{"master":"S3cr3t-Value"}', 'The secret of tp5-live-1 must be {"login": 1000, "password": "…"}'],
    ['tp4-gw-1', 'S3cr3t-Value', 'The secret of tp4-gw-1 must be {"master": "…"}'],
    ['broker/captcha', '', 'A secret is not empty'],
  ])('stores nothing that has another shape, and quotes nothing of it: %s', async (name, input, words) => {
    const before = await stored(`platform/${name}`);
    const { code, out, told } = await put(name, { input });
    expect(code).toBe(1);
    expect(told).toContain(`${words}; nothing was stored.`);
    expect(out + told).not.toContain('S3cr3t');
    expect(await stored(`platform/${name}`)).toBe(before);
  });
});

describe('npm run crm -- pepper rotate', () => {
  const pepper = async () => JSON.parse((await stored('local/pepper')) ?? '') as Record<string, string>;
  const rotate = (waits: Person['waits'] = async () => {}) =>
    crm(['pepper', 'rotate', '--local', service.url], { waits });

  it('adds a key, uses it when all functions know it, and takes the old one away when no code needs it', async () => {
    const { current: old = '' } = await pepper();
    const next = String(Number(old) + 1);
    const seen: unknown[] = [];
    const { code, out } = await rotate(async (milliseconds) => {
      const { current, ...keys } = await pepper();
      seen.push([Math.round(milliseconds / 60_000), Object.keys(keys).sort(), current]);
    });
    const both = [old, next].sort();
    expect(seen).toEqual([
      [5, both, old],
      [15, both, next],
    ]);
    const now = await pepper();
    expect([code, Object.keys(now)]).toEqual([0, [next, 'current']]);
    expect(out).toContain(`codes are sealed with the key ${next}, and no other is left`);
    expect(now[next]).toMatch(/^[0-9a-f]{64}$/);
  });

  it('goes on where it was stopped', async () => {
    const stop = async () => {
      throw new Error('stopped');
    };
    const { current: old = '' } = await pepper();
    expect((await rotate(stop)).code).toBe(1);
    const added = await pepper();
    expect(added.current).toBe(old);
    expect((await rotate()).code).toBe(0);
    const { current: kept = '' } = await pepper();
    expect(await pepper()).toEqual({ current: kept, [kept]: added[kept] });
    expect(kept).not.toBe(old);
  });
});

describe('npm run crm -- call', () => {
  const ORDER = { connection_id: 'tp5-live-1', group: 'real\\standard', leverage: 100 };
  const PATH = '/public/v1/users/CLIENT01/tp5/accounts';

  it('sends a request signed, and the same one again with its key', async () => {
    const first = await local('call', PATH, await fileOf(ORDER));
    expect([first.code, JSON.parse(first.out)]).toEqual([0, expect.objectContaining({ login: expect.any(Number) })]);
    const key = /^Idempotency-Key: (\S+)/.exec(first.told)?.[1] ?? '';
    expect(key).toMatch(/^[\da-f]{8}-/);
    const again = await local('call', PATH, await fileOf(ORDER), '--key', key);
    expect(again.out).toBe(first.out);
  });

  it('ends with 1 and shows the problem when the request is refused', async () => {
    const { code, out, told } = await local('call', PATH, await fileOf({ ...ORDER, leverage: 0 }));
    expect(JSON.parse(out)).toMatchObject({ type: 'validation_failed' });
    expect(told).toMatch(/HTTP 400, x-request-id: \S+\nThe request was refused\.\n$/);
    expect(code).toBe(1);
  });

  it('signs for the region and the service that API Gateway asks for, or shows the token', async () => {
    const seen: (string | undefined)[] = [];
    const server = createServer((request, response) => {
      seen.push(request.headers.authorization);
      response.writeHead(204).end();
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const apiUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const target = { name: 'x', table, client: {}, apiUrl };
    const terminal = { print: () => {}, tell: () => {}, addressesOf: async () => [], wait: async () => {} };
    const input = async function* () {
      yield '{}';
    };
    await call(target, ['/x', '-'], {}, { ...terminal, input: input() });
    await call(target, ['/x', '-'], { token: 'abc' }, { ...terminal, input: input() });
    server.close();
    expect(seen[0]).toMatch(/^AWS4-HMAC-SHA256 Credential=LOCAL\w+\/\d{8}\/eu-west-1\/execute-api\/aws4_request, /);
    expect(seen[1]).toBe('Bearer abc');
  });
});

describe('where the records are', () => {
  it('is a table by its name', async () => {
    expect((await crm(['list', 'clients', '--table', 'crm'])).out).toContain('CLIENT01');
    expect(await crm(['list', 'clients', '--table', 'other'])).toMatchObject({
      code: 1,
      told: 'There is no such table in this account and region.\n',
    });
  });

  it('is the table that the outputs of a stack name', async () => {
    const outputs = '<member><OutputKey>CrmTableName</OutputKey><OutputValue>crm</OutputValue></member>';
    const stacks: Record<string, string> = {
      broker: `<DescribeStacksResponse><DescribeStacksResult><Stacks><member><StackName>broker</StackName><Outputs>${outputs}</Outputs></member></Stacks></DescribeStacksResult></DescribeStacksResponse>`,
      other:
        '<DescribeStacksResponse><DescribeStacksResult><Stacks><member><StackName>other</StackName></member></Stacks></DescribeStacksResult></DescribeStacksResponse>',
    };
    const cloudFormation = createServer((request, response) => {
      let body = '';
      request.on('data', (bytes) => {
        body += bytes;
      });
      request.on('end', () => {
        const xml = stacks[new URLSearchParams(body).get('StackName') ?? ''];
        const error =
          '<ErrorResponse><Error><Type>Sender</Type><Code>ValidationError</Code><Message>no</Message></Error></ErrorResponse>';
        response.writeHead(xml === undefined ? 400 : 200, { 'content-type': 'text/xml' }).end(xml ?? error);
      });
    });
    await new Promise<void>((resolve) => cloudFormation.listen(0, '127.0.0.1', resolve));
    process.env.AWS_ENDPOINT_URL_CLOUDFORMATION = `http://127.0.0.1:${(cloudFormation.address() as AddressInfo).port}`;
    expect((await crm(['list', 'clients', '--stack', 'broker'])).out).toContain('CLIENT01');
    expect((await crm(['list', 'clients', '--stack', 'other'])).told).toBe(
      'The stack other has no table of CRM records.\n',
    );
    expect((await crm(['list', 'clients', '--stack', 'none'])).told).toBe(
      'There is no such stack in this account and region.\n',
    );
    cloudFormation.close();
  });

  it('is asked for', async () => {
    for (const args of [
      ['list', 'clients'],
      ['list', 'clients', '--local', '--table', 'crm'],
    ]) {
      const { code, told } = await crm(args);
      expect(code).toBe(2);
      expect(told).toContain('Say where the records are: --stack NAME, --table NAME or --local.');
    }
  });

  it('is no local service that is not there', async () => {
    const { code, told } = await crm(['list', 'clients', '--local=http://localhost:1']);
    expect([code, told]).toEqual([1, 'No local service answers at http://localhost:1. npm start starts it.\n']);
  });
});

describe('the command', () => {
  it('shows its help, and that of each command', async () => {
    const { code, out } = await crm(['--help']);
    expect(code).toBe(0);
    for (const word of ['import', 'export', 'list', 'put', 'delete', 'check', '--stack', '--table', '--local']) {
      expect(out).toContain(word);
    }
    const ofImport = (await crm(['import', '--help'])).out;
    for (const word of ['<file>', '--dry-run', '--stack']) expect(ofImport).toContain(word);
  });

  it.each([
    [[], 'Usage: npm run crm --'],
    [['fly'], "unknown command 'fly'"],
    [['import'], "missing required argument 'file'"],
    [['list'], "missing required argument 'kind'"],
    [['list', '--local', 'forms'], "missing required argument 'kind'"],
    [['list', 'forms', '--local', 'forms'], 'forms is no address of a local service'],
    [['list', 'hats', '--table', 'crm'], 'KIND is forms, clients, account-types or connections.'],
    [['list', 'clients', '--colour'], "unknown option '--colour'"],
  ])('called as %j ends with 2 and says why', async (args, words) => {
    const { code, told } = await crm(args);
    expect(code).toBe(2);
    expect(told).toContain(words);
    expect(told).toContain('--help');
  });

  it('says that there is no such file', async () => {
    expect(await local('import', join(folder, 'nothing.json'))).toMatchObject({
      code: 1,
      told: `There is no file ${join(folder, 'nothing.json')}.\n`,
    });
  });

  it('ends as a process with its exit code', async () => {
    const ended = (args: string[]) =>
      new Promise<[number | null, string]>((resolve) => {
        const child = spawn(process.execPath, ['infra/crm/crm.ts', ...args], {
          cwd: new URL('../../..', import.meta.url),
        });
        let output = '';
        child.stdout.on('data', (bytes) => {
          output += bytes;
        });
        child.on('close', (code) => resolve([code, output]));
      });
    expect(await ended(['list', 'forms', `--local=${service.url}`])).toEqual([0, expect.stringContaining('FORM0001')]);
    expect((await ended(['fly']))[0]).toBe(2);
  });
});
