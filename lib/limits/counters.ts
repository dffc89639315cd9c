import { isIPv6 } from 'node:net';
import { once } from '../once.ts';
import { foldedEmail } from '../validators/email.ts';
import type { LimitedCounter } from '../validators/limits.ts';
import type { PhoneChannel } from '../validators/otp-types.ts';
import type { Recipient, RegistrationRequest } from '../validators/registration.ts';

/** The parts of a registration request that the limits may count. */
export interface LimitedRequest {
  source: string;
  userAgent?: string | undefined;
  body: RegistrationRequest;
}

/** The steps at which counters count, each with the data that is known then. */
interface CountedSteps {
  /** A request has arrived. Its counts stay once it has called another service. */
  request: LimitedRequest;
  /** A form id or a referral code is unknown. */
  wrong_id: LimitedRequest;
  /** A message will be sent. Counters of this step belong to its recipient alone. */
  recipient: LimitedRequest;
  /** A message will be sent. Counters of this step are shared by recipients. */
  message: LimitedRequest;
  /** A request repeats a key, which is given with its scope. */
  replay: { key: readonly string[] };
  /** A code is entered. */
  confirmation: { source: string };
}
export type CountedStep = keyof CountedSteps;
export type Counted<S extends CountedStep> = CountedSteps[S];

/** What a counter counts for. `wrong_network`: different sources of one /48 that guess ids. */
export type CounterKind = LimitedCounter | 'wrong_network';

/** A counter that counts at one step. */
export interface CounterAt<S extends CountedStep> {
  step: S;
  /** The value whose requests are counted together. Undefined: the counter does not count this request. */
  value(counted: Counted<S>): string | undefined | Promise<string | undefined>;
  /** If present, the counter counts different members instead of requests. */
  member?(counted: Counted<S>): string | undefined;
}

/** Counters of a source and of its network. */
function sourceCounters<S extends 'request' | 'wrong_id' | 'confirmation'>(
  step: S,
): [source: CounterAt<S>, network: CounterAt<S>] {
  const network = ({ source }: Counted<S>) => countedSource(source).network;
  return [
    { step, value: ({ source }: Counted<S>) => countedSource(source).name },
    { step, value: (counted) => network(counted)?.name, member: (counted) => network(counted)?.member },
  ];
}

/** A counter of messages to phones, for a value that recipients share. */
function phoneCounter(
  value: (recipient: Extract<Recipient, { channel: PhoneChannel }>) => string,
): CounterAt<'message'> {
  return {
    step: 'message',
    value: ({ body: { recipient } }) => (recipient.channel === 'email' ? undefined : value(recipient)),
  };
}

const [source, network] = sourceCounters('request');
const [wrong, wrong_network] = sourceCounters('wrong_id');
const [confirmation, confirmation_network] = sourceCounters('confirmation');

/** Every counter: its step, and the value that it counts by. Counters of one step count in this order. */
export const COUNTERS: Readonly<Record<CounterKind, { [S in CountedStep]: CounterAt<S> }[CountedStep]>> = {
  source,
  network,
  wrong,
  wrong_network,
  recipient: { step: 'recipient', value: ({ body }) => `${body.recipient.channel}\n${countedAddress(body.recipient)}` },
  prefix: phoneCounter(({ key }) => key.slice(0, -4)),
  country: phoneCounter(({ channel, country }) => `${channel}\n${country}`),
  channel: phoneCounter(({ channel }) => channel),
  domain: {
    step: 'message',
    value({ body: { recipient } }) {
      if (recipient.channel !== 'email') return undefined;
      const address = countedAddress(recipient);
      return countedDomain(address.slice(address.lastIndexOf('@') + 1));
    },
  },
  replay: { step: 'replay', value: ({ key }) => JSON.stringify(key) },
  confirmation,
  confirmation_network,
};

/** One spelling for all email addresses of a mailbox; a phone number as it is. */
function countedAddress({ channel, key }: Recipient): string {
  return channel === 'email' ? foldedEmail(key) : key;
}

/** A source as the limits count it, and its network, if it has one. */
interface CountedSource {
  name: string;
  network?: { name: string; member: string };
}

/**
 * The IPv6 networks whose addresses hold an IPv4 address, by their first hexadecimal digits, and the position of that
 * address: IPv4-mapped (RFC 4291), NAT64 (RFC 6052), 6to4 (RFC 3056), and Teredo (RFC 4380), which inverts the
 * client's.
 */
const IPV4_HOLDERS: readonly { prefix: string; at: number; inverted?: true }[] = [
  { prefix: '00000000000000000000ffff', at: 24 },
  { prefix: '0064ff9b0000000000000000', at: 24 },
  { prefix: '2002', at: 4 },
  { prefix: '20010000', at: 24, inverted: true },
];

/**
 * The source that the limits count: an IPv4 address, also one that an IPv6 address holds, or the /64 of an IPv6 address.
 * That is the smallest network of a provider's customer. A customer may have the whole /48 (`network`), with 65,536 of them.
 * @param address without a port
 */
export function countedSource(address: string): CountedSource {
  const plain = address.trim().replace(/%.*$/, '');
  if (!isIPv6(plain)) return { name: plain };
  // A URL writes the whole address in hexadecimal; every group then gets its four digits.
  const digits = (half: string) => half.replace(/\w+/g, (group) => group.padStart(4, '0')).replaceAll(':', '');
  const [head = '', tail = ''] = new URL(`http://[${plain}]`).hostname.slice(1, -1).split('::').map(digits);
  const hex = head + tail.padStart(32 - head.length, '0');
  const holder = IPV4_HOLDERS.find(({ prefix }) => hex.startsWith(prefix));
  if (holder !== undefined) {
    const held = Buffer.from(hex.slice(holder.at, holder.at + 8), 'hex');
    return { name: held.map((byte) => (holder.inverted ? 255 - byte : byte)).join('.') };
  }
  const network = { name: `${hex.slice(0, 12)}/48`, member: hex.slice(12, 16) };
  return { name: `${hex.slice(0, 16)}/64`, network };
}

/**
 * The mail providers with millions of people, by their public figures, who have nothing in common but the provider. A
 * domain that is missing is counted like that of a company; a throw-away domain here would never be counted. So only
 * domains that the provider itself gives to everybody, or to all customers of a network, are listed.
 */
const PROVIDERS: ReadonlySet<string> = new Set(
  `gmail.com googlemail.com
  outlook.com outlook.fr outlook.de outlook.es outlook.it outlook.jp outlook.com.br hotmail.com hotmail.co.uk hotmail.fr
  hotmail.de hotmail.es hotmail.it hotmail.co.jp live.com live.co.uk live.fr live.nl live.de live.it live.com.mx msn.com
  yahoo.com yahoo.co.uk yahoo.fr yahoo.de yahoo.es yahoo.it yahoo.ca yahoo.in yahoo.co.in yahoo.co.id yahoo.co.jp
  yahoo.com.ar yahoo.com.au yahoo.com.br yahoo.com.hk yahoo.com.mx yahoo.com.ph yahoo.com.sg yahoo.com.tr yahoo.com.tw
  yahoo.com.vn ymail.com rocketmail.com aol.com aim.com icloud.com me.com mac.com
  proton.me protonmail.com pm.me tutanota.com tuta.com fastmail.com zoho.com zohomail.com mail.com
  gmx.com gmx.net gmx.de gmx.at gmx.ch web.de t-online.de freenet.de arcor.de 1und1.de bluewin.ch
  orange.fr wanadoo.fr free.fr sfr.fr neuf.fr laposte.net bbox.fr
  libero.it virgilio.it alice.it tin.it tiscali.it tim.it
  btinternet.com sky.com virginmedia.com talktalk.net ntlworld.com
  ziggo.nl kpnmail.nl planet.nl hetnet.nl home.nl telenet.be skynet.be proximus.be
  telefonica.net terra.es sapo.pt otenet.gr
  wp.pl o2.pl onet.pl op.pl interia.pl seznam.cz email.cz centrum.cz azet.sk freemail.hu citromail.hu abv.bg mail.bg
  ukr.net i.ua mail.ru bk.ru inbox.ru list.ru internet.ru yandex.ru yandex.com ya.ru rambler.ru inbox.lv
  uol.com.br bol.com.br terra.com.br ig.com.br globo.com globomail.com prodigy.net.mx
  comcast.net verizon.net att.net sbcglobal.net bellsouth.net cox.net charter.net earthlink.net optonline.net
  rogers.com shaw.ca sympatico.ca bell.net telus.net bigpond.com optusnet.com.au xtra.co.nz
  qq.com foxmail.com 163.com 126.com yeah.net sina.com sina.cn sohu.com 139.com 189.cn aliyun.com
  naver.com daum.net hanmail.net kakao.com nate.com docomo.ne.jp ezweb.ne.jp au.com softbank.ne.jp nifty.com
  rediffmail.com mynet.com`.split(/\s+/),
);

/** The list of public suffixes. Loaded on first use: most addresses are at public providers. */
const suffixes = once(() => import('tldts-icann'));

/**
 * The domain that the mails of an address count for: the registrable one, so `a.acme.co.uk` and `b.acme.co.uk` are one.
 * Undefined at a large mail provider.
 * @param domain in lower case and punycode
 */
export async function countedDomain(domain: string): Promise<string | undefined> {
  if (PROVIDERS.has(domain)) return undefined;
  // A domain with one dot is registrable, or is a suffix such as co.uk. Both count for themselves.
  if (/^[^.]+\.[^.]+$/.test(domain)) return domain;
  const { getDomain } = await suffixes();
  return getDomain(domain) ?? domain;
}
