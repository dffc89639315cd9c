/** @returns a function whose first call runs `make`; all calls get its promise. A repeated `import()` costs about 20 µs. */
export function once<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | undefined;
  return () => {
    made ??= make();
    return made;
  };
}
