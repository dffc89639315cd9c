import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { limitCounters } from '../../../lib/limits/limits.ts';
import { DEFAULT_LIMITS } from '../../../lib/validators/deployment.ts';
import { type TestDatabase, testDatabase } from '../../support/database.ts';
import { forever } from '../../support/outcomes.ts';
import { FORM_ITEM, MINUTE, RegistrationScene } from '../../support/registration-scene.ts';
import { FAULTS, faultySteps, type StepFault } from '../../support/step-faults.ts';

/**
 * Every step of a registration and of its confirmation, with every fault: it is refused, takes too long, is done without
 * an answer, or the function is killed before or after it. The records and the limits are real ones.
 */

let database: TestDatabase;
beforeAll(async () => {
  database = await testDatabase(afterAll);
  await database.tables.crm.put(FORM_ITEM, forever);
});

type Steps = readonly (readonly [what: string, step: string])[];
const withFaults = (steps: Steps) =>
  steps.flatMap(([what, step]) => FAULTS.map((fault) => [what, fault, step] as const));
const isKilled = (fault: StepFault) => fault.startsWith('killed');

/** The first answer, or the end of the function. Its timers have a clock that a fault moves. */
async function outcome(ask: () => Promise<unknown>, steps: ReturnType<typeof faultySteps>) {
  const problem = (error: unknown) => {
    expect(error).toBeInstanceOf(Error);
    return 'problem';
  };
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  return Promise.race([ask().catch(problem), steps.died]).finally(vi.useRealTimers);
}

/** Every call of a request with a key. */
const REQUEST = [
  ['the secret', 'secret 1'],
  ['claiming the key', 'operations.put 1'],
  ['reading the form', 'crm.get 1'],
  ['counting the source', 'limits.update 1'],
  ['reading the limits', 'limits.getMany 1'],
  ['counting the recipient', 'limits.update 2'],
  ['storing a document', 'documents 1'],
  ['storing another', 'documents 2'],
  ['marking the key: the message may leave', 'operations.update 1'],
  ['counting the mail domain', 'limits.update 3'],
  ['looking for a client by the email address', 'crm.findKeys 1'],
  ['looking for a client by the phone number', 'crm.findKeys 2'],
  ['keeping the registration', 'registrations.put 1'],
  ['listing it at its address', 'registrations.update 1'],
  ['the send', 'send 1'],
  ['noting the delivery', 'registrations.put 2'],
  ['ending the key', 'operations.update 2'],
] as const;

/** From the mark to the end of the send: the message of a killed function may have left. */
const LEAVING: readonly string[] = REQUEST.slice(8, 15).map(([what]) => what);

/** A mail is sent without its limits. After the send nothing changes the answer. */
function answerToRequest(what: string, fault: StepFault): unknown {
  if (isKilled(fault)) return 'killed';
  if (what === 'the send' && fault === 'refused') return 'otp_delivery_failed';
  const isSent = ['the send', 'noting the delivery', 'ending the key'].includes(what);
  const isUnchecked = /^(counting|reading the limits)/.test(what) && (fault === 'refused' || fault === 'answer lost');
  return isSent || isUnchecked ? 204 : 'problem';
}

describe('A request for a registration', () => {
  it('takes these steps, some of them side by side', async () => {
    const steps = faultySteps();
    expect(await new RegistrationScene(database).request(steps)).toBe(204);
    expect(steps.names.toSorted()).toEqual(REQUEST.map(([, step]) => step).toSorted());
  });

  it.each(withFaults(REQUEST))('in which one goes wrong sends one message: %s: %s', async (what, fault, step) => {
    const scene = new RegistrationScene(database);
    const steps = faultySteps(step, fault);
    const answer = await outcome(() => scene.request(steps), steps);
    expect(answer).toBe(answerToRequest(what, fault));
    const kept = await scene.registrations.list({ otp_type: 'email', address: scene.address }, forever);
    // Without time a write may arrive after its removal.
    const isUndone = typeof answer === 'string' && (fault === 'refused' || fault === 'answer lost');
    if (isUndone) expect([kept, [...scene.passing]]).toEqual([[], []]);

    const [source] = limitCounters(DEFAULT_LIMITS).source(scene.pepper, scene.source).source;
    const counted = async () =>
      Number((await database.tables.limits.get({ pk: source?.pk ?? '' }, forever))?.n_hour ?? 0);
    // The lease of a killed function and the pause of the recipient are over.
    scene.now += 2 * MINUTE;
    expect(await scene.request()).toBe(204);
    const before = await counted();
    // A function that was killed, or had no time, may keep a count.
    expect(before).toBeLessThanOrEqual(isUndone || answer === 204 ? 1 : 2);
    expect(await scene.request()).toBe(204);
    if (!isKilled(fault)) expect(await counted()).toBe(before);

    const mayBeLost = (what === 'the send' && fault === 'slow') || (LEAVING.includes(what) && isKilled(fault));
    expect(scene.codes.length).toBeLessThanOrEqual(1);
    if (!mayBeLost) expect(scene.codes).toHaveLength(1);
    if (scene.codes.length > 0) expect(await scene.confirm({ code: scene.codes[0] ?? '' })).toBe(204);
  });
});

/** Every call of a confirmation, in this order. */
const CONFIRMATION = [
  ['the secret', 'secret 1'],
  ['counting the source', 'limits.update 1'],
  ['listing the registrations of the address', 'registrations.get 1'],
  ['counting the guess', 'registrations.update 1'],
  ['reading the registration', 'registrations.getMany 1'],
  ['looking for a client', 'crm.findKeys 1'],
  ['keeping a document', 'documents 1'],
  ['keeping another', 'documents 2'],
  ['confirming', 'registrations.update 2'],
  ['marking it at its address', 'registrations.update 3'],
  ['the event', 'bus 1'],
  ['noting that it is published', 'registrations.update 4'],
] as const;

/** Steps whose failure changes nothing in the answer. */
const QUIET = ['the event', 'noting that it is published'];

/** If the source cannot be counted, the request continues. A confirmation recognizes its own write if there is time. */
function answerToConfirmation(what: string, fault: StepFault): unknown {
  if (isKilled(fault)) return 'killed';
  const isBorne =
    QUIET.includes(what) ||
    (what === 'counting the source' && (fault === 'refused' || fault === 'answer lost')) ||
    (what === 'confirming' && fault === 'answer lost');
  return isBorne ? 204 : 'problem';
}

async function registered(own = database) {
  const world = new RegistrationScene(own);
  const id = await world.register({ documents: 2 });
  const confirmation = async () => (await world.registrations.get(id, forever))?.confirmation;
  return { world, id, confirmation };
}

describe('A confirmation with documents', () => {
  it('takes these steps', async () => {
    const { world, confirmation } = await registered();
    const steps = faultySteps();
    expect(await world.confirm({}, steps)).toBe(204);
    expect(steps.names).toEqual(CONFIRMATION.map(([, step]) => step));
    expect(await confirmation()).toMatchObject({ published: true });
    expect(world.passing.size).toBe(0);
  });
});

const cases = withFaults(CONFIRMATION);

describe('A confirmation in which one step goes wrong', () => {
  it.each(cases)('%s: %s', async (what, fault, step) => {
    const { world, id, confirmation } = await registered();
    const steps = faultySteps(step, fault);
    const answer = await outcome(() => world.confirm({}, steps), steps);
    expect(answer).toBe(answerToConfirmation(what, fault));

    const first = await confirmation();
    // Unless its own answer never comes. Next to the mark that fails it may be written or not.
    const lost = what === 'confirming' && fault === 'unanswered';
    if (answer === 204) expect(first).toBeDefined();
    if (answer === 'problem' && !what.startsWith('marking')) expect(first !== undefined).toBe(lost);
    if (answer === 'problem') expect(world.published).toEqual([]);
    if (first !== undefined) expect(world.published.length > 0 || !first.published).toBe(true);
    if (first !== undefined) expect([...world.passing]).toEqual([]);

    for (let repeat = 0; repeat < 2; repeat += 1) {
      world.now += MINUTE;
      expect(await world.confirm()).toBe(204);
    }
    const { confirmed_at } = first ?? (await confirmation()) ?? {};
    expect(await confirmation()).toMatchObject({ confirmed_at, published: true });
    expect([...world.passing]).toEqual([]);
    expect(world.published.length).toBeGreaterThanOrEqual(1);
    // Twice only if the first was published but that was not recorded.
    expect(world.published.length).toBeLessThanOrEqual(QUIET.includes(what) ? 2 : 1);
    for (const detail of world.published) expect(detail).toMatchObject({ id, confirmed_at });
  });
});

const confirmed = cases.filter(([what, fault]) =>
  ['confirming', 'marking it at its address'].includes(what)
    ? fault === 'killed after' || fault === 'unanswered'
    : QUIET.includes(what),
);

// Each in a database of its own: the settler publishes all that is pending.
describe('A registration that was confirmed, and whose caller never comes back', () => {
  it.each(confirmed)('is published within two minutes after the fault: %s: %s', async (_, fault, step) => {
    const { world, id, confirmation } = await registered(await testDatabase(afterAll));
    const steps = faultySteps(step, fault);
    await outcome(() => world.confirm({}, steps), steps);
    for (let minute = 0; minute < 3; minute += 1) {
      world.now += MINUTE;
      await world.publishPending();
    }
    expect(await confirmation()).toMatchObject({ published: true });
    expect(world.published.length).toBeGreaterThanOrEqual(1);
    expect(world.published.length).toBeLessThanOrEqual(2);
    for (const detail of world.published) expect(detail).toMatchObject({ id });
    expect([...world.passing]).toEqual([]);
  });
});
