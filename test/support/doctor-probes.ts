import type { AwsProbes, ServerProbes } from '../../infra/doctor/probes.ts';
import type { ServerReport } from '../../infra/doctor/server-report.ts';

/** A trading server that grants every right that the service needs. */
export const SOUND_SERVER: ServerReport = {
  rights: { openAccounts: 'granted', seePersonalData: 'granted', changeBalances: 'granted' },
  groups: { unknown: [], notShown: [] },
  ranges: { asked: 20, taken: 3, strangers: [] },
  variant: { speaks: [], comments: 'shown', passwords: 'checked' },
};

/** The probes of an account without any problem; a test replaces the probes that it is about. */
export const HEALTHY_PROBES: AwsProbes & ServerProbes = {
  concurrentExecutions: async () => 300,
  mailAccount: async () => ({ production: true, sending: true, perSecond: 50, perDay: 50_000, sentToday: 12 }),
  mailIdentity: async () => ({ verified: true, dkim: 'SUCCESS' }),
  txtRecords: async () => ['v=DMARC1; p=quarantine'],
  addresses: async () => ['203.0.113.7'],
  spendLimits: async () => [
    { name: 'TEXT_MESSAGE_MONTHLY_SPEND_LIMIT', enforced: 200, max: 200 },
    { name: 'VOICE_MESSAGE_MONTHLY_SPEND_LIMIT', enforced: 200, max: 200 },
  ],
  messagingSandbox: async () => false,
  approvedLanguages: async () => ['en_US', 'de'],
  stack: async () => ({
    status: 'UPDATE_COMPLETE',
    outputs: {
      AlarmTopicArn: 'arn:aws:sns:eu-west-1:111122223333:alarms',
      NoticeTopicArn: 'arn:aws:sns:eu-west-1:111122223333:notices',
      ConfirmRegistrationLogGroup: 'confirm-registration',
      NotifyCrmLogGroup: 'notify-crm',
    },
    protected: true,
  }),
  subscriptions: async () => ({ confirmed: 1, pending: 0 }),
  place: '--stack broker-api-prod',
  secret: async () =>
    '{"login":1000,"password":"x","master":"x","hosts":["mt5.example.com:443","mt4.example.com:443","mt4gw.example.com:443"]}',
  describedSecret: async () => ({ versions: 'tp4 tp5' }),
  records: async () => ({ items: 12, fixed: 0, errors: [], more: 0, shared: [], forms: 1, connections: [] }),
  warnings: async () => [],
  report: async () => SOUND_SERVER,
  table: async (name) => ({ name: `table-of-${name}`, recoveryDays: 35, expires: true }),
};
