import type { Template } from 'aws-cdk-lib/assertions';
import { beforeAll, describe, expect, it } from 'vitest';
import { settlementConfig } from '../../../lib/config.ts';
import { EVERYTHING, environmentOf, functions, plain, resources, synthesize } from '../../support/stack.ts';

let template: Template;
let full: Template;

beforeAll(() => {
  template = synthesize();
  full = synthesize(EVERYTHING);
});

describe('The function that settles operations', () => {
  it('is called by the clock each minute and by no route, and ends before the next call', () => {
    const [schedule = expect.fail()] = Object.values(resources(template, 'AWS::Scheduler::Schedule'));
    expect(schedule.Properties).toMatchObject({
      ScheduleExpression: 'rate(1 minute)',
      State: 'ENABLED',
      Target: { RetryPolicy: { MaximumRetryAttempts: 0 } },
    });
    const { Arn } = plain(schedule.Properties.Target) as { Arn: string };
    expect(Arn).toContain('SettleOperationsLive');
    expect(functions(template).SettleOperations?.Properties).toMatchObject({ Timeout: 55 });
  });

  it('is not called again for a call that failed: the next one comes soon', () => {
    const [again = expect.fail()] = Object.values(resources(template, 'AWS::Lambda::EventInvokeConfig'));
    const properties = plain(again.Properties);
    expect(properties).toMatchObject({ MaximumRetryAttempts: 0, MaximumEventAgeInSeconds: 60 });
    expect(JSON.stringify(properties)).toContain('<SettleOperationsLive');
  });

  it('gets an environment that its configuration accepts', () => {
    // The file with the legal texts stands next to the code.
    const environment = { ...environmentOf(full, 'SettleOperations'), LEGAL_FILE: undefined };
    expect(settlementConfig(environment)).toMatchObject({
      stage: 'full',
      registrationsTable: '<RegistrationsTable>',
      eventBus: '<EventBus>',
    });
  });
});
