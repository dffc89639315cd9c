import { createHash, timingSafeEqual } from 'node:crypto';
import { isIP, isIPv6 } from 'node:net';
import * as v from 'valibot';
import type { FrontSettings } from '../config/registration-settings.ts';
import { Problem } from '../problem.ts';
import type { EventName } from '../telemetry.ts';

interface SentFrom {
  /** The address that called the gateway. */
  sourceIp: string;
  /** The headers, by their names in lower case. */
  headers: Readonly<Record<string, string | undefined>>;
}

/** The proxy in front of a deployment. */
export interface Front {
  /** @throws Problem `front_required` if every request must come through the front, and this one did not */
  admit(request: SentFrom, signal: AbortSignal): Promise<void>;
  /**
   * The address of the person who sends a request, without a port.
   * @param report gets why the front's own address counts, so that all people behind it would be one source
   */
  readSource(request: SentFrom, signal: AbortSignal, report: (event: FrontEvent) => void): Promise<string>;
}

/**
 * The event of a front whose secret is wrong, or of one whose secret is right but whose header holds no single address.
 */
type FrontEvent = Extract<EventName, 'FrontRefused' | 'FrontUnreadable'>;

/**
 * Two valid values for rotation: the new one becomes `current`, then the front sends it, then `previous` is removed.
 */
const FrontSecretSchema = v.pipe(
  v.string(),
  v.parseJson(),
  v.object({ current: v.pipe(v.string(), v.minLength(16)), previous: v.optional(v.string()) }),
);

const seenByGateway = ({ sourceIp }: SentFrom) => stripPort(sourceIp) ?? sourceIp;

/** No proxy: the address that the gateway saw counts. */
export const NO_FRONT: Front = {
  admit: async () => {},
  readSource: async (request) => seenByGateway(request),
};

/**
 * The front names the person's address in a header. The header counts only together with the front's secret. If the
 * secret is wrong, or the header does not hold a single address, the address that the gateway saw counts. Then `report`
 * gets the event, because all people would be one source.
 */
export function createFront(
  settings: FrontSettings | undefined,
  readSecret: (name: string, signal: AbortSignal) => Promise<string>,
): Front {
  if (settings === undefined) return NO_FRONT;
  const { header, secret, only } = settings;

  /** Whether a request proves that it came through the front; undefined if it holds no proof. */
  async function isThroughFront({ headers }: SentFrom, signal: AbortSignal): Promise<boolean | undefined> {
    const proof = headers['x-front-secret'];
    if (proof === undefined) return undefined;
    return matchesAny(proof, parseFrontSecret(await readSecret(secret, signal)));
  }

  return {
    async admit(request, signal) {
      if (only && !(await isThroughFront(request, signal))) throw new Problem('front_required');
    },
    async readSource(request, signal, report) {
      const isProven = await isThroughFront(request, signal);
      if (isProven === false) report('FrontRefused');
      if (!isProven) return seenByGateway(request);
      const address = parseFrontAddress(request.headers[header] ?? '', header);
      if (address === undefined) report('FrontUnreadable');
      return address ?? seenByGateway(request);
    },
  };
}

/** @throws Error whose message holds nothing of the value */
export function parseFrontSecret(text: string): string[] {
  const parsed = v.safeParse(FrontSecretSchema, text);
  if (!parsed.success) throw new Error('The secret of the front must be {"current": "…", "previous": "…"}.');
  const { current, previous } = parsed.output;
  return previous ? [current, previous] : [current];
}

/** Takes equally long for every value: hashes have the same length, and all are compared. */
function matchesAny(proof: string, secrets: readonly string[]): boolean {
  const hash = (text: string) => createHash('sha256').update(text).digest();
  return secrets.filter((secret) => timingSafeEqual(hash(secret), hash(proof))).length > 0;
}

/** The address of `203.0.113.9:41234`, `[2001:db8::1]:443` or `2001:db8:0:0:0:0:0:1:443`. */
export function stripPort(text: string): string | undefined {
  const address = text.trim();
  if (isIP(address) !== 0) return address;
  const host = hostPart(address);
  return isIP(host) === 0 ? undefined : host;
}

/** CloudFront always writes a port. */
const ALWAYS_WITH_PORT = 'cloudfront-viewer-address';

/**
 * The address that a front names. A port after a shortened IPv6 address looks like its last group: `2001:db8::1:443`.
 * It counts as a port if the header always has one, or if it would move the address to another /64: a source must not
 * change with its port.
 */
function parseFrontAddress(text: string, header: string): string | undefined {
  const address = text.trim();
  const host = hostPart(address);
  const isPort = isIPv6(address) && isIPv6(host) && (header === ALWAYS_WITH_PORT || movesNetwork(address));
  return isPort ? host : stripPort(address);
}

function hostPart(address: string): string {
  return /^\[?([^[\]]*?)\]?(?::\d{1,5})?$/.exec(address)?.[1] ?? '';
}

/** Whether the last group of an address changes its first four: if five or more groups follow the `::`. */
function movesNetwork(address: string): boolean {
  const [, tail = ''] = address.split('::');
  return tail.split(':').length > 4;
}
