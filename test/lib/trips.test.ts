import { describe, expect, it } from 'vitest';
import { testDatabase } from '../support/database.ts';
import { OpeningScene } from '../support/opening-scene.ts';
import { forever } from '../support/outcomes.ts';
import { FORM_ITEM, RegistrationScene } from '../support/registration-scene.ts';
import type { Step } from '../support/step-faults.ts';
import { Trips } from '../support/trips.ts';

/** How often a warm request waits for a network: each line is a trip, with the calls that go out together. */
describe('A warm request waits', () => {
  /** A function has read its secret in its first call. */
  const warm =
    (trips: Trips): Step =>
    (name, call) =>
      name === 'secret' ? call() : trips.call(name, call);

  it('four times and for the hash to register, and once for documents', async () => {
    const database = await testDatabase();
    await database.tables.crm.put(FORM_ITEM, forever);
    const scene = new RegistrationScene(database);
    const trips = new Trips();
    const hashes: number[] = [];
    const step: Step = (name, call, signal) => {
      if (name === 'limits.update') hashes.push(scene.hashes);
      return warm(trips)(name, call, signal);
    };
    expect(await trips.run(() => scene.request({ step }))).toBe(204);
    expect(trips.rounds).toEqual([
      ['crm.get', 'limits.getMany', 'limits.update', 'operations.put'],
      // The recipient is counted next to the hash.
      ['limits.update'],
      ['documents', 'documents'],
      [
        'crm.findKeys',
        'crm.findKeys',
        'limits.update',
        'operations.update',
        'registrations.put',
        'registrations.update',
      ],
      ['send'],
      ['operations.update', 'registrations.put'],
    ]);
    expect(hashes).toEqual([0, 1, 1]);
  });

  it('seven times and for the hash to confirm', async () => {
    const scene = new RegistrationScene(await testDatabase());
    await scene.register();
    const trips = new Trips();
    expect(await trips.run(() => scene.confirm({}, { step: warm(trips) }))).toBe(204);
    expect(trips.rounds).toEqual([
      ['limits.update', 'registrations.get'],
      // The guess is counted, the registration read, and the client looked for while its documents are kept.
      ['registrations.update'],
      ['registrations.getMany'],
      ['crm.findKeys'],
      ['registrations.update', 'registrations.update'],
      ['bus'],
      ['registrations.update'],
    ]);
  });

  it('five times to open an account', async () => {
    const scene = new OpeningScene(await testDatabase());
    await scene.open('the first call of this function');
    const trips = new Trips();
    scene.step = warm(trips);
    expect(await trips.run(() => scene.open('a warm call'))).toEqual(expect.any(Number));
    expect(trips.rounds).toEqual([
      ['crm', 'logins.findKeys', 'logins.getMany', 'operations.put'],
      ['transaction'],
      ['server'],
      ['accounts.put', 'bus', 'operations.update'],
      ['operations.update'],
    ]);
  });
});
