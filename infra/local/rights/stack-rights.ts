import { hash, randomUUID } from 'node:crypto';
import { globSync, readFileSync } from 'node:fs';
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import * as v from 'valibot';
import { deploymentEntries, variableName } from '../../../lib/validators/deployment.ts';
import { isObject } from '../../../lib/validators/primitives.ts';
import { parseSettings } from '../../../lib/validators/texts.ts';
import { ACCOUNT, bucketArn, busArn, queueArn, REGION, secretArn, tableArn } from './arn.ts';
import { parseRights, type Right, type Statement } from './policy.ts';
import type { StackRights } from './synthesis.ts';

type Environment = Readonly<Record<string, string>>;

/** The prefix of the trading servers' secrets. */
export const PLATFORM_SECRETS = 'platform/';

/**
 * The rights that a deployment gives each function, by the function's name.
 * @param environment the variables of all functions: their settings, and the names of their resources
 * @param more settings that reach no function
 */
export async function functionRights(
  environment: Environment,
  more: Readonly<Record<string, unknown>> = {},
): Promise<Record<string, readonly Right[]>> {
  const { types, functions } = await stackRights({
    ...readSettings(environment),
    platformSecrets: PLATFORM_SECRETS,
    ...more,
  });
  const names = resourceNames(types, functions, environment);
  return Object.fromEntries(
    Object.entries(functions).map(([name, { statements }]) => [
      name,
      parseRights(name, resolve(statements, names) as Statement[]),
    ]),
  );
}

const ChannelsSchema = v.object({ channels: deploymentEntries.channels });

/** The settings of a deployment whose functions have these variables, without those of channels that it lacks. */
function readSettings(environment: Environment): Record<string, string> {
  const settings: Record<string, string> = {};
  for (const name of Object.keys(deploymentEntries)) {
    const value = environment[variableName(name)];
    if (value) settings[name] = value;
  }
  // The provider of the local service may be on this machine, which no deployment accepts.
  const urls = Object.keys(JSON.parse(settings.provider ?? '{}')).map((channel) => [
    channel,
    'https://sms.acme.example/',
  ]);
  if (urls.length > 0) settings.provider = JSON.stringify(Object.fromEntries(urls));
  const { channels = [] } = parseSettings(ChannelsSchema, { channels: settings.channels }).values ?? {};
  for (const name of ['sms', 'call', 'whatsapp'] as const) if (!channels.includes(name)) delete settings[name];
  if (channels.length <= 1) delete settings.phone;
  // The receiver of the local service is on this machine.
  return { ...settings, crmWebhook: 'https://crm.acme.example/events' };
}

/** The values of references: `CrmTable` and `CrmTable.Arn`, for every resource in a function's environment. */
function resourceNames(
  types: StackRights['types'],
  functions: StackRights['functions'],
  environment: Environment,
): ReadonlyMap<string, string> {
  const names = new Map([
    ['AWS::Partition', 'aws'],
    ['AWS::Region', REGION],
    ['AWS::AccountId', ACCOUNT],
  ]);
  for (const [variable, value] of Object.values(functions).flatMap(({ variables }) => Object.entries(variables))) {
    const reference = referenceName(value);
    const name = environment[variable];
    if (reference === undefined || name === undefined) continue;
    const toArn = ARNS[types[reference] ?? ''];
    // A reference to a secret is its ARN already.
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
  return keptRights(join(ROOT, '.local', 'rights', `${name}.json`), sources, async () => {
    // CDK takes seconds.
    const { synthesizeRights } = await import('./synthesis.ts');
    return synthesizeRights(settings);
  });
}

/** The rights that a file has from the same sources; else they are synthesized, and the file has them from then on. */
export async function keptRights(
  path: string,
  sources: string,
  synthesize: () => Promise<StackRights>,
): Promise<StackRights> {
  const kept = v.safeParse(KeptSchema, await readFile(path, 'utf8').catch(() => undefined));
  if (kept.success && kept.output.sources === sources) return kept.output.rights;
  const rights = await synthesize();
  await mkdir(dirname(path), { recursive: true });
  // In one step: other processes may do the same.
  const unfinished = `${path}.${randomUUID()}`;
  await writeFile(unfinished, JSON.stringify({ sources, rights }));
  await rename(unfinished, path);
  return rights;
}

/** The rights, and a hash of all that they follow from. */
const KeptSchema = v.pipe(
  v.string(),
  v.parseJson(),
  v.object({ sources: v.string(), rights: v.custom<StackRights>(isObject) }),
);

/** Changes with every source that the stack may be made of, and with the version of CDK. */
function hashSources(): string {
  const paths = globSync(['{infra,lib}/**/*.{ts,json}', 'package-lock.json'], { cwd: ROOT }).sort();
  return hash('sha256', paths.map((path) => `${path}\n${readFileSync(join(ROOT, path), 'utf8')}`).join('\n'));
}
