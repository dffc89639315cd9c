import type * as v from 'valibot';
import {
  confirmingSettings,
  crmSettings,
  documentSettings,
  mailSettings,
  stageSettings,
} from '../lib/validators/deployment.ts';
import { edgeSettings, sendingSettings } from '../lib/validators/registration-settings.ts';

/** The groups of settings that reach a function, by their names in `infra/functions.ts`. */
export const SETTING_GROUPS = {
  deployment: stageSettings,
  mail: mailSettings,
  edge: edgeSettings,
  sending: sendingSettings,
  confirming: confirmingSettings,
  documents: documentSettings,
  crm: crmSettings,
} as const satisfies Record<string, v.ObjectEntries>;
export type SettingGroup = keyof typeof SETTING_GROUPS;

/** Every setting that reaches a function. */
export const deploymentEntries = {
  ...stageSettings,
  ...mailSettings,
  ...edgeSettings,
  ...sendingSettings,
  ...confirmingSettings,
  ...documentSettings,
  ...crmSettings,
};
