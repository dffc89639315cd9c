import { type Answer, type Call, requestId, type StandIn, type StandInOptions, serve } from './stand-in.ts';

export interface SecretsOptions extends Omit<StandInOptions, 'record'> {
  /** Values by the secret's name. */
  secrets: ReadonlyMap<string, string>;
}

/** Secrets Manager `GetSecretValue`, in its JSON 1.1 protocol. */
export function startSecrets({ secrets, ...options }: SecretsOptions): Promise<StandIn> {
  function answer({ headers, body }: Call): Answer {
    if (headers['x-amz-target'] !== 'secretsmanager.GetSecretValue') {
      return failure('UnknownOperationException', 'The stand-in knows GetSecretValue only.');
    }
    const name = secretId(body);
    if (name === undefined) return failure('ValidationException', "Value at 'secretId' failed to satisfy constraint");
    const value = secrets.get(name);
    if (value === undefined) {
      return failure('ResourceNotFoundException', "Secrets Manager can't find the specified secret.");
    }
    return json(200, {
      ARN: `arn:aws:secretsmanager:eu-west-1:000000000000:secret:${name}-local0`,
      Name: name,
      SecretString: value,
      VersionId: requestId(),
      VersionStages: ['AWSCURRENT'],
      CreatedDate: Math.floor(Date.now() / 1_000),
    });
  }

  return serve(
    {
      signingName: 'secretsmanager',
      answer,
      unsigned: () => failure('MissingAuthenticationTokenException', 'Missing Authentication Token'),
      throttled: () => failure('ThrottlingException', 'Rate exceeded'),
      refused: () => failure('AccessDeniedException', 'Not authorized to perform: secretsmanager:GetSecretValue'),
    },
    options,
  );
}

function secretId(body: string): string | undefined {
  try {
    const { SecretId } = JSON.parse(body) as { SecretId?: unknown };
    return typeof SecretId === 'string' && SecretId !== '' ? SecretId : undefined;
  } catch {
    return undefined;
  }
}

function failure(__type: string, message: string): Answer {
  return json(400, { __type, message });
}

function json(status: number, body: unknown): Answer {
  return { status, headers: { 'content-type': 'application/x-amz-json-1.1' }, body: JSON.stringify(body) };
}
