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
