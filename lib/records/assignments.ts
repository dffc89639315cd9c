import type { Expression, Item } from '../aws/dynamodb.ts';

/** `SET` and `REMOVE` of attributes. An undefined attribute is not changed. */
export function assignments(
  set: Item,
  remove: readonly string[] = [],
): Required<Omit<Expression, 'condition'>> & { update: string } {
  const changed = Object.entries(set).filter(([, value]) => value !== undefined);
  const names = [...changed.map(([name]) => name), ...remove];
  const update = [
    ...(changed.length === 0 ? [] : [`SET ${changed.map(([name]) => `#${name} = :${name}`).join(', ')}`]),
    ...(remove.length === 0 ? [] : [`REMOVE ${remove.map((name) => `#${name}`).join(', ')}`]),
  ];
  return {
    update: update.join(' '),
    names: Object.fromEntries(names.map((name) => [`#${name}`, name])),
    values: Object.fromEntries(changed.map(([name, value]) => [`:${name}`, value])),
  };
}
