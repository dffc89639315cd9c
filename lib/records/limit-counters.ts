import { createHmac } from 'node:crypto';
import type { Pepper } from '../secrets/pepper.ts';
import type { Limits } from '../validators/deployment.ts';
import { foldedEmail } from '../validators/email.ts';
import type { Recipient } from '../validators/registration.ts';
import type { Counter } from './counters.ts';
import { isPublicProvider } from './mail-domains.ts';
import { atMost, growingPause, type SlidingWindow, slidingWindow } from './sliding-window.ts';
import type { Source } from './source.ts';

type Kind = 'source' | 'wrong' | 'recipient' | 'prefix' | 'country' | 'domain';

/** The counters of a message: the recipient's, and those that the recipient shares with others. */
export interface MessageCounters {
  recipient: Counter;
  shared: readonly Counter[];
}

/** The counters that a deployment's limits are kept with, each named by an HMAC: the table holds no address. */
export interface LimitCounters {
  /** Of all requests of a source, and of those with wrong ids. */
  ofSource(source: Source): { own: Counter; wrong: Counter };
  ofMessage(recipient: Recipient): Promise<MessageCounters>;
  /** The name of an item. */
  nameOf(kind: string, value: string): string;
}

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

/** @throws RangeError when a limit is more than can be counted */
export function limitCounters(limits: Limits): (pepper: Pepper) => LimitCounters {
  const windows = windowsOf(limits);
  return (pepper) => {
    const secretName = (kind: string, value: string) =>
      createHmac('sha256', pepper.keys[0]).update(`limit\n${kind}\n${value}`).digest('base64url');
    const nameOf = (kind: string, value: string) => `${kind}#${secretName(kind, value)}`;
    const counter = (kind: Kind, value: string): Counter => ({ pk: nameOf(kind, value), window: windows[kind] });
    return {
      nameOf,
      ofSource(source) {
        const name = secretName('source', source.name);
        return {
          own: { pk: `source#${name}`, window: windows.source },
          wrong: { pk: `wrong#${name}`, window: windows.wrong },
        };
      },
      async ofMessage(recipient) {
        const { channel, key } = recipient;
        if (channel !== 'email') {
          return {
            recipient: counter('recipient', `${channel}\n${key}`),
            shared: [counter('prefix', key.slice(0, -4)), counter('country', `${channel}\n${recipient.country}`)],
          };
        }
        const address = foldedEmail(key);
        const domain = address.slice(address.lastIndexOf('@') + 1);
        return {
          recipient: counter('recipient', `${channel}\n${address}`),
          shared: (await isPublicProvider(domain)) ? [] : [counter('domain', domain)],
        };
      },
    };
  };
}

function windowsOf(limits: Limits): Record<Kind, SlidingWindow> {
  return {
    source: slidingWindow([atMost(limits.sourcePer10Minutes, 10 * MINUTE_MS), atMost(limits.sourcePerHour, HOUR_MS)]),
    wrong: slidingWindow([atMost(limits.wrongIdsPer10Minutes, 10 * MINUTE_MS)]),
    recipient: slidingWindow([
      ...growingPause(limits.resendSeconds),
      atMost(limits.recipientPerHour, HOUR_MS),
      atMost(limits.recipientPerDay, DAY_MS),
    ]),
    prefix: slidingWindow([atMost(limits.prefixPerHour, HOUR_MS)]),
    country: slidingWindow([atMost(limits.countryPerHour, HOUR_MS)]),
    domain: slidingWindow([atMost(limits.mailDomainPerHour, HOUR_MS)]),
  };
}
