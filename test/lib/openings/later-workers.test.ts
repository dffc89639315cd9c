import { describe, expect, it } from 'vitest';
import { LIVE } from '../../support/crm-example.ts';
import { ANSWERS, OpeningScene } from '../../support/opening-scene.ts';
import { directStep, faultySteps, numberedSteps, type StepFault } from '../../support/step-faults.ts';

const DEMO = { id: 'ATDEMO01', platform: 'tp5', deposit: 100 } as const;
const UNKNOWN = '504 account_outcome_unknown retry';

/** A request whose function dies at its command. */
async function killed(scene: OpeningScene, fault: StepFault): Promise<void> {
  const steps = faultySteps('server.open', fault);
  scene.step = numberedSteps(steps.step);
  await Promise.race([scene.open('key'), steps.died]);
  scene.step = directStep;
}

/** A request whose command is lost. */
async function withLostCommand(): Promise<OpeningScene> {
  const scene = await OpeningScene.create(LIVE);
  scene.server.answers.push(ANSWERS['lost before it arrived']);
  scene.server.isDown = true;
  expect(await scene.open('key')).toBe(UNKNOWN);
  scene.server.isDown = false;
  return scene;
}

/** An account whose deposit was not confirmed. @returns its login */
async function withPayment(answer: 'refused' | 'lost before it arrived') {
  const scene = await OpeningScene.create({ ...LIVE, demo: true });
  scene.accountType = DEMO;
  scene.server.payments.push(answer);
  return { scene, login: Number(await scene.open('key')) };
}

/** The connection leads to another server, at which a stranger has the login. */
function moveServer(scene: OpeningScene, login: number): void {
  scene.connection = { ...scene.connection, host: 'another.example.com' };
  scene.server.accounts.set(login, { comment: 'a stranger', balance: 5 });
}

describe('A command that is repeated after a day', () => {
  it('is the settler’s again if its sender dies', async () => {
    const scene = await OpeningScene.create(LIVE);
    await killed(scene, 'killed before');
    await scene.hours(25);
    await scene.settle();
    await killed(scene, 'killed after');
    expect(scene.server.accounts.size).toBe(1);
    for (let run = 0; run < 5; run += 1) await scene.settle();
    expect(await scene.life()).toMatchObject({ at: 'open' });
    expect(await scene.records()).toHaveLength(1);
  });

  it('does not leave if an operator has overtaken its sender', async () => {
    const scene = await OpeningScene.create(LIVE);
    await killed(scene, 'killed before');
    await scene.hours(25);
    await scene.settle();
    const { commands } = scene.server;
    // The operator speaks after the look of the retry, whose lease is over.
    scene.step = async (name, call) => {
      const answer = await call();
      if (name !== 'server.look') return answer;
      scene.step = directStep;
      scene.now += 31_000;
      expect((await scene.say({ say: 'none' })).is).toBe('settled');
      scene.now -= 31_000;
      return answer;
    };
    expect(await scene.open('key')).toBe('409 request_in_progress retry');
    expect(scene.server.commands).toBe(commands);
  });
});

describe('A connection that leads to another server now', () => {
  it('gets no repeated command, and its unmarked account is not the request’s', async () => {
    const scene = await withLostCommand();
    const life = await scene.life();
    moveServer(scene, life !== undefined && 'login' in life ? (life.login ?? 0) : 0);
    scene.now += 60_000;
    expect(await scene.open('key')).toBe(UNKNOWN);
    await scene.settle();
    expect(await scene.life()).toMatchObject({ at: 'sent' });
    expect(scene.server.commands).toBe(1);
  });

  it('does not show by its balances that a deposit is paid, neither to the settler nor to an operator', async () => {
    const { scene, login } = await withPayment('lost before it arrived');
    moveServer(scene, login);
    await scene.settle();
    expect(await scene.life()).toMatchObject({ deposit: 'sent' });
    await scene.hours(25);
    await scene.settle();
    expect(await scene.life()).toMatchObject({ deposit: 'unpaid' });
    expect((await scene.say({ say: 'deposit' }, { confirmed: false })).is).toBe('unconfirmed');
  });
});

it('A refused deposit is not paid again into an account that holds money', async () => {
  const { scene, login } = await withPayment('refused');
  const account = { comment: '', balance: 100 };
  scene.server.accounts.set(login, account);
  await scene.settle();
  expect(account.balance).toBe(100);
  expect(await scene.life()).toMatchObject({ deposit: 'made' });
});

it('A login that is absent for a day waits for a retry, without an alarm', async () => {
  const scene = await withLostCommand();
  await scene.hours(25);
  await scene.settle();
  expect(scene.count('AccountOutcomeUnknown')).toBe(0);
});

it('A word about an operation that the settler has completed in the meantime is not stored', async () => {
  const scene = await OpeningScene.create(LIVE);
  scene.server.answers.push(ANSWERS.lost);
  scene.server.isDown = true;
  await scene.open('key');
  await scene.hours(25);
  // The settler runs after the command has read what it judges by.
  scene.step = async (name, call) => {
    const answer = await call();
    if (name !== 'logins.getMany') return answer;
    scene.step = directStep;
    scene.server.isDown = false;
    await scene.settle(0);
    return answer;
  };
  expect((await scene.say({ say: 'none' })).is).toBe('busy');
  expect(await scene.life()).toMatchObject({ at: 'open' });
});
