import { COUNT_LIMIT_NAMES, type CountLimitName } from '../../lib/validators/limits.ts';
import { DEFAULT_LIMITS, type Limits } from '../../lib/validators/registration-settings.ts';

/** Every limit switched off. */
export const NO_LIMITS = Object.fromEntries(Object.keys(DEFAULT_LIMITS).map((name) => [name, 'none'])) as Limits;

const USUAL: readonly CountLimitName[] = [
  ...(['recipientPerHour', 'recipientPerDay', 'sourcePer10Minutes', 'sourcePerHour', 'networkSourcesPerHour'] as const),
  ...(['prefixPerHour', 'countryPerHour', 'channelPerDay', 'mailDomainPerHour', 'wrongIdsPer10Minutes'] as const),
  ...(['replaysPerHour', 'confirmationsPer10Minutes', 'confirmationNetworkSourcesPerHour'] as const),
];
/**
 * The defaults of these limits; every other limit is off. Tests compare all counts of a request with them. A later
 * limit changes no such list: its counts follow from the step of its counter.
 */
export const USUAL_LIMITS: Limits = {
  ...DEFAULT_LIMITS,
  ...Object.fromEntries(COUNT_LIMIT_NAMES.filter((name) => !USUAL.includes(name)).map((name) => [name, 'none'])),
};
