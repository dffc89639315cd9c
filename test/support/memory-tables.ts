import { ConditionFailed, type Expression, type Item, type Table } from '../../lib/aws/dynamodb.ts';
import { AwsFailure } from '../../lib/aws/failure.ts';

export interface MemoryTable extends Table {
  /** The items by key; a test may read and change them. */
  readonly items: Map<string, Item>;
}

/**
 * A table in memory, whose partition key alone is the key. Its calls take effect at once, in the order in which they are made.
 * It evaluates the expressions that the adapters of `lib` write, as DynamoDB does: `memory-tables.test.ts` compares.
 */
export function memoryTable(): MemoryTable {
  const items = new Map<string, Item>();
  const read = (pk = '') => (items.has(pk) ? structuredClone(items.get(pk)) : undefined);

  /** The item that may be written. */
  function check(pk: string, expression: Expression = {}): Item | undefined {
    const item = read(pk);
    const { condition, names = {}, values = {} } = expression;
    const used: string[] = `${condition ?? ''} ${expression.update ?? ''}`.match(/[#:]\w+/g) ?? [];
    const given = [...Object.keys(names), ...Object.keys(values)];
    if (given.some((one) => !used.includes(one)) || used.some((one) => !given.includes(one))) {
      throw new AwsFailure('ValidationException');
    }
    if (condition !== undefined && !new Evaluation(condition, expression, item).condition())
      throw new ConditionFailed();
    return item;
  }

  const calls: Table = {
    get: async ({ pk }) => read(pk),
    getMany: async (keys) => keys.map(({ pk }) => read(pk)).filter((item) => item !== undefined),
    query: () => Promise.reject(new Error('This table has no sort key.')),
    queryIndex: async ({ shard, at }, partition, upTo, most) =>
      [...items.values()]
        .filter((item) => item[shard] === partition && Number(item[at]) <= upTo)
        .toSorted((a, b) => Number(a[at]) - Number(b[at]))
        .slice(0, most)
        .map((item) => ({ pk: item.pk, [shard]: item[shard], [at]: item[at] })),
    findKeys: async (attribute, value, most) =>
      [...items.values()]
        .filter((item) => item[attribute] === value)
        .map(({ pk }) => String(pk))
        .toSorted()
        .slice(0, most),
    async put(item, _, expression) {
      const old = check(String(item.pk), expression);
      items.set(String(item.pk), withoutUndefined(item));
      return old;
    },
    async update({ pk = '' }, expression) {
      const item = check(pk, expression);
      const updated = new Evaluation(expression.update, expression, item).update(item ?? { pk });
      items.set(pk, updated);
      return structuredClone(updated);
    },
    async delete({ pk = '' }, _, expression) {
      check(pk, expression);
      items.delete(pk);
    },
  };
  return { ...calls, items };
}

/** As the client of the database leaves them out. */
function withoutUndefined<T>(value: T): T {
  return JSON.parse(JSON.stringify(value)) as T;
}

const TOKEN = /:?[#\w.]+|<=|>=|<>|[<>=+\-,()]/g;

/** One expression over one item. */
class Evaluation {
  readonly #tokens: string[];
  readonly #expression: Expression;
  readonly #item: Item;

  constructor(text: string, expression: Expression, item: Item = {}) {
    this.#tokens = text.match(TOKEN) ?? [];
    this.#expression = expression;
    this.#item = item;
  }

  condition(): boolean {
    const holds = this.#or();
    if (this.#tokens.length > 0) throw new AwsFailure('ValidationException');
    return holds;
  }

  update(item: Item): Item {
    const updated = structuredClone(item);
    for (let action = this.#next(); action !== undefined; action = this.#next()) {
      do {
        const path = this.#path(this.#next());
        const value = action === 'SET' ? this.#assigned() : undefined;
        const name = path.pop() ?? '';
        const parent = path.reduce<Item | undefined>((at, one) => at?.[one] as Item | undefined, updated);
        if (parent === undefined) throw new AwsFailure('ValidationException');
        if (action === 'SET') parent[name] = withoutUndefined(value);
        else delete parent[name];
      } while (this.#accepts(','));
    }
    return updated;
  }

  #next(): string | undefined {
    return this.#tokens.shift();
  }

  #accepts(token: string): boolean {
    const isNext = this.#tokens[0] === token;
    if (isNext) this.#next();
    return isNext;
  }

  #path(text = ''): string[] {
    return text.split('.').map((one) => (one.startsWith('#') ? (this.#expression.names?.[one] ?? '') : one));
  }

  #or(): boolean {
    let holds = this.#and();
    while (this.#accepts('OR')) holds = this.#and() || holds;
    return holds;
  }

  #and(): boolean {
    let holds = this.#not();
    while (this.#accepts('AND')) holds = this.#not() && holds;
    return holds;
  }

  #not(): boolean {
    if (this.#accepts('NOT')) return !this.#not();
    if (!this.#accepts('(')) return this.#comparison();
    const holds = this.#or();
    this.#next();
    return holds;
  }

  #comparison(): boolean {
    if (this.#accepts('attribute_exists')) return this.#arguments()[0] !== undefined;
    if (this.#accepts('attribute_not_exists')) return this.#arguments()[0] === undefined;
    if (this.#accepts('contains')) {
      const [list, value] = this.#arguments();
      return Array.isArray(list) && list.includes(value);
    }
    const left = this.#operand();
    const operator = this.#next();
    if (operator === 'IN') return this.#arguments().includes(left);
    const right = this.#operand();
    if (operator === '<>') return left !== right;
    if (left === undefined || typeof left !== typeof right) return false;
    const [a, b] = [left as number, right as number];
    if (operator === '=') return a === b;
    return { '<': a < b, '>': a > b, '<=': a <= b, '>=': a >= b }[operator ?? ''] ?? false;
  }

  #arguments(): unknown[] {
    this.#next();
    const values: unknown[] = [];
    do values.push(this.#operand());
    while (this.#accepts(','));
    this.#next();
    return values;
  }

  #operand(): unknown {
    const token = this.#next() ?? '';
    if (token === 'size') return (this.#arguments()[0] as unknown[] | undefined)?.length;
    if (token === 'list_append') return this.#arguments().flat();
    if (token.startsWith(':')) return this.#expression.values?.[token];
    return this.#path(token).reduce<unknown>((at, one) => (at as Item | undefined)?.[one], this.#item);
  }

  #assigned(): unknown {
    this.#next();
    const value = this.#operand();
    const sign = { '+': 1, '-': -1 }[this.#tokens[0] ?? ''];
    if (sign === undefined) return value;
    this.#next();
    const sum = Number(value) + sign * Number(this.#operand());
    if (Number.isNaN(sum)) throw new AwsFailure('ValidationException');
    return sum;
  }
}
