import type { Template } from 'aws-cdk-lib/assertions';
import { plain, resources } from './stack.ts';

/** An alarm of a template, metric or composite. */
export interface AlarmText {
  /** Without the name of the stack. */
  name: string;
  description: string;
  actions: string[];
  okActions: string[];
  namespace: string | undefined;
  metric: string | undefined;
  dimensions: Record<string, string>;
  threshold: number | undefined;
  missingData: string | undefined;
  comparison: string | undefined;
  /** Of a composite alarm. */
  rule: string | undefined;
}

interface AlarmProperties {
  AlarmName: string;
  AlarmDescription: string;
  AlarmActions?: string[];
  OKActions?: string[];
  Namespace?: string;
  MetricName?: string;
  Dimensions?: { Name: string; Value: string }[];
  Threshold?: number;
  TreatMissingData?: string;
  ComparisonOperator?: string;
  AlarmRule?: string;
}

export function alarmsOf(template: Template): AlarmText[] {
  const all = ['AWS::CloudWatch::Alarm', 'AWS::CloudWatch::CompositeAlarm'].flatMap((type) =>
    Object.values(resources(template, type)),
  );
  return all.map(({ Properties }) => {
    const alarm = plain(Properties) as AlarmProperties;
    return {
      name: alarm.AlarmName.replace('broker-api-test-', ''),
      description: alarm.AlarmDescription,
      actions: alarm.AlarmActions ?? [],
      okActions: alarm.OKActions ?? [],
      namespace: alarm.Namespace,
      metric: alarm.MetricName,
      dimensions: Object.fromEntries((alarm.Dimensions ?? []).map(({ Name, Value }) => [Name, Value])),
      threshold: alarm.Threshold,
      missingData: alarm.TreatMissingData,
      comparison: alarm.ComparisonOperator,
      // The suffixes that CDK adds to an id are ignored.
      rule: alarm.AlarmRule?.replaceAll(/[0-9A-F]{8}\.Arn/g, '.Arn'),
    };
  });
}
