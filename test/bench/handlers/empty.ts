/** A function that does nothing: what Node itself costs. */
export async function handler(): Promise<{ statusCode: number }> {
  return { statusCode: 204 };
}
