import { describe, expect, it } from 'vitest';
import { allowingRights, parseRights, type Statement } from '../../../infra/local/rights/policy.ts';
import { plainValue, resourcesOfType, synthesize } from '../../support/stack.ts';

/** The rights of a CRM that reads registrations in a deployment with these settings. */
function readerRights(settings: Record<string, unknown>) {
  const policies = Object.entries(resourcesOfType(synthesize(settings), 'AWS::IAM::ManagedPolicy'));
  const [, policy] = policies.find(([id]) => id.startsWith('Reader')) ?? [];
  const { Statement } = plainValue(policy?.Properties.PolicyDocument ?? {}) as { Statement: Statement[] };
  return parseRights('crm', Statement);
}

const TABLE = '<RegistrationsTable.Arn>';
const DOCUMENT = '<DocumentsBucket.Arn>/registrations/r1/1';
const TAG = 's3:ExistingObjectTag/registration';
const SCAN = 's3:ExistingObjectTag/GuardDutyMalwareScanStatus';
const CONFIRMED = { confirmation: true };
const SCANNED = { ...CONFIRMED, crmWebhook: 'https://crm.acme.example/events', scanDocuments: true };

describe('The policy of a CRM that reads registrations', () => {
  const rights = readerRights(CONFIRMED);
  const may = (action: string, resource: string, context: Record<string, string> = {}, of = rights) =>
    allowingRights(of, { action, resource, context }).length > 0;

  it('allows to query the confirmed ones, and shows the table in no other way', () => {
    expect(may('dynamodb:Query', `${TABLE}/index/confirmed_id`)).toBe(true);
    const actions = ['GetItem', 'BatchGetItem', 'Query', 'Scan', 'PartiQLSelect'].map((one) => `dynamodb:${one}`);
    const shown = [TABLE, `${TABLE}/index/due`].filter((on) => actions.some((action) => may(action, on)));
    expect(shown).toEqual([]);
  });

  it('allows to read documents of confirmed registrations alone', () => {
    expect(may('s3:GetObject', DOCUMENT)).toBe(true);
    expect(may('s3:GetObject', DOCUMENT, { [TAG]: 'pending' })).toBe(false);
  });

  it('allows to read scanned documents only if they are clean, and their registration is confirmed', () => {
    const scanned = readerRights(SCANNED);
    const reads = (context: Record<string, string>) => may('s3:GetObject', DOCUMENT, context, scanned);
    expect(reads({ [SCAN]: 'NO_THREATS_FOUND' })).toBe(true);
    expect(reads({ [SCAN]: 'NO_THREATS_FOUND', [TAG]: 'pending' })).toBe(false);
    expect(reads({ [SCAN]: 'THREATS_FOUND' })).toBe(false);
    expect(reads({})).toBe(false);
  });
});
