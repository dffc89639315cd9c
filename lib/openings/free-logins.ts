import { PlatformFailure } from '../platform/platform.ts';

/** The number of logins of the first read, one of which is nearly always free, and the most of a later one. */
const FIRST_LOGINS = 20;
const MAX_LOGINS = 1_000;
/** The number of logins that are read in one call. */
const BATCH = 100;

/** The reads of a search, and the time that it has. */
interface SearchReads {
  /** The operations that hold these logins, by login. */
  holders(logins: readonly number[]): Promise<ReadonlyMap<number, string>>;
  /** Whether there is time to read more. */
  mayRead(): boolean;
}

/**
 * The logins that an operation may ask for, in its order, without those that other operations hold. Its own reservation
 * is one of them. The first login is nearly always free in a range of which less than half is used: it is not read, because
 * the write that reserves it finds out. The iteration ends when no login is left.
 * @throws PlatformFailure `platform_unavailable` if the time is up before
 */
export async function* freeLogins(
  logins: Iterator<number, unknown>,
  operationId: string,
  { holders, mayRead }: SearchReads,
): AsyncGenerator<number, void> {
  const { value: first, done } = logins.next();
  if (done === true) return;
  yield first;
  for (let size = FIRST_LOGINS; ; size = Math.min(10 * size, MAX_LOGINS)) {
    if (!mayRead())
      throw new PlatformFailure('platform_unavailable', { reason: 'no_time_for_next_login', proof: 'unsent' });
    const drawn = draw(logins, size);
    if (drawn.length === 0) return;
    const batches = Array.from({ length: Math.ceil(drawn.length / BATCH) }, (_, index) =>
      holders(drawn.slice(index * BATCH, (index + 1) * BATCH)),
    );
    const holding = new Map((await Promise.all(batches)).flatMap((batch) => [...batch]));
    for (const login of drawn) {
      const holder = holding.get(login);
      if (holder === undefined || holder === operationId) yield login;
    }
  }
}

function draw(logins: Iterator<number, unknown>, size: number): number[] {
  const drawn: number[] = [];
  while (drawn.length < size) {
    const { value, done } = logins.next();
    if (done === true) break;
    drawn.push(value);
  }
  return drawn;
}
