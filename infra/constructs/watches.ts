import { Duration } from 'aws-cdk-lib';
import { Metric } from 'aws-cdk-lib/aws-cloudwatch';
import type { Channel } from '../../lib/validators/otp-types.ts';
import type { DeployedFunction } from '../routes.ts';
import type { Settings } from '../settings.ts';
import { ofAccounts, ofFunction, ofRetries, ofSettlement } from './function-watches.ts';
import { events, SENDS_CODES, SPENT, type Watch, type WatchedService } from './watch.ts';

/** All that is watched, each with who is hurt. */
export function watches({
  settings,
  functions,
  scheduled,
  serverErrors,
  configurationSetName,
  undelivered,
}: WatchedService): Watch[] {
  return [
    ...ofRegistration(settings),
    ...functions.flatMap(({ route }) => ('version' in route ? ofAccounts(route, settings.stage) : [])),
    ...functions.flatMap((watched) => ofFunction(watched, settings.stage)),
    ...functions.flatMap(({ route }) => ('setting' in route ? [] : [ofRetries(route, settings.stage)])),
    ...scheduled.flatMap((watched) => ofSettlement(watched.scheduled, watched.lambda, settings.stage)),
    {
      id: 'ServerErrors',
      loss: 'Callers of all routes are answered with errors of ours (5xx).',
      metric: serverErrors.with({ statistic: 'Sum', period: Duration.minutes(5) }),
      atLeast: 10,
    },
    {
      id: 'EventsUndelivered',
      loss: 'Another system of the broker does not know of accounts or registrations: it did not take events.',
      metric: undelivered.metricApproximateNumberOfMessagesVisible({
        period: Duration.minutes(5),
        statistic: 'Maximum',
      }),
      atLeast: 1,
    },
    ...functions.flatMap(({ route }) => ('setting' in route ? ofConfirmation(route.name, settings.stage) : [])),
    ...ofMail(configurationSetName),
    ...ofSpend(settings),
  ];
}

function ofRegistration({ stage, channels, captcha }: Settings): Watch[] {
  return [
    ...channels.map((channel) => ({
      id: 'CodesNotSent',
      of: channel,
      loss: `People who register by ${channel} get no one-time password: the provider refuses or fails.`,
      metric: events(stage, SENDS_CODES, 'OtpDeliveryFailed', 15, channel),
      atLeast: 5,
    })),
    {
      id: 'CodesInDoubt',
      loss: 'People who register may be waiting for a one-time password that was never sent: the provider did not answer in time.',
      metric: events(stage, SENDS_CODES, 'OtpOutcomeUnknown', 15),
      atLeast: 3,
    },
    {
      id: 'LimitsUnchecked',
      loss: 'People who register by phone are refused, and mails go out without limits: the counters cannot be read.',
      metric: events(stage, SENDS_CODES, 'LimitUncheckable', 5),
      atLeast: 1,
    },
    {
      id: 'Flood',
      loss: 'Somebody asks for one-time passwords without end: the limits hold, but people behind the same address are refused.',
      metric: events(stage, SENDS_CODES, 'LimitReached', 15),
      atLeast: 100,
    },
    ...(captcha === undefined
      ? []
      : [
          {
            id: 'CaptchaUnavailable',
            loss: 'People who register by phone are refused, and mails go out without a captcha: its provider cannot be asked.',
            metric: events(stage, SENDS_CODES, 'CaptchaUnavailable', 5),
            atLeast: 3,
          },
        ]),
  ];
}

function ofConfirmation(name: DeployedFunction, stage: string): Watch[] {
  return [
    {
      id: 'Guesses',
      loss: 'Somebody guesses at codes or passwords of registrations: the limits hold, and each source has ten guesses in ten minutes.',
      metric: events(stage, name, 'LimitReached', 15),
      atLeast: 100,
    },
    {
      id: 'LimitsUnchecked',
      of: name,
      loss: 'Guesses at codes are not counted by where they come from: the counters cannot be read.',
      metric: events(stage, name, 'LimitUncheckable', 5),
      atLeast: 1,
    },
  ];
}

/** SES looks at an account with 5 % bounces or 0.1 % complaints, and stops it at twice to five times that. */
function ofMail(configurationSet: string): Watch[] {
  const reputation = (metricName: string) =>
    new Metric({
      namespace: 'AWS/SES',
      metricName,
      dimensionsMap: { 'ses:configuration-set': configurationSet },
      statistic: 'Average',
      period: Duration.hours(1),
    });
  return [
    {
      id: 'MailsBounce',
      loss: 'Soon nobody gets mails: too many addresses do not exist, and SES stops senders for that.',
      metric: reputation('Reputation.BounceRate'),
      atLeast: 0.05,
    },
    {
      id: 'MailsComplainedOf',
      loss: 'Soon nobody gets mails: too many people call them unwanted, and SES stops senders for that.',
      metric: reputation('Reputation.ComplaintRate'),
      atLeast: 0.001,
    },
  ];
}

function ofSpend({ stage, channels, spend }: Settings): Watch[] {
  const watches: Record<Exclude<Channel, 'email'>, Watch> = {
    sms: {
      id: 'Spend',
      of: 'sms',
      loss: `Your bill: texts have cost $${spend.smsUsdPerMonth} this month. At the account's own limit nobody gets texts any more.`,
      metric: SPENT.sms,
      atLeast: spend.smsUsdPerMonth,
    },
    call: {
      id: 'Spend',
      of: 'call',
      loss: `Your bill: calls have cost $${spend.callUsdPerMonth} this month. At the account's own limit nobody gets calls any more.`,
      metric: SPENT.call,
      atLeast: spend.callUsdPerMonth,
    },
    whatsapp: {
      id: 'Spend',
      of: 'whatsapp',
      loss: `Your bill: ${spend.whatsappMessagesPerDay} WhatsApp messages were sent within a day.`,
      metric: events(stage, SENDS_CODES, 'OtpSent', 24 * 60, 'whatsapp'),
      atLeast: spend.whatsappMessagesPerDay,
    },
  };
  return Object.values(watches).filter(({ of }) => channels.some((channel) => channel === of));
}
