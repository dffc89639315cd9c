import { startService } from '../../infra/local/service.ts';

/**
 * The local service in a process of its own, with its log on the standard output. The argument has its environment. The
 * message `tick` calls the functions of the clock while the database is down.
 */
const service = await startService({ environment: JSON.parse(process.argv[2] ?? '{}'), quiet: false });

process.on('message', async () => {
  service.faults('dynamodb').set({ kind: 'refused', times: 100 });
  await service.tick().catch(() => {});
  service.faults('dynamodb').clear();
});
process.on('disconnect', () => process.exit());
process.send?.(service.url);
