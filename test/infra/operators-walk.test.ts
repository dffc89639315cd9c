import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type AlarmText, alarmsOf, matchesFilter } from '../support/alarms.ts';
import { isCounted, metricsOf, runbookSection, walk } from '../support/operators-walk.ts';
import { EVERYTHING, synthesize } from '../support/stack.ts';
import { ACCOUNT_ROWS } from '../support/walk-accounts.ts';
import { BILLED_CHANNELS, REGISTRATION_ROWS } from '../support/walk-registrations.ts';

const ROWS = [...REGISTRATION_ROWS, ...ACCOUNT_ROWS];
/** The stage of the local service. */
const LOCAL = { ...EVERYTHING, stage: 'local' };
const ALARMS = new Map(alarmsOf(synthesize(LOCAL)).map((alarm) => [alarm.name, alarm]));

beforeAll(() => walk.start(LOCAL.stage));
afterAll(() => walk.close());

/** Alarms of AWS's own metrics, which nothing here can raise: that their metric exists, and why no more. */
const ONLY_ON_AWS: readonly (readonly [alarm: RegExp, why: string])[] = [
  [/^Crashes-/, 'Lambda counts a function that it ends.'],
  [/^NearDeadline-/, 'Lambda measures the duration.'],
  [/^Mails(Bounce|ComplainedOf)$/, 'SES computes the rates of its account.'],
  [/^Requests$/, 'The gateway counts requests.'],
  [new RegExp(`^Spend-(${BILLED_CHANNELS.join('|')})$`), 'AWS bills messages.'],
];

/** Lines come within milliseconds. */
const SOON = { interval: 2 };
/** Their lines are those of Lambda and of the gateway. */
const LOGGED_ELSEWHERE = ['ServerErrors', 'SettlerFails', 'Silence'];

describe('An alarm', () => {
  it.each(ROWS.map((row) => [row.alarms.join(', '), row] as const))(
    '%s rings, its page shows the cause, and its text alone ends it',
    async (_, { alarms, provoke, show = '', names = [], end }) => {
      walk.left = { key: randomUUID(), person: walk.newPerson(), item: {}, id: '', secret: '' };
      const found = alarms.map((name) => ALARMS.get(name) ?? expect.fail(name));
      const kinds = found.map(({ description }) => /, (\w+)$/.exec(description)?.[1] ?? '');
      const text = kinds.map(runbookSection).join('\n');
      // An alarm that has the name of an event needs no command, and a page names one of several functions.
      expect(text).toContain(show.split(' ')[2] ?? '');
      await walk.begin(text);
      await provoke();
      for (const alarm of found) await rings(alarm);
      if (show.startsWith('events')) await expect.poll(() => walk.shown(show).length, SOON).toBeGreaterThan(0);
      for (const line of show.startsWith('events') ? walk.shown(show) : [])
        expect(line).toMatchObject(Object.fromEntries(names.map((name) => [name, expect.anything()])));
      await end();
    },
  );

  /** Its metric counts what was logged, if it is one of the service, and the command of its text shows that. */
  async function rings(alarm: AlarmText): Promise<void> {
    const metrics = metricsOf(alarm);
    const isOurs = metrics.length > 0 && metrics.every(({ Namespace }) => Namespace === 'BrokerApi');
    const [, pattern] = LOGGED_ELSEWHERE.includes(alarm.name)
      ? []
      : (/\nShow: .* --filter-pattern '([^']+)'/.exec(alarm.description) ?? []);
    const isRung = () =>
      (!isOurs || walk.lines().some((line) => isCounted(metrics, line))) &&
      (pattern === undefined || walk.lines().some((line) => matchesFilter(pattern, line)));
    await expect.poll(isRung, SOON).toBe(true);
  }

  it('has a row, or is raised by AWS alone', () => {
    const rows = ROWS.flatMap(({ alarms }) => alarms);
    const others = [...ALARMS.keys()].filter((name) => ONLY_ON_AWS.some(([pattern]) => pattern.test(name)));
    expect([...rows, ...others].toSorted()).toEqual([...ALARMS.keys()].toSorted());
    for (const name of others) {
      const metrics = metricsOf(ALARMS.get(name) ?? expect.fail(name));
      expect(metrics.map(({ Namespace }) => Namespace)).toEqual([expect.stringMatching(/^AWS\//)]);
    }
  });
});
