import middy from '@middy/core';
import httpJsonBodyParser from '@middy/http-json-body-parser';

/** A route that parses its body and answers: the cost of the chain's packages. */
export const handler = middy()
  .use(httpJsonBodyParser())
  .handler(async () => ({ statusCode: 204 }));
