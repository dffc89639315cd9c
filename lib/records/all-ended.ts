/** Like `Promise.all`, but fails only when all have ended: nothing goes on after an answer. */
export async function allEnded<const T extends readonly unknown[]>(
  work: T,
): Promise<{ -readonly [I in keyof T]: Awaited<T[I]> }> {
  await Promise.allSettled(work);
  return Promise.all(work);
}
