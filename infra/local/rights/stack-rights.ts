import { hash, randomUUID } from 'node:crypto';
import { globSync, readFileSync } from 'node:fs';
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import * as v from 'valibot';
import { PHONE_CHANNELS } from '../../../lib/validators/otp-types.ts';
import { isObject } from '../../../lib/validators/primitives.ts';
import { parseSettings } from '../../setting-texts.ts';
import { deploymentEntries } from '../../settings.ts';
import { AWS_ACCOUNT_ID, AWS_REGION, bucketArn, busArn, queueArn, secretArn, tableArn } from './arn.ts';
import { parseRights, type Right, type Statement } from './policy.ts';
import type { StackRights } from './synthesis.ts';

/** The prefix of the trading servers' secrets. */
export const PLATFORM_SECRETS = 'platform/';

/**
 * The rights that a deployment gives each function, by the function's name.
 * @param settings those that reach a function
 * @param resources the variables of all functions, which name their resources
 * @param more settings that reach no function
 */
export async function functionRights(
  settings: Readonly<Record<string, unknown>>,
  resources: Readonly<Record<string, string>>,
  more: Readonly<Record<string, unknown>> = {},
) {
  const { types, functions } = await stackRights({
    ...deployable(settings),
    platformSecrets: PLATFORM_SECRETS,
    ...more,
  });
  const names = resourceNames(types, functions, resources);
  const rights: Record<string, readonly Right[]> = Object.fromEntries(
    Object.entries(functions).map(([name, { statements }]) => [
      name,
      parseRights(name, resolve(statements, names) as Statement[]),
    ]),
  );
  return rights;
}

/** The settings of a deployment that `npm run deploy` would accept: without the settings of channels that it lacks. */
function deployable(settings: Readonly<Record<string, unknown>>): Record<string, unknown> {
  // Limits and the brand give no right: deployments that differ in them alone are synthesized once.
  const { limits: _, brand: __, ...given }: Record<string, unknown> = settings;
  // The receivers of the local service may be on this machine.
  if (isObject(given.provider)) {
    const channels = Object.keys(given.provider);
    given.provider = Object.fromEntries(channels.map((channel) => [channel, 'https://sms.acme.example/']));
  }
  const { channels = [] } = parseSettings(ChannelsSchema, { channels: given.channels }).values ?? {};
  for (const name of PHONE_CHANNELS) if (!channels.includes(name)) delete given[name];
  if (channels.length <= 1) delete given.phone;
  given.crmWebhook = 'https://crm.acme.example/events';
  given.confirmation = true;
  return given;
}

const ChannelsSchema = v.object({ channels: deploymentEntries.channels });

/** The values of references: `CrmTable` and `CrmTable.Arn`, for every resource of a function. */
function resourceNames(
  types: StackRights['types'],
  functions: StackRights['functions'],
  resources: Readonly<Record<string, string>>,
): ReadonlyMap<string, string> {
  const names = new Map([
    ['AWS::Partition', 'aws'],
    ['AWS::Region', AWS_REGION],
    ['AWS::AccountId', AWS_ACCOUNT_ID],
  ]);
  for (const [variable, value] of Object.values(functions).flatMap(({ variables }) => Object.entries(variables))) {
    const reference = referenceName(value);
    const name = resources[variable];
    if (reference === undefined || name === undefined) continue;
    const toArn = ARNS[types[reference] ?? ''];
    // A reference to a secret is already its ARN.
    names.set(reference, types[reference] === 'AWS::SecretsManager::Secret' ? secretArn(name) : name);
    if (toArn !== undefined) names.set(`${reference}.Arn`, toArn(name));
  }
  return names;
}

const ARNS: Readonly<Record<string, (name: string) => string>> = {
  'AWS::DynamoDB::Table': tableArn,
  'AWS::S3::Bucket': bucketArn,
  'AWS::Events::EventBus': busArn,
  'AWS::SQS::Queue': queueArn,
};

/** `CrmTable` or `CrmTable.Arn`, if a value is a reference of the template. */
function referenceName(value: unknown): string | undefined {
  const [[name, argument] = [], ...others] = Object.entries(value ?? {}) as [string, unknown][];
  if (others.length > 0) return undefined;
  if (name === 'Ref') return String(argument);
  return name === 'Fn::GetAtt' ? (argument as string[]).join('.') : undefined;
}

/** A value of a template as text. A reference to another resource stays visible: `<Log.Arn>`. */
function resolve(value: unknown, names: ReadonlyMap<string, string>): unknown {
  if (Array.isArray(value)) return value.map((one) => resolve(one, names));
  if (typeof value !== 'object' || value === null) return value;
  const reference = referenceName(value);
  if (reference !== undefined) return names.get(reference) ?? `<${reference}>`;
  if ('Fn::Join' in value) {
    const [separator, parts] = value['Fn::Join'] as [string, unknown[]];
    return parts.map((part) => resolve(part, names)).join(separator);
  }
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, resolve(one, names)]));
}

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));
let sources: string | undefined;

/** The rights of the functions in a stack of these settings. */
function stackRights(settings: Readonly<Record<string, unknown>>): Promise<StackRights> {
  const name = hash('sha256', JSON.stringify(settings)).slice(0, 16);
  sources ??= hashSources();
  return cachedRights(join(ROOT, '.local', 'rights', `${name}.json`), sources, async () => {
    // CDK takes seconds.
    const { synthesizeRights } = await import('./synthesis.ts');
    return synthesizeRights(settings);
  });
}

/**
 * The rights from a file that was written for the same sources. If there is none, the rights are synthesized and the
 * file is written.
 */
export async function cachedRights(
  path: string,
  sources: string,
  synthesize: () => Promise<StackRights>,
): Promise<StackRights> {
  const kept = v.safeParse(KeptSchema, await readFile(path, 'utf8').catch(() => undefined));
  if (kept.success && kept.output.sources === sources) return kept.output.rights;
  const rights = await synthesize();
  await mkdir(dirname(path), { recursive: true });
  // The file is written in one step: other processes may write it at the same time.
  const unfinished = `${path}.${randomUUID()}`;
  await writeFile(unfinished, JSON.stringify({ sources, rights }));
  await rename(unfinished, path);
  return rights;
}

/** The rights, and a hash of everything that they follow from. */
const KeptSchema = v.pipe(
  v.string(),
  v.parseJson(),
  v.object({ sources: v.string(), rights: v.custom<StackRights>(isObject) }),
);

/** A hash that changes with every source of the stack, and with the version of CDK. */
function hashSources(): string {
  const paths = globSync(['{infra,lib}/**/*.{ts,json}', 'package-lock.json'], { cwd: ROOT }).sort();
  return hash('sha256', paths.map((path) => `${path}\n${readFileSync(join(ROOT, path), 'utf8')}`).join('\n'));
}
