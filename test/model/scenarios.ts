import type { Scenario } from './world.ts';

const PLAIN: Omit<Scenario, 'name'> = {
  keyed: true,
  funded: false,
  foreign: false,
  shows: 'mark',
  restored: false,
  rival: false,
  lies: false,
  workers: 2,
};

/**
 * Two workers of one request, each of which may be a request, the settler or an operator; or two requests. Those that
 * find the most mistakes in the shortest time come first.
 */
const LARGE: readonly Scenario[] = [
  { ...PLAIN, name: 'web-registration', keyed: false, shows: 'silent', workers: 3 },
  { ...PLAIN, name: 'two requests for the same logins', shows: 'nothing', rival: true, workers: 1 },
  { ...PLAIN, name: 'a login of somebody else', foreign: true },
  { ...PLAIN, name: 'a server that shows no marks', shows: 'nothing' },
  { ...PLAIN, name: 'a gateway that cannot look', shows: 'silent' },
  { ...PLAIN, name: 'a server that is restored', restored: true },
  { ...PLAIN, name: 'a deposit', funded: true },
  {
    ...PLAIN,
    name: 'web-registration, a server that lies',
    keyed: false,
    shows: 'silent',
    rival: true,
    lies: true,
    workers: 1,
  },
];

/** The same with one worker, which may die and restart: a second of exploring for all of them. */
export const SMALL: readonly Scenario[] = LARGE.filter(({ rival, lies }) => !rival || lies).map((scenario) => ({
  ...scenario,
  name: `${scenario.name}, one worker`,
  workers: 1,
}));

/** The smallest first. */
export const SCENARIOS: readonly Scenario[] = [...SMALL, ...LARGE];
