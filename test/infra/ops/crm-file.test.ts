import { describe, expect, it } from 'vitest';
import { DEMO_RECORDS } from '../../../infra/local/demo-records.ts';
import { localSecretErrors, parseCrmFile } from '../../../infra/ops/crm-file.ts';
import { CrmFileError, type CrmKind } from '../../../infra/ops/crm-items.ts';
import { EXAMPLE_FILE } from '../../support/crm-example.ts';

const SECRETS = {
  'platform/tp5-live-1': { login: 1000, password: 'x' },
  'platform/tp4-live-1': { master: 'x' },
  'platform/tp4-gw-1': { master: 'x' },
};

async function errorsOf(content: unknown): Promise<string[]> {
  try {
    await parseCrmFile(typeof content === 'string' ? content : JSON.stringify(content));
    return [];
  } catch (error) {
    if (error instanceof CrmFileError) return [...error.errors];
    throw error;
  }
}

/** The example with one record changed or added. */
function changed(kind: CrmKind, index: number, change: object): unknown {
  const copy: Record<string, unknown[]> = structuredClone(EXAMPLE_FILE);
  const records = copy[kind] ?? [];
  records[index] = { ...(records[index] as object), ...change };
  return copy;
}

describe('a CRM file', () => {
  it('is accepted as the contract shows it', async () => {
    const { connections, ...rest } = await parseCrmFile(JSON.stringify({ ...EXAMPLE_FILE, local_secrets: SECRETS }));
    expect(rest).toEqual({ ...EXAMPLE_FILE, connections: undefined, local_secrets: SECRETS });
    expect(connections.map(({ id }) => id)).toEqual(['tp5-live-1', 'tp4-live-1', 'tp4-gw-1']);
  });

  it('may begin with a byte order mark', async () => {
    expect(await errorsOf('\uFEFF{}')).toEqual([]);
  });

  it.each([
    ['{"forms": [\n  {]', 'is not JSON (line 2 column 4)'],
    ['', 'is not JSON'],
    ['{"forms": [', 'is not JSON'],
    ['{"forms": []} x', 'is not JSON (line 1 column 15)'],
    ['7', 'must be a JSON object'],
    ['{"data": {"clients": [{"id": 7}]}}', 'data: is not known'],
    ['[]', 'must be a JSON object'],
    ['null', 'must be a JSON object'],
    ['{"client": []}', 'client: is not known'],
    ['{"clients": {}}', 'clients: must be an array'],
    ['{"clients": [7]}', 'clients[0]: must be an object'],
    ['{"local_secrets": []}', 'local_secrets: must be an object'],
  ])('that is %j is refused: %s', async (text, error) => {
    expect(await errorsOf(text)).toEqual([error]);
  });

  const RANGE = 'must hold at least 1000 logins: choose a range such as';
  const TWICE = { key: 'a', type: 'text' };
  /**
   * The record, its change, the place in it, and the beginning of the rule. `crm-records.test.ts` shows the rules of
   * one record alone; these are the kinds of places, and the rules of this file.
   */
  it.each<[record: string, change: object, place: string, rule: string]>([
    ['clients[0]', { email: 'ann' }, '.email', 'must be an email address'],
    ['clients[0]', { id: 'SHORT' }, '.id', 'must be 8 characters'],
    ['clients[0]', { phone: { country_code: '44', number: '1' } }, '.phone', 'must be a valid phone number'],
    ['clients[0]', { phone: { country_code: '44' } }, '.phone.number', 'is required'],
    ['clients[0]', { language: 'english!' }, '.language', 'must be a BCP 47 tag'],
    ['clients[0]', { 'e mail': 'x' }, '["e mail"]', 'is not known'],
    ['forms[0]', { fields: [TWICE, TWICE] }, '.fields[1].key', 'must differ from the keys before'],
    ['forms[0]', { fields: [{ ...TWICE, must: true }] }, '.fields[0].must', 'is only for fields of type boolean'],
    ['forms[0]', { fields: [{ ...TWICE, version: '1' }] }, '.fields[0].version', 'is only for fields of type boolean'],
    [
      'forms[0]',
      { fields: [{ ...TWICE, label: 'My [terms](http://a.b)' }] },
      '.fields[0].label',
      'must have no links but',
    ],
    [
      'forms[0]',
      { fields: [{ ...TWICE, options: ['a'], option_labels: { b: 'B' } }] },
      '.fields[0].option_labels',
      'must name options',
    ],
    ['forms[0]', { name: 'x'.repeat(400_000) }, '', 'must be at most 390000 bytes'],
    [
      'connections[0]',
      { host: 'https://mt5.example.com' },
      '.host',
      'must be a host name or an address, without scheme',
    ],
    ['connections[0]', { id: 'x;touch' }, '.id', 'must be at most 64 letters'],
    ['connections[0]', { protocol: 'fix' }, '.protocol', 'must be "web-api" or "web-registration"'],
    ['connections[0]', { ca: 'no certificate' }, '.ca', 'must be a PEM certificate'],
    ['connections[0]', { groups: ['real', 'Managers\\Dealers'] }, '.groups[1]', 'must not be a group of managers'],
    ['connections[1]', { groups: { standard: 1, manager: 2 } }, '.groups.manager', 'must not be a group of managers'],
    ['connections[0]', { logins: { from: 2000, to: 1000 } }, '.logins', RANGE],
    ['connections[0]', { logins: undefined }, '.logins', 'is required: choose a range such as { "from": 500000'],
    ['connections[1]', { groups: ['standard'] }, '.groups["0"]', 'must be a number'],
    ['connections[1]', { code_page: 'windows-9999' }, '.code_page', 'is not a known encoding'],
  ])('is refused, place and rule named: $0$2 $3', async (record, change, place, rule) => {
    const [, kind = '', index] = /^(\w+)\[(\d)\]$/.exec(record) ?? [];
    const errors = await errorsOf(changed(kind as CrmKind, Number(index), change));
    expect(errors).toEqual([expect.stringContaining(`${record}${place}: ${rule}`)]);
  });

  it('is refused with the id of a client that a path cannot carry', async () => {
    for (const character of '/?#%\\')
      expect(await errorsOf(changed('clients', 0, { id: `CLIENT9${character}` }))).toEqual([
        expect.stringContaining('clients[0].id: must be visible ASCII characters'),
      ]);
  });

  it.each([
    [{ id: 'CLIENT01', email: 'b@example.com', name: 'B' }, 'clients[1].id: is the same as clients[0].id'],
    [
      { id: 'CLIENT02', email: 'b@example.com', name: 'B', referral_code: 'REFANN01' },
      'clients[1].referral_code: is the same as clients[0].referral_code',
    ],
  ])('may not have two clients with one id or referral code: $1', async (client, error) => {
    expect(await errorsOf(changed('clients', 1, client))).toEqual([error]);
  });

  it.each([
    ['overlap', 'MT5.example.com', { from: 599_999, to: 700_000 }, true],
    ['are neighbours', 'mt5.example.com', { from: 600_000, to: 700_000 }, false],
    ['are on another host', 'mt6.example.com', { from: 500_000, to: 599_999 }, false],
    ['are on simulated servers', 'local', { from: 500_000, to: 599_999 }, false],
  ])('has ranges of logins that %s', async (_, host, logins, refused) => {
    const [first] = EXAMPLE_FILE.connections;
    const owner = host === 'local' ? host : first?.host;
    const connections = [
      { ...first, host: owner, logins: { from: 500_000, to: 599_999 } },
      { ...first, id: 'tp5-live-2', host, logins },
    ];
    expect(await errorsOf({ connections })).toEqual(
      refused ? ['connections[1].logins: has logins of connections[0].logins, which is on the same host'] : [],
    );
  });

  it('may have two clients with one phone number', async () => {
    const phone = { country_code: '+44', number: '07400 123456' };
    expect(await errorsOf(changed('clients', 1, { id: 'CLIENT02', email: 'b@example.com', name: 'B', phone }))).toEqual(
      [],
    );
  });

  it('gets all its errors at once, also those between records', async () => {
    const errors = await errorsOf({
      clients: [
        { id: 'CLIENT01', email: 'a@example.com', name: 'A' },
        { id: 'CLIENT02', email: 'nonsense', name: 'B', shoe_size: 7, hat: 8 },
        { id: 'CLIENT01', email: 'a@example.com' },
        { id: 'CLIENT01', email: 'A@EXAMPLE.COM', name: 'D' },
      ],
      connections: [{}],
      unknown: 1,
    });
    expect(errors).toEqual(
      expect.arrayContaining([
        'clients[2].name: is required',
        'clients[3].id: is the same as clients[0].id',
        'connections[0].protocol: is required',
        'unknown: is not known',
      ]),
    );
    expect(errors.filter((error) => error.startsWith('clients[1]'))).toEqual([
      'clients[1].email: must be an email address',
      'clients[1].shoe_size: is not known',
      'clients[1].hat: is not known',
    ]);
  });

  it('is never quoted in a error', async () => {
    const secret = 'S3cr3t-Value';
    const errors = await errorsOf({
      clients: [
        {
          id: secret,
          email: secret,
          name: 7,
          country: secret,
          language: `${secret}!`,
          phone: { country_code: secret, number: secret },
        },
      ],
      connections: [
        { id: secret, protocol: secret, host: secret },
        { protocol: 'web-api', platform: secret, demo: secret },
      ],
    });
    expect(errors.length).toBeGreaterThan(5);
    expect(errors.join('\n')).not.toContain(secret);
  });
});

describe('local secrets', () => {
  async function secretFaults(local_secrets: object, host?: string): Promise<string[]> {
    const connections = EXAMPLE_FILE.connections.map((connection) => ({
      ...connection,
      ...(host === undefined ? {} : { host }),
    }));
    const file = await parseCrmFile(JSON.stringify({ connections, local_secrets }));
    return localSecretErrors(file).map(({ path, rule }) => `${path}: ${rule}`);
  }

  it('are required by connections to real servers', async () => {
    expect(await secretFaults(SECRETS)).toEqual([]);
    expect(await secretFaults({ ...SECRETS, 'platform/tp5-live-1': undefined })).toEqual([
      'local_secrets["platform/tp5-live-1"]: is missing; connections[0] is a real server and needs it',
    ]);
  });

  it('have the members of their protocol', async () => {
    expect(
      await secretFaults({
        ...SECRETS,
        'platform/tp5-live-1': { login: '1000', password: 'x' },
        'platform/tp4-gw-1': {},
      }),
    ).toEqual([
      'local_secrets["platform/tp5-live-1"].login: must be a number',
      'local_secrets["platform/tp4-gw-1"].master: is required',
    ]);
  });

  it('are generated for simulated servers', async () => {
    expect(await secretFaults({}, 'local')).toEqual([]);
  });
});

describe('the demo records', () => {
  it('are a valid CRM file', async () => {
    expect(await errorsOf(DEMO_RECORDS)).toEqual([]);
  });
});
