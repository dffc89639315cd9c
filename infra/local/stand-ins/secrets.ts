import { randomUUID } from 'node:crypto';
import * as v from 'valibot';
import { secretArn } from '../rights/arn.ts';
import { jsonOperation, jsonService } from './protocols.ts';
import { ServiceError, type StandIn, type StandInOptions, serveStandIn } from './stand-in.ts';

export interface SecretsOptions extends Omit<StandInOptions, 'record'> {
  /** Values by the secret's name. A put changes them. */
  secrets: Map<string, string>;
}

const text = v.pipe(v.string(), v.minLength(1));
const CreateSchema = v.object({ Name: text, SecretString: text });

/** Secrets Manager `GetSecretValue`, and for operators `PutSecretValue` and `CreateSecret`. */
export function startSecrets({ secrets, ...options }: SecretsOptions): Promise<StandIn> {
  const startedAt = Date.now();
  /** When the version of a secret was made, in epoch milliseconds. */
  const madeAt = new Map<string, number>();
  const described = (Name: string) => ({ ARN: secretArn(Name), Name, VersionId: randomUUID() });

  function write(name: string, value: string): object {
    secrets.set(name, value);
    madeAt.set(name, Date.now());
    return described(name);
  }

  /** @throws ServiceError if there is none */
  function read(name: string): string {
    const value = secrets.get(name);
    if (value !== undefined) return value;
    throw new ServiceError('ResourceNotFoundException', "Secrets Manager can't find the specified secret.");
  }

  const operations = {
    GetSecretValue: jsonOperation(v.object({ SecretId: text }), ({ SecretId }) => ({
      ...described(SecretId),
      SecretString: read(SecretId),
      VersionStages: ['AWSCURRENT'],
      CreatedDate: (madeAt.get(SecretId) ?? startedAt) / 1_000,
    })),
    PutSecretValue: jsonOperation(v.object({ SecretId: text, SecretString: text }), ({ SecretId, SecretString }) => {
      read(SecretId);
      return write(SecretId, SecretString);
    }),
    CreateSecret: jsonOperation(CreateSchema, ({ Name, SecretString }) => {
      if (secrets.has(Name)) throw new ServiceError('ResourceExistsException', 'A secret of this name exists.');
      return write(Name, SecretString);
    }),
  };

  return serveStandIn(
    jsonService({
      name: 'secretsmanager',
      target: 'secretsmanager',
      operations,
      resources: ({ SecretId, Name }) => [secretArn(String(SecretId ?? Name ?? ''))],
      throttled: new ServiceError('ThrottlingException', 'Rate exceeded'),
      refused: new ServiceError('AccessDeniedException', 'Not authorized to perform: secretsmanager:GetSecretValue'),
    }),
    options,
  );
}
