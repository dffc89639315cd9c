import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import {
  findUpdateErrors,
  type StoredResources,
  storedResources,
  type Template,
} from '../releases/stored-resources.ts';
import { EVERYTHING, synthesize } from '../support/stack.ts';

const RELEASES = new URL('../releases/', import.meta.url);
const VERSIONS = readdirSync(RELEASES)
  .flatMap((name) => /^(.+)\.stack\.json$/.exec(name)?.[1] ?? [])
  .sort((one, other) => one.localeCompare(other, 'en', { numeric: true }));
const LAST: StoredResources = JSON.parse(readFileSync(new URL(`${VERSIONS.at(-1)}.stack.json`, RELEASES), 'utf8'));
const today = () => synthesize(EVERYTHING).toJSON() as Template;

/** The template of today with other properties of one resource. */
function changed(id: string, properties: (old: Record<string, unknown>) => Record<string, unknown>): Template {
  const { Resources = {} } = today();
  const resource = Resources[id];
  if (resource === undefined) throw new Error(`There is no ${id}.`);
  return {
    Resources: { ...Resources, [id]: { ...resource, Properties: properties({ ...resource.Properties }) } },
  };
}

/** The table of today with these indexes more. */
const withIndexes = (table: string, ...names: string[]) =>
  changed(table, (old) => ({
    ...old,
    AttributeDefinitions: [
      ...(old.AttributeDefinitions as object[]),
      ...names.map((AttributeName) => ({ AttributeName, AttributeType: 'S' })),
    ],
    GlobalSecondaryIndexes: [
      ...((old.GlobalSecondaryIndexes ?? []) as object[]),
      ...names.map((name) => ({
        IndexName: name,
        KeySchema: [{ AttributeName: name, KeyType: 'HASH' }],
        Projection: { ProjectionType: 'KEYS_ONLY' },
      })),
    ],
  }));

describe('An update from the last release', () => {
  it('keeps every resource that holds data, and replaces none of them', () => {
    expect(Object.keys(storedResources(today()))).toEqual(expect.arrayContaining(Object.keys(LAST)));
    expect(findUpdateErrors(LAST, storedResources(today()))).toEqual([]);
  });

  it('may add one index of each table', () => {
    expect(findUpdateErrors(LAST, storedResources(withIndexes('AccountsTable', 'one')))).toEqual([]);
  });

  it('is an error if it adds a second index of one table, or makes one of another shape', () => {
    const second = findUpdateErrors(LAST, storedResources(withIndexes('AccountsTable', 'one', 'two')));
    expect(second).toEqual([expect.stringContaining('AccountsTable: one update changes one index of a table, not 2')]);
    const other = changed('OperationsTable', (old) => ({
      ...old,
      GlobalSecondaryIndexes: (old.GlobalSecondaryIndexes as object[]).map((one) => ({
        ...one,
        Projection: { ProjectionType: 'ALL' },
      })),
    }));
    expect(findUpdateErrors(LAST, storedResources(other))).toEqual([expect.stringContaining('remove due, add due')]);
  });

  it.each([
    ['CrmTable', (old: object) => ({ ...old, TableName: 'crm' })],
    ['CrmTable', (old: object) => ({ ...old, KeySchema: [{ AttributeName: 'id', KeyType: 'HASH' }] })],
    ['DocumentsBucket', (old: object) => ({ ...old, BucketName: 'documents' })],
    ['CrmQueue', (old: object) => ({ ...old, FifoQueue: true })],
    ['PepperSecret', (old: object) => ({ ...old, GenerateSecretString: { PasswordLength: 32 } })],
  ])('is an error if it replaces %s', (id, properties) => {
    expect(findUpdateErrors(LAST, storedResources(changed(id, properties)))).toEqual([
      expect.stringContaining(`${id}: the update would put an empty resource in its place`),
    ]);
  });
});
