import { randomUUID } from 'node:crypto';
import * as v from 'valibot';
import { secretArn } from '../rights/arn.ts';
import type { Need } from '../rights/policy.ts';
import { type Answer, type Call, type StandIn, type StandInOptions, serve } from './stand-in.ts';

export interface SecretsOptions extends Omit<StandInOptions, 'record'> {
  /** Values by the secret's name. A put changes them. */
  secrets: Map<string, string>;
}

const text = v.pipe(v.string(), v.minLength(1));
const GetSchema = v.object({ SecretId: text });
const PutSchema = v.object({ SecretId: text, SecretString: text });
const CreateSchema = v.object({ Name: text, SecretString: text });

/**
 * Secrets Manager `GetSecretValue`, and for operators `PutSecretValue` and `CreateSecret`, in its JSON 1.1 protocol.
 */
export function startSecrets({ secrets, ...options }: SecretsOptions): Promise<StandIn> {
  const startedAt = Date.now();
  /** When the version of a secret was made, in epoch milliseconds. */
  const madeAt = new Map<string, number>();

  function described(name: string): object {
    return {
      ARN: secretArn(name),
      Name: name,
      VersionId: randomUUID(),
    };
  }

  function write(name: string, value: string): Answer {
    secrets.set(name, value);
    madeAt.set(name, Date.now());
    return json(200, described(name));
  }

  const operations: Record<string, (input: unknown) => Answer> = {
    GetSecretValue(input) {
      const { SecretId } = v.parse(GetSchema, input);
      const value = secrets.get(SecretId);
      if (value === undefined) return notFound();
      const CreatedDate = (madeAt.get(SecretId) ?? startedAt) / 1_000;
      return json(200, { ...described(SecretId), SecretString: value, VersionStages: ['AWSCURRENT'], CreatedDate });
    },
    PutSecretValue(input) {
      const { SecretId, SecretString } = v.parse(PutSchema, input);
      return secrets.has(SecretId) ? write(SecretId, SecretString) : notFound();
    },
    CreateSecret(input) {
      const { Name, SecretString } = v.parse(CreateSchema, input);
      return secrets.has(Name)
        ? failure('ResourceExistsException', 'A secret of this name exists.')
        : write(Name, SecretString);
    },
  };

  function answer({ headers, body }: Call): Answer {
    const operation = operations[readOperation(headers)];
    if (operation === undefined)
      return failure('UnknownOperationException', 'The stand-in does not know this operation.');
    try {
      return operation(JSON.parse(body));
    } catch {
      return failure('ValidationException', 'The request failed to satisfy a constraint.');
    }
  }

  return serve(
    {
      signingName: 'secretsmanager',
      answer,
      needs,
      denied: (message) => failure('AccessDeniedException', message),
      unsigned: () => failure('MissingAuthenticationTokenException', 'Missing Authentication Token'),
      throttled: () => failure('ThrottlingException', 'Rate exceeded'),
      refused: () => failure('AccessDeniedException', 'Not authorized to perform: secretsmanager:GetSecretValue'),
    },
    options,
  );
}

function readOperation(headers: Call['headers']): string {
  return String(headers['x-amz-target']).replace(/^secretsmanager\./, '');
}

const NamedSchema = v.pipe(v.string(), v.parseJson(), v.object({ SecretId: v.optional(text), Name: v.optional(text) }));

function needs({ headers, body }: Call): Need[] {
  const input = v.safeParse(NamedSchema, body);
  const name = input.success ? (input.output.SecretId ?? input.output.Name) : undefined;
  return [{ action: `secretsmanager:${readOperation(headers)}`, resource: secretArn(name ?? '') }];
}

function notFound(): Answer {
  return failure('ResourceNotFoundException', "Secrets Manager can't find the specified secret.");
}

function failure(__type: string, message: string): Answer {
  return json(400, { __type, message });
}

function json(status: number, body: unknown): Answer {
  return { status, headers: { 'content-type': 'application/x-amz-json-1.1' }, body: JSON.stringify(body) };
}
