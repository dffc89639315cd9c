import {
  CreateSecretCommand,
  GetSecretValueCommand,
  PutSecretValueCommand,
  ResourceNotFoundException,
  SecretsManagerClient,
  type SecretsManagerClientConfig,
} from '@aws-sdk/client-secrets-manager';

/** Secrets Manager, as operators use it. */
export interface SecretStore {
  /** The text and its date; undefined if there is no such secret. */
  read(name: string): Promise<{ text: string; since: Date } | undefined>;
  /** Replaces the text of a secret, or makes the secret. */
  write(name: string, text: string): Promise<'replaced' | 'made'>;
}

export function secretStore(config: SecretsManagerClientConfig): SecretStore {
  const client = new SecretsManagerClient(config);
  return {
    async read(name) {
      const answer = await orAbsent(client.send(new GetSecretValueCommand({ SecretId: name })));
      if (answer?.SecretString === undefined || answer.CreatedDate === undefined) return undefined;
      return { text: answer.SecretString, since: answer.CreatedDate };
    },
    async write(name, text) {
      const value = { SecretString: text };
      const answer = await orAbsent(client.send(new PutSecretValueCommand({ SecretId: name, ...value })));
      if (answer !== undefined) return 'replaced';
      await client.send(new CreateSecretCommand({ Name: name, ...value }));
      return 'made';
    },
  };
}

async function orAbsent<T>(answer: Promise<T>): Promise<T | undefined> {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof ResourceNotFoundException) return undefined;
    throw error;
  }
}
