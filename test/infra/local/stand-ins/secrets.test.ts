import {
  CreateSecretCommand,
  GetSecretValueCommand,
  PutSecretValueCommand,
  SecretsManagerClient,
} from '@aws-sdk/client-secrets-manager';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Faults } from '../../../../infra/local/faults.ts';
import { startSecrets } from '../../../../infra/local/stand-ins/secrets.ts';
import type { StandIn } from '../../../../infra/local/stand-ins/stand-in.ts';

const faults = new Faults();
let standIn: StandIn;
let client: SecretsManagerClient;

beforeEach(async () => {
  faults.clear();
  standIn = await startSecrets({ faults, secrets: new Map([['platform/x', '{"master":"y"}']]) });
  client = new SecretsManagerClient({
    endpoint: standIn.url,
    region: 'eu-west-1',
    credentials: { accessKeyId: 'local', secretAccessKey: 'local' },
    maxAttempts: 1,
  });
});
afterEach(async () => {
  client.destroy();
  await standIn.close();
});

function get(SecretId: string) {
  return client.send(new GetSecretValueCommand({ SecretId }));
}

describe('The stand-in of Secrets Manager', () => {
  it('answers with the value of a secret', async () => {
    expect(await get('platform/x')).toMatchObject({ Name: 'platform/x', SecretString: '{"master":"y"}' });
    expect(standIn.requests).toBe(1);
  });

  it('knows no other secret', async () => {
    await expect(get('platform/z')).rejects.toMatchObject({ name: 'ResourceNotFoundException' });
  });

  it('takes another value for a secret, and new secrets', async () => {
    await client.send(new PutSecretValueCommand({ SecretId: 'platform/x', SecretString: 'new' }));
    expect(await get('platform/x')).toMatchObject({ SecretString: 'new', CreatedDate: expect.any(Date) });
    await client.send(new CreateSecretCommand({ Name: 'platform/z', SecretString: 'z' }));
    expect(await get('platform/z')).toMatchObject({ SecretString: 'z' });
    const twice = client.send(new CreateSecretCommand({ Name: 'platform/z', SecretString: 'y' }));
    await expect(twice).rejects.toMatchObject({ name: 'ResourceExistsException' });
    const none = client.send(new PutSecretValueCommand({ SecretId: 'platform/none', SecretString: 'y' }));
    await expect(none).rejects.toMatchObject({ name: 'ResourceNotFoundException' });
  });

  it('answers nobody who has not signed', async () => {
    const answer = await fetch(standIn.url, {
      method: 'POST',
      headers: { 'x-amz-target': 'secretsmanager.GetSecretValue' },
      body: '{"SecretId":"platform/x"}',
    });
    expect(answer.status).toBe(400);
  });

  it.each([
    ['throttled', 'ThrottlingException'],
    ['refused', 'AccessDeniedException'],
    ['down', 'Error'],
  ] as const)('fails as %s when it is told to, and not again', async (kind, name) => {
    faults.set({ kind, times: 1 });
    await expect(get('platform/x')).rejects.toMatchObject({ name });
    await expect(get('platform/x')).resolves.toMatchObject({ Name: 'platform/x' });
  });
});
