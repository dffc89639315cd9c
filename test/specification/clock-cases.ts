import { expect, vi } from 'vitest';
import { type Answer, call, messagesTo, newEmail, newPhone, newSource } from './caller.ts';
import { type Case, exceeds } from './cases.ts';
import { checkProblem } from './checks.ts';
import { PHONE_CHANNELS } from './table.ts';
import type { Part } from './walk.ts';
import type { World } from './world.ts';

const ROW = '8 rate limits';

function send(world: World, body: Record<string, unknown>, source = newSource()): Promise<Answer> {
  return call(world, { operation: 'registration', body }, { source });
}

/** Lets so many seconds pass, for all that reads the time of day. */
function pass(seconds: number): void {
  vi.setSystemTime(Date.now() + seconds * 1_000);
}

/** What came of a wait: refused at its beginning and in its last second, and then sent. */
interface Turn {
  refused: Answer[];
  sent: Answer;
}

/** Sends again and again, as soon as that is allowed; all senders at the same times. */
async function insist(senders: readonly (() => Promise<Answer>)[], waits: readonly number[]): Promise<Turn[][]> {
  const turns: Turn[][] = senders.map(() => []);
  const all = () => Promise.all(senders.map((next) => next()));
  for (const wait of waits) {
    const early = await all();
    pass(wait - 1);
    const late = await all();
    pass(1);
    const sent = await all();
    for (const [index, own] of turns.entries()) {
      own.push({ refused: [early, late].map((answers) => answers[index] as Answer), sent: sent[index] as Answer });
    }
  }
  return turns;
}

function checkSent(answer: Answer): void {
  expect(answer.status).toBe(204);
}

/** Each turn had to wait for exactly so many seconds, and no longer. */
function checkTurns(turns: readonly Turn[] = [], waits: readonly number[]): void {
  expect(turns).toHaveLength(waits.length);
  for (const [index, { refused, sent }] of turns.entries()) {
    for (const answer of refused) checkProblem(answer, 429, 'too_many_requests');
    expect(refused.map(({ headers }) => headers.get('retry-after'))).toEqual([String(waits[index]), '1']);
    checkSent(sent);
  }
}

/** What the first case that asks for it makes for all of them. */
function shared<T>(make: (world: World) => Promise<T>): (world: World) => Promise<T> {
  let made: Promise<T> | undefined;
  return (world) => {
    made ??= make(world);
    return made;
  };
}

const CHANNELS = ['email', ...PHONE_CHANNELS];
const AGAIN = [60, 120, 300, 900];
/** The fifth message was 1,380 s after the first. */
const HOUR = [...AGAIN, 3_600 - 1_380];
/** The tenth is two hours after the first. */
const DAY = [...HOUR, 900, 900, 900, 900, 86_400 - 7_200];

/** One recipient of each channel, who was sent to for the first time. */
const recipients = shared(async (world) => {
  const people = CHANNELS.map((otp_type) => {
    const to = otp_type === 'email' ? { email: newEmail() } : { phone: newPhone() };
    return { address: to.email ?? `+44${to.phone?.number}`, next: () => send(world, { otp_type, ...to }) };
  });
  for (const answer of await Promise.all(people.map(({ next }) => next()))) checkSent(answer);
  return { people, turns: CHANNELS.map((): Turn[] => []) };
});

/** The turns of all channels' recipients, as many of the day's as are asked for; those that were had are not had again. */
async function turnsOfTheDay(world: World, count: number) {
  const { people, turns } = await recipients(world);
  const senders = people.map(({ next }) => next);
  const more = await insist(senders, DAY.slice(turns[0]?.length, count));
  for (const [index, own] of turns.entries()) own.push(...(more[index] ?? []));
  return { people, turns };
}

const LIMITS = [
  ['again after 60, 120, 300 and 900 s', 'no second earlier', AGAIN],
  ['5 an hour', 'the sixth waits for the hour to end', HOUR],
  ['10 in 24 hours', 'the eleventh waits for the next day', DAY],
] as const;

const TO_A_RECIPIENT = LIMITS.flatMap(([limit, sentence, waits]) =>
  CHANNELS.map((channel, index) =>
    exceeds(ROW, `decided: to a recipient ${limit}`, `by ${channel}, ${sentence}`, async (world) => {
      const { people, turns } = await turnsOfTheDay(world, waits.length);
      checkTurns(turns[index]?.slice(0, waits.length), waits);
      const messages = messagesTo(world, people[index]?.address ?? '');
      expect(messages).toHaveLength(1 + (turns[index]?.length ?? 0));
    }),
  ),
);

/** Two addresses of each network; the last number tells the networks of one limit from those of another. */
const networks = (last: number) => [
  [`192.0.2.${last}`, `192.0.2.${last}`],
  [`2001:db8:1:${last}::1`, `2001:db8:1:${last}:ffff::9`],
];
const NETWORKS = ['an IPv4 address', 'an IPv6 network of 64 bits'];

/** Five requests of each network, and at last a turn of its second address. */
function sources(last: number, minutesAfterFive: readonly number[], wait: number) {
  return shared(async (world) => {
    for (const minutes of minutesAfterFive) {
      await Promise.all(
        networks(last).map(async (addresses) => {
          for (let n = 0; n < 5; n += 1) checkSent(await send(world, {}, addresses[n % 2]));
        }),
      );
      pass(minutes * 60);
    }
    return insist(
      networks(last).map((addresses) => () => send(world, {}, addresses[1])),
      [wait],
    );
  });
}

const inTenMinutes = sources(7, [0], 600);
const inAnHour = sources(8, [10, 10, 10, 0], 1_800);

const FROM_A_SOURCE = NETWORKS.flatMap((network, index) => [
  exceeds(
    ROW,
    'decided: from a source 5 in 10 minutes',
    `the sixth from ${network} waits for their end`,
    async (world) => {
      checkTurns((await inTenMinutes(world))[index], [600]);
    },
  ),
  exceeds(
    ROW,
    'decided: from a source 20 an hour',
    `the twenty-first from ${network} waits for its end`,
    async (world) => {
      checkTurns((await inAnHour(world))[index], [1_800]);
    },
  ),
]);

const TO_A_PREFIX: Case = exceeds(
  ROW,
  'decided: to a phone prefix 10 an hour',
  'the eleventh waits for its end, whatever the channels',
  async (world) => {
    let count = 0;
    const next = () => {
      count += 1;
      const phone = { country_code: '44', number: `740999${1_000 + count}` };
      return send(world, { otp_type: PHONE_CHANNELS[count % 3], phone });
    };
    while (count < 10) checkSent(await next());
    const [turns] = await insist([next], [3_600]);
    checkTurns(turns, [3_600]);
  },
);

/** The clock is set before the service starts, which takes the one that there is. */
export const CLOCK: Part = {
  title: 'The specification, with a clock that is set',
  begin() {
    vi.useFakeTimers({ toFake: ['Date'] });
    return {};
  },
  end() {
    vi.useRealTimers();
  },
  sections: [
    { title: '8: the limits of sending, over hours', cases: [...TO_A_RECIPIENT, ...FROM_A_SOURCE, TO_A_PREFIX] },
  ],
};
