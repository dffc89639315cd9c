import { describe, expect, it } from 'vitest';
import { testDatabase } from '../support/database.ts';
import { OpeningScene } from '../support/opening-scene.ts';
import { DOCUMENTS, RegistrationScene } from '../support/registration-scene.ts';
import type { Step } from '../support/step-faults.ts';
import { Trips } from '../support/trips.ts';

/** How often a warm request waits for a network: each line is a trip, with the calls that go out together. */
describe('A warm request waits', () => {
  /** A function has read its secret and opened its channel in its first call. */
  const warm =
    (trips: Trips): Step =>
    (name, call) =>
      name === 'secret' || name === 'open channel' ? call() : trips.call(name, call);

  it('four times and for the hash to register, and once for documents', async () => {
    const trips = new Trips();
    const asked = { idempotencyKey: 'key-1', members: DOCUMENTS, step: warm(trips) };
    expect(await trips.run(() => new RegistrationScene().request(asked))).toBe(204);
    expect(trips.rounds).toEqual([
      ['put key', 'read form', 'read source', 'update source'],
      ['hash', 'update recipient'],
      ['put document', 'put document 2'],
      [
        ...['find proven_email', 'find proven_phone'],
        ...['put registration', 'update address', 'update domain', 'update key'],
      ],
      ['send'],
      ['put delivery', 'update key 2'],
    ]);
  });

  it('seven times and for the hash to confirm', async () => {
    const scene = new RegistrationScene();
    await scene.request({ members: DOCUMENTS });
    const trips = new Trips();
    expect(await trips.run(() => scene.confirm({ step: warm(trips) }))).toBe(204);
    expect(trips.rounds).toEqual([
      ['read address', 'update confirmation'],
      ['hash'],
      // The guess is counted, the registration read, and the client looked for while its documents are kept.
      ['update address'],
      ['read registration'],
      ['find proven_email', 'find proven_phone', 'keep document', 'keep document 2'],
      ['update address 2', 'update registration'],
      ['publish'],
      ['update registration 2'],
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
