import { Match, type Template } from 'aws-cdk-lib/assertions';
import { beforeAll, describe, expect, it } from 'vitest';
import { plain, resources, synthesize } from '../../support/stack.ts';

let template: Template;

beforeAll(() => {
  template = synthesize();
});

describe('Events', () => {
  it('are published on a bus of the deployment, and archived for a week for replays', () => {
    template.hasResourceProperties('AWS::Events::EventBus', { Name: 'broker-api-test' });
    template.hasResourceProperties('AWS::Events::Archive', {
      RetentionDays: 7,
      EventPattern: { account: [{ Ref: 'AWS::AccountId' }] },
    });
    template.hasOutput('EventBusName', Match.anyValue());
  });

  it('that a rule’s target did not take can go to an encrypted queue, from rules of this bus alone', () => {
    template.hasResourceProperties('AWS::SQS::Queue', {
      SqsManagedSseEnabled: true,
      MessageRetentionPeriod: 1_209_600,
    });
    const [policy] = Object.values(resources(template, 'AWS::SQS::QueuePolicy'));
    const { Statement } = plain(policy?.Properties.PolicyDocument) as { Statement: { Effect: string }[] };
    expect(Statement.filter(({ Effect }) => Effect === 'Allow')).toEqual([
      expect.objectContaining({
        Principal: { Service: 'events.amazonaws.com' },
        Condition: {
          ArnLike: {
            'aws:SourceArn': 'arn:<AWS::Partition>:events:<AWS::Region>:<AWS::AccountId>:rule/broker-api-test/*',
          },
        },
      }),
    ]);
    template.hasOutput('UndeliveredEventsQueueArn', Match.anyValue());
  });

  it('that arrived there raise an alarm', () => {
    template.hasResourceProperties('AWS::CloudWatch::Alarm', {
      AlarmName: 'broker-api-test-EventsUndelivered',
      Namespace: 'AWS/SQS',
      MetricName: 'ApproximateNumberOfMessagesVisible',
      Threshold: 1,
    });
  });
});
