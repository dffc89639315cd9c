import { randomUUID } from 'node:crypto';
import * as v from 'valibot';
import { localArn, secretArn } from '../rights/arn.ts';
import { jsonOperation, jsonService } from './protocols.ts';
import { ServiceError, type StandIn, type StandInOptions, serveStandIn } from './stand-in.ts';

export interface SecretsOptions extends Omit<StandInOptions, 'record'> {
  /** Values by the secret's name. A put changes them. */
  secrets: Map<string, string>;
  /** The tags of the secrets at the start, by the secret's name. */
  tags?: ReadonlyMap<string, Readonly<Record<string, string>>>;
}

const text = v.pipe(v.string(), v.minLength(1));
const tags = v.array(v.object({ Key: text, Value: v.string() }));
const CreateSchema = v.object({ Name: text, SecretString: text, Tags: v.optional(tags, []) });

/** Secrets Manager: `GetSecretValue`, and what operators call. */
export function startSecretsManager({
  secrets,
  tags: given = new Map(),
  ...options
}: SecretsOptions): Promise<StandIn> {
  const startedAt = Date.now();
  /** When the version of a secret was made, in epoch milliseconds. */
  const madeAt = new Map<string, number>();
  const tagsOf = new Map([...given].map(([name, values]) => [name, new Map(Object.entries(values))]));
  function tag(name: string, added: v.InferOutput<typeof tags>): void {
    tagsOf.set(name, new Map([...(tagsOf.get(name) ?? []), ...added.map(({ Key, Value }) => [Key, Value] as const)]));
  }
  const described = (Name: string) => ({ ARN: secretArn(Name), Name, VersionId: randomUUID() });

  function write(name: string, value: string): object {
    secrets.set(name, value);
    madeAt.set(name, Date.now());
    return described(name);
  }

  /** @throws ServiceError if there is no such secret */
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
    CreateSecret: jsonOperation(CreateSchema, ({ Name, SecretString, Tags }) => {
      if (secrets.has(Name)) throw new ServiceError('ResourceExistsException', 'A secret of this name exists.');
      tag(Name, Tags);
      return write(Name, SecretString);
    }),
    DescribeSecret: jsonOperation(v.object({ SecretId: text }), ({ SecretId }) => {
      read(SecretId);
      return {
        ...described(SecretId),
        Tags: [...(tagsOf.get(SecretId) ?? [])].map(([Key, Value]) => ({ Key, Value })),
      };
    }),
    TagResource: jsonOperation(v.object({ SecretId: text, Tags: tags }), ({ SecretId, Tags }) => {
      read(SecretId);
      tag(SecretId, Tags);
      return {};
    }),
  };

  return serveStandIn(
    jsonService({
      name: 'secretsmanager',
      target: 'secretsmanager',
      operations,
      resources({ SecretId, Name }) {
        const name = String(SecretId ?? Name ?? '');
        // A secret that does not exist yet has no suffix.
        const isKnown = name.startsWith('arn:') || secrets.has(name);
        return [isKnown ? secretArn(name) : localArn('secretsmanager', `secret:${name}`)];
      },
      context: ({ SecretId }) =>
        Object.fromEntries(
          [...(tagsOf.get(String(SecretId)) ?? [])].map(([key, value]) => [`secretsmanager:ResourceTag/${key}`, value]),
        ),
      throttled: new ServiceError('ThrottlingException', 'Rate exceeded'),
      refused: new ServiceError('AccessDeniedException', 'Not authorized to perform: secretsmanager:GetSecretValue'),
    }),
    options,
  );
}
