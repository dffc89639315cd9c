import type { Expression, Item } from '../aws/dynamodb.ts';

/** The names of an attribute in an expression. */
interface Placeholder {
  name: string;
  value: string;
  assignment: string;
}

/** Kept: there are few attributes, and each request writes some of them several times. */
const placeholders = new Map<string, Placeholder>();

function findPlaceholder(attribute: string): Placeholder {
  const known = placeholders.get(attribute);
  if (known !== undefined) return known;
  const placeholder = { name: `#${attribute}`, value: `:${attribute}`, assignment: `#${attribute} = :${attribute}` };
  placeholders.set(attribute, placeholder);
  return placeholder;
}

/** `SET` and `REMOVE` of attributes. An undefined attribute is not changed. */
export function assignments(
  set: Item,
  remove: readonly string[] = [],
): Required<Omit<Expression, 'condition'>> & { update: string } {
  const names: Record<string, string> = {};
  const values: Item = {};
  let update = '';
  for (const attribute of Object.keys(set)) {
    if (set[attribute] === undefined) continue;
    const { name, value, assignment } = findPlaceholder(attribute);
    update += update === '' ? `SET ${assignment}` : `, ${assignment}`;
    names[name] = attribute;
    values[value] = set[attribute];
  }
  for (const [index, attribute] of remove.entries()) {
    const { name } = findPlaceholder(attribute);
    update += index === 0 ? ` REMOVE ${name}` : `, ${name}`;
    names[name] = attribute;
  }
  return { update, names, values };
}
