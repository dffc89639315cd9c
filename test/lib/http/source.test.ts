import { describe, expect, it } from 'vitest';
import type { FrontSettings } from '../../../lib/config/registration-settings.ts';
import { createFront } from '../../../lib/http/source.ts';
import { countedSource } from '../../../lib/limits/counters.ts';
import { NEVER_ABORTED } from '../../support/outcomes.ts';

const SECRET = 'the-first-secret-of-the-front';
const OLD = 'the-secret-that-was-in-use-before';
const FRONT: FrontSettings = { header: 'x-forwarded-client-ip', secret: 'front', only: false };

/** The source of a request that came from 192.0.2.1 with these headers. */
async function sourceOf(
  headers: Record<string, string>,
  { front = FRONT as FrontSettings | undefined, secret = JSON.stringify({ current: SECRET, previous: OLD }) } = {},
): Promise<string> {
  return (await readSource(headers, { front, secret })).source;
}

/** The source, and what was reported about the front. */
async function readSource(
  headers: Record<string, string>,
  { front = FRONT as FrontSettings | undefined, secret = JSON.stringify({ current: SECRET, previous: OLD }) } = {},
) {
  const reported: string[] = [];
  const read = async (name: string) => (name === 'front' ? secret : '');
  const source = await createFront(front, read).readSource(
    { sourceIp: '192.0.2.1', headers },
    NEVER_ABORTED,
    (event) => {
      reported.push(event);
    },
  );
  return { source, reported };
}

const named = (address: string, proof: string = SECRET) =>
  sourceOf({ 'x-forwarded-client-ip': address, 'x-front-secret': proof });

describe('The source of a request', () => {
  it('is the address that the gateway saw', async () => {
    expect(await sourceOf({}, { front: undefined })).toBe('192.0.2.1');
    expect(await sourceOf({})).toBe('192.0.2.1');
  });

  it.each([
    ['203.0.113.9', '203.0.113.9'],
    ['203.0.113.9:41234', '203.0.113.9'],
    ['2001:db8::1', '2001:db8::1'],
    ['[2001:db8::1]', '2001:db8::1'],
    ['[2001:db8::1]:443', '2001:db8::1'],
    ['2001:db8:0:0:0:0:0:1:443', '2001:db8:0:0:0:0:0:1'],
    [' 203.0.113.9 ', '203.0.113.9'],
  ])('is the address that the front names, without a port: %s', async (header, address) => {
    expect(await named(header)).toBe(address);
    const none = createFront(undefined, async () => '');
    expect(await none.readSource({ sourceIp: header, headers: {} }, NEVER_ABORTED, () => expect.unreachable())).toBe(
      address,
    );
  });

  it.each([
    '2001:db8::1',
    '2001:db8::',
    '2001:db8:1:2::7',
    '2001:db8:1:2:3:4:5:6',
    '2001::a:b:c:d',
    '::ffff:203.0.113.9',
  ])('is the same for any port after the address %s', async (address) => {
    const counted = new Set<string>();
    for (const port of [1, 80, 443, 1_024, 4_711, 9_999, 10_000, 65_535]) {
      counted.add(countedSource(await named(`${address}:${port}`)));
    }
    expect([...counted]).toEqual([countedSource(address)]);
  });

  it('is the address without its port, if CloudFront names it, which always writes a port', async () => {
    const front = { ...FRONT, header: 'cloudfront-viewer-address' };
    const viewer = (address: string) =>
      sourceOf({ 'cloudfront-viewer-address': address, 'x-front-secret': SECRET }, { front });
    expect(await viewer('2001:db8::1:443')).toBe('2001:db8::1');
    expect(await viewer('2001:db8:0:0:0:0:0:1:443')).toBe('2001:db8:0:0:0:0:0:1');
    expect(await viewer('203.0.113.9:443')).toBe('203.0.113.9');
    expect(await named('2001:db8::1:443')).toBe('2001:db8::1:443');
  });

  it('is the front’s address with either of the two valid secrets, so that they can be rotated', async () => {
    expect(await named('203.0.113.9', SECRET)).toBe('203.0.113.9');
    expect(await named('203.0.113.9', OLD)).toBe('203.0.113.9');
    expect(
      await sourceOf(
        { 'x-forwarded-client-ip': '203.0.113.9', 'x-front-secret': SECRET },
        { secret: JSON.stringify({ current: SECRET }) },
      ),
    ).toBe('203.0.113.9');
  });

  it.each(['', 'wrong', SECRET.slice(0, -1), `${SECRET}x`, SECRET.toUpperCase(), `${SECRET},${SECRET}`])(
    'is the gateway’s address with the secret %j, and that is noticed',
    async (proof) => {
      const headers = { 'x-forwarded-client-ip': '203.0.113.9', 'x-front-secret': proof };
      expect(await readSource(headers)).toEqual({ source: '192.0.2.1', reported: ['FrontRefused'] });
    },
  );

  it('is never proved by an empty secret', async () => {
    const secret = JSON.stringify({ current: SECRET, previous: '' });
    const headers = { 'x-forwarded-client-ip': '203.0.113.9', 'x-front-secret': '' };
    expect(await sourceOf(headers, { secret })).toBe('192.0.2.1');
  });

  it('is the gateway’s address if the header comes without a secret, or the secret without a header', async () => {
    expect(await sourceOf({ 'x-forwarded-client-ip': '203.0.113.9' })).toBe('192.0.2.1');
    expect(await sourceOf({ 'x-front-secret': SECRET })).toBe('192.0.2.1');
  });

  it.each([
    ...[undefined, '', ' ', 'unknown', '203.0.113.9, 198.51.100.2', '203.0.113.9,203.0.113.9', '300.1.1.1', 'a:443'],
    ...[
      '203.0.113.9:40001, 10.0.0.6',
      '203.0.113.9 10.0.0.6',
      '203.0.113.0/24',
      '_gazonk',
      'for=203.0.113.9',
      '"203.0.113.9"',
    ],
  ])('is the gateway’s address if the front names no single address, and that is noticed: %j', async (address) => {
    const header = address === undefined ? {} : { 'x-forwarded-client-ip': address };
    expect(await readSource({ ...header, 'x-front-secret': SECRET })).toEqual({
      source: '192.0.2.1',
      reported: ['FrontUnreadable'],
    });
    expect(await readSource(header)).toEqual({ source: '192.0.2.1', reported: [] });
  });

  it('is an error if the secret of the front is malformed, and the error does not quote it', async () => {
    for (const secret of ['', SECRET, '{}', JSON.stringify({ current: 'short' })]) {
      const failed = sourceOf({ 'x-front-secret': SECRET }, { secret });
      await expect(failed).rejects.toThrow('The secret of the front must be {"current": "…", "previous": "…"}.');
    }
  });
});

describe('A deployment that takes requests through its front alone', () => {
  const admit = (headers: Record<string, string>, only = true) => {
    const front = createFront({ ...FRONT, only }, async () => JSON.stringify({ current: SECRET, previous: OLD }));
    return front.admit({ sourceIp: '192.0.2.1', headers }, NEVER_ABORTED);
  };

  it.each([SECRET, OLD])('admits a request with either of the two valid secrets', async (proof) => {
    await expect(admit({ 'x-front-secret': proof })).resolves.toBeUndefined();
  });

  it.each([{}, { 'x-front-secret': '' }, { 'x-front-secret': 'wrong' }])(
    'refuses a request with %j',
    async (headers) => {
      await expect(admit(headers)).rejects.toMatchObject({ type: 'front_required', status: 403 });
      await expect(admit(headers, false)).resolves.toBeUndefined();
    },
  );
});
