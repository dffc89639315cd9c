import type { Channel } from '../../lib/validators/otp-types.ts';
import { CHANNELS, PHONE_CHANNEL_ROWS } from '../channels.ts';
import { type Settings, sendsThroughAws } from '../settings.ts';
import { type DoctorCheck, makeCheck, warningOutcome, workingOutcome } from './checks.ts';
import type { AwsProbes } from './probes.ts';

/** A quota that bounds the registrations by one channel. */
interface Quota {
  of: string;
  perSecond: number;
  /** How to raise the quota. */
  raise: string;
}

/**
 * The registrations that one execution of the function accepts in a second: each takes 0.25 s, with its password hash.
 */
const PER_EXECUTION = 4;

/** The smallest quota on the way of a registration, for each channel, and how to raise it. */
export function throughputChecks(settings: Settings): DoctorCheck[] {
  return settings.channels.map((channel) =>
    makeCheck('code', `pace of ${channel}`, async (probes) => {
      const [gateway, ...behind] = await quotas(settings, channel, probes);
      const [smallest = gateway, ...others] = [gateway, ...behind].toSorted((a, b) => a.perSecond - b.perSecond);
      const larger = others.map(({ of, perSecond }) => `${of} ${perSecond}`).join(', ');
      const detail = `${smallest.perSecond} registrations a second: ${smallest.of} (${larger})${ownLimits(settings, channel)}`;
      if (smallest === gateway) return workingOutcome(`${detail}; to raise it: ${gateway.raise}`);
      const lower = `npm run setting -- throttle.registrationPerSecond=${smallest.perSecond}`;
      return warningOutcome(`${detail}; the rest fails`, `${smallest.raise}, or ${lower}`);
    }),
  );
}

async function quotas(settings: Settings, channel: Channel, probes: AwsProbes): Promise<[Quota, ...Quota[]]> {
  const { throttle, concurrency } = settings;
  const reserved = concurrency.registration;
  const executions = reserved ?? (await probes.concurrentExecutions()) - (concurrency.accounts ?? 0) * 2;
  return [
    {
      of: 'the throttle of the gateway',
      perSecond: throttle.registrationPerSecond,
      raise: `npm run setting -- throttle.registrationPerSecond=…`,
    },
    {
      of: 'executions of the function',
      perSecond: executions * PER_EXECUTION,
      raise:
        reserved === undefined
          ? 'ask for more: Service Quotas, AWS Lambda, Concurrent executions'
          : 'npm run setting -- concurrency.registration=…',
    },
    ...(sendsThroughAws(settings, channel) ? [await senderQuota(channel, probes)] : []),
  ];
}

async function senderQuota(channel: Channel, probes: AwsProbes): Promise<Quota> {
  const { service } = CHANNELS[channel];
  const perSecond =
    channel === 'email' ? (await probes.mailAccount()).perSecond : PHONE_CHANNEL_ROWS[channel].messagesPerSecond;
  const quota = channel === 'email' ? ', Sending rate' : '';
  return { of: service, perSecond, raise: `ask for more: Service Quotas, ${service}${quota}` };
}

/** The service's own limits of a phone channel. A campaign reaches them first. */
function ownLimits({ limits }: Settings, channel: Channel): string {
  if (channel === 'email') return '';
  const named = [
    ['a day', 'channelPerDay'],
    ['an hour to one country', 'countryPerHour'],
  ] as const;
  const parts = named.flatMap(([time, name]) =>
    limits[name] === 'none' ? [] : [`; ${limits[name]} ${time}: limits.${name}`],
  );
  return parts.join('');
}
