import { describe, expect, it } from 'vitest';
import type { AccountNotices } from '../../../lib/messages/notices.ts';
import type { AccountDependencies } from '../../../lib/openings/dependencies.ts';
import { planTimes } from '../../../lib/openings/dependencies.ts';
import { type AccountRequest, requestEffects, type Work } from '../../../lib/openings/effects.ts';
import type { Held, Plan } from '../../../lib/openings/ledger.ts';
import type { Sighting, TradingPlatform } from '../../../lib/platform/platform.ts';
import type { AccountClient } from '../../../lib/records/account-directory.ts';
import { LIVE } from '../../support/crm-example.ts';
import { ANN, BODY, planFor, recordingTelemetry } from '../../support/openings.ts';

const LOGIN = 500_001;
const PASSWORDS = { master_password: 'Ma5ter#word', investor_password: 'Inve5tor#wd' };

interface Scene {
  sighting?: Sighting;
  /** The login that the server answers with. */
  opened?: number;
  plan?: Partial<Plan>;
  body?: { login: number | undefined };
  notices?: Partial<AccountNotices>;
  client?: AccountClient;
  events?: Parameters<typeof recordingTelemetry>[0];
}

/** The effects of a retry whose first command went to the server of `LIVE`. @param change of the connection since */
function retry(
  change: object,
  { sighting = 'absent', opened = LOGIN, plan = {}, body, notices = {}, client = ANN, events = [] }: Scene = {},
) {
  const platform: Partial<TradingPlatform> = {
    keyed: true,
    unsupported: () => [],
    open: async () => ({ login: opened }),
    look: async () => sighting,
    fund: async () => {},
  };
  const server = { platform: platform as TradingPlatform, connection: { ...LIVE, ...change }, client };
  const work: Work = {
    dependencies: { now: Date.now, notices } as AccountDependencies,
    held: {
      plan: planFor('operation-1', { server: `${LIVE.host}:${LIVE.port}`, ...plan }),
      operationId: 'operation-1',
      nonce: 'n',
    } as Held,
    times: planTimes(Date.now(), Date.now() + 20_000),
    telemetry: recordingTelemetry(events),
    server: async () => server,
    master: async () => ({ password: PASSWORDS.master_password, given: false }),
  };
  const found = async () => ({ ...server, accountType: undefined });
  const request = { body: { ...BODY, ...body }, version: 'tp5', passwords: PASSWORDS, found };
  return requestEffects(work, request as unknown as AccountRequest);
}

describe('A retry whose connection leads to another server since', () => {
  it.each([{ host: 'mt5-2.example.com' }, { port: 8443 }])('sends nothing there: %j', async (moved) => {
    expect(await retry({ name: 'Renamed', groups: [] }).send(LOGIN)).toEqual({ on: 'opened', login: LOGIN });
    expect(await retry(moved).send(LOGIN)).toEqual({ on: 'foreign' });
  });

  it('takes an account there for its own only if it shows the mark', async () => {
    const looked = (change: object, sighting: Sighting) => retry(change, { sighting }).look(LOGIN);
    expect(await looked({}, 'unmarked')).toEqual({ on: 'unmarked' });
    expect(await looked({ port: 8443 }, 'unmarked')).toEqual({ on: 'foreign' });
    expect(await looked({ port: 8443 }, 'ours')).toEqual({ on: 'ours' });
  });

  it('pays nothing there', async () => {
    const life = { at: 'open', login: LOGIN, opened_at: '', recorded: true, deposit: 'sent', published: true } as const;
    expect(await retry({}).complete(life, true)).toMatchObject({ deposit: 'made' });
    expect(await retry({ port: 8443 }).complete(life, true)).toMatchObject({ deposit: 'refused' });
  });
});

describe('A login of the caller that could not be looked up before the command', () => {
  it.each<[Sighting, number | undefined, boolean]>([
    ['silent', LOGIN, true],
    ['absent', LOGIN, false],
    ['silent', undefined, false],
  ])('is noted in the plan: %s, login %s', async (sighting, login, unseen) => {
    const { plan } = await retry({}, { sighting, body: { login } }).prepare();
    expect(plan).toMatchObject({ unseen });
  });

  it('may exist for longer: an account without our mark is not ours', async () => {
    const looked = (sighting: Sighting, unseen: boolean) => retry({}, { sighting, plan: { unseen } }).look(LOGIN);
    expect(await looked('unmarked', true)).toEqual({ on: 'foreign' });
    expect(await looked('unmarked', false)).toEqual({ on: 'unmarked' });
    expect(await looked('ours', true)).toEqual({ on: 'ours' });
  });
});

it('An answer that names another login than the command says that the server opens accounts elsewhere', async () => {
  expect(await retry({}, { opened: LOGIN + 1 }).send(LOGIN)).toEqual({ on: 'lost', elsewhere: true });
});

it.each<[Partial<Plan>, string[]]>([
  [{}, []],
  [{ send_email: true }, ['email']],
  [{ send_pop_up: true }, ['popUp']],
  [{ send_email: true, send_pop_up: true }, ['email', 'popUp']],
])('%j sends the notices %j', async (plan, wanted) => {
  const sent: string[] = [];
  const notices = { email: async () => void sent.push('email'), popUp: async () => void sent.push('popUp') };
  await retry({}, { plan, notices }).notify(LOGIN);
  expect(sent).toEqual(wanted);
});

it.each<Partial<AccountClient>>([{ unproven: ['email'] }, { email: undefined }])(
  'sends no mail to a client whose address was never proven: %j',
  async (change) => {
    const sent: string[] = [];
    const events: Parameters<typeof recordingTelemetry>[0] = [];
    const notices = { email: async ({ email }: { email: string }) => void sent.push(email), popUp: async () => {} };
    const client = { ...ANN, ...change };
    await retry({}, { plan: { send_email: true, send_pop_up: true }, notices, client, events }).notify(LOGIN);
    expect(sent).toEqual([]);
    expect(events).toMatchObject([{ name: 'EmailNotProven', fields: { login: LOGIN } }]);
  },
);
