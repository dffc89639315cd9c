import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { FAULTS, FakeConfirmations, MINUTE, type StepFault, stepsWith } from '../../support/confirmation-fakes.ts';
import { type TestDatabase, testDatabase } from '../../support/database.ts';
import { forever } from '../../support/outcomes.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await testDatabase(afterAll);
});

/** Everything that a confirmation asks of others, in this order. */
const STEPS = [
  ['the secret', 'secret 1'],
  ['counting the source', 'limits.update 1'],
  ['listing the registrations of the address', 'registrations.get 1'],
  ['counting the guess', 'registrations.update 1'],
  ['reading the registration', 'registrations.get 2'],
  ['looking for a client', 'crm.getMany 1'],
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
const isBorne = (what: string, fault: StepFault) =>
  QUIET.includes(what) ||
  (what === 'counting the source' && (fault === 'refused' || fault === 'answer lost')) ||
  (what === 'confirming' && fault === 'answer lost');

/** The expected first answer. */
function answerTo(what: string, fault: StepFault): 204 | 'problem' | 'killed' {
  if (fault === 'killed before' || fault === 'killed after') return 'killed';
  return isBorne(what, fault) ? 204 : 'problem';
}

async function registered(own = database) {
  const world = new FakeConfirmations(own);
  const id = await world.register({ documents: 2 });
  const confirmation = async () => (await world.registrations.get(id, forever))?.confirmation;
  return { world, id, confirmation };
}

/** The first answer, or the end of the function. */
function outcome(world: FakeConfirmations, steps: ReturnType<typeof stepsWith>) {
  const answer = world.confirm({}, steps).catch((error: unknown) => {
    expect(error).toBeInstanceOf(Error);
    return 'problem' as const;
  });
  return Promise.race([answer, steps.died]);
}

describe('A confirmation with documents', () => {
  it('takes these steps', async () => {
    const { world, confirmation } = await registered();
    const steps = stepsWith();
    expect(await world.confirm({}, steps)).toBe(204);
    expect(steps.names).toEqual(STEPS.map(([, step]) => step));
    expect(await confirmation()).toMatchObject({ published: true });
    expect(world.passing.size).toBe(0);
  });
});

const cases = STEPS.flatMap(([what, step]) => FAULTS.map((fault) => [what, fault, step] as const));

describe.concurrent('A confirmation in which one step goes wrong', () => {
  it.each(cases)('%s: %s', async (what, fault, step) => {
    const { world, id, confirmation } = await registered();
    const steps = stepsWith(step, fault);
    const answer = await outcome(world, steps);
    expect(answer).toBe(answerTo(what, fault));

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
describe.concurrent('A registration that was confirmed, and whose caller never comes back', () => {
  it.each(confirmed)('is published within two minutes after the fault: %s: %s', async (_, fault, step) => {
    const { world, id, confirmation } = await registered(await testDatabase(afterAll));
    await outcome(world, stepsWith(step, fault));
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
