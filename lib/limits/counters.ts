import { isIPv6 } from 'node:net';
import type { LimitedCounter } from '../config/limits.ts';
import { foldedEmail } from '../validators/email.ts';
import type { PhoneChannel } from '../validators/otp-types.ts';
import type { Recipient } from '../validators/registration.ts';

/** The parts of a registration request that the limits count by. */
export interface LimitedRequest {
  source: string;
  recipient: Recipient;
}

/**
 * When a counter counts: a request arrives; a message will leave, which belongs to its recipient alone; a message will
 * leave, which shares something with those to other recipients.
 */
export type CountedStep = 'request' | 'recipient' | 'message';

interface CounterRow {
  step: CountedStep;
  /** The value whose requests are counted together. Undefined: the counter does not count this request. */
  value(request: LimitedRequest): string | undefined;
}

/** A counter of messages to phones. */
function phoneCounter(value: (recipient: Extract<Recipient, { channel: PhoneChannel }>) => string): CounterRow {
  return {
    step: 'message',
    value: ({ recipient }) => (recipient.channel === 'email' ? undefined : value(recipient)),
  };
}

/** Every counter: its step, and the value that it counts by. Counters of one step count in this order. */
export const COUNTERS: Readonly<Record<LimitedCounter, CounterRow>> = {
  source: { step: 'request', value: ({ source }) => countedSource(source) },
  network: { step: 'request', value: ({ source }) => countedNetwork(source) },
  recipient: { step: 'recipient', value: ({ recipient }) => `${recipient.channel}\n${countedAddress(recipient)}` },
  sender: { step: 'message', value: ({ source }) => countedSource(source) },
  prefix: phoneCounter(({ key }) => key.slice(0, -4)),
  country: phoneCounter(({ channel, country }) => `${channel}\n${country}`),
  channel: phoneCounter(({ channel }) => channel),
};

/** One spelling for all email addresses of a mailbox; a phone number as it is. */
function countedAddress({ channel, key }: Recipient): string {
  return channel === 'email' ? foldedEmail(key) : key;
}

/**
 * The source that the limits count: an IPv4 address, or the /64 of an IPv6 address, which is the smallest network of a
 * provider's customer.
 * @param address without a port
 */
export function countedSource(address: string): string {
  const plain = plainAddress(address);
  return isIPv6(plain) ? `${hexadecimal(plain).slice(0, 16)}/64` : plain;
}

/** The /48 of an IPv6 address, all of which one customer may have; undefined for an IPv4 address. */
export function countedNetwork(address: string): string | undefined {
  const plain = plainAddress(address);
  return isIPv6(plain) ? `${hexadecimal(plain).slice(0, 12)}/48` : undefined;
}

/** An address without a zone; the IPv4 address that an IPv4-mapped one holds (RFC 4291). */
function plainAddress(address: string): string {
  const plain = address.trim().replace(/%.*$/, '');
  if (!isIPv6(plain)) return plain;
  const digits = hexadecimal(plain);
  if (!digits.startsWith('00000000000000000000ffff')) return plain;
  return Buffer.from(digits.slice(24), 'hex').join('.');
}

/** The 32 hexadecimal digits of an IPv6 address. */
function hexadecimal(address: string): string {
  // A URL writes the whole address in hexadecimal; every group then gets its four digits.
  const digits = (half: string) => half.replace(/\w+/g, (group) => group.padStart(4, '0')).replaceAll(':', '');
  const [head = '', tail = ''] = new URL(`http://[${address}]`).hostname.slice(1, -1).split('::').map(digits);
  return head + tail.padStart(32 - head.length, '0');
}
