/** What AWS calls a thing that is not there. */
const ABSENT = /NotFound|NoSuch/;

/** A look at something that may not be there. */
export async function orAbsent<T>(work: Promise<T>): Promise<T | undefined> {
  try {
    return await work;
  } catch (error) {
    // CloudFormation has no name of its own for it.
    const absent = error instanceof Error && (ABSENT.test(error.name) || /does not exist/.test(error.message));
    if (absent) return undefined;
    throw error;
  }
}
