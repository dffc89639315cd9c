import type { AwsProbes, ServerProbes } from '../../infra/doctor/probes.ts';
import type { ServerReport } from '../../infra/doctor/server-report.ts';

/** A trading server that grants every right that the service needs. */
export const SOUND_SERVER: ServerReport = {
  rights: { openAccounts: 'granted', seePersonalData: 'granted', changeBalances: 'granted' },
  groups: { unknown: [], notShown: [] },
  isGateway: false,
  ranges: { asked: 20, sampled: true, taken: 3, strangers: [] },
};

/** The probes of an account without any problem; a test replaces the probes that it is about. */
export const HEALTHY_PROBES: AwsProbes & ServerProbes = {
  mailAccount: async () => ({ production: true, sending: true }),
  mailIdentity: async () => ({ verified: true, dkim: 'SUCCESS' }),
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
  place: ['--stack', 'broker-api-prod'],
  secret: async () =>
    '{"login":1000,"password":"x","master":"x","hosts":["mt5.example.com:443","mt4.example.com:443","mt4gw.example.com:443"]}',
  describedSecret: async () => ({ versions: 'tp4 tp5' }),
  records: async () => ({ items: 12, fixed: 0, errors: [], forms: 1, connections: [] }),
  secretPrefix: async () => 'platform/',
  isPublic: async () => false,
  report: async () => SOUND_SERVER,
  usedConnections: async () => new Set<string>(),
};
