import * as v from 'valibot';
import { describe, expect, it } from 'vitest';
import { connectionWarnings, hasPrivateAddress, readableSecrets } from '../../../infra/ops/connections.ts';
import { ConnectionSchema } from '../../../lib/records/crm-records.ts';
import { cdkJsonOf } from '../../support/operators.ts';

const WEB_API = {
  ...{ id: 'tp5-x', platform: 'tp5', protocol: 'web-api', host: '203.0.113.7', port: 443, demo: false },
  ...{ logins: { from: 500_000, to: 599_999 }, secret: 'platform/tp5-x' },
};

async function warnings(change: object, stack?: string, context: object = {}, addresses: string[] = []) {
  const connection = v.parse(ConnectionSchema, { ...WEB_API, ...change });
  const target = stack === undefined ? {} : { stack, deployed: async () => ({ unknown: 'Not shown.' }) };
  const readable = await readableSecrets(target, { cdkJson: cdkJsonOf(context), report: () => {} });
  const found = await connectionWarnings(connection, readable, async () => addresses);
  return found.map(({ detail }) => detail);
}

describe('A warning of a connection', () => {
  it.each<[stack: string | undefined, context: object, secret: string, warned: boolean]>([
    ['broker-api-prod', {}, 'platform/tp5-x', false],
    ['broker-api-prod', {}, 'mt5/tp5-x', true],
    ['broker-api-prod', { platformSecrets: 'mt5/' }, 'mt5/tp5-x', false],
    ['broker-api-test', {}, 'test/platform/tp5-x', false],
    ['broker-api-test', {}, 'platform/tp5-x', true],
    ['of-another-name', { stage: 'test' }, 'test/platform/tp5-x', false],
    [undefined, {}, 'mt5/tp5-x', false],
  ])('in the stack %s with the settings %j is about a secret that no function can read: %s', async (...row) => {
    const [stack, context, secret, warned] = row;
    const sentence = `the functions of ${stack} cannot read the secret ${secret}`;
    expect(await warnings({ secret }, stack, context)).toEqual(warned ? [expect.stringContaining(sentence)] : []);
  });

  it.each<[host: string, addresses: string[], warned: boolean]>([
    ['mt4.broker.example', ['10.0.0.7', '203.0.113.7'], true],
    ['203.0.113.7', [], true],
    ['2001:db8::7', [], true],
    ['mt4.internal.example', ['10.0.0.7', 'fd00::7', '::ffff:10.0.0.7'], false],
    ['172.16.3.4', [], false],
    ['not.known.example', [], false],
  ])('is about a text protocol on a public address: %s', async (host, addresses, warned) => {
    const reported = await warnings({ host, platform: 'tp4', protocol: 'interface-gateway' }, undefined, {}, addresses);
    expect(reported).toEqual(warned ? [expect.stringContaining(`${host} has a public address`)] : []);
  });
});

it.each([
  [['203.0.113.7', '2001:db8::1'], false],
  [[], false],
  [['203.0.113.7', '10.0.0.7'], true],
  [['169.254.169.254'], true],
  [['::1'], true],
  [['::ffff:127.0.0.1'], true],
])('A host with the addresses %j is known as private or not', async (addresses, isPrivate) => {
  expect(await hasPrivateAddress('crm.acme.example', async () => addresses)).toBe(isPrivate);
});
