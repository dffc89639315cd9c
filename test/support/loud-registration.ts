import { registrationWorld } from './registration-world.ts';

/**
 * The local service in a process of its own, logging all that it ever would, so that a test can read every byte of it.
 * Its limits are wide, but for the recipient's. Its calls are traced as this process's environment says.
 */
const { AWS_XRAY_DAEMON_ADDRESS = '', _X_AMZN_TRACE_ID = '' } = process.env;
const limits = { sourcePer10Minutes: 100, sourcePerHour: 100, prefixPerHour: 100 };
const { service } = await registrationWorld({
  quiet: false,
  environment: {
    POWERTOOLS_LOG_LEVEL: 'DEBUG',
    LIMITS: JSON.stringify(limits),
    AWS_XRAY_DAEMON_ADDRESS,
    _X_AMZN_TRACE_ID,
  },
});
process.stdout.write(`ready ${service.url}\n`);
