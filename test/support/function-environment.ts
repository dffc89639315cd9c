import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { RESOURCES } from '../../infra/local/local-settings.ts';
import { SETTINGS_FILE } from '../../lib/config/deployment.ts';
import { registrationConfig } from '../../lib/config.ts';
import { temporaryFolder } from './temporary-folder.ts';

/** The environment of a function next to whose code these settings are. */
export function functionEnvironment(settings: object): Record<string, string> {
  const folder = temporaryFolder('function');
  writeFileSync(join(folder, SETTINGS_FILE), JSON.stringify(settings));
  return { ...RESOURCES, LAMBDA_TASK_ROOT: folder };
}

/** The minimal settings of a deployment. */
export const DEPLOYED = registrationConfig(functionEnvironment({ senderAddress: 'no-reply@example.com' }));
