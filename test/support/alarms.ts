import type { Template } from 'aws-cdk-lib/assertions';
import { propertiesOf } from './stack.ts';

/** An alarm of a template, metric or composite. */
export interface AlarmText {
  /** The alarm's name without the name of the stack. */
  name: string;
  description: string;
  actions: string[];
  okActions: string[];
  namespace: string | undefined;
  metric: string | undefined;
  dimensions: Record<string, string>;
  /** The alarm's properties, as the template has them. */
  properties: object;
  missingData: string | undefined;
  comparison: string | undefined;
  /** The rule of a composite alarm. */
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
  TreatMissingData?: string;
  ComparisonOperator?: string;
  AlarmRule?: string;
}

export function alarmsOf(template: Template): AlarmText[] {
  const alarms = ['AWS::CloudWatch::Alarm', 'AWS::CloudWatch::CompositeAlarm'].flatMap((type) =>
    propertiesOf(template, type),
  );
  return alarms.map((properties) => {
    const alarm = properties as unknown as AlarmProperties;
    return {
      name: alarm.AlarmName.replace('broker-api-test-', ''),
      description: alarm.AlarmDescription,
      actions: alarm.AlarmActions ?? [],
      okActions: alarm.OKActions ?? [],
      namespace: alarm.Namespace,
      metric: alarm.MetricName,
      dimensions: Object.fromEntries((alarm.Dimensions ?? []).map(({ Name, Value }) => [Name, Value])),
      properties,
      missingData: alarm.TreatMissingData,
      comparison: alarm.ComparisonOperator,
      // The suffixes that CDK adds to an id are ignored.
      rule: alarm.AlarmRule?.replaceAll(/[0-9A-F]{8}\.Arn/g, '.Arn'),
    };
  });
}
