/** The members of a log line by which a metric is counted. AWS bills each combination of their values as a metric. */
const ALL = ['stage'] as const;
const BY_FUNCTION = ['service', 'stage'] as const;
const BY_CHANNEL = ['service', 'stage', 'channel'] as const;

/**
 * The events that an alarm or the dashboard counts, with the fields that are metrics. All other events are in the log
 * alone.
 */
export const COUNTED_EVENTS = {
  OtpSent: BY_CHANNEL,
  OtpOutcomeUnknown: BY_CHANNEL,
  OtpDeliveryFailed: BY_CHANNEL,
  RegistrationRefused: BY_CHANNEL,
  RegistrationConfirmed: BY_CHANNEL,
  AccountOpened: BY_FUNCTION,
  CaptchaUnavailable: BY_FUNCTION,
  InternalError: BY_FUNCTION,
  LimitReached: BY_FUNCTION,
  LimitUncheckable: BY_FUNCTION,
  PlatformRefused: BY_FUNCTION,
  PlatformUnavailable: BY_FUNCTION,
  AccountNotRecorded: ALL,
  AccountOutcomeUnknown: ALL,
  ClientNotWritten: ALL,
  CrmItemMalformed: ALL,
  CrmNotNotified: ALL,
  DependencyFailed: ALL,
  DepositFailed: ALL,
  EventFailed: ALL,
  FrontRefused: ALL,
  FrontUnreadable: ALL,
  LoginNotOurs: ALL,
  NoticeFailed: ALL,
  OperationNotSettled: ALL,
  OperationUnderivable: ALL,
  RecipientRefused: ALL,
  oldest_due_seconds: ALL,
} as const;
export type CountedName = keyof typeof COUNTED_EVENTS;
