import { spawn } from 'node:child_process';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { call } from '../../../infra/crm/call.ts';
import { crm, Operators } from '../../support/operators.ts';

const operators = new Operators();

describe('npm run crm -- call', () => {
  const ORDER = { connection_id: 'tp5-live-1', group: 'real\\standard', leverage: 100 };
  const PATH = '/public/v1/users/CLIENT01/tp5/accounts';

  it('sends a request signed, and the same one again with its key', async () => {
    const first = await operators.local('call', PATH, ORDER);
    expect([first.code, JSON.parse(first.out)]).toEqual([0, expect.objectContaining({ login: expect.any(Number) })]);
    const key = /^Idempotency-Key: (\S+)/.exec(first.told)?.[1] ?? '';
    expect(key).toMatch(/^[\da-f]{8}-/);
    const again = await operators.local('call', PATH, ORDER, '--key', key);
    expect(again.out).toBe(first.out);
  });

  it('ends with 1 and shows the problem when the request is refused', async () => {
    const { code, out, told } = await operators.local('call', PATH, { ...ORDER, leverage: 0 });
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
    const target = { name: 'x', table: operators.table, client: {}, database: {}, objects: {}, mail: {}, apiUrl };
    const terminal = {
      print: () => {},
      report: () => {},
      cdkJson: '',
      resolveHost: async () => [],
      wait: async () => {},
    };
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

  it('is not a local service that does not run', async () => {
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

  it('reports a missing file', async () => {
    expect(await operators.local('import', join(operators.folder, 'nothing.json'))).toMatchObject({
      code: 1,
      told: `There is no file ${join(operators.folder, 'nothing.json')}.\n`,
    });
  });

  it('completes even if its reader stops, as with `head`', async () => {
    const [code, told] = await new Promise<[number | null, string]>((resolve) => {
      const child = spawn(process.execPath, ['infra/crm/crm.ts', '--help'], {
        cwd: new URL('../../..', import.meta.url),
      });
      let said = '';
      child.stdout.destroy();
      child.stderr.on('data', (bytes) => {
        said += bytes;
      });
      child.on('close', (ended) => resolve([ended, said]));
    });
    expect([code, told]).toEqual([0, '']);
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
    expect(await ended(['list', 'forms', `--local=${operators.service.url}`])).toEqual([
      0,
      expect.stringContaining('FORM0001'),
    ]);
    expect((await ended(['fly']))[0]).toBe(2);
  });
});
