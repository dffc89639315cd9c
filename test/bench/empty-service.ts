import { startService } from '../../infra/local/service.ts';

/** The local service with functions that do nothing: what gateway, HTTP and the load generator cost by themselves. */
const { url } = await startService({ load: async () => async () => ({ statusCode: 204 }) });
process.on('SIGTERM', () => process.exit(0));
process.stdout.write(`ready ${url}\n`);
