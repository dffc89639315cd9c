import { registrationWorld } from './registration-world.ts';

/**
 * The local service in a process of its own, logging all that it ever would, so that a test can read every byte of it.
 * Its limits are wide, but for the recipient's.
 */
const limits = { sourcePer10Minutes: 100, sourcePerHour: 100, prefixPerHour: 100 };
const { service } = await registrationWorld({
  quiet: false,
  environment: {
    LOG_LEVEL: 'INFO',
    LIMITS: JSON.stringify(limits),
  },
});
process.stdout.write(`ready ${service.url}\n`);
