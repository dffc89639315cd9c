import { describe, expect, it } from 'vitest';
import { countLogins, type Reservation, rangeGauge, reportLogins } from '../../../lib/openings/login-gauge.ts';
import type { AccountDirectory } from '../../../lib/records/crm-records.ts';
import { LIVE } from '../../support/crm-example.ts';
import { recordingTelemetry } from '../../support/openings.ts';

const NOW = Date.UTC(2026, 10, 22);
const SECONDS = NOW / 1_000;
const DAY = 24 * 60 * 60;
const RANGES = [
  { from: 1, to: 1_000 },
  { from: 5_001, to: 6_000 },
];
const reserved = (login: number, daysAgo: number, connection_id = LIVE.id): Reservation => ({
  pk: `tp5#${login}`,
  connection_id,
  reserved_at: SECONDS - daysAgo * DAY,
});

async function* pages(...all: Reservation[][]) {
  yield* all;
}

describe('The gauge of logins', () => {
  it('counts the used and free logins of all ranges, and the days left at the pace of the last 30 days', async () => {
    const counted = await countLogins(
      pages(
        [reserved(1, 1), reserved(2, 29), reserved(5_001, 31), reserved(9_999, 1)],
        [reserved(3, 2, 'another'), { pk: 'tp5#1000', connection_id: LIVE.id }],
      ),
      async (id) => (id === LIVE.id ? RANGES : []),
      NOW,
    );
    expect(counted.get(LIVE.id)).toEqual({ used: 4, free: 1_996, lastMonth: 2, daysLeft: 29_940 });
    expect(counted.get('another')).toMatchObject({ used: 0, free: 0 });
  });

  it('of a connection without reservations says no number of days', () => {
    expect(rangeGauge(RANGES)).toEqual({ used: 0, free: 2_000, lastMonth: 0, daysLeft: undefined });
  });

  it('is logged in the first run of a day, for each connection with ranges', async () => {
    const events: Parameters<typeof recordingTelemetry>[0] = [];
    const directory: AccountDirectory = {
      readAccountRecords: async ({ connection_id }) => ({
        ...{ client: undefined, accountType: undefined, rebateUser: undefined },
        connection: connection_id === LIVE.id ? { ...LIVE, logins: RANGES } : undefined,
      }),
    };
    const reservations = () => pages([reserved(1, 1), reserved(2, 1, 'gone')]);
    for (const time of ['2026-11-22T00:00:31Z', '2026-11-22T00:01:31Z', undefined]) {
      const dependencies = { directory, reservations, now: () => NOW };
      await reportLogins(dependencies, recordingTelemetry(events), time, NOW + 60_000);
    }
    const counted = { logins_used: 1, logins_free: 1_999, login_days_left: 59_970 };
    expect(events).toEqual([{ name: 'LoginsCounted', fields: { connection_id: LIVE.id, ...counted } }]);
  });
});
