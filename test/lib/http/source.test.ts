import { describe, expect, it } from 'vitest';
import { sourceReader } from '../../../lib/http/source.ts';

const SECRET = 'the-first-secret-of-the-front';
const OLD = 'the-secret-that-was-in-use-before';
const FRONT = { header: 'x-forwarded-client-ip', secret: 'front' };
const signal = AbortSignal.timeout(10_000);

/** The source of a request that came from 192.0.2.1 with these headers. */
async function sourceOf(
  headers: Record<string, string>,
  { front = FRONT as typeof FRONT | undefined, secret = JSON.stringify({ current: SECRET, previous: OLD }) } = {},
): Promise<string> {
  const read = sourceReader(front, async (name) => (name === 'front' ? secret : ''));
  return read({ sourceIp: '192.0.2.1', headers }, signal);
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
    const seen = sourceReader(undefined, async () => '');
    expect(await seen({ sourceIp: header, headers: {} }, signal)).toBe(address);
  });

  it('is the address that the front names beside either of the two valid secrets, so that they can be rotated', async () => {
    expect(await named('203.0.113.9', SECRET)).toBe('203.0.113.9');
    expect(await named('203.0.113.9', OLD)).toBe('203.0.113.9');
    expect(
      await sourceOf(
        { 'x-forwarded-client-ip': '203.0.113.9', 'x-front-secret': SECRET },
        { secret: JSON.stringify({ current: SECRET }) },
      ),
    ).toBe('203.0.113.9');
  });

  it.each(['', 'wrong', SECRET.slice(0, -1), `${SECRET}x`, SECRET.toUpperCase()])(
    'is the address that the gateway saw beside the secret %j',
    async (proof) => {
      expect(await named('203.0.113.9', proof)).toBe('192.0.2.1');
    },
  );

  it('is never proved by an empty secret', async () => {
    const secret = JSON.stringify({ current: SECRET, previous: '' });
    const headers = { 'x-forwarded-client-ip': '203.0.113.9', 'x-front-secret': '' };
    expect(await sourceOf(headers, { secret })).toBe('192.0.2.1');
  });

  it('is the address that the gateway saw where the header comes without a secret, or the secret without a header', async () => {
    expect(await sourceOf({ 'x-forwarded-client-ip': '203.0.113.9' })).toBe('192.0.2.1');
    expect(await sourceOf({ 'x-front-secret': SECRET })).toBe('192.0.2.1');
  });

  it.each(['', 'unknown', '203.0.113.9, 198.51.100.2', '203.0.113.9,203.0.113.9', '300.1.1.1', 'a:443', '_gazonk'])(
    'is the address that the gateway saw where the front names no single address: %j',
    async (address) => {
      expect(await named(address)).toBe('192.0.2.1');
    },
  );

  it('cannot be told with a secret of another shape, and the error says nothing of it', async () => {
    for (const secret of ['', SECRET, '{}', JSON.stringify({ current: 'short' })]) {
      const failed = sourceOf({ 'x-front-secret': SECRET }, { secret });
      await expect(failed).rejects.toThrow('The secret of the front must be {"current": "…", "previous": "…"}.');
    }
  });
});
