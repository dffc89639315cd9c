import type { Expression, Item } from '../aws/dynamodb.ts';

/** `SET` and `REMOVE` of attributes. An undefined attribute is not changed. */
export function assignments(
  set: Item,
  remove: readonly string[] = [],
): Required<Omit<Expression, 'condition'>> & { update: string } {
  const names: Record<string, string> = {};
  const values: Item = {};
  for (const [name, value] of Object.entries(set)) {
    if (value === undefined) continue;
    names[`#${name}`] = name;
    values[`:${name}`] = value;
  }
  const assigned = Object.entries(names).map(([short, name]) => `${short} = :${name}`);
  for (const name of remove) names[`#${name}`] = name;
  const update = [
    ...(assigned.length === 0 ? [] : [`SET ${assigned.join(', ')}`]),
    ...(remove.length === 0 ? [] : [`REMOVE #${remove.join(', #')}`]),
  ];
  return { update: update.join(' '), names, values };
}
