import { COUNT_LIMIT_NAMES } from '../../lib/config/limits.ts';
import { DEFAULT_LIMITS, type Limits } from '../../lib/config/registration-settings.ts';

/** Every limit switched off. */
export const NO_LIMITS = Object.fromEntries(COUNT_LIMIT_NAMES.map((name) => [name, 'none'])) as Limits;

export const USUAL_LIMITS: Limits = DEFAULT_LIMITS;
