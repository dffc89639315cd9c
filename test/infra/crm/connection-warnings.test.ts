import * as v from 'valibot';
import { describe, expect, it } from 'vitest';
import { connectionWarnings } from '../../../infra/crm/connection-warnings.ts';
import { type Connection, ConnectionSchema } from '../../../lib/records/crm-records.ts';
import { cdkJsonOf } from '../../support/operators-account.ts';

const connection = (secret: string): Connection =>
  v.parse(ConnectionSchema, {
    ...{ id: 'tp5-x', platform: 'tp5', protocol: 'web-api', host: '10.0.0.7', port: 443, demo: false },
    ...{ logins: { from: 500_000, to: 599_999 }, secret },
  });

describe('A connection whose secret the functions cannot read', () => {
  it.each<[stack: string | undefined, context: object, secret: string, warned: boolean]>([
    ['broker-api-prod', {}, 'platform/tp5-x', false],
    ['broker-api-prod', {}, 'mt5/tp5-x', true],
    ['broker-api-prod', { platformSecrets: 'mt5/' }, 'mt5/tp5-x', false],
    ['broker-api-test', {}, 'test/platform/tp5-x', false],
    ['broker-api-test', {}, 'platform/tp5-x', true],
    ['of-another-name', { stage: 'test' }, 'test/platform/tp5-x', false],
    [undefined, {}, 'mt5/tp5-x', false],
  ])('in the stack %s with the settings %j: the secret %s is warned of: %s', async (stack, context, secret, warned) => {
    const target = stack === undefined ? {} : { stack };
    const terminal = { cdkJson: cdkJsonOf(context), resolveHost: async () => [] };
    const warnings = await connectionWarnings(connection(secret), 'connections[0]', target, terminal);
    expect(warnings).toEqual(
      warned
        ? [expect.stringContaining(`connections[0]: the functions of ${stack} cannot read the secret ${secret}`)]
        : [],
    );
  });
});
