import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { explainFailure } from '../../../infra/ops/command.ts';
import { Operators, runOperatorsCommand } from '../../support/operators.ts';

const operators = new Operators();

describe('npm run ops', () => {
  it('shows its help, and that of each command', async () => {
    const { code, out } = await runOperatorsCommand(['--help']);
    expect(code).toBe(0);
    for (const word of ['import', 'export', 'list', 'delete', '--stack', '--table', '--local'])
      expect(out).toContain(word);
    const ofImport = (await runOperatorsCommand(['import', '--help'])).out;
    for (const word of ['<file>', '--dry-run', '--stack']) expect(ofImport).toContain(word);
  });

  it('works on a table by its name', async () => {
    expect((await runOperatorsCommand(['list', 'clients', '--table', 'crm'])).out).toContain('CLIENT01');
  });

  it.each([
    [[], 'Usage: npm run ops --'],
    [['fly'], "unknown command 'fly'"],
    [['import'], "missing required argument 'file'"],
    [['list', '--local', 'forms'], "missing required argument 'kind'"],
    [['list', 'forms', '--local', 'forms'], 'forms is no address of a local service'],
    [['list', 'hats', '--table', 'crm'], 'KIND is forms, clients, account-types or connections.'],
    [['list', 'clients', '--colour'], "unknown option '--colour'"],
    [['list', 'clients'], 'Say where the records are: --stack NAME, --table NAME or --local.'],
    [['list', 'clients', '--local', '--table', 'crm'], 'Say where the records are: --stack NAME, --table NAME'],
  ])('called as %j ends with 2 and says why', async (args, words) => {
    const { code, reported } = await runOperatorsCommand(args);
    expect(code).toBe(2);
    expect(reported).toContain(words);
    expect(reported).toContain('--help');
  });

  const ADDRESS = 'Name an email address, or a phone number such as';
  it.each([
    [['form', 'NOTTHERE'], 1, 'There is no form with this id in the local service.\n'],
    [['forget', '+44'], 2, ADDRESS],
    [['forget', '123'], 2, ADDRESS],
    [['registration', 'nobody'], 2, ADDRESS],
    [['registration', '+447400123488', '--unsuppress'], 2, '--unsuppress removes an email address'],
  ])('refuses %j, and says why', async (args, code, sentence) => {
    const refused = await operators.local(...args);
    expect(refused.reported).toContain(sentence);
    expect(refused.code).toBe(code);
  });

  it('reports a missing file, and a local service that does not run', async () => {
    const file = join(operators.folder, 'nothing.json');
    expect(await operators.local('import', file)).toMatchObject({ code: 1, reported: `There is no file ${file}.\n` });
    const reported = 'No local service answers at http://localhost:1. npm start starts it.\n';
    expect(await runOperatorsCommand(['list', 'clients', '--local=http://localhost:1'])).toMatchObject({
      code: 1,
      reported,
    });
  });

  it.each([
    ['ValidationError', 'There is no such stack in this account and region.'],
    ['CredentialsProviderError', 'There are no AWS credentials: set AWS_PROFILE, or log in with `aws sso login`.'],
    ['ExpiredToken', 'The AWS credentials have expired: log in again.'],
    ['InvalidClientTokenId', 'AWS does not know these credentials: the access key is wrong, or of another account.'],
    ['SignatureDoesNotMatch', 'the secret key does not belong to the access key, or the clock is wrong.'],
    ['AccessDeniedException', 'These AWS credentials lack the right that AWS asks for here: attach the policy'],
    ['OddError', 'OddError: no'],
  ])('explains the error %s of AWS', (name, sentence) => {
    expect(explainFailure(Object.assign(new Error('no'), { name })).lines[0]).toContain(sentence);
  });

  it.each([
    ['CredentialsProviderError', 'Could not load credentials from any providers', 'There are no AWS credentials'],
    ['Error', 'Region is missing', 'The AWS region is not known'],
  ])('names the profile that may not exist: %s', (name, message, sentence) => {
    const error = Object.assign(new Error(message), { name });
    const named = expect.stringMatching(/There may be no profile nowhere \(AWS_PROFILE\)\.$/);
    expect(explainFailure(error, 'nowhere')).toEqual({ lines: [named], exitCode: 1 });
    expect(explainFailure(error, undefined).lines[0]).toMatch(new RegExp(`^${sentence}[^(]+\\.$`));
  });

  it('explains a refusal by the policy of the bucket', () => {
    const message =
      'User: arn:aws:sts::1:assumed-role/ann/ann is not authorized to perform: s3:DeleteObject on resource: ' +
      '"arn:aws:s3:::documents/registrations/1/1" with an explicit deny in a resource-based policy';
    expect(explainFailure(Object.assign(new Error(message), { name: 'AccessDenied' })).lines[0]).toBe(
      'These AWS credentials lack the right s3:DeleteObject on arn:aws:s3:::documents/registrations/1/1: ' +
        'name their role in the setting documentRoles, and deploy.',
    );
  });

  const ROOT = fileURLToPath(new URL('../../..', import.meta.url));
  /** The AWS settings of a user, none of which is about the local service. */
  const USERS_ENVIRONMENT = {
    PATH: process.env.PATH,
    ...{ AWS_PROFILE: 'nowhere', AWS_USE_FIPS_ENDPOINT: 'true', AWS_USE_DUALSTACK_ENDPOINT: 'true' },
    ...{ AWS_DEFAULTS_MODE: 'none', AWS_RETRY_MODE: 'none', AWS_ACCOUNT_ID_ENDPOINT_MODE: 'required' },
    ...{ AWS_ENDPOINT_URL: 'http://127.0.0.1:1', AWS_REGION: 'us-gov-west-1' },
  };
  it('ends as a process with its exit code', async () => {
    const run = (...args: string[]) =>
      promisify(execFile)(process.execPath, ['infra/ops/ops.ts', ...args], { cwd: ROOT, env: USERS_ENVIRONMENT });
    expect((await run('list', 'forms', `--local=${operators.service.url}`)).stdout).toContain('FORM0001');
    await expect(run('fly')).rejects.toMatchObject({ code: 2 });
  });
});
