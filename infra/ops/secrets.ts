import { text as readAll } from 'node:stream/consumers';
import {
  CreateSecretCommand,
  DescribeSecretCommand,
  GetSecretValueCommand,
  PutSecretValueCommand,
  SecretsManagerClient,
  type SecretsManagerClientConfig,
  TagResourceCommand,
} from '@aws-sdk/client-secrets-manager';
import * as v from 'valibot';
import { SECRET_FRESH_MS } from '../../lib/aws/secrets.ts';
import { type Connection, platformSecretSchema, serverAddress } from '../../lib/records/crm-records.ts';
import { SigningSecretMalformed } from '../../lib/secrets/webhook-signature.ts';
import { isObject } from '../../lib/validators/primitives.ts';
import { VERSIONS_TAG } from '../functions.ts';
import { parseJson } from '../setting-texts.ts';
import { CommandError, undefinedIfAbsent, wrongUsage } from './command.ts';
import { PASSWORD_SECRET, passwordSecret, type ServiceSecret, serviceSecrets } from './service-secrets.ts';
import { writtenSettings } from './stack-settings.ts';
import { findConnection, readConnections } from './table-records.ts';
import type { Target } from './target.ts';
import type { Terminal } from './terminal.ts';

/** Who decides which servers get the secret of a connection. */
interface PutOptions {
  /** Servers next to that of the connection, as `host:port`. */
  server?: string[];
  /** The servers are confirmed already. */
  yes?: boolean;
}

/**
 * Stores the secret of a connection, the secret of a setting, or the pepper, in the shape that its reader expects. It
 * asks a person for the value, or reads the standard input. Any other name is refused: no part of the service would
 * read that secret.
 */
export async function putSecret(target: Target, name: string, options: PutOptions, terminal: Terminal): Promise<void> {
  // The service's secrets come first: a role that may replace the keys of the service reads no records.
  const services = [
    ...(await settingSecretsOf(target, terminal)),
    ...(target.isTable ? [] : [passwordSecret(await target.resource(PASSWORD_SECRET))]),
  ];
  const store = secretStore(target.clientOf('SECRETS_MANAGER'));
  const service = findSecret(services, name);
  if (service !== undefined) {
    const text = await serviceSecret(service, terminal);
    if (service.keepsKeys) assertKeepsKeys(service.name, (await store.read(service.name))?.text, text);
    return terminal.print(describeStored(service.name, await store.write(service.name, text)));
  }
  const connection = await findConnection(target, name);
  if (connection !== undefined) return putPlatformSecret(target, connection, options, terminal);
  const connections = await readConnections(target, terminal.report);
  const names = [...connections.map(({ id }) => id), ...services.map((one) => `${one.name} (${one.purpose})`)];
  throw new CommandError(
    `There is no connection ${name}, and no setting uses a secret of this name; nothing was stored. There are: ${names.join(', ') || 'none'}.`,
  );
}

const describeStored = (secret: string, done: string) =>
  `The secret ${secret} is ${done}; functions use it within ${SECRET_FRESH_MS / 60_000} minutes.`;

/**
 * Stores the secret of a connection. Its servers are those that the old value names, that of the connection which the
 * operator names, and those that he adds: never those of other connections, which anybody may have written who can
 * write records. A new server is shown and confirmed before anything is stored.
 */
async function putPlatformSecret(
  target: Target,
  connection: Connection,
  { server = [], yes = false }: PutOptions,
  terminal: Terminal,
): Promise<void> {
  const { id, secret, platform } = connection;
  const { platformSecrets = '' } = (await target.settings?.()) ?? {};
  if (!secret.startsWith(platformSecrets))
    throw new CommandError(
      `The connection ${id} names the secret ${secret}, which is no secret of a trading server: such names begin with ${platformSecrets}. Nothing was stored.`,
    );
  const store = secretStore(target.clientOf('SECRETS_MANAGER'));
  const before = parseJson((await store.read(secret))?.text);
  const known = v.is(HostsSchema, before) ? (before.hosts ?? []) : [];
  // A value from the standard input may name all its servers itself.
  const { hosts: given, ...value } = await askPlatformSecret(connection, terminal);
  const hosts = given ?? [...known, serverAddress(connection), ...server].map(parseServer);
  const trusted = [...new Set(hosts)].sort();
  const added = trusted.filter((one) => !known.includes(one));
  terminal.report(`Only these servers get the secret ${secret}:`);
  terminal.report(
    trusted.length === 0 ? '  none' : trusted.map((one) => `  ${one}${added.includes(one) ? ' (new)' : ''}`),
  );
  if (added.length > 0 && !yes) await confirmServers(terminal);
  const versions = [...new Set([platform, ...((await store.describe(secret))?.versions?.split(' ') ?? [])])].sort();
  const done = await store.write(secret, JSON.stringify({ ...value, hosts: trusted }), versions);
  terminal.print(describeStored(secret, done));
}

const HostsSchema = v.looseObject({ hosts: v.optional(v.array(v.string())) });

/** @throws CommandError unless a person says that the new servers are his */
async function confirmServers({ ask }: Terminal): Promise<void> {
  if (ask === undefined)
    throw new CommandError('Nothing was stored: where nobody can be asked, --yes confirms the new servers.');
  if ((await ask('Are the new servers yours? (yes or no) ', 'shown')).trim() !== 'yes')
    throw new CommandError('Nothing was stored.');
}

/** @throws CommandError for a text that is not `host:port` */
function parseServer(text: string): string {
  const [, host = '', port = ''] = /^(\[[\da-f:.]+\]|[\w.-]+):(\d{1,5})$/i.exec(text) ?? [];
  if (host === '') throw wrongUsage('--server takes host:port, such as mt5.example.com:443 or [2001:db8::1]:443.');
  return serverAddress({ host, port: Number(port) });
}

/** The secrets of the stack's settings, those that cdk.json has for the next deployment, and the pepper. */
export async function settingSecretsOf(target: Target, terminal: Terminal): Promise<ServiceSecret[]> {
  const next = writtenSettings(terminal.cdkJson);
  const deployed: Record<string, unknown> = (await target.settings?.()) ?? next;
  const { stage } = deployed;
  const written = { ...next, ...(stage !== undefined && { stage }) };
  const secrets = serviceSecrets(deployed, target.pepperSecret);
  const isNew = (one: ServiceSecret) =>
    !secrets.some(({ purpose, name }) => purpose === one.purpose && name === one.name);
  return [...secrets, ...serviceSecrets(written).filter(isNew)];
}

/**
 * Finds a secret by its name or its setting.
 * @throws CommandError if the setting names two secrets
 */
export function findSecret(secrets: readonly ServiceSecret[], name: string): ServiceSecret | undefined {
  const [first, second] = secrets.filter((one) => one.purpose === name);
  if (first !== undefined && second !== undefined)
    throw new CommandError(
      `${name} is ${first.name} in the stack and ${second.name} in cdk.json: write the name of the secret. Nothing was stored.`,
    );
  return first ?? secrets.find((one) => one.name === name);
}

async function serviceSecret({ name, shape, parse }: ServiceSecret, { ask, input }: Terminal): Promise<string> {
  const text = ask === undefined ? (await readAll(input)).replace(/\r?\n$/, '') : await ask('Its value: ');
  try {
    parse(text);
  } catch (error) {
    // The messages of other parsers may quote the value.
    const why = error instanceof SigningSecretMalformed ? ` ${error.message}` : '';
    throw new CommandError(`The secret ${name} must be ${shape}; nothing was stored.${why}`);
  }
  return text;
}

/**
 * Checks that a value holds every key of the stored one.
 * @throws CommandError which names the keys that are missing or different, and quotes none
 */
function assertKeepsKeys(name: string, before: string | undefined, text: string): void {
  const [stored, given] = [parseJson(before), parseJson(text)];
  if (!isObject(stored) || !isObject(given)) return;
  const lost = Object.keys(stored).filter((key) => key !== 'current' && stored[key] !== given[key]);
  if (lost.length > 0)
    throw new CommandError(
      `The value loses or changes the key ${lost.join(', ')} of the secret ${name}, which stored items need; nothing was stored. Write all its keys and the new one, or make one with rotate.`,
    );
}

/** Asks for the secret of a connection. The message of a refusal never holds the value. */
async function askPlatformSecret(connection: Connection, { ask, input }: Terminal) {
  const { id, protocol } = connection;
  const shape = protocol === 'web-api' ? '{"login": 1000, "password": "…"}' : '{"master": "…"}';
  let value: unknown;
  if (ask === undefined) value = parseJson(await readAll(input));
  else if (protocol === 'web-api')
    value = { login: Number(await ask("The manager's login: ")), password: await ask('Its API password: ') };
  else value = { master: await ask('The master password: ') };
  if (!v.is(platformSecretSchema(connection), value))
    throw new CommandError(`The secret of ${id} must be ${shape}; nothing was stored.`);
  return value;
}

/** The secrets of Secrets Manager, as operators use them. */
export function secretStore(config: SecretsManagerClientConfig) {
  const client = new SecretsManagerClient(config);
  return {
    /** The text of a secret and its date; undefined if there is no such secret. */
    async read(name: string) {
      const answer = await undefinedIfAbsent(client.send(new GetSecretValueCommand({ SecretId: name })));
      if (answer?.SecretString === undefined || answer.CreatedDate === undefined) return undefined;
      return { text: answer.SecretString, since: answer.CreatedDate };
    },
    /** Whether a secret exists, and the platform versions whose functions may read it: undefined means all. */
    async describe(name: string): Promise<{ versions: string | undefined } | undefined> {
      const answer = await undefinedIfAbsent(client.send(new DescribeSecretCommand({ SecretId: name })));
      return answer && { versions: answer.Tags?.find(({ Key }) => Key === VERSIONS_TAG)?.Value };
    },
    /** Replaces the text of a secret, or makes the secret. @param versions of the functions that may read it */
    async write(name: string, text: string, versions?: readonly string[]) {
      const value = { SecretString: text };
      const tags = versions && { Tags: [{ Key: VERSIONS_TAG, Value: versions.join(' ') }] };
      const answer = await undefinedIfAbsent(client.send(new PutSecretValueCommand({ SecretId: name, ...value })));
      if (answer === undefined) {
        await client.send(new CreateSecretCommand({ Name: name, ...value, ...tags }));
        return 'made';
      }
      if (tags !== undefined) await client.send(new TagResourceCommand({ SecretId: name, ...tags }));
      return 'replaced';
    },
  };
}
