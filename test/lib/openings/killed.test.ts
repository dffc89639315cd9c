import { describe, expect, it } from 'vitest';
import type { Connection } from '../../../lib/records/crm-records.ts';
import { GATEWAY, LIVE, PLUG_IN } from '../../support/crm-example.ts';
import { ANSWERS, OpeningScene } from '../../support/opening-scene.ts';
import { directStep, faultySteps, numberedSteps, type StepFault } from '../../support/step-faults.ts';

/**
 * Every call that a worker makes is killed before and after, loses its answer, or is refused, once. Then a retry, the
 * settler or both finish. Never a second account or a second payment; and every account is recorded and published.
 */

/** Longer than the lease of a killed function, in milliseconds. */
const LEASE_OVER_MS = 60_000;
const DEMO: Connection = { ...LIVE, demo: true };
/** Each fault, and who works next. */
const FAULTS = {
  ...{ 'killed before': 'a retry', 'killed after': 'the settler' },
  ...{ 'answer lost': 'a retry', refused: 'the settler' },
} as const satisfies Partial<Record<StepFault, string>>;

interface Case {
  connection: Connection;
  shows?: OpeningScene['server']['shows'];
  /** The answer to the first command. Absent: it is executed. */
  answer?: keyof typeof ANSWERS;
  deposit?: number;
  login?: number;
}
const CASES: Record<string, Case> = {
  'web-api': { connection: LIVE },
  'web-api, a login of the caller': { connection: LIVE, login: 900_001 },
  'web-api, with a deposit': { connection: DEMO, deposit: 100 },
  'web-api, with a command that is lost': { connection: LIVE, answer: 'lost before it arrived' },
  'web-api, refused': { connection: LIVE, answer: 'refused for its content' },
  'interface-gateway, with a lost answer': {
    ...{ connection: { ...GATEWAY, demo: false }, shows: 'existence', answer: 'lost' },
  },
  'web-registration': { connection: PLUG_IN, shows: 'nothing' },
};
const MAIL = { send_email: true };

async function sceneOf({ connection, shows = 'comments', answer, deposit }: Case): Promise<OpeningScene> {
  const scene = await OpeningScene.create(connection);
  scene.server.shows = shows;
  if (answer !== undefined) scene.server.answers.push(ANSWERS[answer]);
  if (deposit !== undefined) scene.accountType = { id: 'ATDEMO01', platform: 'tp5', deposit };
  return scene;
}
const bodyOf = ({ login }: Case) => ({ ...MAIL, ...(login !== undefined && { login }) });

/** Works until the worker ends, or dies at the step. @returns the steps */
async function workWith(scene: OpeningScene, work: () => Promise<unknown>, at?: string, fault?: StepFault) {
  const steps: string[] = [];
  const faulty = faultySteps(at, fault);
  scene.step = numberedSteps(faulty.step, steps);
  await Promise.race([work().catch(() => undefined), faulty.died]);
  scene.step = directStep;
  return steps;
}

/** A retry has the one account, or an operator decides; record, event and mail are there. */
async function expectOneAccount(scene: OpeningScene, one: Case, name: string): Promise<void> {
  scene.now += LEASE_OVER_MS;
  const answers = [await scene.open('key', bodyOf(one))];
  // A command that was refused has opened nothing.
  if (answers[0] === '400 password_rejected') answers.unshift(await scene.open('key', bodyOf(one)));
  const [answer] = answers;
  await scene.settle();
  expect(scene.server.accounts.size, name).toBeLessThanOrEqual(1);
  for (const { balance } of scene.server.accounts.values()) expect([0, one.deposit ?? 0], name).toContain(balance);
  if (typeof answer !== 'number') {
    expect(answer, name).toBe('504 account_outcome_unknown');
    expect(await scene.life(), name).toMatchObject({ at: 'undecided' });
    return;
  }
  expect([...scene.server.accounts.keys()], name).toEqual([answer]);
  expect(await scene.records(), name).toMatchObject([{ login: answer }]);
  expect(new Set(scene.published.map(({ login }) => login)), name).toEqual(new Set([answer]));
  // A mail whose answer is lost is not sent again.
  if (!name.startsWith('mail')) expect(new Set(scene.mails), name).toEqual(new Set([answer]));
  expect(Object.keys(await scene.reservations()), name).toHaveLength(1);
}

describe.each(Object.entries(CASES))('On %s', (_, one) => {
  it('a request that is killed at any call leaves one account', async () => {
    const first = await sceneOf(one);
    const steps = await workWith(first, () => first.open('key', bodyOf(one)));
    for (const step of steps)
      for (const [fault, next] of Object.entries(FAULTS) as [StepFault, string][]) {
        const scene = await sceneOf(one);
        await workWith(scene, () => scene.open('key', bodyOf(one)), step, fault);
        if (next === 'the settler') await scene.settle(LEASE_OVER_MS);
        await expectOneAccount(scene, one, `${step}, ${fault}, then ${next}`);
      }
  }, 120_000);

  it('a settler that is killed at any call leaves one account', async () => {
    /** A request that died after its command. */
    const left = async () => {
      const scene = await sceneOf(one);
      await workWith(scene, () => scene.open('key', bodyOf(one)), 'server.open', 'killed after');
      return scene;
    };
    const first = await left();
    const steps = await workWith(first, () => first.settle(LEASE_OVER_MS));
    for (const step of steps)
      for (const fault of Object.keys(FAULTS) as StepFault[]) {
        const scene = await left();
        await workWith(scene, () => scene.settle(LEASE_OVER_MS), step, fault);
        await expectOneAccount(scene, one, `${step}, ${fault}`);
      }
  }, 120_000);
});

it('Two requests with one key, and the settler, at the same time open one account', async () => {
  const scene = await sceneOf({ connection: LIVE });
  const answers = await Promise.all([scene.open('key'), scene.open('key'), scene.settle(0), scene.open('key')]);
  for (const answer of answers)
    if (answer !== undefined)
      expect(['number', '409 request_in_progress retry']).toContain(typeof answer === 'number' ? 'number' : answer);
  expect(scene.server.accounts.size).toBe(1);
});
