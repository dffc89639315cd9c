import { execFileSync } from 'node:child_process';
import { Annotations, App, Stack, Validations } from 'aws-cdk-lib';
import flags from 'aws-cdk-lib/recommended-feature-flags.json' with { type: 'json' };
import { AwsSolutionsChecks } from 'cdk-nag';
import packageJson from '../package.json' with { type: 'json' };
import { hasPrivateAddress } from './addresses.ts';
import { markRelease } from './constructs/deployed-release.ts';
import { ServiceStack } from './service-stack.ts';
import { readSettings, SETTINGS_FIX, SettingsError } from './settings.ts';

/**
 * The program that `cdk` runs. It reads the settings, builds the stack, and checks it by the rules of AWS Solutions.
 */
const app = new App({ context: flags });
Validations.of(app).addPlugins(new AwsSolutionsChecks(app));
try {
  const settings = readSettings(app.node.getAllContext());
  const { crmWebhook } = settings;
  if (crmWebhook !== undefined && (await hasPrivateAddress(new URL(crmWebhook).hostname)))
    throw new SettingsError(['crmWebhook: has an address of a private network']);
  const stack = new ServiceStack(app, `broker-api-${settings.stage}`, settings);
  markRelease(stack, packageJson.version, deployedCommit());
} catch (error) {
  if (!(error instanceof SettingsError)) throw error;
  // `cdk bootstrap` asks the app for its stacks only to learn their environments. This stack cannot be deployed.
  Annotations.of(new Stack(app, 'settings-needed')).addError(`${error.message}\n${SETTINGS_FIX}`);
}

/** The commit of the source, or `unknown` outside of a repository. */
function deployedCommit(): string {
  try {
    return execFileSync('git', ['rev-parse', '--short=12', 'HEAD'], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    }).trim();
  } catch {
    return 'unknown';
  }
}
