import { ACCOUNT_SECTIONS } from './account-cases.ts';
import type { Part } from './cases.ts';
import { ENDPOINT_SECTIONS } from './endpoint-cases.ts';
import { ERROR_SECTIONS } from './error-cases.ts';
import { KEY_SECTIONS } from './key-cases.ts';
import { REGISTRATION_SECTIONS } from './registration-cases.ts';
import { SENDING_SECTIONS, WITH_SETTINGS } from './settings-cases.ts';

/** Every case over HTTP. */
export const PARTS: readonly Part[] = [
  {
    title: 'The specification, with every channel installed',
    sections: [
      ...REGISTRATION_SECTIONS,
      ...ACCOUNT_SECTIONS,
      ...ENDPOINT_SECTIONS,
      ...ERROR_SECTIONS,
      ...KEY_SECTIONS,
      ...SENDING_SECTIONS,
    ],
  },
  ...WITH_SETTINGS,
];
