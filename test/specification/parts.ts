import { ACCOUNT_SECTIONS } from './account-cases.ts';
import { ENDPOINT_SECTIONS } from './endpoint-cases.ts';
import { choosyPlatform, ERROR_SECTIONS } from './error-cases.ts';
import { KEY_SECTIONS } from './key-cases.ts';
import { REGISTRATION_SECTIONS } from './registration-cases.ts';
import { SENDING_SECTIONS, WITH_SETTINGS } from './settings-cases.ts';
import type { Part, Section } from './walk.ts';

const installed = (sections: readonly Section[]): Part => ({
  title: 'The specification, with every channel installed',
  sections,
});

/** Every case, by the test file that runs it. */
export const PARTS: Readonly<Record<'registration' | 'accounts' | 'answers' | 'sending', readonly Part[]>> = {
  registration: [installed(REGISTRATION_SECTIONS)],
  accounts: [installed(ACCOUNT_SECTIONS), choosyPlatform()],
  answers: [installed([...ENDPOINT_SECTIONS, ...ERROR_SECTIONS, ...KEY_SECTIONS])],
  sending: [installed(SENDING_SECTIONS), ...WITH_SETTINGS],
};
