/** Parses the body, and nothing else: the minimum cost of a refusal. */
export const handler = async ({ body }: { body: string }) => {
  try {
    JSON.parse(body);
  } catch {
    // An invalid body is parsed up to its error.
  }
  return { statusCode: 204 };
};
