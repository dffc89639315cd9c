import { Duration } from 'aws-cdk-lib';
import type { Alias, IFunction } from 'aws-cdk-lib/aws-lambda';
import { ScheduleExpression, Schedule as SchedulerSchedule, ScheduleTargetInput } from 'aws-cdk-lib/aws-scheduler';
import { LambdaInvoke } from 'aws-cdk-lib/aws-scheduler-targets';
import { Construct } from 'constructs';

/**
 * Calls a function on a schedule. A failed call is not retried, because the next one follows soon. The call is
 * asynchronous: by default Lambda would retry it twice, and queue it for six hours.
 */
export class Schedule extends Construct {
  constructor(scope: Construct, id: string, { live, everyMinutes }: { live: Alias; everyMinutes: number }) {
    super(scope, id);
    live.configureAsyncInvoke({ retryAttempts: 0, maxEventAge: Duration.minutes(everyMinutes) });
    new SchedulerSchedule(this, 'Rule', {
      description: 'Completes the operations that no client retries.',
      schedule: ScheduleExpression.rate(Duration.minutes(everyMinutes)),
      // The library's types disagree about optional members.
      target: new LambdaInvoke(live as IFunction, { retryAttempts: 0, input: ScheduleTargetInput.fromObject({}) }),
    });
  }
}
