/** Parses the body, and nothing else: what every refusal costs at least. */
export const handler = async ({ body }: { body: string }) => {
  try {
    JSON.parse(body);
  } catch {
    // A body that is no JSON is parsed as far as it goes.
  }
  return { statusCode: 204 };
};
