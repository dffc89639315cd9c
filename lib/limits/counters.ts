import { keyedHash } from '../secrets/keyed-hash.ts';
import type { Pepper } from '../secrets/pepper.ts';
import type { Limits } from '../validators/deployment.ts';
import { foldedEmail } from '../validators/email.ts';
import type { Recipient } from '../validators/registration.ts';
import type { Counter, Window } from './counter.ts';
import { countedDomain } from './mail-domains.ts';
import { type CountedSource, countedSource } from './source.ts';

/** The counters of a deployment's limits. A disabled limit has none. */
export function limitCounters(limits: Limits) {
  const pauses = limits.resendSeconds === 'none' ? undefined : limits.resendSeconds;
  const isCountedToday = pauses !== undefined && limits.recipientPerDay === 'none';
  const windows = {
    source: enabledWindows({ ten_minutes: limits.sourcePer10Minutes, hour: limits.sourcePerHour }),
    network: enabledWindows({ hour: limits.networkSourcesPerHour }),
    wrong: enabledWindows({ ten_minutes: limits.wrongIdsPer10Minutes }),
    recipient: enabledWindows({ hour: limits.recipientPerHour, day: isCountedToday ? 1e9 : limits.recipientPerDay }),
    prefix: enabledWindows({ hour: limits.prefixPerHour }),
    country: enabledWindows({ hour: limits.countryPerHour }),
    channel: enabledWindows({ day: limits.channelPerDay }),
    domain: enabledWindows({ hour: limits.mailDomainPerHour }),
    replay: enabledWindows({ hour: limits.replaysPerHour }),
    confirmation: enabledWindows({ ten_minutes: limits.confirmationsPer10Minutes }),
    confirmation_network: enabledWindows({ hour: limits.confirmationNetworkSourcesPerHour }),
  };
  type Kind = keyof typeof windows;

  /** Named by a keyed hash: the table holds no address. When the pepper is rotated, all counts start again. */
  function counter(pepper: Pepper, kind: Kind, value: string, { pauses, member }: Partial<Counter> = {}): Counter[] {
    if (windows[kind].length === 0) return [];
    const name = keyedHash(pepper.current.hashKey, `${kind}\n${value}`);
    return [{ pk: `${kind}#${name}`, windows: windows[kind], pauses, member }];
  }

  /** The counters of an address and of its network. */
  function sourceCounters(pepper: Pepper, { name, network }: CountedSource, own: Kind, shared: Kind): Counter[] {
    return [...counter(pepper, own, name), ...(network ? counter(pepper, shared, network.name, network) : [])];
  }

  return {
    /** The counters of a person who registers, and of that person's wrong ids. */
    source(pepper: Pepper, address: string): Record<'source' | 'wrong', Counter[]> {
      const counted = countedSource(address);
      return {
        source: sourceCounters(pepper, counted, 'source', 'network'),
        wrong: counter(pepper, 'wrong', counted.name),
      };
    },
    confirmation: (pepper: Pepper, address: string) =>
      sourceCounters(pepper, countedSource(address), 'confirmation', 'confirmation_network'),
    replay: (pepper: Pepper, key: readonly string[]) => counter(pepper, 'replay', JSON.stringify(key)),
    /** The counters of a message's recipient, and those that recipients share. */
    async message(pepper: Pepper, to: Recipient): Promise<Record<'recipient' | 'shared', Counter[]>> {
      const address = to.channel === 'email' ? foldedEmail(to.key) : to.key;
      const recipient = counter(pepper, 'recipient', `${to.channel}\n${address}`, { pauses });
      if (to.channel === 'email') {
        const domain = await countedDomain(address.slice(address.lastIndexOf('@') + 1));
        return { recipient, shared: domain === undefined ? [] : counter(pepper, 'domain', domain) };
      }
      const country = counter(pepper, 'country', `${to.channel}\n${to.country}`);
      const prefix = counter(pepper, 'prefix', to.key.slice(0, -4));
      return { recipient, shared: [...prefix, ...country, ...counter(pepper, 'channel', to.channel)] };
    },
  };
}

function enabledWindows(max: Partial<Record<Window, number | 'none'>>): Counter['windows'] {
  return Object.entries(max).filter((one): one is [Window, number] => one[1] !== 'none');
}
