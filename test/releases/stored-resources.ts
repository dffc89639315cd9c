import { isDeepStrictEqual } from 'node:util';

/** A template of CloudFormation, with the members that are read here. */
export interface Template {
  Resources?: Readonly<Record<string, { Type: string; Properties?: Readonly<Record<string, unknown>> }>>;
}

/** A resource that holds data, with what an update may not change. */
interface StoredResource {
  type: string;
  /** The properties whose change makes CloudFormation put another, empty resource in its place, or new content. */
  fixed: Record<string, unknown>;
  /** The global indexes of a table, by name, with the types of their keys. */
  indexes?: Record<string, unknown>;
}

/** The resources of a stack that hold data, by logical id. `test/releases/` has those of each release. */
export type StoredResources = Readonly<Record<string, StoredResource>>;

/** The types of resources that hold data, each with the properties of `StoredResource.fixed`. */
const FIXED_PROPERTIES: Readonly<Record<string, readonly string[]>> = {
  'AWS::DynamoDB::Table': ['TableName', 'KeySchema', 'LocalSecondaryIndexes'],
  'AWS::S3::Bucket': ['BucketName'],
  'AWS::SQS::Queue': ['QueueName', 'FifoQueue'],
  // A change of the template for the value generates the value again.
  'AWS::SecretsManager::Secret': ['Name', 'GenerateSecretString'],
  'AWS::Cognito::UserPool': ['AliasAttributes', 'UsernameAttributes', 'UsernameConfiguration'],
};

/** The digest of a template. */
export function storedResources({ Resources = {} }: Template): StoredResources {
  const stored = Object.entries(Resources).flatMap(([id, { Type: type, Properties = {} }]) => {
    const names = FIXED_PROPERTIES[type];
    if (names === undefined) return [];
    const keys = keyTypes(Properties.KeySchema, Properties.AttributeDefinitions);
    const named = names.filter((name) => Properties[name] !== undefined).map((name) => [name, Properties[name]]);
    const fixed = Object.fromEntries([...named, ...(keys.length === 0 ? [] : [['keyTypes', keys]])]);
    const indexes = (Properties.GlobalSecondaryIndexes ?? []) as Index[];
    const found = indexes.map(({ IndexName, KeySchema, Projection }) => [
      IndexName,
      { KeySchema, Projection, keyTypes: keyTypes(KeySchema, Properties.AttributeDefinitions) },
    ]);
    return [[id, { type, fixed, ...(found.length === 0 ? {} : { indexes: Object.fromEntries(found) }) }] as const];
  });
  return Object.fromEntries(stored);
}

interface Index {
  IndexName: string;
  KeySchema: unknown;
  Projection: unknown;
}

/** The types of the attributes of a key. */
function keyTypes(schema: unknown, definitions: unknown): string[] {
  const named = (schema ?? []) as { AttributeName: string }[];
  const types = (definitions ?? []) as { AttributeName: string; AttributeType: string }[];
  return named.map(
    ({ AttributeName }) => types.find((one) => one.AttributeName === AttributeName)?.AttributeType ?? 'none',
  );
}

/** The resources that an update would replace with empty ones, leaving their data behind. */
function replacedResources(before: StoredResources, after: StoredResources): string[] {
  return Object.keys(before).filter((id) => {
    const [was, is] = [before[id], after[id]];
    return is !== undefined && !(was?.type === is.type && isDeepStrictEqual(plain(was.fixed), plain(is.fixed)));
  });
}

/** A change of an index of a table. A changed index is removed and made again. */
interface IndexChange {
  table: string;
  index: string;
  change: 'remove' | 'add';
}

function indexChanges(before: StoredResources, after: StoredResources): IndexChange[] {
  return Object.keys(before).flatMap((table) => {
    const [was = {}, is = {}] = [before[table]?.indexes, after[table]?.indexes];
    if (after[table] === undefined) return [];
    const differs = (index: string) => !isDeepStrictEqual(plain(was[index]), plain(is[index]));
    const removed = Object.keys(was).filter(differs);
    const added = Object.keys(is).filter(differs);
    return [
      ...removed.map((index): IndexChange => ({ table, index, change: 'remove' })),
      ...added.map((index): IndexChange => ({ table, index, change: 'add' })),
    ];
  });
}

/** The reasons for which CloudFormation refuses an update, or would leave data behind. Empty: it may be deployed. */
export function findUpdateErrors(before: StoredResources, after: StoredResources): string[] {
  const replaced = replacedResources(before, after).map(
    (id) => `${id}: the update would put an empty resource in its place, and leave its data behind.`,
  );
  const changes = indexChanges(before, after);
  const tables = [...new Set(changes.map(({ table }) => table))];
  const refused = tables.flatMap((table) => {
    const ofTable = changes.filter((one) => one.table === table);
    const list = ofTable.map(({ change, index }) => `${change} ${index}`).join(', ');
    return ofTable.length > 1
      ? [`${table}: one update changes one index of a table, not ${ofTable.length} (${list}).`]
      : [];
  });
  return [...replaced, ...refused];
}

/** A value without absent members. */
function plain(value: unknown): unknown {
  return value === undefined ? undefined : JSON.parse(JSON.stringify(value));
}
