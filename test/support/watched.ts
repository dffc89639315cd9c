/** A value that counts how often it is read: a member, the test for a member, or the list of all names. */
export function countReads<T extends object>(value: T): { value: T; looks(): number } {
  let looks = 0;
  const count = <R>(result: R): R => {
    looks += 1;
    return result;
  };
  const wrap = <V>(inner: V): V => {
    if (typeof inner !== 'object' || inner === null) return inner;
    return new Proxy(inner, {
      get: (target, key) => count(wrap(Reflect.get(target, key))),
      has: (target, key) => count(Reflect.has(target, key)),
      ownKeys: (target) => count(Reflect.ownKeys(target)),
      getOwnPropertyDescriptor: (target, key) => count(Reflect.getOwnPropertyDescriptor(target, key)),
    });
  };
  return { value: wrap(value), looks: () => looks };
}

/**
 * A record that notes its members when they are read by name. A copy of all members, such as a spread or a serialization,
 * shows no use of any of them, and is not noted.
 */
export function noteReads<T extends object>(record: T, read: Set<string>): T {
  const copied = new Set<PropertyKey>();
  return new Proxy(record, {
    // A copy asks for the descriptor of a member first.
    getOwnPropertyDescriptor(target, name) {
      copied.add(name);
      return Reflect.getOwnPropertyDescriptor(target, name);
    },
    get(target, name) {
      if (!copied.delete(name)) read.add(String(name));
      return Reflect.get(target, name);
    },
  });
}
