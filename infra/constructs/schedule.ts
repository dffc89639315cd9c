import { Duration } from 'aws-cdk-lib';
import type { Alias, IFunction } from 'aws-cdk-lib/aws-lambda';
import { ScheduleExpression, Schedule as SchedulerSchedule, ScheduleTargetInput } from 'aws-cdk-lib/aws-scheduler';
import { LambdaInvoke } from 'aws-cdk-lib/aws-scheduler-targets';
import { Construct } from 'constructs';

/**
 * Calls a function by the clock; a call that fails is not repeated, for the next one comes soon. The clock only hands the
 * call over: Lambda itself would repeat it twice, and keep what it cannot start at once for six hours.
 */
export class Schedule extends Construct {
  constructor(scope: Construct, id: string, { live, everyMinutes }: { live: Alias; everyMinutes: number }) {
    super(scope, id);
    live.configureAsyncInvoke({ retryAttempts: 0, maxEventAge: Duration.minutes(everyMinutes) });
    new SchedulerSchedule(this, 'Rule', {
      description: 'Brings to its end what nobody retries.',
      schedule: ScheduleExpression.rate(Duration.minutes(everyMinutes)),
      // The library's types of one thing disagree about what is optional.
      target: new LambdaInvoke(live as IFunction, { retryAttempts: 0, input: ScheduleTargetInput.fromObject({}) }),
    });
  }
}
