import type { Expression, Item } from '../aws/dynamodb.ts';

/** `SET` of at least one attribute, and `REMOVE`. An undefined attribute is not changed. */
export function assignments(set: Item, remove: readonly string[] = []): Required<Omit<Expression, 'condition'>> {
  const names: Record<string, string> = {};
  const values: Item = {};
  for (const [name, value] of Object.entries(set)) {
    if (value === undefined) continue;
    names[`#${name}`] = name;
    values[`:${name}`] = value;
  }
  const assigned = Object.entries(names).map(([short, name]) => `${short} = :${name}`);
  for (const name of remove) names[`#${name}`] = name;
  const removal = remove.length === 0 ? '' : ` REMOVE #${remove.join(', #')}`;
  return { update: `SET ${assigned.join(', ')}${removal}`, names, values };
}
